package tenancy_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/apperr"
)

// outline draws a tree: two spaces a level, brackets around what is outside.
func outline(branches []tenancy.Branch) string {
	var b strings.Builder
	for _, n := range branches {
		name := n.Name
		if n.Outside {
			name = "(" + name + ")"
		}
		b.WriteString(strings.Repeat("  ", n.Depth) + name + "\n")
	}
	return b.String()
}

func TestTreeShowsWhatIsTheirs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dev, _ := b.person(t, "dev", auth.ProjectDev, "one", auth.Viewer, "vision")
	tree, err := b.service.Tree(dev, auth.Installation, false)
	require.NoError(t, err)
	require.Equal(t, "(installation)\n  (acme)\n    (research)\n      (core)\n        one\n      vision\n", outline(tree))
	require.Zero(t, tree[1].Projects, "counts of others are not shown")

	tree, err = b.service.Tree(b.admin, b.ids["acme"], false)
	require.NoError(t, err)
	require.Equal(t, "acme\n  ops\n  research\n    core\n      one\n      two\n    vision\n", outline(tree))
	require.Equal(t, []int{2, 2}, []int{tree[0].Projects, tree[0].Children})
	require.Equal(t, []int{1, 0}, []int{tree[4].Members, tree[0].Members})

	nobody, _ := b.person(t, "nobody")
	tree, err = b.service.Tree(nobody, auth.Installation, false)
	require.NoError(t, err)
	require.Empty(t, tree)
	_, err = b.service.Tree(dev, b.ids["rival"], false)
	require.Equal(t, apperr.NotFound, code(err))
	_, err = b.service.Tree(b.admin, uuid.New(), false)
	require.Equal(t, apperr.NotFound, code(err))

	page, err := b.service.List(dev, tenancy.Filter{Kind: tenancy.Project})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	page, err = b.service.List(b.admin, tenancy.Filter{Kind: tenancy.Project, Below: b.ids["acme"], Limit: 1})
	require.NoError(t, err)
	require.Equal(t, "one", page.Items[0].Name)
	page, err = b.service.List(b.admin, tenancy.Filter{Kind: tenancy.Project, Below: b.ids["acme"], Limit: 1, After: page.Next})
	require.NoError(t, err)
	require.Equal(t, []string{"two", ""}, []string{page.Items[0].Name, page.Next})
}

func TestNodeNamesTheWay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dev, _ := b.person(t, "dev", auth.ProjectDev, "one")
	n, steps, err := b.service.Node(dev, b.ids["one"])
	require.NoError(t, err)
	require.Regexp(t, `^ff-acme-one-[0-9a-f]{12}$`, n.Namespace)
	require.Equal(t, b.ids["acme"], n.TenantID)
	var names []string
	for _, s := range steps {
		names = append(names, s.Name)
		require.Equal(t, s.Name == "one", s.Readable)
	}
	require.Equal(t, []string{"acme", "research", "core", "one"}, names)
	_, _, err = b.service.Node(dev, b.ids["three"])
	require.Equal(t, apperr.NotFound, code(err))
	missing := uuid.New()
	_, _, random := b.service.Node(dev, missing)
	require.Equal(t, strings.ReplaceAll(random.Error(), missing.String(), b.ids["three"].String()), err.Error(), "another tenant's node is as absent as a random id")
}

func TestCreateChecks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, tt := range map[string]struct {
		n     tenancy.NewNode
		code  apperr.Code
		field string
	}{
		"no name":                    {tenancy.NewNode{ParentID: b.ids["core"], Kind: tenancy.Project}, apperr.Invalid, "name"},
		"spaces":                     {tenancy.NewNode{ParentID: b.ids["core"], Kind: tenancy.Project, Name: " x"}, apperr.Invalid, "name"},
		"slash":                      {tenancy.NewNode{ParentID: b.ids["core"], Kind: tenancy.Project, Name: "a/b"}, apperr.Invalid, "name"},
		"bell":                       {tenancy.NewNode{ParentID: b.ids["core"], Kind: tenancy.Project, Name: "a\a"}, apperr.Invalid, "name"},
		"long name":                  {tenancy.NewNode{ParentID: b.ids["core"], Kind: tenancy.Project, Name: strings.Repeat("ä", 101)}, apperr.Invalid, "name"},
		"long description":           {tenancy.NewNode{ParentID: b.ids["core"], Kind: tenancy.Project, Name: "x", Description: strings.Repeat("x", 2001)}, apperr.Invalid, "description"},
		"project below a tenant":     {tenancy.NewNode{ParentID: b.ids["acme"], Kind: tenancy.Project, Name: "x"}, apperr.Invalid, "kind"},
		"team below a team":          {tenancy.NewNode{ParentID: b.ids["core"], Kind: tenancy.Team, Name: "x"}, apperr.Invalid, "kind"},
		"tenant below a tenant":      {tenancy.NewNode{ParentID: b.ids["acme"], Kind: tenancy.Tenant, Name: "x"}, apperr.Invalid, "kind"},
		"department below a project": {tenancy.NewNode{ParentID: b.ids["one"], Kind: tenancy.Department, Name: "x"}, apperr.Invalid, "kind"},
		"second installation":        {tenancy.NewNode{ParentID: b.ids["acme"], Kind: tenancy.Installation, Name: "x"}, apperr.Invalid, "kind"},
		"name of a sibling":          {tenancy.NewNode{ParentID: b.ids["core"], Kind: tenancy.Project, Name: "ONE"}, apperr.Conflict, "name"},
	} {
		_, err := b.service.Create(b.admin, tt.n)
		require.Equal(t, tt.code, code(err), name)
		require.Equal(t, []string{tt.field}, fields(err), name)
	}
	parent := b.ids["vision"]
	for {
		n, err := b.service.Create(b.admin, tenancy.NewNode{ParentID: parent, Kind: tenancy.Department, Name: "deeper"})
		if err != nil {
			require.Equal(t, []string{"parent_id"}, fields(err), "nesting ends")
			break
		}
		parent = n.ID
	}
	team, err := b.service.Create(b.admin, tenancy.NewNode{ParentID: parent, Kind: tenancy.Team, Name: "deepest"})
	require.NoError(t, err)
	_, err = b.service.Create(b.admin, tenancy.NewNode{ParentID: team.ID, Kind: tenancy.Project, Name: "Ünïcode & more, whose name is longer than any namespace of Kubernetes may ever be"})
	require.NoError(t, err)
}

func TestCreateIsIdempotentByKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := tenancy.NewNode{ParentID: b.ids["core"], Kind: tenancy.Project, Name: "keyed", Key: "k1"}
	first, err := b.service.Create(b.admin, in)
	require.NoError(t, err)
	again, err := b.service.Create(b.admin, in)
	require.NoError(t, err)
	require.Equal(t, first, again)
	in.Name = "another"
	_, err = b.service.Create(b.admin, in)
	require.Equal(t, apperr.Conflict, code(err))
	other, _ := b.person(t, "other", auth.TeamAdmin, "core")
	made, err := b.service.Create(other, in)
	require.NoError(t, err, "a key belongs to its sender")
	require.NotEqual(t, first.ID, made.ID)
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n, _, err := b.service.Node(b.admin, b.ids["core"])
	require.NoError(t, err)
	renamed, err := b.service.Update(b.admin, n.ID, tenancy.Edit{Name: new("kernel"), Revision: n.Revision})
	require.NoError(t, err)
	require.Equal(t, "kernel", renamed.Name)
	_, err = b.service.Update(b.admin, n.ID, tenancy.Edit{Name: new("nucleus"), Revision: n.Revision})
	require.Equal(t, apperr.Conflict, code(err), "the caller saw an older revision")
	_, err = b.service.Update(b.admin, n.ID, tenancy.Edit{Name: new("vision")})
	require.Equal(t, apperr.Conflict, code(err))
	_, err = b.service.Update(b.admin, n.ID, tenancy.Edit{Name: new("")})
	require.Equal(t, apperr.Invalid, code(err))
	same, err := b.service.Update(b.admin, n.ID, tenancy.Edit{Name: new("kernel"), Revision: renamed.Revision})
	require.NoError(t, err)
	require.Equal(t, renamed, same)
	_, err = b.service.Update(b.admin, auth.Installation, tenancy.Edit{Name: new("x")})
	require.Equal(t, apperr.Conflict, code(err))
	require.Equal(t, []string{"team.update kernel"}, b.actions(t, "team.update"))
}

func TestArchiveAndRestore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.service.Archive(b.admin, b.ids["core"], "")
	require.Equal(t, apperr.Conflict, code(err))
	require.ErrorContains(t, err, "2 active entries")
	_, err = b.pool.Exec(t.Context(), `INSERT INTO executions (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, priority, inputs, submitted_by, submitted_by_name, created_at, total, pending, levels)
		VALUES ($1, $2, $3, $1, $1, 'w', '1', 50, '{}', $1, 'x', now(), 1, 1, 1)`, uuid.Must(uuid.NewV7()), b.ids["acme"], b.ids["one"])
	require.NoError(t, err)
	_, err = b.service.Archive(b.admin, b.ids["one"], "")
	require.Equal(t, apperr.Conflict, code(err))
	require.ErrorContains(t, err, "one has 1 execution that has not ended")
	_, err = b.pool.Exec(t.Context(), "UPDATE executions SET status = 'CANCELLED', finished_at = now(), pending = 0, cancelled = 1")
	require.NoError(t, err)

	dev, _ := b.person(t, "dev", auth.ProjectDev, "core")
	for _, name := range []string{"one", "two", "core"} {
		n, err := b.service.Archive(b.admin, b.ids[name], "wound down")
		require.NoError(t, err)
		require.True(t, n.Archived())
	}
	subject, _ := auth.SubjectOf(dev)
	require.True(t, subject.May(auth.ExecutionRead, b.ids["one"]))
	require.False(t, subject.May(auth.ExecutionLaunch, b.ids["one"]))
	_, err = b.service.Archive(b.admin, b.ids["core"], "")
	require.NoError(t, err, "a repetition is not an error and adds no entry")
	_, err = b.service.Create(b.admin, tenancy.NewNode{ParentID: b.ids["core"], Kind: tenancy.Project, Name: "late"})
	require.Equal(t, apperr.Conflict, code(err))
	_, err = b.service.AddMember(b.admin, b.ids["core"], tenancy.Invitation{Email: "dev@example.com", Role: auth.Viewer})
	require.Equal(t, apperr.Conflict, code(err))
	_, err = b.service.AddGroupRole(b.admin, b.ids["core"], tenancy.GroupRole{Provider: "p", Group: "g", Role: auth.Viewer})
	require.Equal(t, apperr.Conflict, code(err))
	_, err = b.service.CreateServiceAccount(b.admin, b.ids["one"], "ci", auth.Viewer, "")
	require.Equal(t, apperr.Conflict, code(err))

	_, err = b.service.Restore(b.admin, b.ids["one"], "")
	require.Equal(t, apperr.Conflict, code(err), "ancestors come first")
	twin, err := b.service.Create(b.admin, tenancy.NewNode{ParentID: b.ids["research"], Kind: tenancy.Team, Name: "core"})
	require.NoError(t, err, "the name of an archived node is free")
	_, err = b.service.Restore(b.admin, b.ids["core"], "")
	require.Equal(t, apperr.Conflict, code(err))
	_, err = b.service.Archive(b.admin, twin.ID, "")
	require.NoError(t, err)
	_, err = b.service.Restore(b.admin, b.ids["core"], "")
	require.NoError(t, err)
	for _, id := range []uuid.UUID{auth.LocalProject, auth.Installation} {
		_, err = b.service.Archive(b.admin, id, "")
		require.Equal(t, apperr.Conflict, code(err))
	}
	require.Equal(t, []string{"team.archive core", "team.archive core"}, b.actions(t, "team.archive"))
}

// TestArchiveAgainstCreate: in any order, no active project is left below an archived
// team.
func TestArchiveAgainstCreate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 10 {
		team, err := b.service.Create(b.admin, tenancy.NewNode{ParentID: b.ids["acme"], Kind: tenancy.Team, Name: uuid.NewString()})
		require.NoError(t, err)
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				if i == 0 {
					_, _ = b.service.Archive(b.admin, team.ID, "")
					return
				}
				_, _ = b.service.Create(b.admin, tenancy.NewNode{ParentID: team.ID, Kind: tenancy.Project, Name: uuid.NewString()})
			})
		}
		wg.Wait()
		var wrong int
		require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT count(*) FROM tenancy_nodes n JOIN tenancy_nodes p ON p.id = n.parent_id
			WHERE p.archived_at IS NOT NULL AND n.archived_at IS NULL`).Scan(&wrong))
		require.Zero(t, wrong)
	}
}
