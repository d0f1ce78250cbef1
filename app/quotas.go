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
	capacity, err := a.cfg.capacity(ctx)
	if err != nil {
		return err
	}
	p.quotas, err = quota.New(quota.Config{Pool: p.pool, Capacity: capacity, Cluster: a.cfg.Kube != nil, Requests: a.cfg.requests(), Instance: p.instance, Watch: p.watch, Logger: a.cfg.Log, Now: time.Now})
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
	a.life.background("the quotas", p.quotas.Run)
	return nil
}

// requests returns the default requests of each pod of a task.
func (c Config) requests() fair.Vector {
	return fair.Vector{fair.CPU: int64(c.DefaultCPUMillis), fair.Memory: int64(c.DefaultMemoryMiB)}
}

// capacity returns the capacity of this machine for tasks.
func (c Config) capacity(ctx context.Context) (quota.Capacity, error) {
	own := quota.Machine()
	for _, set := range []struct{ from, to *int }{
		{&c.CPUMillis, &own.CPUMillis}, {&c.MemoryMiB, &own.MemoryMiB}, {&c.Slots, &own.Pods},
	} {
		if *set.from > 0 {
			*set.to = *set.from
		}
	}
	if c.GPUs == "" {
		own.GPUs = quota.DetectGPUs(ctx)
		return own, nil
	}
	var err error
	if own.GPUs, err = quota.ParseGPUs(c.GPUs); err != nil {
		return own, fmt.Errorf("FLOWFORGE_GPUS: %w", err)
	}
	return own, nil
}
