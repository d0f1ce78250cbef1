package runner

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// End is the outcome of an attempt in a pod.
type End struct {
	*flowforgev1.Finished
	Reported bool // the server has accepted it; false: the pod ended first
	Pending  bool // unknown to this pod: another rank of its gang reports it
}

// Task runs one attempt in this process, as in a pod, and returns its outcome when the
// server has accepted it. When ctx is cancelled (the pod is being deleted), it asks the
// server why: the attempt ends as cancelled, as preempted, or, when there is no reason or
// no answer, as interrupted; all within the pod's grace period.
func Task(ctx context.Context, config Config, spec *flowforgev1.AttemptSpec) (End, error) {
	config.OwnProcess = true
	s, err := New(config)
	if err != nil {
		return End{}, err
	}
	return s.runOne(ctx, spec)
}

// runOne runs one attempt and closes the supervisor.
func (s *Supervisor) runOne(ctx context.Context, spec *flowforgev1.AttemptSpec) (End, error) {
	defer s.Close()
	a, err := s.start(spec)
	if err != nil {
		return End{}, err
	}
	reported := true
	select {
	case <-a.delivered:
	case <-ctx.Done():
		if s.config.Pod == nil {
			s.Shutdown(a.grace())
		} else {
			s.terminate(context.WithoutCancel(ctx), a)
		}
		select {
		case <-a.delivered:
		default:
			reported = false
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.delivery.result == nil {
		return End{}, fmt.Errorf("the attempt %s has no result", spec.TaskId)
	}
	return End{Finished: a.delivery.result.Report.GetFinished(), Reported: reported && !a.lostToken.Load(), Pending: !a.gang.reports()}, nil
}

// terminate ends the attempt because its pod is being deleted, and delivers what it can
// within the pod's grace period. An attempt whose command has ended continues to deliver.
func (s *Supervisor) terminate(ctx context.Context, a *attempt) {
	total := s.config.Pod.Grace
	if total <= 0 {
		total = a.grace() + podReserve
	}
	deadline := time.Now().Add(max(total-podLast-killLimit, total/2))
	if !a.over.Load() {
		cancel, preempt := s.requestStopReason(ctx, a)
		switch {
		case cancel:
			a.stop(errCancelled, s.config.Pod.commandGrace(a.grace()))
		case preempt:
			a.preempt()
		default:
			a.mark()
			a.stop(errInterrupted, s.config.Pod.commandGrace(a.preemptGrace()))
		}
	}
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.await(time.Until(deadline), func() bool { _, undelivered := s.counts(); return undelivered == 0 })
}

// requestStopReason sends a heartbeat of the attempt; the server's answer reports whether to
// cancel or preempt it.
func (s *Supervisor) requestStopReason(ctx context.Context, a *attempt) (cancel, preempt bool) {
	ctx, end := context.WithTimeout(ctx, stopReasonWait)
	defer end()
	results, err := s.reporter.call(ctx, []*flowforgev1.AttemptReport{{
		TaskId: a.spec.TaskId, Token: a.spec.Token,
		Report: &flowforgev1.AttemptReport_Heartbeat{Heartbeat: &flowforgev1.Heartbeat{Timestamp: time.Now().UnixMilli()}},
	}})
	if err != nil {
		return false, false
	}
	return results[0].Cancel, results[0].Preempt
}

// OutcomeName returns an outcome as external programs read it, such as "timed_out".
func OutcomeName(o flowforgev1.Outcome) string {
	return strings.ToLower(strings.TrimPrefix(o.String(), "OUTCOME_"))
}

// Rank returns the rank of this pod in its gang from its environment, which FlowForge or
// a JobSet sets.
func Rank(getenv func(string) string) (int, error) {
	for _, name := range []string{"FLOWFORGE_RANK", "JOB_COMPLETION_INDEX"} {
		value := getenv(name)
		if value == "" {
			continue
		}
		var rank int
		if _, err := fmt.Sscanf(value, "%d", &rank); err != nil || rank < 0 {
			return 0, fmt.Errorf("%s: %q is not a rank", name, value)
		}
		return rank, nil
	}
	return 0, nil
}

// mark creates the file at FLOWFORGE_PREEMPTED, by which a program can detect that it
// will run again.
func (a *attempt) mark() {
	a.mu.Lock()
	marker := a.paths.preempted
	a.mu.Unlock()
	if marker != "" && context.Cause(a.ctx) == nil {
		if err := os.WriteFile(marker, nil, 0o600); err != nil {
			a.system(levelWarn, "The preemption could not be signaled to the task: "+err.Error()+".")
		}
	}
}

// preemptGrace returns how long the command may take to save a checkpoint.
func (a *attempt) preemptGrace() time.Duration {
	if a.spec.PreemptGraceMs > 0 {
		return time.Duration(a.spec.PreemptGraceMs) * time.Millisecond
	}
	return a.grace()
}
