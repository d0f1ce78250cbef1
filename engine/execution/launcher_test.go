package execution_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/launcher"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// processLauncher runs attempts as child processes and delivers their reports, repeatedly
// until they are accepted.
type processLauncher struct {
	deliver func(context.Context, []*flowforgev1.AttemptReport) ([]*flowforgev1.ReportResult, error)

	upload func(name string, content []byte) *flowforgev1.Output // nil: the test reports files
	placed func(launcher.Attempt) []*flowforgev1.PlacedInput     // nil: inputs are not reported

	mu        sync.Mutex
	running   map[string]*exec.Cmd
	known     map[string]bool
	stopped   map[string]bool
	preempted map[string]bool
	starts    map[string]int
	ended     chan struct{} // closed at the end of the test
	tasks     sync.WaitGroup
}

func newProcessLauncher() *processLauncher {
	return &processLauncher{running: map[string]*exec.Cmd{}, known: map[string]bool{}, stopped: map[string]bool{}, preempted: map[string]bool{}, starts: map[string]int{}, ended: make(chan struct{})}
}

func (p *processLauncher) Start(_ context.Context, attempts []launcher.Attempt) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range attempts {
		p.starts[a.TaskId]++
		if p.known[a.TaskId] {
			continue
		}
		p.known[a.TaskId] = true
		p.tasks.Go(func() { p.run(a) })
	}
	return nil
}

func (p *processLauncher) Stop(_ context.Context, refs []launcher.Ref, grace time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ref := range refs {
		p.stopped[ref.TaskID] = true
		p.preempted[ref.TaskID] = ref.Preempt
		if cmd := p.running[ref.TaskID]; cmd != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
			time.AfterFunc(grace, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		}
	}
	return nil
}

func (p *processLauncher) List(context.Context) ([]launcher.Status, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []launcher.Status
	for id := range p.known {
		list = append(list, launcher.Status{TaskID: id, Finished: p.running[id] == nil})
	}
	return list, nil
}

// killAll ends the remaining processes of a test.
func (p *processLauncher) killAll() {
	close(p.ended)
	p.mu.Lock()
	for _, cmd := range p.running {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	p.mu.Unlock()
	p.tasks.Wait()
}

// forget makes an attempt disappear, like a machine that crashes.
func (p *processLauncher) forget(task string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, task)
	if cmd := p.running[task]; cmd != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	delete(p.running, task)
}

func commandOf(a launcher.Attempt) *exec.Cmd {
	work := a.GetProcess()
	argv := work.GetCommand()
	if work.GetScript() != "" && work.GetInterpreter() == "" {
		argv = append(slices.Clone(argv), "-c", work.GetScript()) // the test programs accept it this way
	} else if work.GetScript() != "" {
		interpreter := map[string]string{"shell": "sh", "python": "python3"}[work.GetInterpreter()]
		argv = append([]string{interpreter, "-c", work.GetScript(), "task"}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(cmd.Environ(), "TASK="+a.GetTaskId(), "NODE="+a.GetNode(), "INPUTS="+a.GetInputsJson(), "TOKEN="+a.GetToken(), fmt.Sprintf("RETRY=%d", a.GetRetries()))
	for k, v := range a.GetEnv() {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func (p *processLauncher) run(a launcher.Attempt) {
	if a.GetPoll() > 0 {
		p.poll(a)
		return
	}
	started, begun := time.Now(), make(chan struct{})
	var out bytes.Buffer
	cmd := commandOf(a)
	cmd.Stdout = &out
	err := cmd.Start()
	if err == nil {
		p.mu.Lock()
		p.running[a.TaskId] = cmd
		if p.stopped[a.TaskId] { // before it was registered
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
		p.mu.Unlock()
		p.tasks.Go(func() {
			defer close(begun)
			p.report(&flowforgev1.AttemptReport{TaskId: a.TaskId, Token: a.Token, Report: &flowforgev1.AttemptReport_Started{
				Started: &flowforgev1.Started{
					Timestamp: started.UnixMilli(), Pid: int32(cmd.Process.Pid), Host: "test",
					Awaited: a.GetServes() || slices.ContainsFunc(a.GetOutputs(), func(o *flowforgev1.OutputSpec) bool { return o.GetStorage() == "streaming" }),
				},
			}})
		})
		err = waitFor(cmd, a.GetTimeoutMs())
	} else {
		close(begun)
	}
	finished := &flowforgev1.Finished{StartedAt: started.UnixMilli(), FinishedAt: time.Now().UnixMilli(), Outcome: flowforgev1.Outcome_OUTCOME_SUCCEEDED}
	if p.placed != nil {
		finished.Inputs = p.placed(a)
	}
	p.mu.Lock()
	stopped, preempted := p.stopped[a.TaskId], p.preempted[a.TaskId]
	known := p.known[a.TaskId]
	delete(p.running, a.TaskId)
	p.mu.Unlock()
	if !known {
		return
	}
	exit := &exec.ExitError{}
	switch {
	case errors.Is(err, errTimeout):
		finished.Outcome = flowforgev1.Outcome_OUTCOME_TIMED_OUT
	case err != nil && preempted:
		finished.Outcome = flowforgev1.Outcome_OUTCOME_PREEMPTED
	case err != nil && stopped:
		finished.Outcome = flowforgev1.Outcome_OUTCOME_CANCELLED
	case errors.As(err, &exit):
		finished.Outcome, finished.ExitCode = flowforgev1.Outcome_OUTCOME_FAILED, int32(exit.ExitCode())
	case err != nil:
		finished.Outcome, finished.Message, finished.ExitCode = flowforgev1.Outcome_OUTCOME_START_FAILED, err.Error(), 127
	}
	served := a.GetServes() && finished.Outcome == flowforgev1.Outcome_OUTCOME_CANCELLED
	if finished.Outcome == flowforgev1.Outcome_OUTCOME_SUCCEEDED || a.GetCollectAfterFailure() && (finished.Outcome == flowforgev1.Outcome_OUTCOME_FAILED || served) {
		for _, o := range a.GetOutputs() {
			switch value := bytes.TrimSpace(out.Bytes()); {
			case o.GetStdout() || o.GetPath() != "":
				finished.Outputs = append(finished.Outputs, textOutput(o, out.String())...)
			case !o.GetInline() && p.upload != nil:
				finished.Outputs = append(finished.Outputs, p.upload(o.GetName(), value))
			case len(value) > 0:
				finished.Outputs = append(finished.Outputs, &flowforgev1.Output{Name: o.GetName(), Content: &flowforgev1.Output_Value{Value: string(value)}})
			}
		}
	}
	<-begun // runners report in this order
	p.report(&flowforgev1.AttemptReport{TaskId: a.TaskId, Token: a.Token, Report: &flowforgev1.AttemptReport_Finished{Finished: finished}})
	p.mu.Lock()
	delete(p.known, a.TaskId)
	p.mu.Unlock()
}

// textOutput is an output with the content of a file, or the standard output when the file
// does not exist.
func textOutput(o *flowforgev1.OutputSpec, stdout string) []*flowforgev1.Output {
	text := stdout
	if o.GetPath() != "" {
		data, err := os.ReadFile(o.GetPath())
		if err != nil {
			return nil
		}
		text = string(data)
	}
	quoted, err := json.Marshal(strings.TrimSuffix(text, "\n"))
	if err != nil {
		return nil
	}
	return []*flowforgev1.Output{{Name: o.GetName(), Content: &flowforgev1.Output_Value{Value: string(quoted)}}}
}

var errTimeout = errors.New("timed out")

func waitFor(cmd *exec.Cmd, timeoutMs int64) error {
	if timeoutMs == 0 {
		return cmd.Wait()
	}
	var late atomic.Bool
	timer := time.AfterFunc(time.Duration(timeoutMs)*time.Millisecond, func() {
		late.Store(true)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	})
	err := cmd.Wait()
	if !timer.Stop() && late.Load() {
		return errTimeout
	}
	return err
}

// report delivers r until it is accepted.
func (p *processLauncher) report(r *flowforgev1.AttemptReport) {
	ctx := auth.AsSystem(context.Background())
	for {
		if _, err := p.deliver(ctx, []*flowforgev1.AttemptReport{r}); err == nil {
			return
		}
		select {
		case <-p.ended:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}
