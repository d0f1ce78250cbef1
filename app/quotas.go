package app

import (
	"context"
	"fmt"
	"time"

	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// openQuotas loads the limits and the usage of the tenancy tree, and follows changes
// until Close.
func (a *App) openQuotas(ctx context.Context, p *parts) error {
	capacity, err := a.capacity(ctx)
	if err != nil {
		return err
	}
	p.quotas, err = quota.New(quota.Config{Pool: p.pool, Capacity: capacity, Cluster: a.cfg.Kube != nil, Requests: a.requests(), Instance: p.instance, Watch: p.watch, Logger: a.cfg.Log, Now: time.Now})
	if err != nil {
		return err
	}
	if err := p.quotas.Prepare(ctx); err != nil {
		return err
	}
	if !a.cfg.Roles.Have(Scheduler) {
		p.quotas.StepDown()
	}
	p.artifacts.CountWith(p.quotas.Storage.Add)
	a.background("the quotas", p.quotas.Run)
	return nil
}

// requests returns the default requests of each pod of a task.
func (a *App) requests() fair.Vector {
	return fair.Vector{fair.CPU: int64(a.cfg.DefaultCPUMillis), fair.Memory: int64(a.cfg.DefaultMemoryMiB)}
}

// capacity returns the capacity of this machine for tasks.
func (a *App) capacity(ctx context.Context) (quota.Capacity, error) {
	c := quota.Machine()
	for _, set := range []struct{ from, to *int }{
		{&a.cfg.CPUMillis, &c.CPUMillis}, {&a.cfg.MemoryMiB, &c.MemoryMiB}, {&a.cfg.Slots, &c.Pods},
	} {
		if *set.from > 0 {
			*set.to = *set.from
		}
	}
	if a.cfg.GPUs == "" {
		c.GPUs = quota.DetectGPUs(ctx)
		return c, nil
	}
	var err error
	if c.GPUs, err = quota.ParseGPUs(a.cfg.GPUs); err != nil {
		return c, fmt.Errorf("FLOWFORGE_GPUS: %w", err)
	}
	return c, nil
}
