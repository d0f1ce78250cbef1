package workflow

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/typeregistry"
)

type builtinTypes struct{}

func (builtinTypes) Types(context.Context) (*typeregistry.Registry, error) {
	return typeregistry.Builtin(), nil
}

type onePackage string

func (p onePackage) Has(_ context.Context, sha string) (bool, error) { return sha == string(p), nil }

type testBundle struct {
	service *Service
	ctx     context.Context
	now     time.Time
}

const storedPackage = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func setup(t *testing.T) *testBundle {
	t.Helper()
	b := &testBundle{ctx: auth.WithSubject(t.Context(), auth.Local()), now: time.Date(2026, 3, 1, 12, 0, 0, 1234567, time.UTC)}
	b.service = NewService(dbtest.New(t), builtinTypes{}, onePackage(storedPackage), func() time.Time { return b.now })
	return b
}

func document(name, version, extra string) []byte {
	return fmt.Appendf(nil, "name: %s\nversion: %s\n%s\noperators: [{name: one, type: command, code: {command: [\"true\"]}}]\n", name, version, extra)
}

func (b *testBundle) register(t *testing.T, doc []byte) Version {
	t.Helper()
	v, _, err := b.service.Register(b.ctx, doc)
	if err != nil {
		t.Fatalf("%v %v", err, apperr.FieldsOf(err))
	}
	return v
}

func TestRegisterIsIdempotent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, created, err := b.service.Register(b.ctx, []byte(trainYAML))
	if err != nil || !created {
		t.Fatalf("%v %v", created, err)
	}
	again, created, err := b.service.Register(b.ctx, []byte("# a comment\n"+trainYAML))
	if err != nil || created || again.ID != first.ID {
		t.Errorf("again: %v %v %v", again.ID, created, err)
	}
	_, _, err = b.service.Register(b.ctx, []byte(strings.Replace(trainYAML, "value: 42", "value: 43", 1)))
	if apperr.CodeOf(err) != apperr.Conflict || !strings.Contains(err.Error(), "1.2.0-beta.1") {
		t.Errorf("another content: %v", err)
	}
	if first.CreatedByName != "admin" || first.Definition.Name != "digits.train" || len(first.Plan.Nodes) != 3 || !first.CreatedAt.Equal(b.now.Truncate(time.Microsecond)) {
		t.Errorf("%+v", first)
	}
}

func TestRegisterRefusesFaultyDocuments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, _, err := b.service.Register(b.ctx, []byte("name: a\noperators: 3\n"))
	if apperr.CodeOf(err) != apperr.Invalid || len(apperr.FieldsOf(err)) != 2 {
		t.Errorf("%v %v", err, apperr.FieldsOf(err))
	}
	for name, want := range map[string]string{"src": "not uploaded", "sha256:" + strings.Repeat("a", 64): "not in the store"} {
		doc := strings.Replace(trainYAML, "sha256:"+storedPackage, name, 1)
		_, _, err := b.service.Register(b.ctx, []byte(doc))
		if fields := apperr.FieldsOf(err); len(fields) != 1 || fields[0].Path != "operators[1].code.package" || !strings.Contains(fields[0].Message, want) {
			t.Errorf("%s: %v", name, fields)
		}
	}
	if page, err := b.service.List(b.ctx, Filter{}); err != nil || page.Total != 0 {
		t.Errorf("a refused definition left something: %+v %v", page, err)
	}
}

func TestLatestFollowsReleases(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, step := range []struct{ version, latest string }{
		{"0.1.0-alpha", "0.1.0-alpha"}, {"1.10.0", "1.10.0"}, {"1.9.0", "1.10.0"}, {"2.0.0-rc.1", "1.10.0"}, {"2.0.0", "2.0.0"},
	} {
		b.register(t, document("w", step.version, "description: at "+step.version))
		got, err := b.service.Version(b.ctx, "w", "")
		if err != nil || got.Version != step.latest {
			t.Errorf("after %s: latest %s, want %s (%v)", step.version, got.Version, step.latest, err)
		}
	}
	w, err := b.service.Get(b.ctx, "w")
	if err != nil {
		t.Fatal(err)
	}
	var versions []string
	for _, v := range w.Versions {
		versions = append(versions, v.Version)
	}
	if diff := cmp.Diff([]string{"2.0.0", "2.0.0-rc.1", "1.10.0", "1.9.0", "0.1.0-alpha"}, versions); diff != "" {
		t.Error(diff)
	}
	if w.Latest != "2.0.0" || w.Description != "at 2.0.0" || w.Versions[0].CreatedByName != "admin" {
		t.Errorf("%+v", w)
	}
	byID, err := b.service.Get(b.ctx, w.ID.String())
	if err != nil || byID.Name != "w" {
		t.Errorf("by id: %+v %v", byID, err)
	}
}

func TestNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, document("w", "1.0.0", ""))
	_, err1 := b.service.Get(b.ctx, "nothing")
	_, err2 := b.service.Version(b.ctx, "w", "9.9.9")
	_, err3 := b.service.VersionByID(b.ctx, uuid.New())
	_, err4 := b.service.Get(b.ctx, uuid.NewString())
	for i, err := range []error{err1, err2, err3, err4} {
		if apperr.CodeOf(err) != apperr.NotFound {
			t.Errorf("%d: %v", i+1, err)
		}
	}
}

func TestVersionsSurviveInStorage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.register(t, []byte(trainYAML))
	fresh := NewService(b.service.pool, builtinTypes{}, nil, time.Now)
	loaded, err := fresh.VersionByID(b.ctx, v.ID)
	if err != nil {
		t.Fatal(err)
	}
	want, _, _ := mustParse(t, trainYAML).Canonical()
	got, _, _ := loaded.Definition.Canonical()
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
	if again, _ := fresh.VersionByID(b.ctx, v.ID); again.Definition != loaded.Definition {
		t.Error("the version was loaded twice")
	}
}

func TestListFiltersAndPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 7 {
		tag := []string{"even", "odd"}[i%2]
		b.register(t, document(fmt.Sprintf("flow-%d", i), "1.0.0", fmt.Sprintf("tags: [%s]\nowner_team: team%d\ndescription: The 100%% number_%d", tag, i%3, i)))
	}
	names := func(f Filter) string {
		var out []string
		for {
			page, err := b.service.List(b.ctx, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range page.Items {
				out = append(out, strings.TrimPrefix(s.Name, "flow-"))
			}
			if page.Next == "" {
				if page.Total != len(out) {
					t.Errorf("%+v: total %d of %d", f, page.Total, len(out))
				}
				return strings.Join(out, " ")
			}
			f.After = page.Next
		}
	}
	if err := b.service.Archive(b.ctx, "flow-6"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		filter Filter
		want   string
	}{
		{Filter{Limit: 2}, "0 1 2 3 4 5 6"},
		{Filter{Tag: "odd", Limit: 1}, "1 3 5"},
		{Filter{Team: "team0", Status: Active}, "0 3"},
		{Filter{Status: Archived}, "6"},
		{Filter{Query: "NUMBER_4"}, "4"},
		{Filter{Query: "0%"}, "0 1 2 3 4 5 6"},
		{Filter{Query: "%_%"}, ""},
		{Filter{Query: "team1"}, "1 4"},
		{Filter{Query: "even"}, "0 2 4 6"},
	} {
		if got := names(test.filter); got != test.want {
			t.Errorf("%+v: %q, want %q", test.filter, got, test.want)
		}
	}
	facets, err := b.service.Facets(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := Facets{Tags: []Facet{{"even", 3}, {"odd", 3}}, Teams: []Facet{{"team0", 2}, {"team1", 2}, {"team2", 2}}}
	if diff := cmp.Diff(want, facets); diff != "" {
		t.Error(diff)
	}
	if err := b.service.Unarchive(b.ctx, "flow-6"); err != nil {
		t.Fatal(err)
	}
	if got := names(Filter{Status: Archived}); got != "" {
		t.Errorf("still archived: %s", got)
	}
}

func TestRegisterConcurrently(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var wg sync.WaitGroup
	ids := make([]uuid.UUID, 8)
	created := make([]bool, len(ids))
	for i := range ids {
		wg.Go(func() {
			v, c, err := b.service.Register(b.ctx, document("w", fmt.Sprintf("1.0.%d", i/2), ""))
			if err != nil {
				t.Error(err)
			}
			ids[i], created[i] = v.ID, c
		})
	}
	wg.Wait()
	for i := 0; i < len(ids); i += 2 {
		if ids[i] != ids[i+1] || created[i] == created[i+1] {
			t.Errorf("version 1.0.%d: %v %v", i/2, ids[i:i+2], created[i:i+2])
		}
	}
	if v, err := b.service.Version(b.ctx, "w", "latest"); err != nil || v.Version != "1.0.3" {
		t.Errorf("latest %s %v", v.Version, err)
	}
}

func TestAuthorisation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.register(t, document("w", "1.0.0", ""))
	stranger := auth.Subject{ID: uuid.New(), Role: auth.RoleUser, TenantID: uuid.New(), ProjectID: uuid.New()}
	admin := auth.Everywhere(auth.TenantAdmin)
	stranger.Policy = auth.PolicyFunc(func(a auth.Action, place uuid.UUID) bool { return place == stranger.ProjectID && admin.May(a, place) })
	member := auth.Subject{ID: uuid.New(), Role: auth.RoleUser, Policy: auth.Everywhere(auth.ProjectDev), TenantID: auth.LocalTenant, ProjectID: auth.LocalProject}
	calls := map[string]func(context.Context) error{
		"get":       func(ctx context.Context) error { _, err := b.service.Get(ctx, "w"); return err },
		"version":   func(ctx context.Context) error { _, err := b.service.Version(ctx, "w", "1.0.0"); return err },
		"by id":     func(ctx context.Context) error { _, err := b.service.VersionByID(ctx, v.ID); return err },
		"archive":   func(ctx context.Context) error { return b.service.Archive(ctx, "w") },
		"unarchive": func(ctx context.Context) error { return b.service.Unarchive(ctx, "w") },
		"list":      func(ctx context.Context) error { _, err := b.service.List(ctx, Filter{}); return err },
		"facets":    func(ctx context.Context) error { _, err := b.service.Facets(ctx); return err },
		"register": func(ctx context.Context) error {
			_, _, err := b.service.Register(ctx, document("w", "1.0.0", ""))
			return err
		},
	}
	for name, call := range calls {
		if got := apperr.CodeOf(call(t.Context())); got != apperr.Unauthenticated {
			t.Errorf("%s without a subject: %s", name, got)
		}
		if got := apperr.CodeOf(call(auth.WithSubject(t.Context(), auth.ForTask(auth.TaskScope{})))); got != apperr.Forbidden && got != apperr.NotFound {
			t.Errorf("%s by a task: %s", name, got)
		}
		want := apperr.Code("")
		if strings.HasSuffix(name, "archive") {
			want = apperr.Forbidden
		}
		if got := apperr.CodeOf(call(auth.WithSubject(t.Context(), member))); got != want {
			t.Errorf("%s by a member: %q, want %q", name, got, want)
		}
	}
	ids := map[string]func(context.Context) error{
		"get with id": func(ctx context.Context) error { _, err := b.service.Get(ctx, v.WorkflowID.String()); return err },
		"version with id": func(ctx context.Context) error {
			_, err := b.service.Version(ctx, v.WorkflowID.String(), "")
			return err
		},
		"archive with id": func(ctx context.Context) error { return b.service.Archive(ctx, v.WorkflowID.String()) },
	}
	maps.Copy(ids, calls)
	for _, name := range []string{"get", "version", "by id", "archive", "unarchive", "get with id", "version with id", "archive with id"} {
		if got := apperr.CodeOf(ids[name](auth.WithSubject(t.Context(), stranger))); got != apperr.NotFound {
			t.Errorf("%s from another project: %s", name, got)
		}
	}
	colleague := member // of this project, at work in another
	colleague.TenantID, colleague.ProjectID = uuid.New(), uuid.New()
	for _, name := range []string{"by id", "get with id", "version with id"} {
		if err := ids[name](auth.WithSubject(t.Context(), colleague)); err != nil {
			t.Errorf("%s from another project of mine: %v", name, err)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	version := func(nodes int) Version {
		return Version{ID: uuid.New(), Plan: &dag.Plan{Nodes: make([]dag.Node, nodes)}}
	}
	c := newVersionCache(3, 10)
	a, b2, d, e := version(1), version(1), version(1), version(1)
	for _, v := range []Version{a, b2, d} {
		c.put(v)
	}
	c.get(a.ID)
	c.put(e)
	if _, ok := c.get(b2.ID); ok {
		t.Error("the version used longest ago is still there")
	}
	if _, ok := c.get(a.ID); !ok {
		t.Error("a version in use is gone")
	}
	huge := version(50)
	c.put(huge)
	if _, ok := c.get(huge.ID); !ok || c.recent.Len() != 1 || c.nodes != 50 {
		t.Errorf("%d versions, %d nodes", c.recent.Len(), c.nodes)
	}
}
