package kube

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/outcome"
)

// ControllerConfig configures what a controller watches and to whom it reports. API,
// Observe and Alive are required. Without Config.Projects, something else must create the
// namespaces.
type ControllerConfig struct {
	Config
	API API
	// Dynamic reaches JobSets; nil if none are created.
	Dynamic dynamic.Interface
	// Observe receives observations of attempts; after an error they are sent again.
	Observe func(context.Context, []launcher.Observation) error
	// Alive reports which attempts may still run; attempts that it omits may not.
	Alive func(context.Context, []string) (map[string]bool, error)
	// Executions returns the state of executions by id: "SUCCEEDED" or another final
	// state, "" while one is running. It omits executions that no longer exist. Nil:
	// objects that executions share are removed elsewhere.
	Executions func(context.Context, []string) (map[string]string, error)
	// Capacity receives the capacity of the cluster's machines whenever it changes.
	Capacity func(Capacity)
	// Snapshot receives the state of the cluster as JSON (launcher.ClusterState) when it
	// changes and at least twice a minute.
	Snapshot   func(context.Context, []byte) error
	KeepFailed time.Duration // how long the pods of failed attempts are kept
	Network    Network       // what pods may reach
	Timing     Timing
}

// Timing configures how often a controller polls and how long it waits. Zero fields take
// their defaults.
type Timing struct {
	Probe       time.Duration // interval at which it checks the API and the machines' leases; 2 s
	LostAfter   time.Duration // how long a machine may be unreachable before its pods are lost; Config.LostAfter
	Settle      time.Duration // time after an API outage in which no machine counts as lost; 20 s
	Sweep       time.Duration // interval of the search for orphans; 15 s
	OrphanGrace time.Duration // minimum age of an orphan; 30 s
	Result      time.Duration // how long the result of an ended container may take to arrive; 1 min
	Force       time.Duration // time beyond the grace period after which a pod is removed by force; 15 s
	Projects    time.Duration // interval at which projects are read; 3 s
	Drift       time.Duration // interval of the drift check of namespaces; 1 min
	Capacity    time.Duration // interval at which the requests of others are read; 30 s
}

func (t Timing) filled() Timing {
	return Timing{
		Probe:       cmp.Or(t.Probe, 2*time.Second),
		LostAfter:   t.LostAfter,
		Settle:      cmp.Or(t.Settle, 20*time.Second),
		Sweep:       cmp.Or(t.Sweep, 15*time.Second),
		OrphanGrace: cmp.Or(t.OrphanGrace, 30*time.Second),
		Result:      cmp.Or(t.Result, time.Minute),
		Force:       cmp.Or(t.Force, 15*time.Second),
		Projects:    cmp.Or(t.Projects, 3*time.Second),
		Drift:       cmp.Or(t.Drift, time.Minute),
		Capacity:    cmp.Or(t.Capacity, 30*time.Second),
	}
}

// judges is how many pods are evaluated concurrently.
const judges = 8

// Controller watches the pods of an installation, reports their outcomes, removes pods
// that are no longer needed, and maintains the namespaces of projects. One runs at a
// time, under the lease "launcher"; a second one is harmless.
type Controller struct {
	config   ControllerConfig
	timeouts outcome.Config
	api      API
	logger   *slog.Logger
	now      func() time.Time

	pods       cache.SharedIndexInformer
	machines   cache.SharedIndexInformer
	namespaces cache.SharedIndexInformer
	queue      workqueue.TypedRateLimitingInterface[string]

	reports *reports
	health  health
	reaper  reaper
	keeper  keeper

	snapshots snapshots // used by one goroutine

	mu          sync.Mutex
	deletedPods map[string]deletedPod // deleted pods by key, until they are evaluated
	notes       map[types.UID]*note   // state of pods in addition to the informer's store
	early       map[types.UID][]launcher.Event
	capacity    Capacity
}

// deletedPod is a pod that the informer has removed. Unsure means that its end was not
// observed because the watch had a gap.
type deletedPod struct {
	pod    *corev1.Pod
	unsure bool
}

// note is the controller's own state of a pod.
type note struct {
	warning string // the latest, until the pod has started
	overdue bool   // its result is overdue
	log     string // the end of its log
	logged  bool   // its log was requested
	reaped  bool   // deleted by this controller
}

// NewController returns a controller that starts with Run.
func NewController(config ControllerConfig) *Controller {
	config.Config = config.Config.withDefaults()
	config.Timing = config.Timing.filled()
	set(&config.Timing.LostAfter, config.LostAfter)
	c := &Controller{
		config: config, api: config.API, logger: config.Logger, now: config.Now,
		timeouts:    outcome.Config{ImageTimeout: config.ImageTimeout, PendingTimeout: config.PendingTimeout, StartTimeout: config.StartTimeout},
		queue:       workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](200*time.Millisecond, 30*time.Second)),
		reports:     newReports(),
		deletedPods: map[string]deletedPod{}, notes: map[types.UID]*note{}, early: map[types.UID][]launcher.Event{},
	}
	c.health.last = c.now()
	c.reaper.due = map[string]podRemoval{}
	return c
}

// Run watches until ctx is cancelled and then returns nil. It waits for a cluster that is
// unreachable.
func (c *Controller) Run(ctx context.Context) error {
	if err := c.open(); err != nil {
		return fmt.Errorf("watch the cluster: %w", err)
	}
	// The Kubernetes libraries use this logger as well.
	group, ctx := errgroup.WithContext(klog.NewContext(ctx, logr.FromSlogHandler(c.logger.Handler())))
	run := func(loop func(context.Context)) {
		group.Go(func() error { loop(ctx); return nil })
	}
	for _, informer := range []cache.SharedIndexInformer{c.pods, c.machines, c.namespaces} {
		run(func(ctx context.Context) { informer.RunWithContext(ctx) })
	}
	run(c.watchEvents)
	run(c.probe)
	run(func(ctx context.Context) { c.reports.flush(ctx, c.config.Observe, c.logger) })
	for range judges {
		run(c.evaluateForever)
	}
	run(func(ctx context.Context) {
		<-ctx.Done()
		c.queue.ShutDown()
	})
	run(func(ctx context.Context) {
		if !cache.WaitForCacheSync(ctx.Done(), c.pods.HasSynced, c.machines.HasSynced, c.namespaces.HasSynced) {
			return
		}
		c.logger.Info("Watching the cluster's pods.", "pods", len(c.pods.GetStore().ListKeys()), "machines", len(c.machines.GetStore().ListKeys()))
		run(c.reapForever)
		run(c.countForever)
		if c.config.Projects != nil {
			run(c.reconcileNamespacesForever)
		}
	})
	return group.Wait()
}

// every calls do immediately and then at intervals of d until ctx is cancelled.
func every(ctx context.Context, d time.Duration, do func(context.Context)) {
	ticker := time.NewTicker(d)
	defer ticker.Stop()
	for {
		do(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
