package execution_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

const branches = `
name: branches
version: 1.0.0
operators:
  - {name: keeps, type: shell, code: {script: 'sleep 0.2'}}
  - {name: stops, type: shell, code: {script: 'sleep 60'}}
  - {name: after, type: shell, depends_on: [stops], code: {script: 'true'}}
  - {name: last, type: shell, depends_on: [after], code: {script: 'true'}}
`

func TestOneNodeIsCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(branches, nil)
	b.until(id, "running", func(e query.Execution) bool { return e.Counts.Running == 2 })
	require.NoError(t, b.engine.Commands.CancelNode(b.ctx, execution.TaskRef{Execution: id, Node: 1, Attempt: 1}, "not needed"))
	e := b.finish(id)
	require.Equal(t, query.Cancelled, e.Status)
	require.Equal(t, "stops: Cancelled by admin: not needed", e.Error.Message)
	require.Equal(t, dag.Succeeded, b.node(id, "keeps").State, "the others continue")
	stopped := b.node(id, "stops")
	require.Equal(t, dag.Cancelled, stopped.State)
	require.Equal(t, execution.ReasonCancelled, stopped.Reason.Code)
	require.Equal(t, "stops was cancelled.", b.node(id, "after").Reason.Message)
	require.Equal(t, dag.Cancelled, b.node(id, "last").State)
	require.NoError(t, b.engine.Commands.CancelNode(b.ctx, execution.TaskRef{Execution: id, Node: 1}, ""), "cancelling twice is a success")
	require.True(t, apperr.Is(b.engine.Commands.CancelNode(b.ctx, execution.TaskRef{Execution: id, Node: 0}, ""), apperr.Conflict), "a node that ended in another state stays")

	stranger := auth.WithSubject(t.Context(), auth.Subject{ID: uuid.New(), Role: auth.RoleUser, ProjectID: auth.LocalProject, Policy: auth.Everywhere(auth.Viewer)})
	require.True(t, apperr.Is(b.engine.Commands.CancelNode(stranger, execution.TaskRef{Execution: id, Node: 0}, ""), apperr.Forbidden))
}

// TestAWaitingNodeIsCancelled: no loop drives the execution while it waits.
func TestAWaitingNodeIsCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *execution.Config) { c.Capacity.CPUMillis = 1000 })
	first := b.launch("name: holds\nversion: 1.0.0\noperators: [{name: a, type: shell, resources: {cpu: 1}, code: {script: 'sleep 60'}}]", nil)
	b.until(first, "running", func(e query.Execution) bool { return e.Counts.Running == 1 })
	second := b.launch("name: waits\nversion: 1.0.0\noperators: [{name: a, type: shell, resources: {cpu: 1}, code: {script: 'true'}}]", nil)
	b.until(second, "waiting", func(query.Execution) bool { return b.node(second, "a").Reason != nil })
	require.NoError(t, b.engine.Commands.CancelNode(b.ctx, execution.TaskRef{Execution: second, Node: 0}, ""))
	require.Equal(t, query.Cancelled, b.finish(second).Status)
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, first, ""))
	b.finish(first)
}

func TestRequestsOfAWaitingNodeChange(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *execution.Config) { c.Capacity.CPUMillis = 2000 })
	doc := func(name, cpu, script string) string {
		return "name: " + name + "\nversion: 1.0.0\noperators: [{name: a, type: shell, resources: {cpu: " + cpu + ", memory: 64Mi}, code: {script: '" + script + "'}}]"
	}
	holder := b.launch(doc("holder", "1500m", "sleep 60"), nil)
	b.until(holder, "running", func(e query.Execution) bool { return e.Counts.Running == 1 })
	waiting := b.launch(doc("asks", "1", "true"), nil)
	b.until(waiting, "waiting", func(query.Execution) bool { return b.node(waiting, "a").Reason != nil })

	ref := execution.TaskRef{Execution: waiting, Node: 0}
	high := query.High
	_, err := b.engine.Commands.ScheduleNode(b.ctx, ref, execution.NodeOrder{CPUMillis: 4000})
	require.Equal(t, []apperr.Field{{Path: "resources.cpu", Message: "a declares 1000m. A task can request less, but not 4000m."}}, apperr.FieldsOf(err))
	answer, err := b.engine.Commands.ScheduleNode(b.ctx, ref, execution.NodeOrder{Priority: &high})
	require.NoError(t, err)
	require.True(t, answer.Queued)
	status := b.queueStatus(func(s execution.QueueStatus) bool { return s.High == 1 })
	require.Equal(t, execution.QueueStatus{High: 1, Processing: 1}, status)

	_, err = b.engine.Commands.ScheduleNode(b.ctx, ref, execution.NodeOrder{CPUMillis: 500})
	require.NoError(t, err)
	require.Equal(t, query.Succeeded, b.finish(waiting).Status, "half a core is free")
	require.Contains(t, b.kinds(waiting), "node.ordered")
	answer, err = b.engine.Commands.ScheduleNode(b.ctx, execution.TaskRef{Execution: holder, Node: 0}, execution.NodeOrder{})
	require.NoError(t, err)
	require.Equal(t, execution.Scheduled{Reason: "The node is already running."}, answer)
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, holder, ""))
	b.finish(holder)
}

// queueStatus returns the counts of the tenant once done returns true.
func (b *testBundle) queueStatus(done func(execution.QueueStatus) bool) execution.QueueStatus {
	b.t.Helper()
	var status execution.QueueStatus
	require.Eventually(b.t, func() bool {
		var err error
		status, err = b.engine.Commands.QueueStatus(b.ctx, uuid.Nil)
		return err == nil && done(status)
	}, 30*time.Second, 10*time.Millisecond)
	return status
}

func TestParseTaskID(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	ref, err := execution.ParseTaskID(query.TaskID(id, 3, 2))
	require.NoError(t, err)
	require.Equal(t, execution.TaskRef{Execution: id, Node: 3, Attempt: 2}, ref)
	ref, err = execution.ParseTaskID(id.String() + ".3")
	require.NoError(t, err)
	require.Zero(t, ref.Attempt)
	for _, bad := range []string{"", "x", id.String(), id.String() + ".-1", id.String() + ".1.0", "x.1.1", id.String() + ".1.1.1"} {
		_, err := execution.ParseTaskID(bad)
		require.True(t, apperr.Is(err, apperr.Invalid), bad)
	}
}
