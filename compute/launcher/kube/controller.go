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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/outcome"
)

// ControllerConfig says what a controller watches and whom it tells. API, Observe
// and Alive are required. Without Config.Projects namespaces are made elsewhere.
type ControllerConfig struct {
	Config
	API kubernetes.Interface
	// Dynamic reaches JobSets; nil where none are made.
	Dynamic dynamic.Interface
	// Observe takes what was seen of attempts; after an error it is told again.
	Observe func(context.Context, []launcher.Observation) error
	// Alive tells which of the attempts may still run; those that it leaves out may not.
	Alive func(context.Context, []string) (map[string]bool, error)
	// Executions tells of executions, by id, how those have ended that have: "SUCCEEDED"
	// or otherwise; "" of those that go on. It leaves out those that are no more. Nil:
	// what executions share is removed elsewhere.
	Executions func(context.Context, []string) (map[string]string, error)
	// Capacity takes what the cluster's machines have, whenever it changes.
	Capacity func(Capacity)
	// Snapshot takes the state of the cluster as JSON (launcher.ClusterState), when it
	// changes and at least twice a minute.
	Snapshot   func(context.Context, []byte) error
	KeepFailed time.Duration // for which the pods of failed attempts stay
	Network    Network       // what pods may reach
	Timing     Timing
}

// Timing says how often a controller looks, and how long it waits. Zero fields
// take their defaults.
type Timing struct {
	Probe       time.Duration // between two looks at the API and the machines' leases; 2 s
	LostAfter   time.Duration // of a machine that is not reachable until its pods are lost; Config.LostAfter
	Settle      time.Duration // after the API was away, in which no machine is called lost; 20 s
	Sweep       time.Duration // between two looks for orphans; 15 s
	OrphanGrace time.Duration // age under which a pod is no orphan; 30 s
	Result      time.Duration // for the result of a container that ended to arrive; 1 min
	Force       time.Duration // beyond its grace period until a pod is removed by force; 15 s
	Projects    time.Duration // between two looks at the projects; 3 s
	Drift       time.Duration // between two comparisons of namespaces with what they should hold; 1 min
	Capacity    time.Duration // between two looks at what others request; 30 s
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

// judges is how many pods are judged at the same time.
const judges = 8

// Controller watches the pods of an installation, tells what becomes of them,
// removes those that nobody wants any more, and keeps the namespaces of projects.
// One runs at a time, under the lease "launcher"; a second one does no harm.
type Controller struct {
	config   ControllerConfig
	patience outcome.Config
	api      kubernetes.Interface
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

	snapshots snapshots // of one goroutine

	mu          sync.Mutex
	deletedPods map[string]deletedPod // pods that are gone, by key, until they are judged
	notes       map[types.UID]*note   // what is kept of pods beside the informer's store
	early       map[types.UID][]launcher.Event
	capacity    Capacity
}

// deletedPod is a pod that the informer has removed. Unsure says that its end was
// not seen: the watch had a gap.
type deletedPod struct {
	pod    *corev1.Pod
	unsure bool
}

// note is what a controller remembers of a pod.
type note struct {
	warning string // the latest, while the pod has not begun
	overdue bool   // its result should have come
	log     string // the end of its log
	logged  bool   // its log was asked for
	reaped  bool   // deleted by this controller
}

// NewController returns a controller that does nothing before Run.
func NewController(config ControllerConfig) *Controller {
	config.Config = config.Config.withDefaults()
	config.Timing = config.Timing.filled()
	set(&config.Timing.LostAfter, config.LostAfter)
	c := &Controller{
		config: config, api: config.API, logger: config.Logger, now: config.Now,
		patience:    outcome.Config{ImageTimeout: config.ImageTimeout, PendingTimeout: config.PendingTimeout, StartTimeout: config.StartTimeout},
		queue:       workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](200*time.Millisecond, 30*time.Second)),
		reports:     newReports(),
		deletedPods: map[string]deletedPod{}, notes: map[types.UID]*note{}, early: map[types.UID][]launcher.Event{},
	}
	c.health.last = c.now()
	c.reaper.due = map[string]podRemoval{}
	return c
}

// Run watches until ctx ends, and returns nil then. It waits for a cluster that
// is away.
func (c *Controller) Run(ctx context.Context) error {
	if err := c.open(); err != nil {
		return fmt.Errorf("watch the cluster: %w", err)
	}
	// The cluster's libraries log as everything else does.
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
		run(c.judgeForever)
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
			run(c.keepForever)
		}
	})
	return group.Wait()
}

// every calls do at once and then again and again until ctx ends.
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
