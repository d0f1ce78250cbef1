package execution_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/workflow"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
	"github.com/flowforge/flowforge/typeregistry"
)

// killBundle is a database, a runner in this process that outlives every server,
// and servers in child processes that get killed.
type killBundle struct {
	t    testing.TB
	ctx  context.Context
	url  string
	dir  string
	pool *pgxpool.Pool

	server *exec.Cmd // the latest
}

// runnerServer serves a processLauncher to the children.
type runnerServer struct {
	flowforgev1connect.UnimplementedRunnerServiceHandler
	launcher *processLauncher
}

func (s runnerServer) Start(ctx context.Context, r *connect.Request[flowforgev1.StartRequest]) (*connect.Response[flowforgev1.StartResponse], error) {
	return connect.NewResponse(&flowforgev1.StartResponse{}), s.launcher.Start(ctx, r.Msg.GetAttempts())
}

func (s runnerServer) Stop(ctx context.Context, r *connect.Request[flowforgev1.StopRequest]) (*connect.Response[flowforgev1.StopResponse], error) {
	var refs []launcher.Ref
	for _, id := range r.Msg.GetTaskIds() {
		refs = append(refs, launcher.Ref{TaskID: id})
	}
	return connect.NewResponse(&flowforgev1.StopResponse{}), s.launcher.Stop(ctx, refs, time.Duration(r.Msg.GetGraceMs())*time.Millisecond)
}

func (s runnerServer) List(ctx context.Context, _ *connect.Request[flowforgev1.ListRequest]) (*connect.Response[flowforgev1.ListResponse], error) {
	list, err := s.launcher.List(ctx)
	response := &flowforgev1.ListResponse{}
	for _, status := range list {
		response.Attempts = append(response.Attempts, &flowforgev1.AttemptStatus{TaskId: status.TaskID, Finished: status.Finished})
	}
	return connect.NewResponse(response), err
}

func setupKill(t *testing.T) *killBundle {
	t.Helper()
	dir, err := os.MkdirTemp("", "ffkill") // short: unix sockets have short names
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ctx, cancel := context.WithCancel(auth.WithSubject(context.Background(), auth.Local()))
	t.Cleanup(cancel)
	b := &killBundle{t: t, ctx: ctx, url: dbtest.NewURL(t), dir: dir}
	b.pool, err = pgxpool.New(ctx, b.url)
	require.NoError(t, err)
	t.Cleanup(b.pool.Close)

	client := socketClient(dir + "/api.sock")
	t.Cleanup(client.CloseIdleConnections)
	tasks := flowforgev1connect.NewTaskServiceClient(client, "http://server")
	runner := newProcessLauncher()
	runner.deliver = func(ctx context.Context, reports []*flowforgev1.AttemptReport) ([]*flowforgev1.ReportResult, error) {
		response, err := tasks.Deliver(ctx, connect.NewRequest(&flowforgev1.DeliverRequest{Reports: reports}))
		if err != nil {
			return nil, err
		}
		return response.Msg.GetResults(), nil
	}
	t.Cleanup(runner.killAll)
	mux := http.NewServeMux()
	mux.Handle(flowforgev1connect.NewRunnerServiceHandler(runnerServer{launcher: runner}))
	require.NoError(t, serveSocket(ctx, mux, dir+"/runner.sock"))
	return b
}

// child starts a server.
func (b *killBundle) child(env ...string) *exec.Cmd {
	b.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envChild+"=1", envDatabase+"="+b.url, envDir+"="+b.dir)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(b.t, cmd.Start())
	b.server = cmd
	return cmd
}

func (b *killBundle) register(doc string) {
	b.t.Helper()
	b.registerAs(doc)
}

// registerAs registers a document of any format.
func (b *killBundle) registerAs(doc string, formats ...workflow.Format) {
	b.t.Helper()
	workflows := workflow.NewService(b.pool, builtinTypes{typeregistry.Builtin()}, nil, time.Now)
	for _, f := range formats {
		workflows.ReadWith(f)
	}
	_, _, err := workflows.Register(b.ctx, []byte(doc))
	require.NoError(b.t, err)
}

// waitAll waits until want executions exist and all have ended.
func (b *killBundle) waitAll(want int, patience time.Duration) {
	b.t.Helper()
	var total, ended int
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		err := b.pool.QueryRow(b.ctx, "SELECT count(*), count(*) FILTER (WHERE finished_at IS NOT NULL) FROM executions").Scan(&total, &ended)
		require.NoError(b.t, err)
		if total == want && ended == want {
			return
		}
	}
	b.dump()
	b.t.Fatalf("stuck: %d of %d executions have ended, %d were launched", ended, want, total)
}

// dump logs unfinished executions, and makes the server print its goroutines.
func (b *killBundle) dump() {
	_ = b.server.Process.Signal(syscall.SIGQUIT)
	_, _ = b.server.Process.Wait()
	rows, err := b.pool.Query(b.ctx, `SELECT e.id, e.status, e.owner, e.owner_epoch, e.lease_until, e.drive_requested_at, e.wake_at, n.name, n.state, n.attempt
		FROM executions e JOIN nodes n ON n.execution_id = e.id WHERE e.finished_at IS NULL ORDER BY 1, n.node_index LIMIT 40`)
	if err != nil {
		return
	}
	defer rows.Close()
	for rows.Next() {
		values, _ := rows.Values()
		b.t.Log(values...)
	}
}

// checkAll checks that nothing is lost, duplicated or left over. runs contains one line
// "<task> <node>" for each process that ran.
func (b *killBundle) checkAll(status string, attempts map[string]int) {
	b.t.Helper()
	count := func(query string) (n int) {
		b.t.Helper()
		require.NoError(b.t, b.pool.QueryRow(b.ctx, query).Scan(&n))
		return n
	}
	require.Zero(b.t, count("SELECT count(*) FROM executions WHERE status <> '"+status+"'"), "other states than %s", status)
	require.Zero(b.t, count("SELECT count(*) FROM reservations"), "reservations")
	require.Zero(b.t, count("SELECT count(*) FROM reports"), "reports")
	require.Zero(b.t, count(`SELECT count(*) FROM (SELECT execution_id, node_index FROM events
		WHERE kind IN ('node.succeeded', 'node.failed', 'node.cancelled', 'node.skipped') GROUP BY 1, 2 HAVING count(*) > 1) x`), "doubled ends")
	require.Zero(b.t, count(`SELECT count(*) FROM executions e WHERE (SELECT count(*) FROM events v
		WHERE v.execution_id = e.id AND v.kind IN ('node.succeeded', 'node.failed', 'node.cancelled', 'node.skipped')) <> e.total`), "missing ends")
	require.Zero(b.t, count(`SELECT count(*) FROM attempts WHERE finished_at IS NULL`), "open attempts")
	require.Zero(b.t, count(`SELECT count(*) FROM quota_usage WHERE used <> '{}'`), "counters of levels")
	if attempts == nil {
		return
	}
	runs := map[string]int{}
	for _, line := range readLines(b.t, b.dir+"/runs") {
		runs[line]++
	}
	executions := count("SELECT count(*) FROM executions")
	perNode := map[string]int{}
	for line, n := range runs {
		require.Equal(b.t, 1, n, "the attempt ran more than once: %s", line)
		perNode[strings.Fields(line)[1]]++
	}
	for node, n := range attempts {
		require.Equal(b.t, n*executions, perNode[node], "attempts of %s", node)
	}
}

// killDoc is a small workflow with all features: fan-out, values, a retry, noops.
func killDoc(dir string) string {
	run := `echo "$TASK $NODE" >> ` + dir + `/runs`
	return fmt.Sprintf(`
name: kill
version: 1.0.0
outputs: [{name: total, type: Integer, from: join.total}]
operators:
  - {name: begin, type: noop}
  - {name: left, type: shell, depends_on: [begin], code: {script: '%[1]s; echo 1'}, outputs: [{name: v, type: Integer}]}
  - {name: right, type: shell, depends_on: [begin], code: {script: '%[1]s; sleep 0.15; echo 2'}, outputs: [{name: v, type: Integer}]}
  - {name: flaky, type: shell, depends_on: [begin], code: {script: '%[1]s; mkdir %[2]s/${TASK%%.*} || exit 0; exit 1'}, retry: {limit: 2, initial_delay: 10ms}}
  - name: join
    type: shell
    depends_on: [flaky]
    inputs: [{name: a, type: Integer, from: left.v}, {name: b, type: Integer, from: right.v}]
    outputs: [{name: total, type: Integer}]
    code: {script: '%[1]s; echo 3'}
  - {name: end, type: noop, depends_on: [join]}
`, run, dir)
}

// killAttempts are the runs of each node. An attempt that never began, for example because the
// server was killed before it could start it, is repeated and spends no retry; so flaky
// fails the first time that it runs, not in its first attempt.
func killAttempts() map[string]int {
	return map[string]int{"left": 1, "right": 1, "flaky": 2, "join": 1}
}

// TestKillPoints crashes the server at every named boundary of a transition.
func TestKillPoints(t *testing.T) {
	t.Parallel()
	points := []string{
		"launch.begin:1", "launch.written:1", "launch.committed:1", "drive.acquired:1",
		"flush.begin:1", "flush.begin:3", "flush.written:1", "flush.written:2", "flush.written:4",
		"flush.committed:1", "flush.committed:2", "flush.committed:4", "flush.effects:1", "flush.effects:3",
		"start.begin:1", "start.begin:2", "start.done:1", "start.done:2",
		"deliver.posted:1", "deliver.posted:2", "deliver.answer:1", "deliver.answer:3",
	}
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setupKill(t)
			b.register(killDoc(b.dir))
			b.crashAt(point)
			b.waitAll(1, time.Minute)
			b.checkAll("SUCCEEDED", killAttempts())
		})
	}
}

// TestKillPointsOfRelease crashes the server where an idle loop releases its lease and a later
// report starts the next one. A loop that something else has started in between takes the report
// itself, so that a try may not reach its point; the execution succeeds all the same.
func TestKillPointsOfRelease(t *testing.T) {
	t.Parallel()
	const tries = 10
	for _, point := range []string{"rest.before_release:1", "rest.released:1", "deliver.stored:1", "drive.acquired:2"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			for range tries {
				b := setupKill(t)
				b.register(fmt.Sprintf(`
name: kill
version: 1.0.0
operators:
  - {name: slow, type: shell, code: {script: 'echo "$TASK $NODE" >> %s/runs; %s'}}
  - {name: after, type: noop, depends_on: [slow]}
`, b.dir, untilIdle(b.dir)))
				reached := b.tryCrashAt(point)
				b.waitAll(1, time.Minute)
				b.checkAll("SUCCEEDED", map[string]int{"slow": 1})
				if reached {
					return
				}
			}
			t.Fatalf("the server never reached %s in %d tries", point, tries)
		})
	}
}

// TestGracefulStop stops servers cleanly while attempts run: every one stops without an
// error, and the next continues.
func TestGracefulStop(t *testing.T) {
	t.Parallel()
	b := setupKill(t)
	b.register(killDoc(b.dir))
	launch := envLaunch + "=kill:10"
	for range 4 {
		cmd := b.child(launch)
		require.Eventually(t, func() bool {
			_, err := os.Stat(fmt.Sprintf("%s/ready-%d", b.dir, cmd.Process.Pid))
			return err == nil
		}, 30*time.Second, 5*time.Millisecond)
		time.Sleep(400 * time.Millisecond) // at any moment
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait())
	}
	last := b.child(launch)
	t.Cleanup(func() {
		_ = last.Process.Kill()
		_ = last.Wait()
	})
	b.waitAll(10, time.Minute)
	b.checkAll("SUCCEEDED", killAttempts())
}

// TestKillPointsOfCancel crashes the server while an execution is being cancelled.
func TestKillPointsOfCancel(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"cancel.committed:1", "stop.begin:1", "stop.done:1", "stop.begin>flush.committed:1"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setupKill(t)
			b.register(`
name: kill
version: 1.0.0
operators:
  - {name: long, type: shell, code: {script: "sleep 60"}}
  - {name: after, type: noop, depends_on: [long]}
`)
			b.crashAt(point, envCancel+"=1")
			b.waitAll(1, time.Minute)
			b.checkAll("CANCELLED", nil)
		})
	}
}

// TestKillLoop kills the server at random moments while executions run.
// FLOWFORGE_CHAOS="kills/executions", or "full" for 200/1000, makes it longer.
func TestKillLoop(t *testing.T) {
	t.Parallel()
	kills, executions := 20, 100
	if text := os.Getenv("FLOWFORGE_CHAOS"); text == "full" {
		kills, executions = 200, 1000
	} else if a, b, ok := strings.Cut(text, "/"); ok {
		kills, _ = strconv.Atoi(a)
		executions, _ = strconv.Atoi(b)
	}
	b := setupKill(t)
	b.register(killDoc(b.dir))
	launch := fmt.Sprintf("%s=kill:%d", envLaunch, executions)
	for range kills {
		cmd := b.child(launch)
		time.Sleep(250*time.Millisecond + time.Duration(rand.IntN(400))*time.Millisecond) // at any moment
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
	last := b.child(launch)
	t.Cleanup(func() {
		_ = last.Process.Kill()
		_ = last.Wait()
	})
	b.waitAll(executions, time.Duration(30+executions/2)*time.Second)
	b.checkAll("SUCCEEDED", killAttempts())
	var ids []uuid.UUID
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT array_agg(id) FROM executions").Scan(&ids))
	require.Len(t, ids, executions)
}
