package handlers_test

import (
	"context"
	"sync"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/launcher"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// heldTasks is a launcher whose tasks run until they are stopped.
type heldTasks struct {
	deliver   func(context.Context, []*flowforgev1.AttemptReport) ([]*flowforgev1.ReportResult, error)
	frozenRow bool // they do not begin, like pods that no machine takes
	// run and end do their work elsewhere, when they are set.
	run func(launcher.Attempt)
	end func(launcher.Ref)

	mu      sync.Mutex
	running map[string]launcher.Attempt
}

func (h *heldTasks) Start(ctx context.Context, attempts []launcher.Attempt) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running == nil {
		h.running = map[string]launcher.Attempt{}
	}
	for _, a := range attempts {
		h.running[a.TaskId] = a
		if h.frozenRow {
			continue
		}
		if h.run != nil {
			go h.run(a)
			continue
		}
		go h.report(ctx, &flowforgev1.AttemptReport{TaskId: a.TaskId, Token: a.Token, Report: &flowforgev1.AttemptReport_Started{
			Started: &flowforgev1.Started{Timestamp: time.Now().UnixMilli(), Pid: 1, Host: "test"},
		}})
	}
	return nil
}

func (h *heldTasks) Stop(ctx context.Context, refs []launcher.Ref, _ time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ref := range refs {
		a, ok := h.running[ref.TaskID]
		if !ok {
			continue
		}
		if h.end != nil {
			h.end(ref)
			continue
		}
		delete(h.running, ref.TaskID)
		now := time.Now().UnixMilli()
		go h.report(ctx, &flowforgev1.AttemptReport{TaskId: a.TaskId, Token: a.Token, Report: &flowforgev1.AttemptReport_Finished{
			Finished: &flowforgev1.Finished{StartedAt: now, FinishedAt: now, Outcome: flowforgev1.Outcome_OUTCOME_CANCELLED},
		}})
	}
	return nil
}

func (h *heldTasks) List(context.Context) ([]launcher.Status, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]launcher.Status, 0, len(h.running))
	for id := range h.running {
		list = append(list, launcher.Status{TaskID: id})
	}
	return list, nil
}

// report delivers r; the engine asks again when it is lost.
func (h *heldTasks) report(ctx context.Context, r *flowforgev1.AttemptReport) {
	_, _ = h.deliver(auth.AsSystem(context.WithoutCancel(ctx)), []*flowforgev1.AttemptReport{r})
}
