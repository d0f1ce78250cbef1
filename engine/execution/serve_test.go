package execution_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// withDaemon has a database that two tasks use one after the other.
const withDaemon = `
  entrypoint: main
  templates:
  - name: main
    dag:
      failFast: false
      tasks:
      - {name: db, template: db}
      - {name: use, template: use, dependencies: [db], arguments: {parameters: [{name: at, value: "{{tasks.db.ip}}:5432"}]}}
MORE
  - {name: db, daemon: true, container: {image: postgres, command: [postgres], readinessProbe: {tcpSocket: {port: 5432}}}}
  - {name: use, inputs: {parameters: [{name: at}]}, container: {image: psql, command: [psql, "{{inputs.parameters.at}}"]}}
`

// daemonPods launches withDaemon, and more tasks, in a cluster whose events the test
// controls.
func daemonPods(t *testing.T, tasks ...string) (*podBundle, uuid.UUID, launcher.Attempt) {
	t.Helper()
	b := setupPods(t)
	b.workflows.ReadWith(argo.Format{})
	spec := strings.Replace(withDaemon, "MORE\n", strings.Join(tasks, ""), 1)
	id := b.launch(fmt.Sprintf(argoHead, "served")+"spec:"+spec, nil)
	db := b.cluster.pod(t, query.TaskID(id, 0, 1))
	require.True(t, db.GetServes())
	require.Contains(t, db.GetPodJson(), `"readinessProbe":{"tcpSocket":{"port":5432}}`)
	return b, id, db
}

func (b *podBundle) serves(a launcher.Attempt, address string) {
	b.t.Helper()
	b.observe(launcher.Observation{TaskID: a.GetTaskId(), Serving: &launcher.Serving{Address: address}})
}

// TestDaemonInACluster: dependents begin when its pod is ready, regardless of the order of
// the reports; when they have ended it is stopped, which is a success.
func TestDaemonInACluster(t *testing.T) {
	t.Parallel()
	for _, readyFirst := range []bool{false, true} {
		b, id, db := daemonPods(t)
		if readyFirst {
			b.serves(db, "10.1.2.3")
			b.begins(db)
		} else {
			b.begins(db)
			b.nodeIs(id, "db", "the begin", func(n query.NodeDetail) bool { return n.State == dag.Running })
			require.Equal(t, dag.Pending, b.node(id, "use").State, "its pod is not ready")
			b.serves(db, "10.1.2.3")
		}
		b.serves(db, "10.9.9.9") // the first address stays
		n := b.nodeIs(id, "db", "that it serves", func(n query.NodeDetail) bool { return n.Reason != nil && n.Reason.Code == execution.ReasonServing })
		require.Equal(t, "Serving at 10.1.2.3 until its dependents have ended.", n.Reason.Message)
		use := b.cluster.pod(t, query.TaskID(id, 1, 1))
		require.Equal(t, []string{"psql", "10.1.2.3:5432"}, use.GetProcess().GetCommand())
		b.begins(use)
		b.ends(use, flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
		b.stops(db.GetTaskId())
		b.ends(db, flowforgev1.Outcome_OUTCOME_CANCELLED, "")
		require.Equal(t, query.Succeeded, b.finish(id).Status)
		n = b.node(id, "db")
		require.Equal(t, dag.Succeeded, n.State)
		require.Equal(t, "10.1.2.3", n.Outputs[execution.AddressPort])
		require.Equal(t, "SUCCEEDED", n.Attempts[0].Outcome)
	}
}

// TestDaemonReportsToAnotherServer: a report to a process without the execution reaches the loop
// that drives it, also after a restart.
func TestDaemonReportsToAnotherServer(t *testing.T) {
	t.Parallel()
	b, id, db := daemonPods(t)
	b.begins(db)
	b.nodeIs(id, "db", "the begin", func(n query.NodeDetail) bool { return n.State == dag.Running })
	require.Eventually(t, func() bool { return !b.leased(id) }, 20*time.Second, 10*time.Millisecond)
	b.serves(db, "10.1.2.3")
	use := b.cluster.pod(t, query.TaskID(id, 1, 1))
	b.begins(use)
	b.ends(use, flowforgev1.Outcome_OUTCOME_FAILED, "")
	b.stops(db.GetTaskId())
	b.observe(launcher.Observation{TaskID: db.GetTaskId(), End: &launcher.End{Class: launcher.ClassDeleted, Message: "The pod was deleted.", FinishedAt: time.Now()}})
	require.Equal(t, query.Failed, b.finish(id).Status)
	require.Equal(t, dag.Succeeded, b.node(id, "db").State, "a daemon without dependents left succeeds, whatever happens to its pod")
}

// TestDaemonThatFailsBeforeItServes: it is retried like any other task.
func TestDaemonThatFailsBeforeItServes(t *testing.T) {
	t.Parallel()
	b, id, db := daemonPods(t)
	b.begins(db)
	b.ends(db, flowforgev1.Outcome_OUTCOME_FAILED, "")
	require.Equal(t, query.Failed, b.finish(id).Status)
	require.Equal(t, dag.Failed, b.node(id, "db").State)
	require.Equal(t, dag.Skipped, b.node(id, "use").State)
	require.NotContains(t, strings.Join(b.kinds(id), " "), "node.serving")
}

// TestCancelEndsDaemons: cancelled daemons count as cancelled.
func TestCancelEndsDaemons(t *testing.T) {
	t.Parallel()
	b, id, db := daemonPods(t)
	b.begins(db)
	b.serves(db, "10.1.2.3")
	use := b.cluster.pod(t, query.TaskID(id, 1, 1))
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, "enough"))
	for _, a := range []launcher.Attempt{db, use} {
		b.stops(a.GetTaskId())
		b.ends(a, flowforgev1.Outcome_OUTCOME_CANCELLED, "")
	}
	require.Equal(t, query.Cancelled, b.finish(id).Status)
	require.Equal(t, dag.Cancelled, b.node(id, "db").State)
}

// TestDaemonRestarts: it restarts for a dependent that a user retries.
func TestDaemonRestarts(t *testing.T) {
	t.Parallel()
	b, id, db := daemonPods(t, `      - {name: aside, template: use, arguments: {parameters: [{name: at, value: nowhere}]}}`+"\n")
	aside := b.cluster.pod(t, query.TaskID(id, 2, 1))
	b.begins(aside) // keeps the template from ending
	b.begins(db)
	b.serves(db, "10.1.2.3")
	use := b.cluster.pod(t, query.TaskID(id, 1, 1))
	b.ends(db, flowforgev1.Outcome_OUTCOME_FAILED, "")
	b.untilNode(id, "db", dag.Succeeded)
	b.begins(use)
	b.ends(use, flowforgev1.Outcome_OUTCOME_FAILED, "")
	b.untilNode(id, "use", dag.Failed)

	require.NoError(t, b.command(id, "use", execution.NodeCommand{Command: execution.CommandRetry}))
	db = b.cluster.pod(t, query.TaskID(id, 0, 2))
	b.untilNode(id, "use", dag.Pending)
	b.begins(db)
	b.serves(db, "10.1.2.4")
	use = b.cluster.pod(t, query.TaskID(id, 1, 2))
	require.Equal(t, []string{"psql", "10.1.2.4:5432"}, use.GetProcess().GetCommand())
	for _, a := range []launcher.Attempt{use, aside} {
		b.begins(a)
		b.ends(a, flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	}
	b.stops(db.GetTaskId())
	b.ends(db, flowforgev1.Outcome_OUTCOME_CANCELLED, "")
	require.Equal(t, query.Succeeded, b.finish(id).Status)
}
