// Package jobs runs the River workers: each job calls one method of a service.
// The arguments of a job live with the service that enqueues it.
package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/flowforge/flowforge/data/dataset"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/retention"
)

const (
	fetchCooldown = 2 * time.Millisecond // between two fetches of a queue
	fetchPoll     = 5 * time.Second      // finds what no notification announced, such as a delivery that is retried
	keepCompleted = 10 * time.Minute     // retention of completed jobs
	keepCancelled = 24 * time.Hour
	keepDiscarded = 180 * 24 * time.Hour // discarded jobs are dead letters until a user retries them
	maxRetryDelay = 10 * time.Second
	softStop      = 5 * time.Second // grace period before running jobs are cancelled; at most two thirds of the time that a stop may take

	profilesEvery = 5 * time.Minute // for statistics without a job of their own

	driveWorkers       = 1000 // drive loops of one process; a waiting loop costs one goroutine
	launchWorkers      = 20
	notifyWorkers      = 20
	maintenanceWorkers = 2
)

// Client works the queues of one process.
type Client struct {
	river  *river.Client[pgx.Tx]
	driver *execution.Driver
	drives bool
	term   *term
}

// Sweeps configures the periodic removal of expired data; the zero value disables it.
type Sweeps struct {
	Service *retention.Service
	Every   time.Duration
}

// Config is what a client works with.
type Config struct {
	Pool       *pgxpool.Pool
	Sessions   *pgxpool.Pool // receive the notifications of new jobs; nil: those of Pool
	Executions *execution.Service
	Datasets   *dataset.Service // nil: statistics are not computed
	Sweeps     Sweeps           // the same for every client of a database: one of them, the leader, schedules periodic jobs
	Log        *slog.Logger
	Queues     []string // none: all
}

// NewClient returns a client of the queues. It processes no job before Start.
func NewClient(c Config) (*Client, error) {
	queues := c.Queues
	if len(queues) == 0 {
		queues = slices.Concat(DriveQueues(), WorkQueues())
	}
	worked := map[string]river.QueueConfig{}
	for _, name := range queues {
		worked[name] = river.QueueConfig{MaxWorkers: workersOf(name)}
	}
	workers := river.NewWorkers()
	term := newTerm()
	river.AddWorker(workers, &driveWorker{driver: c.Executions.Driver, term: term})
	river.AddWorker(workers, &finishedWorker{maintenance: c.Executions.Maintenance})
	river.AddWorker(workers, &partitionWorker{maintenance: c.Executions.Maintenance})
	river.AddWorker(workers, &sweepWorker{sweeps: c.Sweeps})
	river.AddWorker(workers, &removeWorker{sweeps: c.Sweeps})
	if c.Datasets != nil {
		river.AddWorker(workers, &profileWorker{datasets: c.Datasets})
		river.AddWorker(workers, &waitingWorker{datasets: c.Datasets})
	}
	client, err := river.NewClient(driverOf(c), &river.Config{
		Logger:        c.Log,
		Workers:       workers,
		FetchCooldown: fetchCooldown, FetchPollInterval: fetchPoll,
		CompletedJobRetentionPeriod: keepCompleted, CancelledJobRetentionPeriod: keepCancelled, DiscardedJobRetentionPeriod: keepDiscarded,
		RetryPolicy:  quickRetry{},
		Queues:       worked,
		PeriodicJobs: periodic(c.Sweeps, c.Datasets != nil),
	})
	if err != nil {
		return nil, fmt.Errorf("create the job client: %w", err)
	}
	return &Client{river: client, driver: c.Executions.Driver, drives: slices.Contains(queues, execution.QueueAdvance), term: term}, nil
}

// periodic returns the jobs that run on a schedule.
func periodic(sweeps Sweeps, datasets bool) []*river.PeriodicJob {
	every := func(d time.Duration, args func() (river.JobArgs, *river.InsertOpts)) *river.PeriodicJob {
		return river.NewPeriodicJob(river.PeriodicInterval(d), args, &river.PeriodicJobOpts{RunOnStart: true})
	}
	list := []*river.PeriodicJob{
		every(24*time.Hour, func() (river.JobArgs, *river.InsertOpts) { return execution.PartitionArgs{}, nil }),
	}
	if datasets {
		list = append(list, every(profilesEvery, func() (river.JobArgs, *river.InsertOpts) { return dataset.WaitingArgs{}, nil }))
	}
	if sweeps.Service == nil {
		return list
	}
	return append(list, every(sweeps.Every, func() (river.JobArgs, *river.InsertOpts) {
		return retention.SweepArgs{}, &river.InsertOpts{Queue: execution.QueueMaintenance, MaxAttempts: 2}
	}))
}

// DriveQueues are the queues of the scheduler: only one process drives executions at a time.
func DriveQueues() []string { return []string{execution.QueueAdvance} }

// WorkQueues are the queues that any number of processes may work concurrently.
func WorkQueues() []string {
	return []string{execution.QueueLaunch, execution.QueueNotify, execution.QueueMaintenance}
}

// workersOf is the number of jobs of a queue that one process runs concurrently.
func workersOf(queue string) int {
	switch queue {
	case execution.QueueAdvance:
		return driveWorkers
	case execution.QueueMaintenance:
		return maintenanceWorkers
	case execution.QueueLaunch:
		return launchWorkers
	default:
		return notifyWorkers
	}
}

// Start starts processing jobs. Cancelling ctx does not stop it; call Stop.
func (c *Client) Start(ctx context.Context) error { return c.river.Start(ctx) }

// Stop makes the drive loops flush their changes and release their leases. It
// returns when all jobs or ctx have ended.
func (c *Client) Stop(ctx context.Context) error {
	if c.drives {
		c.driver.Drain()
	}
	soft, cancel := withSoftStop(ctx)
	defer cancel()
	if err := c.river.Stop(soft); err == nil {
		return nil
	}
	return c.river.StopAndCancel(ctx)
}

// withSoftStop returns ctx with the grace period of a stop, which leaves time for cancelled jobs to end.
func withSoftStop(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := softStop
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)*2/3)
	}
	return context.WithTimeout(ctx, limit)
}

// quickRetry retries soon, because most failures here are a database that is unreachable.
type quickRetry struct{}

// NextRetry implements river.ClientRetryPolicy.
func (quickRetry) NextRetry(job *rivertype.JobRow) time.Time {
	return time.Now().Add(min(time.Duration(len(job.Errors)+1)*time.Second, maxRetryDelay))
}

type driveWorker struct {
	river.WorkerDefaults[execution.DriveArgs]
	driver *execution.Driver
	term   *term
}

// Timeout disables the timeout, because a drive loop ends by itself.
func (w *driveWorker) Timeout(*river.Job[execution.DriveArgs]) time.Duration { return -1 }

// Work drives one execution. A drive that ends with its term is not a failed attempt.
func (w *driveWorker) Work(ctx context.Context, job *river.Job[execution.DriveArgs]) error {
	ctx, release, ended := w.term.bound(ctx)
	defer release()
	err := w.driver.Drive(ctx, job.Args.ExecutionID)
	if err != nil && ended() {
		return river.JobSnooze(0)
	}
	return err
}

type finishedWorker struct {
	river.WorkerDefaults[execution.FinishedArgs]
	maintenance *execution.MaintenanceService
}

// Work notifies subscribers that an execution has ended. The engine's changes and the
// completion of the job commit in one transaction, so they apply exactly once.
func (w *finishedWorker) Work(ctx context.Context, job *river.Job[execution.FinishedArgs]) error {
	return w.maintenance.Finished(ctx, job.Args.ExecutionID, func(ctx context.Context, tx pgx.Tx) error {
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}

type partitionWorker struct {
	river.WorkerDefaults[execution.PartitionArgs]
	maintenance *execution.MaintenanceService
}

// Work creates the partitions of the coming months and drops records settled long ago.
func (w *partitionWorker) Work(ctx context.Context, _ *river.Job[execution.PartitionArgs]) error {
	if err := w.maintenance.EnsurePartitions(ctx); err != nil {
		return err
	}
	return w.maintenance.Prune(ctx)
}

type sweepWorker struct {
	river.WorkerDefaults[retention.SweepArgs]
	sweeps Sweeps
}

// Timeout disables the timeout: the duration of a sweep depends on the amount of data. Only one sweep runs at a time.
func (w *sweepWorker) Timeout(*river.Job[retention.SweepArgs]) time.Duration { return -1 }

// Work removes expired data.
func (w *sweepWorker) Work(ctx context.Context, _ *river.Job[retention.SweepArgs]) error {
	if w.sweeps.Service == nil {
		return nil
	}
	return w.sweeps.Service.SweepWhenDue(ctx, w.sweeps.Every)
}

type removeWorker struct {
	river.WorkerDefaults[retention.RemoveArgs]
	sweeps Sweeps
}

// Timeout disables the timeout: the duration depends on the amount of data.
func (w *removeWorker) Timeout(*river.Job[retention.RemoveArgs]) time.Duration { return -1 }

// Work removes the executions that users deleted.
func (w *removeWorker) Work(ctx context.Context, _ *river.Job[retention.RemoveArgs]) error {
	if w.sweeps.Service == nil {
		return nil
	}
	return w.sweeps.Service.RemoveDeleted(ctx)
}
