package execution_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// TestATaskFollowsNoReferenceOutOfItsProject: a task can write any reference into a value;
// the engine only gives the next task bytes of its own project.
func TestATaskFollowsNoReferenceOutOfItsProject(t *testing.T) {
	t.Parallel()
	local := setup(t)
	secret, err := local.artifacts.Upload(local.ctx, strings.NewReader("of another project"))
	require.NoError(t, err)
	id, err := artifact.NewID()
	require.NoError(t, err)
	require.NoError(t, db.Tx(local.ctx, local.pool, func(_ pgx.Tx, q *db.Queries) error {
		return local.artifacts.Publish(auth.AsSystem(local.ctx), q, auth.LocalTenant, auth.LocalProject, []artifact.New{{
			ID: id, ExecutionID: uuid.New(), Node: "n", Attempt: 1, Name: "model", Type: "Model", Kind: "Model", SHA256: secret.SHA256, Size: secret.Size,
		}})
	}))
	b := local.as(local.team("vision", nil, nil))
	for name, reference := range map[string]string{
		"artifact": fmt.Sprintf(`{"$artifact": %q}`, id),
		"file":     fmt.Sprintf(`{"$file": %q, "name": "x"}`, secret.SHA256),
	} {
		run := b.launch(fmt.Sprintf(`
name: nosy.%s
version: 1.0.0
operators:
  - {name: say, type: shell, code: {script: "echo '%s'"}, outputs: [{name: told, type: JSON}]}
  - {name: hear, type: shell, code: {script: "true"}, inputs: [{name: told, type: JSON, from: say.told}]}
`, name, strings.ReplaceAll(reference, `"`, `\"`)), nil)
		e := b.finish(run)
		require.Equal(t, query.Failed, e.Status, name)
		hear := b.node(run, "hear")
		require.Contains(t, hear.Error.Message, "There is no", name)
	}
}

// TestEveryMethodStaysInItsProjects: a user without a role in an execution's project gets
// the answer for an unknown id, and lists without it.
func TestEveryMethodStaysInItsProjects(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch("name: mine\nversion: 1.0.0\noperators: [{name: a, type: noop}]", nil)
	b.finish(id)
	stranger := auth.Subject{ID: uuid.New(), Role: auth.RoleUser, TenantID: uuid.New(), ProjectID: uuid.New()}
	admin := auth.Everywhere(auth.TenantAdmin)
	stranger.Policy = auth.PolicyFunc(func(a auth.Action, place uuid.UUID) bool { return place == stranger.ProjectID && admin.May(a, place) })
	ctx := auth.WithSubject(b.ctx, stranger)
	calls := map[string]func(ctx context.Context, id uuid.UUID) error{
		"Get":   func(ctx context.Context, id uuid.UUID) error { _, err := b.engine.Get(ctx, id); return err },
		"Place": func(ctx context.Context, id uuid.UUID) error { _, _, err := b.engine.Scope(ctx, id); return err },
		"Nodes": func(ctx context.Context, id uuid.UUID) error {
			_, _, err := b.engine.Nodes.List(ctx, id, query.NodeFilter{})
			return err
		},
		"ChangedSince": func(ctx context.Context, id uuid.UUID) error {
			_, _, err := b.engine.Nodes.ChangedSince(ctx, id, 0)
			return err
		},
		"States": func(ctx context.Context, id uuid.UUID) error { _, err := b.engine.Nodes.States(ctx, id); return err },
		"Node":   func(ctx context.Context, id uuid.UUID) error { _, err := b.engine.Nodes.Get(ctx, id, "a"); return err },
		"LevelSpans": func(ctx context.Context, id uuid.UUID) error {
			_, err := b.engine.Nodes.LevelSpans(ctx, id)
			return err
		},
		"Attempts": func(ctx context.Context, id uuid.UUID) error {
			_, err := b.engine.Nodes.Attempts(ctx, id, nil)
			return err
		},
		"Events": func(ctx context.Context, id uuid.UUID) error {
			_, err := b.engine.Events.After(ctx, id, 0, 0)
			return err
		},
		"LatestEvents": func(ctx context.Context, id uuid.UUID) error {
			_, err := b.engine.Events.Latest(ctx, id, query.EventFilter{})
			return err
		},
		"Watch":  func(ctx context.Context, id uuid.UUID) error { _, err := b.engine.Watches.Watch(ctx, id); return err },
		"Cancel": func(ctx context.Context, id uuid.UUID) error { return b.engine.Commands.Cancel(ctx, id, "") },
	}
	for name, call := range calls {
		nobodys := uuid.New()
		want := strings.ReplaceAll(call(ctx, nobodys).Error(), nobodys.String(), id.String())
		got := call(ctx, id)
		require.True(t, apperr.Is(got, apperr.NotFound), name)
		require.Equal(t, want, got.Error(), name)
		require.True(t, apperr.Is(call(t.Context(), id), apperr.Unauthenticated), name)
	}
	page, err := b.engine.List(ctx, query.Filter{})
	require.NoError(t, err)
	require.Empty(t, page.Executions)
	_, _, err = b.engine.Launches.Launch(ctx, execution.LaunchRequest{Workflow: "mine"})
	require.True(t, apperr.Is(err, apperr.NotFound))

	colleague := stranger // with a role here, active there
	colleague.Policy = admin
	for name, call := range calls {
		err := call(auth.WithSubject(b.ctx, colleague), id)
		require.False(t, apperr.Is(err, apperr.NotFound), "%s: %v", name, err)
	}
}

// TestALaunchKeepsNoOriginOfOthers: an execution that the caller cannot see is not recorded
// as an origin.
func TestALaunchKeepsNoOriginOfOthers(t *testing.T) {
	t.Parallel()
	local := setup(t)
	first := local.launch("name: mine\nversion: 1.0.0\noperators: [{name: a, type: noop}]", nil)
	local.finish(first)
	b := local.as(local.team("vision", nil, nil))
	b.register("name: theirs\nversion: 1.0.0\noperators: [{name: a, type: noop}]")
	subject, _ := auth.SubjectOf(b.ctx)
	dev := auth.Everywhere(auth.ProjectDev)
	subject.Role, subject.Policy = auth.RoleUser, auth.PolicyFunc(func(a auth.Action, place uuid.UUID) bool {
		return place == subject.ProjectID && dev.May(a, place)
	})
	e, _, err := b.engine.Launches.Launch(auth.WithSubject(b.ctx, subject), execution.LaunchRequest{Workflow: "theirs", RelaunchOf: &first})
	require.NoError(t, err)
	require.Nil(t, e.RelaunchOf)
	b.finish(e.ID)
}
