package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/flowforge/flowforge/data/dataset"
)

type profileWorker struct {
	river.WorkerDefaults[dataset.ProfileArgs]
	datasets *dataset.Service
}

// Timeout disables the timeout: the service bounds the time of a file.
func (w *profileWorker) Timeout(*river.Job[dataset.ProfileArgs]) time.Duration { return -1 }

// Work computes the statistics of a version of a dataset.
func (w *profileWorker) Work(ctx context.Context, job *river.Job[dataset.ProfileArgs]) error {
	return w.datasets.Compute(ctx, job.Args.EntryID)
}

type waitingWorker struct {
	river.WorkerDefaults[dataset.WaitingArgs]
	datasets *dataset.Service
}

// Timeout disables the timeout, because the number of files is bounded and the time of each is, too.
func (w *waitingWorker) Timeout(*river.Job[dataset.WaitingArgs]) time.Duration { return -1 }

// Work computes statistics that no other job computes.
func (w *waitingWorker) Work(ctx context.Context, _ *river.Job[dataset.WaitingArgs]) error {
	return w.datasets.ComputeWaiting(ctx)
}
