package execution_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// specs returns a function that finds an ended attempt of a node, and skips earlier
// attempts.
func (b *testBundle) specs() func(execution uuid.UUID, node string) launcher.Attempt {
	ended := make(chan launcher.Attempt, 1000)
	b.launcher.placed = func(a launcher.Attempt) []*flowforgev1.PlacedInput {
		ended <- a
		return nil
	}
	return func(execution uuid.UUID, node string) launcher.Attempt {
		b.t.Helper()
		for {
			select {
			case a := <-ended:
				if a.GetExecutionId() == execution.String() && a.GetNode() == node {
					return a
				}
			default:
				require.FailNow(b.t, "no attempt", "%s of %s", node, execution)
			}
		}
	}
}

func TestResourcesForAllThatRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keepFiles()
	spec := b.specs()
	flag := filepath.Join(t.TempDir(), "flag")
	first := b.finish(b.launch(chain(flag), nil))
	touch(t, flag)
	_, err := b.engine.Resumption.Plan(b.ctx, execution.ResumeRequest{Of: first.ID, Resources: map[string]execution.ResourceOverride{execution.EveryOperator: {CPUMillis: new(1 << 30)}}})
	require.Equal(t, "resources.*", apperr.FieldsOf(err)[0].Path)
	e := b.resume(execution.ResumeRequest{Of: first.ID, Resources: map[string]execution.ResourceOverride{
		execution.EveryOperator: {MemoryMiB: new(64), CPUMillis: new(200)}, "end": {MemoryMiB: new(32)},
	}})
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.Equal(t, []int{64, 32}, []int{b.node(e.ID, "train").Attempts[0].MemoryMiB, b.node(e.ID, "end").Attempts[0].MemoryMiB}, "its own override takes precedence")
	require.EqualValues(t, 200, spec(e.ID, "train").GetResources().GetCpuMillis())
	require.EqualValues(t, 200, spec(e.ID, "end").GetResources().GetCpuMillis())
	_, err = b.engine.Resumption.Plan(b.ctx, execution.ResumeRequest{Of: b.finish(b.launch("name: idle\nversion: 1.0.0\noperators: [{name: a, type: noop}]", nil)).ID, From: "a",
		Resources: map[string]execution.ResourceOverride{execution.EveryOperator: {CPUMillis: new(100)}}})
	require.Contains(t, apperr.FieldsOf(err)[0].Message, "The workflow has no operator that runs tasks")
}

func TestRetentionOfALaunch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	hours := func(n int) *time.Duration { return new(time.Duration(n) * time.Hour) }
	b.register("name: kept\nversion: 1.0.0\nttl: {after_success: 5m, after_failure: 90d}\ninputs: [{name: fails, type: Boolean}]\n" +
		"operators: [{name: a, type: shell, when: 'inputs.fails', retry: {fail_fast: false}, code: {script: 'false'}}]\n")
	kept := func(fails bool, ttl workflow.TTL) (query.Execution, time.Duration) {
		e, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "kept", Inputs: map[string]any{"fails": fails}, TTL: ttl})
		require.NoError(t, err)
		b.finish(e.ID)
		e, err = b.engine.Get(b.ctx, e.ID)
		require.NoError(t, err)
		require.Equal(t, ttl, e.TTL)
		return e, e.ExpiresAt.Sub(*e.FinishedAt)
	}
	_, after := kept(false, workflow.TTL{})
	require.Equal(t, 5*time.Minute, after)
	_, after = kept(false, workflow.TTL{Completion: hours(1)})
	require.Equal(t, time.Hour, after, "the launch takes precedence over the definition")
	_, after = kept(true, workflow.TTL{Success: hours(1)})
	require.Equal(t, 90*24*time.Hour, after, "it does not set the TTL of failures")
	failed, after := kept(true, workflow.TTL{Failure: hours(2), Completion: hours(3)})
	require.Equal(t, 2*time.Hour, after)

	e := b.resume(execution.ResumeRequest{Of: failed.ID})
	require.Equal(t, failed.TTL, e.TTL, "a resume inherits it")
	e = b.resume(execution.ResumeRequest{Of: failed.ID, TTL: workflow.TTL{Completion: hours(7)}})
	require.Equal(t, 7*time.Hour, e.ExpiresAt.Sub(*e.FinishedAt))
}

func TestAResumeSettlesDeadLettersOfRerunNodes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keepFiles()
	flag := filepath.Join(t.TempDir(), "flag")
	first := b.finish(b.launch(fmt.Sprintf(`
name: letters
version: 1.0.0
operators:
  - {name: each, type: shell, foreach: [1, 2], retry: {fail_fast: false}, code: {script: 'test -e %s'}}
  - {name: allowed, type: shell, allow_failure: true, code: {script: 'false'}}
`, flag), nil))
	require.Equal(t, query.Failed, first.Status)
	letters := func() []string {
		page, err := b.engine.DeadLetters.List(b.ctx, execution.DeadLetterFilter{})
		require.NoError(t, err)
		var names []string
		for _, l := range page.DeadLetters {
			names = append(names, l.Node)
		}
		return names
	}
	require.Subset(t, letters(), []string{"each[0]", "each[1]"})
	provided := len(letters()) - 2
	touch(t, flag)
	_, err := b.engine.Resumption.Plan(b.ctx, execution.ResumeRequest{Of: first.ID})
	require.NoError(t, err)
	require.Len(t, letters(), provided+2, "a preview settles nothing")
	e := b.resume(execution.ResumeRequest{Of: first.ID})
	require.NotContains(t, letters(), "each[0]")
	require.Len(t, letters(), provided, "dead letters of nodes that do not run again stay open")
	var by string
	var as uuid.UUID
	require.NoError(t, b.pool.QueryRow(b.ctx, `SELECT DISTINCT settled_by, requeued_as FROM dead_letters WHERE execution_id = $1 AND node LIKE 'each%'`, first.ID).Scan(&by, &as))
	require.NotEmpty(t, by)
	require.Equal(t, e.ID, as)
}

func TestDurationOfAResumeIsNoEstimate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keepFiles()
	flag := filepath.Join(t.TempDir(), "flag")
	first := b.finish(b.launch(chain(flag), nil))
	touch(t, flag)
	require.Equal(t, query.Succeeded, b.resume(execution.ResumeRequest{Of: first.ID}).Status)
	_, err := b.pool.Exec(b.ctx, `UPDATE executions SET finished_at = created_at + interval '1 hour' WHERE resume_of = $1`, first.ID)
	require.NoError(t, err)
	e, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "chain"})
	require.NoError(t, err)
	require.Nil(t, e.EstimatedCompletion, "only a resume has succeeded")
	b.finish(e.ID)
}

func TestCheckpointsOfAResumedNodeAreNamed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keepFiles()
	flag := filepath.Join(t.TempDir(), "flag")
	spec := b.specs()
	first := b.finish(b.launch(chain(flag), nil))
	require.Empty(t, spec(first.ID, "train").GetCheckpointFrom())
	second := b.finish(b.resume(execution.ResumeRequest{Of: first.ID}).ID)
	require.Equal(t, []string{first.ID.String() + ".1"}, spec(second.ID, "train").GetCheckpointFrom())
	third := b.resume(execution.ResumeRequest{Of: second.ID, Inputs: map[string]any{"lr": json.Number("0.3")}})
	require.Equal(t, []string{second.ID.String() + ".1", first.ID.String() + ".1"}, spec(third.ID, "train").GetCheckpointFrom(), "the nearest first")
}
