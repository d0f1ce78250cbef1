package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/flowforge/flowforge/jobs"
)

// startJobs starts workers for the queues that any number of servers may process.
func (a *App) startJobs(ctx context.Context, p *parts) error {
	client, err := newClient(ctx, a, p, jobs.WorkQueues())
	if err != nil {
		return err
	}
	a.life.onStop(func() { a.life.within(3*time.Second, "the jobs did not shut down cleanly", client.Stop) })
	p.jobs = client
	return nil
}

// newClient returns a client that processes queues.
func newClient(ctx context.Context, a *App, p *parts, queues []string) (*jobs.Client, error) {
	client, err := jobs.NewClient(jobs.Config{
		Pool: p.pool, Sessions: p.direct.Pool, Executions: p.executions, Datasets: p.datasets, Sweeps: a.cfg.Retention.sweeps(p.retention), Log: slog.New(quiet{a.cfg.Log.Handler()}), Queues: queues,
	})
	if err != nil {
		return nil, err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, fmt.Errorf("start the jobs: %w", err)
	}
	return client, nil
}

// driveExecutions starts processing the queues of the scheduler, in the client of the other queues if
// there is one. It returns how to stop.
func driveExecutions(ctx context.Context, a *App, p *parts) (stop func(context.Context) error, err error) {
	if p.jobs != nil {
		return p.jobs.StopDriving, p.jobs.Drive(ctx)
	}
	client, err := newClient(ctx, a, p, jobs.DriveQueues())
	if err != nil {
		return nil, err
	}
	return client.Stop, nil
}
