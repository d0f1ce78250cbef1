package handlers_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/resident"
	"github.com/flowforge/flowforge/compute/runner"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// A test binary that finds this variable is the runner of a pod.
const podVariable = "HANDLERS_TEST_POD"

func TestMain(m *testing.M) {
	if os.Getenv(podVariable) == "" {
		os.Exit(m.Run())
	}
	if err := runPod(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// podFile is the input of a pod of these tests.
type podFile struct {
	Spec     json.RawMessage
	Resident *runner.Pool
	URL, Dir string
	Rank     int
}

func runPod() error {
	data, err := os.ReadFile(os.Getenv(podVariable))
	if err != nil {
		return err
	}
	var file podFile
	if err := json.Unmarshal(data, &file); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	config := runner.Config{
		Dir: file.Dir, Server: runner.Endpoint{URL: file.URL}, Environ: os.Environ(),
		Heartbeat: 100 * time.Millisecond, SaveEvery: 100 * time.Millisecond,
		Pod:    &runner.Pod{Grace: 20 * time.Second, Rank: file.Rank, Address: fmt.Sprintf("10.0.0.%d", file.Rank+1)},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if file.Resident != nil {
		return runner.Resident(ctx, config, *file.Resident, func() {})
	}
	var spec flowforgev1.AttemptSpec
	if err := protojson.Unmarshal(file.Spec, &spec); err != nil {
		return err
	}
	end, err := runner.Task(ctx, config, &spec)
	if err == nil {
		fmt.Println(runner.OutcomeName(end.GetOutcome()), end.GetClass(), end.GetMessage())
	}
	return err
}

// pod is a running process that is the runner of a pod.
type pod struct {
	*exec.Cmd
	out *bytes.Buffer
}

func (b *taskBundle) pod(t *testing.T, file podFile) *pod {
	t.Helper()
	file.URL, file.Dir = b.server.URL, t.TempDir()
	data, err := json.Marshal(file)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "pod.json")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	p := &pod{Cmd: exec.Command(os.Args[0]), out: &bytes.Buffer{}}
	p.Env = append(os.Environ(), podVariable+"="+path)
	p.Stdout, p.Stderr = p.out, p.out
	require.NoError(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

func (p *pod) wait(t *testing.T) string {
	t.Helper()
	require.NoError(t, p.Wait(), p.out.String())
	return p.out.String()
}

// spec is the bundle's attempt with a script to run.
func (b *taskBundle) spec(script string) *flowforgev1.AttemptSpec {
	return &flowforgev1.AttemptSpec{
		TaskId: b.taskID, Token: b.token, ExecutionId: b.scope.ExecutionID.String(), Node: "train", Attempt: int32(b.scope.Attempt),
		TenantId: b.scope.TenantID.String(), ProjectId: b.scope.ProjectID.String(), InputsJson: "{}", GraceMs: 1000,
		ApiEndpoint: b.server.URL, CheckpointKey: b.scope.ExecutionID.String() + ".0",
		Work: &flowforgev1.AttemptSpec_Process{Process: &flowforgev1.Process{Command: []string{"/bin/sh", "-c", script}}},
	}
}

func specJSON(t *testing.T, spec *flowforgev1.AttemptSpec) json.RawMessage {
	t.Helper()
	data, err := protojson.Marshal(spec)
	require.NoError(t, err)
	return data
}

// begin makes the node and the attempt those of a running task.
func (b *taskBundle) begin(t *testing.T, attempt int) {
	t.Helper()
	b.scope.Attempt = attempt
	b.taskID = query.TaskID(b.scope.ExecutionID, 0, attempt)
	b.token = b.signer.Sign(b.scope, time.Now().Add(time.Hour))
	_, err := b.pool.Exec(t.Context(), "UPDATE attempts SET finished_at = now(), outcome = 'LOST' WHERE execution_id = $1 AND attempt <> $2", b.scope.ExecutionID, attempt)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), "INSERT INTO attempts (execution_id, node_index, attempt, launcher, queued_at) VALUES ($1, 0, $2, 'test', now()) ON CONFLICT DO NOTHING", b.scope.ExecutionID, attempt)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `INSERT INTO reservations (execution_id, node_index, attempt, project_id, launcher, cpu_millis, memory_mib, priority, created_at, expires_at)
		VALUES ($1, 0, $2, $3, 'test', 1, 1, 50, now(), now() + interval '1 hour')`,
		b.scope.ExecutionID, attempt, b.scope.ProjectID)
	require.NoError(t, err)
}

func (b *taskBundle) eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("%s did not come", what)
		}
	}
}

func TestCheckpointsSurviveThePod(t *testing.T) {
	t.Parallel()
	b := setupTask(t)
	b.begin(t, 1)
	first := b.pod(t, podFile{Spec: specJSON(t, b.spec(
		`cd "$FLOWFORGE_CHECKPOINTS"; mkdir deep; echo one > deep/model; trap 'echo last > final; exit 1' TERM; while :; do sleep 0.05; done`))})
	folder := func() string {
		var sha []byte
		if err := b.pool.QueryRow(t.Context(), "SELECT sha256 FROM checkpoint_folders WHERE execution_id = $1", b.scope.ExecutionID).Scan(&sha); err != nil {
			return ""
		}
		return hex.EncodeToString(sha)
	}
	b.eventually(t, "a checkpoint while it runs", func() bool { return folder() != "" })
	early := folder()
	require.NoError(t, first.Process.Signal(syscall.SIGTERM))
	require.Contains(t, first.wait(t), "interrupted")
	require.NotEqual(t, early, folder(), "what was written on SIGTERM was saved")

	b.begin(t, 2)
	spec := b.spec(`cat "$FLOWFORGE_CHECKPOINTS/deep/model" "$FLOWFORGE_CHECKPOINTS/final"; echo more >> "$FLOWFORGE_CHECKPOINTS/deep/model"`)
	spec.CheckpointSha256 = folder()
	require.Contains(t, b.pod(t, podFile{Spec: specJSON(t, spec)}).wait(t), "succeeded")
	require.Contains(t, strings.Join(b.lines(t), "\n"), "INFO one")
	require.Contains(t, strings.Join(b.lines(t), "\n"), "INFO last")
}

func (b *taskBundle) gang(t *testing.T, script string, n int) []string {
	t.Helper()
	b.begin(t, 1)
	spec := b.spec(script)
	spec.Pods = int32(n)
	pods := make([]*pod, n)
	for rank := range pods {
		pods[rank] = b.pod(t, podFile{Spec: specJSON(t, spec), Rank: rank})
	}
	ends := make([]string, n)
	for rank, p := range pods {
		ends[rank] = p.wait(t)
		if rank == 0 {
			// The server does this when the attempt has ended.
			_, err := b.pool.Exec(t.Context(), "UPDATE attempts SET finished_at = now(), outcome = 'FAILED' WHERE execution_id = $1", b.scope.ExecutionID)
			require.NoError(t, err)
		}
	}
	return ends
}

func TestGangMeetsAndEndsTogether(t *testing.T) {
	t.Parallel()
	b := setupTask(t)
	ends := b.gang(t, `echo "$RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT"; test "$RANK" = 0 && echo 1 > "$FLOWFORGE_OUTPUTS/x"; exit 0`, 3)
	for _, end := range ends {
		require.Contains(t, end, "succeeded")
	}
	ctx := auth.WithSubject(t.Context(), auth.Local())
	page, err := b.telemetry.Logs(ctx, telemetry.LogQuery{ExecutionID: b.scope.ExecutionID, Limit: 1000})
	require.NoError(t, err)
	lines := map[string]string{}
	for _, l := range page.Lines {
		if l.Stream == "stdout" {
			lines[l.Message] = string(l.Fields)
		}
	}
	require.Equal(t, map[string]string{
		"0 of 3 at 10.0.0.1:29500": `{"rank":0}`, "1 of 3 at 10.0.0.1:29500": `{"rank":1}`, "2 of 3 at 10.0.0.1:29500": `{"rank":2}`,
	}, lines)
}

func TestFailingRankEndsTheGang(t *testing.T) {
	t.Parallel()
	b := setupTask(t)
	ends := b.gang(t, `test "$RANK" = 1 && { echo 'no such file: train.csv' >&2; exit 7; }; sleep 60`, 3)
	require.Contains(t, ends[0], "failed error Rank 1: The command exited with code 7: no such file: train.csv")
}

func TestWarmPodRunsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	b := setupTask(t)
	b.begin(t, 1)
	first := b.spec(`echo secret > left; sleep 300 & touch "$HOME/left" 2>/dev/null; echo first "$FLOWFORGE_ATTEMPT"`)
	first.Env = map[string]string{"ONLY_THE_FIRST": "1"}
	require.NoError(t, b.resident.Enqueue(t.Context(), []*flowforgev1.AttemptSpec{first, first}))
	pools, err := b.resident.Pools(t.Context())
	require.NoError(t, err)
	require.Len(t, pools, 1, "starting twice is starting once")
	require.Equal(t, 1, pools[0].Queued)
	require.Empty(t, pools[0].Attempt.Token, "no token is kept")

	worker := b.pod(t, podFile{Resident: &runner.Pool{
		Pool: pools[0].ID, Worker: "warm-1", Token: pools[0].Token, APIEndpoint: b.server.URL,
		ProjectID: b.scope.ProjectID.String(), IdleSeconds: 2,
	}})
	b.eventually(t, "the end of the first", func() bool {
		work, err := b.resident.List(t.Context())
		require.NoError(t, err)
		return len(work) == 0
	})
	b.begin(t, 2)
	second := b.spec(`ls -A; env | grep -c ONLY_THE_FIRST; ls "$HOME" | grep left; echo second "$FLOWFORGE_ATTEMPT"`)
	require.NoError(t, b.resident.Enqueue(t.Context(), []*flowforgev1.AttemptSpec{second}))
	worker.wait(t) // idle, it ends by itself
	require.Equal(t, []string{"train stdout/1 INFO first 1", "train stdout/1 INFO 0", "train stdout/2 INFO second 2"}, b.lines(t))
}

func TestWarmPodReceivesItsWork(t *testing.T) {
	t.Parallel()
	b := setupTask(t)
	b.begin(t, 1)
	spec := b.spec("true")
	require.NoError(t, b.resident.Enqueue(t.Context(), []*flowforgev1.AttemptSpec{spec}))
	pools, err := b.resident.Pools(t.Context())
	require.NoError(t, err)
	other := b.spec("true")
	other.Image = "other"
	require.NotEqual(t, pools[0].ID, resident.PoolOf(other))

	_, err = b.resident.Take(t.Context(), b.token, "warm-1", "", 0)
	require.Equal(t, apperr.Unauthenticated, apperr.CodeOf(err), "an attempt's token takes no work")
	for range 2 { // an answer that was lost
		taken, err := b.resident.Take(t.Context(), pools[0].Token, "warm-1", "", 0)
		require.NoError(t, err)
		require.Equal(t, b.taskID, taken.Spec.GetTaskId())
		scope, err := b.signer.Verify(taken.Spec.GetToken(), time.Now())
		require.NoError(t, err)
		require.Equal(t, b.scope, scope)
	}
	none, err := b.resident.Take(t.Context(), pools[0].Token, "warm-2", "", 0)
	require.NoError(t, err)
	require.Nil(t, none.Spec, "one pod has it")
	withdrawn, err := b.resident.Withdraw(t.Context(), []string{b.taskID})
	require.NoError(t, err)
	require.Empty(t, withdrawn, "it runs")
}
