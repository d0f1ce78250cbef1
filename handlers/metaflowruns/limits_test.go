package metaflowruns

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/data/metaflow/datastore"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/views"
)

// pagesOf returns pages with a datastore in which task Flow/1/start/2 has a log and a value.
func pagesOf(t *testing.T, now func() time.Time) (*Pages, func(name, text string)) {
	t.Helper()
	pool, dir := dbtest.New(t), t.TempDir()
	put := func(name, text string) {
		name = filepath.Join(dir, auth.LocalTenant.String(), auth.LocalProject.String(), ".metaflow", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	put("Flow/1/start/2/0.task_stdout.log", "a secret line\n")
	put("Flow/data/aa/aaaaaaaa", "K\x07.")
	return New(Config{Now: now, Records: metaflow.NewService(pool, now), Datastores: datastore.NewService(datastore.Config{Pool: pool, Now: now, Dir: dir})}), put
}

func taskOfTest() *taskView {
	x := &taskView{Task: datastore.Task{Flow: "Flow", Run: "1", Step: "start", ID: "2"}, carded: datastore.Task{Flow: "Flow", Run: "1", Step: "start", ID: "2"}}
	x.begin()
	return x
}

// TestRights: who may not read logs or artifacts sees none on the page of a task.
func TestRights(t *testing.T) {
	t.Parallel()
	h, _ := pagesOf(t, time.Now)
	subject := auth.Local()
	artifacts := []metaflow.Artifact{{Name: "n", SHA: "aaaaaaaa"}}
	for _, may := range []bool{true, false} {
		subject.Role, subject.Policy = auth.RoleUser, auth.PolicyFunc(func(a auth.Action, _ uuid.UUID) bool { return may || a == auth.ExecutionRead })
		ctx := auth.WithSubject(t.Context(), subject)
		var m views.MetaflowTask
		require.NoError(t, h.addFiles(ctx, taskOfTest(), &m))
		require.Equal(t, may, len(m.Logs.Lines) == 1)
		require.Equal(t, may, m.Logs.Problem == "")
		line := h.withValues(ctx, &taskOfTest().reading, taskOfTest().Task, artifacts)[0]
		require.Equal(t, may, line.Value == "7")
		require.Equal(t, may, line.Why == "")
	}
}

// TestCardsAreArtifacts: who may not read artifacts gets no card, as a page or as a file.
func TestCardsAreArtifacts(t *testing.T) {
	t.Parallel()
	h, put := pagesOf(t, time.Now)
	put("mf.cards/Flow/runs/1/steps/start/tasks/2/cards/default-abc.html", "<p>")
	subject := auth.Local()
	for _, may := range []bool{true, false} {
		subject.Role, subject.Policy = auth.RoleUser, auth.PolicyFunc(func(a auth.Action, _ uuid.UUID) bool { return may || a != auth.ArtifactRead })
		ctx := auth.WithSubject(t.Context(), subject)
		var m views.MetaflowTask
		require.NoError(t, h.addFiles(ctx, taskOfTest(), &m))
		require.Equal(t, may, len(m.Cards) == 1)
		require.Equal(t, may, m.CardsWhy == "")
		require.Len(t, m.Logs.Lines, 1)
		if may {
			continue
		}
		err := h.card(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
		require.True(t, apperr.Is(err, apperr.Forbidden), "%v", err)
	}
}

// TestReadingTime: a page reads from the datastore for a limited time in all, and says so.
func TestReadingTime(t *testing.T) {
	t.Parallel()
	h, _ := pagesOf(t, time.Now)
	ctx := auth.WithSubject(t.Context(), auth.Local())
	x := taskOfTest()
	x.until = time.Now().Add(-time.Second)
	var m views.MetaflowTask
	require.NoError(t, h.addFiles(ctx, x, &m))
	require.Contains(t, m.Logs.Problem, "within 5 s")
	require.Contains(t, h.withValues(ctx, &x.reading, x.Task, []metaflow.Artifact{{Name: "n", SHA: "aaaaaaaa"}})[0].Why, "within 5 s")
	run := &runView{flow: "Flow", run: "1", settings: []metaflow.Artifact{{Name: graphArtifact, SHA: "cccccccc"}}, reading: x.reading}
	require.NoError(t, h.arrange(ctx, run))
	require.Contains(t, run.plan.problem, "within 5 s")
}

// TestGraphAgain: a stream tries again to read a graph, but not in every round.
func TestGraphAgain(t *testing.T) {
	t.Parallel()
	now := time.Now()
	h, put := pagesOf(t, func() time.Time { return now })
	ctx := auth.WithSubject(t.Context(), auth.Local())
	x := &runView{flow: "Flow", run: "1", settings: []metaflow.Artifact{{Name: graphArtifact, SHA: "cccccccc"}}}
	x.begin()
	require.NoError(t, h.arrange(ctx, x))
	require.NotEmpty(t, x.plan.problem)
	put("Flow/data/cc/cccccccc", "(dS'steps'\n(dS'start'\n(dss.")
	require.NoError(t, h.arrange(ctx, x))
	require.False(t, x.plan.known, "not in every round")
	now = now.Add(again)
	require.NoError(t, h.arrange(ctx, x))
	require.True(t, x.plan.known, x.plan.problem)
	require.Empty(t, x.plan.problem)
}
