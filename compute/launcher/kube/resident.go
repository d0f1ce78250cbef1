package kube

import (
	"context"
	"time"

	"github.com/flowforge/flowforge/compute/launcher"
)

// ResidentQueue holds the attempts that warm pods run.
type ResidentQueue interface {
	// Enqueue adds attempts; known ones are unchanged.
	Enqueue(ctx context.Context, attempts []launcher.Attempt) error
	// Withdraw removes the attempts that no pod has taken, and returns them.
	Withdraw(ctx context.Context, taskIDs []string) ([]string, error)
	// List returns all.
	List(ctx context.Context) ([]launcher.ResidentWork, error)
}

// Warm passes small attempts whose operators allow it to warm pods, and other attempts to
// its Client. A ResidentScaler creates the pods.
type Warm struct {
	client  *Client
	queue   ResidentQueue
	observe func(context.Context, []launcher.Observation) error
}

// NewWarm returns a launcher that uses client. observe receives the withdrawn attempts.
func NewWarm(client *Client, queue ResidentQueue, observe func(context.Context, []launcher.Observation) error) *Warm {
	return &Warm{client: client, queue: queue, observe: observe}
}

// Start queues attempts for warm pods and starts pods for the others. It is idempotent.
func (w *Warm) Start(ctx context.Context, attempts []launcher.Attempt) error {
	var own, warm []launcher.Attempt
	for _, a := range attempts {
		// Only a dedicated pod gets the default command of its image.
		if a.GetResident() && a.GetPods() <= 1 && !a.GetProcess().GetImageCommand() {
			warm = append(warm, a)
		} else {
			own = append(own, a)
		}
	}
	if len(warm) > 0 {
		if err := w.queue.Enqueue(ctx, warm); err != nil {
			return &launcher.StartError{Err: err}
		}
	}
	if len(own) == 0 {
		return nil
	}
	return w.client.Start(ctx, own)
}

// Stop withdraws waiting attempts. The server tells warm pods to end their attempts.
func (w *Warm) Stop(ctx context.Context, attempts []launcher.Ref, grace time.Duration) error {
	work, err := w.queue.List(ctx)
	if err != nil {
		return err
	}
	queued := make(map[string]bool, len(work))
	for _, one := range work {
		queued[one.TaskID] = true
	}
	var own []launcher.Ref
	var warm []string
	for _, a := range attempts {
		if queued[a.TaskID] {
			warm = append(warm, a.TaskID)
		} else {
			own = append(own, a)
		}
	}
	if len(warm) > 0 {
		if err := w.withdraw(ctx, warm); err != nil {
			return err
		}
	}
	if len(own) == 0 {
		return nil
	}
	return w.client.Stop(ctx, own, grace)
}

func (w *Warm) withdraw(ctx context.Context, taskIDs []string) error {
	withdrawn, err := w.queue.Withdraw(ctx, taskIDs)
	if err != nil || len(withdrawn) == 0 {
		return err
	}
	seen := make([]launcher.Observation, len(withdrawn))
	for i, id := range withdrawn {
		seen[i] = launcher.Observation{TaskID: id, End: &launcher.End{
			Class: launcher.ClassDeleted, Message: "The attempt was withdrawn before a warm pod took it.",
			FinishedAt: w.client.config.Now(),
		}}
	}
	return w.observe(ctx, seen)
}

// List returns the attempts that have a pod, and those that wait for a warm pod or run in
// one.
func (w *Warm) List(ctx context.Context) ([]launcher.Status, error) {
	statuses, err := w.client.List(ctx)
	if err != nil {
		return nil, err
	}
	work, err := w.queue.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range work {
		statuses = append(statuses, launcher.Status{TaskID: one.TaskID})
	}
	return statuses, nil
}
