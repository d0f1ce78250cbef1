package app

import (
	"context"
	"fmt"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/quota"
)

// minFreeMiB is the free disk space below which the server is not ready: PostgreSQL stops
// when it cannot extend its log, and restarts only when there is space again.
const minFreeMiB = 256

// diskReady fails when the disk of a folder has less free space than required.
func diskReady(dir string, requiredMiB int) error {
	free, err := quota.FreeDiskMiB(dir)
	if err != nil {
		return err
	}
	if free < requiredMiB {
		return apperr.New(apperr.Unavailable, "The disk that holds %s has %d MiB left, and the server needs %d MiB. Remove files, or run `flowforge gc`.", dir, free, requiredMiB)
	}
	return nil
}

// warnSharedAccount warns when users of several tenants sign in to a server that runs
// their tasks as processes of one account: tasks can then read each other's files.
func warnSharedAccount(ctx context.Context, cfg Config, p *parts) {
	if len(cfg.Providers) == 0 || cfg.Kube != nil || cfg.Attempts != nil {
		return
	}
	tree, err := tenancy.NewService(p.pool, p.policies, nil).Tree(auth.WithSubject(ctx, auth.Local()), auth.Installation, false)
	if err != nil {
		cfg.Log.Warn("cannot count the tenants", "error", err)
		return
	}
	if tenants := countTenants(tree); tenants > 1 {
		fmt.Fprintf(cfg.Out, "  Warning: %d tenants share this machine, and every task runs as the server's account.\n"+
			"  A task can read the files of other tenants. Set FLOWFORGE_LAUNCHER=kube, or run a server for each tenant.\n", tenants)
		cfg.Log.Warn("tasks of several tenants run as one account", "tenants", tenants)
	}
}

func countTenants(tree []tenancy.Branch) int {
	n := 0
	for _, b := range tree {
		if b.Kind == tenancy.Tenant {
			n++
		}
	}
	return n
}
