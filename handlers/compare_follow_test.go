package handlers_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/comparison"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// countingUsage counts the comparisons that were made: each reads the hours once.
type countingUsage struct {
	*query.UsageReader

	made atomic.Int32
}

func (c *countingUsage) HoursOfSeveral(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]query.Hours, error) {
	c.made.Add(1)
	return c.UsageReader.HoursOfSeveral(ctx, ids)
}

// TestFollowedComparison: a comparison is made again only after a change, and once for all who
// follow it with the same permissions.
func TestFollowedComparison(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, `{"name": "follow.flow", "version": "1.0.0", "operators": [{"name": "go", "type": "noop"}]}`)
	var list []query.Execution
	var ids []uuid.UUID
	for range 2 {
		e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "follow.flow"})
		require.NoError(t, err)
		list, ids = append(list, e), append(ids, e.ID)
	}
	var now atomic.Int64 // nanoseconds
	now.Store(time.Now().UnixNano())
	counted := &countingUsage{UsageReader: b.executions.Usage}
	s := comparison.New(comparison.Config{
		Now: func() time.Time { return time.Unix(0, now.Load()) }, Executions: b.executions.Reader, Usage: counted, Workflows: b.workflows, Artifacts: b.artifacts, Telemetry: b.telemetry,
	})
	person := func(actions ...auth.Action) context.Context {
		p := auth.PolicyFunc(func(a auth.Action, place uuid.UUID) bool {
			for _, allowed := range actions {
				if a == allowed && place == auth.LocalProject {
					return true
				}
			}
			return false
		})
		return auth.WithSubject(t.Context(), auth.Subject{ID: uuid.Must(uuid.NewV7()), Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, Policy: p})
	}
	reads := []auth.Action{auth.ExecutionRead, auth.WorkflowRead, auth.ArtifactRead, auth.LogRead}
	one, other, stranger := person(reads...), person(reads...), person(auth.ExecutionRead, auth.WorkflowRead)
	follow := func(ctx context.Context) *comparison.Follower {
		f, err := s.Follow(ctx, ids, "")
		require.NoError(t, err)
		t.Cleanup(f.Close)
		return f
	}
	first, second, third := follow(one), follow(other), follow(stranger)
	latest := func(f *comparison.Follower, ctx context.Context) int {
		compared, version, err := f.Latest(ctx)
		require.NoError(t, err)
		require.Len(t, compared.Executions, 2)
		return version
	}
	wait := func(d time.Duration) { now.Add(int64(d)) }

	begin := latest(first, one)
	require.Equal(t, begin, latest(second, other))
	require.EqualValues(t, 1, counted.made.Load(), "shared")
	wait(2 * time.Second)
	require.Equal(t, begin, latest(first, one))
	require.EqualValues(t, 1, counted.made.Load(), "nothing changed")
	_, _, err := third.Latest(stranger)
	require.Error(t, err, "other permissions")

	b.losses(t, list[0], 1, 0, 4, 1)
	wait(2 * time.Second)
	reported := latest(second, other)
	require.NotEqual(t, begin, reported)
	require.Equal(t, reported, latest(first, one))
	compared, _, err := first.Latest(one)
	require.NoError(t, err)
	require.Equal(t, []string{"loss"}, compared.Metrics)

	made := counted.made.Load()
	require.NoError(t, b.executions.Commands.Cancel(b.ctx, ids[1], ""))
	wait(2 * time.Second)
	latest(first, one)
	require.Equal(t, made+1, counted.made.Load(), "an execution changed")
	wait(31 * time.Second)
	latest(first, one)
	require.Equal(t, made+2, counted.made.Load(), "durations grow")
}

// TestCompareStreamHasAVersion: the script reads the charts again when the version differs.
func TestCompareStreamHasAVersion(t *testing.T) {
	t.Parallel()
	b, ids := comparedRuns(t)
	stream := b.member.get(t, "/compare/stream?executions="+strings.Join(ids, ","))
	require.Equal(t, http.StatusOK, stream.status)
	require.Contains(t, stream.body, `data-version="1"`)
}
