package app

import (
	"context"
	"time"

	"github.com/flowforge/flowforge/quota"
)

// openQuotas loads the limits of the tenancy tree and what is used of them, and
// follows both until Close.
func (a *App) openQuotas(ctx context.Context, p *parts) error {
	capacity := quota.Machine()
	for _, set := range []struct{ from, to *int }{
		{&a.cfg.CPUMillis, &capacity.CPUMillis}, {&a.cfg.MemoryMiB, &capacity.MemoryMiB}, {&a.cfg.Slots, &capacity.Pods},
	} {
		if *set.from > 0 {
			*set.to = *set.from
		}
	}
	var err error
	if p.quotas, err = quota.New(quota.Config{Pool: p.pool, Capacity: capacity, Logger: a.cfg.Log, Now: time.Now}); err != nil {
		return err
	}
	if err := p.quotas.Prepare(ctx); err != nil {
		return err
	}
	a.background("the quotas", p.quotas.Run)
	return nil
}
