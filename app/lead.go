package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/flowforge/flowforge/platform/election"
)

const (
	drainLimit  = 3 * time.Second // for drive loops to save their state
	settleLimit = 2 * time.Second // for the first check of the lease
)

// startScheduler campaigns for the lease of the scheduler until Close, which releases it
// after the drive loops have ended. It returns when this process leads or knows another
// leader, so that the first requests can be served.
func (a *App) startScheduler(ctx context.Context, p *parts) error {
	settled := make(chan struct{}, 1)
	settle := func() {
		select {
		case settled <- struct{}{}:
		default:
		}
	}
	elector, err := a.elector(p, election.Scheduler, settle)
	if err != nil {
		return err
	}
	a.life.background("the lease of the scheduler", func(ctx context.Context) error {
		return elector.Run(ctx, func(ctx context.Context, term election.Term) error { return a.leadScheduler(ctx, p, term, settle) })
	})
	limit := time.NewTimer(settleLimit)
	defer limit.Stop()
	select {
	case <-settled:
	case <-limit.C:
	case <-ctx.Done():
	}
	return nil
}

// leadScheduler drives executions until ctx is cancelled.
func (a *App) leadScheduler(ctx context.Context, p *parts, term election.Term, ready func()) error {
	// Fence the former loops before counting what they hold.
	if err := p.executions.Driver.TakeOver(ctx, term.Number); err != nil {
		return err
	}
	if err := p.quotas.TakeOver(ctx); err != nil {
		return err
	}
	defer p.quotas.StepDown()
	stopDriving, err := driveExecutions(ctx, a, p)
	if err != nil {
		return err
	}
	p.leads.Store(true)
	defer p.leads.Store(false)
	ready()
	// The lease outlives ctx until the loops have ended: they renew their leases with it.
	leading, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	stopped := context.AfterFunc(ctx, func() {
		p.leads.Store(false)
		a.life.within(drainLimit, "the drive loops did not shut down cleanly", stopDriving)
		end()
	})
	launches, endLaunches := context.WithCancel(ctx)
	var launching sync.WaitGroup
	launching.Go(func() { p.sweeps.Run(launches) })
	launching.Go(func() { p.schedules.Run(launches) })
	launching.Go(func() { p.notifications.Run(launches) })
	launching.Go(func() { p.backfills.Run(launches) })
	launching.Go(func() { p.feed.Run(launches) })
	launching.Go(func() { p.triggers.Run(launches) })
	launching.Go(func() { p.inbox.Run(launches) })
	for _, s := range p.sinks {
		launching.Go(func() { s.Run(launches) })
	}
	launching.Go(func() { p.pools.Run(launches, p.executions.Supervisor.Observe) })
	err = p.executions.Lead(leading)
	endLaunches()
	launching.Wait()
	if stopped() { // the term ended by itself
		a.life.within(drainLimit, "the drive loops did not shut down cleanly", stopDriving)
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// elector returns the elector of this process for a lease. It calls other when another
// process holds the lease.
func (a *App) elector(p *parts, name string, other func()) (election.Elector, error) {
	c := election.Config{
		Pool: p.direct.Pool, Name: name, Holder: p.holder, Address: a.internalURL(), Logger: a.cfg.Log, OnOther: other,
	}
	if a.cfg.Leases == LeasesKubernetes {
		return a.cfg.kubernetesElector(c)
	}
	return election.NewPostgres(c), nil
}
