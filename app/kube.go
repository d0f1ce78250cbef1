package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/platform/election"
)

// cluster gives this server access to the cluster that runs attempts as pods. Any number
// of servers start and stop pods; the holder of the launcher's lease watches them.
type cluster struct {
	client *kube.Client // nil: only servers with other roles have one
	config kube.ControllerConfig
	warm   *kube.Warm // nil: every attempt has its own pod
}

// openCluster creates the client of the cluster; nil when attempts are processes.
func (a *App) openCluster(p *parts) (*cluster, error) {
	if a.cfg.Kube == nil {
		return nil, nil //nolint:nilnil // without a cluster there is nothing to reach
	}
	config := *a.cfg.Kube
	if config.Installation == "" {
		key, err := a.keys.read("task-tokens")
		if err != nil {
			return nil, err
		}
		config.Installation = installationOf(key)
	}
	if config.TaskURL == "" {
		config.TaskURL = a.taskURL()
	}
	config.Logger, config.Now, config.TaskFiles = a.cfg.Log, time.Now, a.certs.podFiles
	config.Config.Projects = func(ctx context.Context) ([]kube.Project, error) {
		return clusterProjects(ctx, p.quotas, config.NamespaceOf)
	}
	if !a.cfg.Roles.Have(Scheduler) && !a.cfg.Roles.Have(Launcher) {
		c := &cluster{config: config} // this server starts and stops nothing, and may not access the cluster
		openResident(p, c)
		return c, nil
	}
	client, err := kube.New(config.Config)
	if err != nil {
		return nil, fmt.Errorf("FLOWFORGE_LAUNCHER=kube: %w", err)
	}
	config.Config, config.API, config.Dynamic = client.Config(), client.API(), client.Dynamic()
	// The namespace of a new project need not wait for the watching server.
	client.PrepareWith(kube.Prepare(config))
	c := &cluster{client: client, config: config}
	openResident(p, c)
	return c, nil
}

// configMaps reads ConfigMaps of a project.
type configMaps = func(ctx context.Context, project uuid.UUID, name string) (map[string]string, error)

// configMaps is nil if there is no cluster, or if this server may not access it.
func (c *cluster) configMaps() configMaps {
	if c == nil || c.client == nil {
		return nil
	}
	return func(ctx context.Context, project uuid.UUID, name string) (map[string]string, error) {
		return c.client.ConfigMap(ctx, project.String(), name)
	}
}

// checkPod reports problems in the pod fields of an operator. Definitions are checked
// wherever they will run.
func checkPod(fields []byte) error {
	_, err := pod.ParseFields(fields)
	return err
}

// installationOf returns the value that distinguishes this installation's pods from those
// of others in the same cluster. It is derived from a key that all its servers share, and
// does not reveal the key.
func installationOf(key []byte) string {
	const characters = 10
	sum := sha256.Sum256(append([]byte("the installation in a cluster\n"), key...))
	return hex.EncodeToString(sum[:])[:characters]
}

// startCluster campaigns for the launcher's lease until Close; its holder watches the
// cluster, maintains the namespaces of projects, and removes objects that are no longer
// needed.
func (a *App) startCluster(p *parts, c *cluster) error {
	if c == nil || !a.cfg.Roles.Have(Launcher) {
		return nil
	}
	elector, err := a.elector(p, election.Launcher, func() {})
	if err != nil {
		return err
	}
	a.life.background("the lease of the launcher", func(ctx context.Context) error {
		return elector.Run(ctx, func(ctx context.Context, _ election.Term) error { return c.watch(ctx, p, a.cfg.Log) })
	})
	return nil
}

// watch watches the cluster until ctx is cancelled. Its reports are idempotent, so a former
// holder that does not know that it lost the lease is harmless.
func (c *cluster) watch(ctx context.Context, p *parts, log *slog.Logger) error {
	config := c.config
	latest := make(chan kube.Capacity, 1)
	config.Observe = p.executions.Supervisor.Observe
	config.Alive, config.Executions = p.executions.Supervisor.Known, p.executions.Supervisor.Ended
	config.Projects = config.Config.Projects
	config.Snapshot = func(ctx context.Context, state []byte) error {
		return p.executions.Supervisor.KeepCluster(ctx, json.RawMessage(state))
	}
	config.Capacity = func(capacity kube.Capacity) {
		select {
		case <-latest: // older than this one
		default:
		}
		latest <- capacity
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		reportCapacity(ctx, p.quotas, latest, log)
	}()
	scaled := make(chan error, 1)
	controller := kube.NewController(config)
	go func() { scaled <- scaleResident(ctx, p, c, controller.MachineLost) }()
	err := controller.Run(ctx)
	cancel()
	<-done
	return errors.Join(err, <-scaled)
}

// capacityRetry is the pause after a failure to store the capacity of the cluster.
const capacityRetry = time.Second

// reportCapacity updates the quotas with the capacity of the cluster.
func reportCapacity(ctx context.Context, quotas *quota.Service, latest chan kube.Capacity, log *slog.Logger) {
	for {
		var c kube.Capacity
		select {
		case <-ctx.Done():
			return
		case c = <-latest:
		}
		capacity, taken := amountsOf(c.Amounts), amountsOf(c.InUse)
		capacity.InUse = &taken
		err := quotas.Levels.SetCapacity(ctx, capacity)
		if err == nil || ctx.Err() != nil {
			continue
		}
		log.Warn("the capacity of the cluster could not be stored", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(capacityRetry):
		}
		select {
		case latest <- c:
		default: // there is a newer one
		}
	}
}

func amountsOf(a kube.Amounts) quota.Capacity {
	return quota.Capacity{CPUMillis: int(a.CPUMillis), MemoryMiB: int(a.MemoryMiB), Pods: int(a.Pods), ClusterGPUs: a.GPUs}
}

// clusterProjects returns the projects with the limits of their namespaces.
func clusterProjects(ctx context.Context, quotas *quota.Service, namespaceOf func(string) string) ([]kube.Project, error) {
	known, err := quotas.Levels.ClusterProjects(ctx)
	if err != nil {
		return nil, err
	}
	projects := make([]kube.Project, len(known))
	for i, k := range known {
		bound := func(r fair.Resource) *int64 {
			if n, ok := k.Bounds[r]; ok {
				return &n
			}
			return nil
		}
		projects[i] = kube.Project{
			ID: k.ID.String(), TenantID: k.TenantID.String(), Slug: k.Name, Namespace: namespaceOf(k.Namespace), Archived: k.Archived,
			Limits: kube.Limits{CPUMillis: bound(fair.CPU), MemoryMiB: bound(fair.Memory), Pods: bound(fair.Pods), GPUs: bound(fair.GPU)},
		}
	}
	return projects, nil
}
