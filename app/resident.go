package app

import (
	"context"
	"time"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/compute/resident"
)

// openResident lets warm pods run small attempts, if the platform's operator allows them.
func openResident(p *parts, c *cluster) {
	if c.config.ResidentMax <= 0 {
		return
	}
	p.resident = resident.New(p.pool, p.signer, time.Now)
	c.warm = kube.NewWarm(c.client, p.resident, func(ctx context.Context, seen []launcher.Observation) error {
		return p.executions.Supervisor.Observe(ctx, seen)
	})
}

// scaleResident scales the warm pods until ctx is cancelled, next to the watch of the
// cluster.
func scaleResident(ctx context.Context, p *parts, c *cluster, lost func(machine string) string) error {
	if c.warm == nil {
		return nil
	}
	return kube.NewResidentScaler(kube.ResidentConfig{
		Client: c.client, Floor: p.resident, Observe: p.executions.Supervisor.Observe, Max: c.config.ResidentMax, Idle: c.config.ResidentIdle, Lost: lost,
	}).Run(ctx)
}
