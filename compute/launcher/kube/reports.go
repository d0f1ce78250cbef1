package kube

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/outcome"
)

const (
	reportBatch  = 500
	reportTries  = 200 * time.Millisecond
	reportRepeat = 5 * time.Second

	maxBatchFailures = 5 // failures of a batch before its parts are sent individually
)

// reports are the pending observations, merged by attempt.
type reports struct {
	mu      sync.Mutex
	pending map[string]*launcher.Observation
	order   []string
	printed map[types.UID]string // fingerprint of the last report of each pod
	gangs   gangs
	wake    chan struct{}
	pause   time.Duration // after a failure; it doubles
}

func newReports() *reports {
	return &reports{pending: map[string]*launcher.Observation{}, printed: map[types.UID]string{}, gangs: gangs{}, wake: make(chan struct{}, 1), pause: reportTries}
}

// put records the verdict on a pod unless it is unchanged.
func (r *reports) put(p *corev1.Pod, v outcome.Verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rank := rankOf(p)
	if rank != "" {
		v.Waiting = r.gangs.waiting(p, rank, v.Waiting)
	}
	if rank != "" && rank != "0" {
		v.Location = nil // the location of an attempt is that of its first pod
	}
	if rank != "" && v.End != nil {
		v.End.Message = "Pod " + rank + " of the gang: " + v.End.Message
	}
	print := fingerprint(v)
	if r.printed[p.UID] == print {
		return
	}
	r.printed[p.UID] = print
	o := r.of(taskOf(p))
	if v.Location != nil {
		o.Location = v.Location
	}
	o.Waiting = v.Waiting
	if v.Serving != nil {
		o.Serving = v.Serving
	}
	if o.End == nil {
		o.End = v.End
	}
}

// events records events of an attempt's pod.
func (r *reports) events(task string, events []launcher.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.of(task)
	o.Events = append(o.Events, events...)
}

// of returns the pending observation of an attempt; it requires the lock.
func (r *reports) of(task string) *launcher.Observation {
	o := r.pending[task]
	if o == nil {
		o = &launcher.Observation{TaskID: task}
		r.pending[task] = o
		r.order = append(r.order, task)
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
	return o
}

func (r *reports) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.printed, uid)
	r.gangs.remove(uid)
}

// fingerprint is equal for equal verdicts. It omits the time of an end, which may be the
// time of the evaluation.
func fingerprint(v outcome.Verdict) string {
	var place launcher.Location
	var waiting launcher.Waiting
	class, message, address := launcher.Class(""), "", ""
	if v.Serving != nil {
		address = v.Serving.Address
	}
	if v.Location != nil {
		place = *v.Location
	}
	if v.Waiting != nil {
		waiting = *v.Waiting
	}
	if v.End != nil {
		class, message = v.End.Class, v.End.Message
	}
	return fmt.Sprintf("%q", []string{place.Namespace, place.Pod, place.Machine, waiting.Code, waiting.Message, string(class), message, address})
}

// flush sends pending observations to observe until ctx is cancelled: immediately when
// idle, in batches under load, and again after an error.
func (r *reports) flush(ctx context.Context, observe observer, logger *slog.Logger) {
	pause, failures := r.pause, 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		for batch := r.take(); len(batch) > 0; batch = r.take() {
			err := observe(ctx, batch)
			if err == nil {
				pause, failures = r.pause, 0
				continue
			}
			if ctx.Err() != nil {
				return
			}
			logger.Warn("Observations of pods cannot be stored yet.", "observations", len(batch), "error", err)
			if failures++; failures >= maxBatchFailures {
				batch = oneByOne(ctx, observe, batch, logger)
			}
			r.requeue(batch)
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			pause = min(2*pause, reportRepeat)
		}
	}
}

type observer func(context.Context, []launcher.Observation) error

// oneByOne sends observations individually, so that one that cannot be stored does not
// block the others, and returns the remaining ones: all, when none was stored.
func oneByOne(ctx context.Context, observe observer, batch []launcher.Observation, logger *slog.Logger) []launcher.Observation {
	left := make([]launcher.Observation, 0, len(batch))
	var last error
	for _, o := range batch {
		if err := observe(ctx, []launcher.Observation{o}); err != nil {
			left, last = append(left, o), err
		}
	}
	if len(left) == len(batch) || ctx.Err() != nil {
		return left
	}
	for _, o := range left {
		logger.Error("An observation of a pod cannot be stored.", "task", o.TaskID, "error", last)
	}
	return nil
}

func (r *reports) take() []launcher.Observation {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.order), reportBatch)
	batch := make([]launcher.Observation, 0, n)
	for _, task := range r.order[:n] {
		batch = append(batch, *r.pending[task])
		delete(r.pending, task)
	}
	r.order = append([]string(nil), r.order[n:]...)
	return batch
}

// requeue keeps a batch for the next try, merged below newer observations.
func (r *reports) requeue(batch []launcher.Observation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, old := range batch {
		_, newer := r.pending[old.TaskID]
		o := r.of(old.TaskID)
		if o.Location == nil {
			o.Location = old.Location
		}
		if o.Serving == nil {
			o.Serving = old.Serving
		}
		if !newer {
			o.Waiting = old.Waiting
		}
		if old.End != nil {
			o.End = old.End
		}
		o.Events = append(old.Events, o.Events...)
	}
}
