package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube/outcome"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

const (
	scaleEvery = 500 * time.Millisecond
	// unseenLimit is how long a worker with work may be missing from the informer before
	// it counts as gone.
	unseenLimit = 10 * time.Second
	// refusedFor is how long no pod of a pool is created after one was not admitted.
	refusedFor = 5 * time.Second
	// forceAfter is how long a dead warm pod may stay beyond its grace period.
	forceAfter = 15 * time.Second
	// residentBurst is the maximum number of warm pods created per round.
	residentBurst = 20
)

// ResidentFloor is the part of the queue that the scaler uses.
type ResidentFloor interface {
	// Pools returns the pools that have waiting or taken work.
	Pools(ctx context.Context) ([]launcher.ResidentPool, error)
	// List returns all work.
	List(ctx context.Context) ([]launcher.ResidentWork, error)
	// Remove removes attempts, whether or not a worker has taken them.
	Remove(ctx context.Context, taskIDs []string) error
}

// ResidentConfig configures warm pods. All fields except Idle are required.
type ResidentConfig struct {
	Client  *Client
	Floor   ResidentFloor
	Observe func(context.Context, []launcher.Observation) error
	Max     int           // warm pods per project
	Idle    time.Duration // after which a warm pod without work ends; 0: 2 minutes
	// Lost returns why a machine counts as lost, "" when it does not; nil: none does.
	Lost func(machine string) string
}

// ResidentScaler keeps as many warm pods as the work requires, and reports the attempts
// whose pod has died. One runs at a time, under the lease "launcher".
type ResidentScaler struct {
	config   ResidentConfig
	client   *Client
	timeouts outcome.Config
	pods     cache.SharedIndexInformer

	unseen   map[string]time.Time    // missing workers, since when
	reported map[string]string       // last report of each attempt
	fresh    map[string]freshPod     // new pods that the informer may not have yet, by name
	refused  map[string]residentStop // pools whose pods were not admitted
}

// freshPod is a warm pod that was just created.
type freshPod struct {
	pool, project string
	at            time.Time
}

// residentStop is why no pods of a pool are created for now.
type residentStop struct {
	until   time.Time
	verdict verdict
}

// NewResidentScaler returns a scaler that starts with Run.
func NewResidentScaler(config ResidentConfig) *ResidentScaler {
	set(&config.Idle, 2*time.Minute)
	if config.Lost == nil {
		config.Lost = func(string) string { return "" }
	}
	c := config.Client
	warm := pod.Selector(c.config.Installation) + "," + pod.LabelResident + "=true"
	return &ResidentScaler{
		config: config, client: c, pods: newInformer(c.api, c.api.CoreV1().Pods(metav1.NamespaceAll), &corev1.Pod{}, warm),
		timeouts: outcome.Config{
			ImageTimeout: c.config.ImageTimeout, PendingTimeout: c.config.PendingTimeout, StartTimeout: c.config.StartTimeout,
		},
		unseen: map[string]time.Time{}, reported: map[string]string{}, fresh: map[string]freshPod{}, refused: map[string]residentStop{},
	}
}

// Run scales until ctx is cancelled and then returns nil.
func (s *ResidentScaler) Run(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.pods.RunWithContext(ctx)
	}()
	defer func() { <-done }()
	if !cache.WaitForCacheSync(ctx.Done(), s.pods.HasSynced) {
		return nil
	}
	every(ctx, scaleEvery, func(ctx context.Context) {
		if err := s.reconcile(ctx); err != nil && ctx.Err() == nil {
			s.client.config.Logger.Warn("Warm pods cannot be reconciled.", "error", err)
		}
	})
	return nil
}

// workers returns the warm pods that run or will run, by name, and those that have ended.
func (s *ResidentScaler) workers(now time.Time) (alive map[string]*corev1.Pod, dead map[string]launcher.End) {
	alive, dead = map[string]*corev1.Pod{}, map[string]launcher.End{}
	for _, obj := range s.pods.GetStore().List() {
		p, ok := obj.(*corev1.Pod)
		if !ok {
			continue
		}
		verdict := outcome.Of(outcome.Pod{Object: p, MachineLost: s.config.Lost(p.Spec.NodeName)}, s.timeouts, now)
		switch {
		case verdict.End != nil:
			dead[p.Name] = *verdict.End
		case outcome.Ended(p, s.timeouts):
			dead[p.Name] = launcher.End{Class: launcher.ClassDeleted, Message: "The warm pod of the attempt has ended.", FinishedAt: now}
		default:
			alive[p.Name] = p
		}
	}
	return alive, dead
}

// reconcile matches work and workers.
func (s *ResidentScaler) reconcile(ctx context.Context) error {
	now := s.client.config.Now()
	alive, dead := s.workers(now)
	// Read the pools first: later work is handled in the next round.
	pools, err := s.config.Floor.Pools(ctx)
	if err != nil {
		return err
	}
	work, err := s.config.Floor.List(ctx)
	if err != nil {
		return err
	}
	return errors.Join(s.endDead(ctx, work, alive, dead, now), s.scale(ctx, pools, alive, dead, now), s.report(ctx, work, alive, now))
}

// endDead ends the attempts of dead workers and removes their pods. If a pool's pod could
// not start, the waiting attempts of the pool end as well.
func (s *ResidentScaler) endDead(ctx context.Context, work []launcher.ResidentWork, alive map[string]*corev1.Pod, dead map[string]launcher.End, now time.Time) error {
	var seen []launcher.Observation
	var gone []string
	missing := map[string]time.Time{}
	hopeless := s.failedPools(dead)
	for _, one := range work {
		end, isDead := dead[one.Worker]
		switch {
		case one.Worker == "":
			end, isDead = hopeless[one.Pool]
		case !isDead && alive[one.Worker] == nil:
			since, known := s.unseen[one.Worker]
			if !known {
				since = now
			}
			missing[one.Worker] = since
			if isDead = now.Sub(since) >= unseenLimit; isDead {
				end = launcher.End{Class: launcher.ClassDeleted, Message: "The warm pod of the attempt is gone.", FinishedAt: now}
			}
		}
		if isDead {
			seen = append(seen, launcher.Observation{TaskID: one.TaskID, End: &end})
			gone = append(gone, one.TaskID)
		}
	}
	s.unseen = missing
	if len(seen) > 0 {
		if err := s.config.Observe(ctx, seen); err != nil {
			return fmt.Errorf("report the attempts of lost warm pods: %w", err)
		}
		if err := s.config.Floor.Remove(ctx, gone); err != nil {
			return err
		}
	}
	return s.removePods(ctx, dead, now)
}

// failedPools returns the pools whose pods cannot start for a reason of their own, or are
// not admitted.
func (s *ResidentScaler) failedPools(dead map[string]launcher.End) map[string]launcher.End {
	pools := map[string]launcher.End{}
	for _, obj := range s.pods.GetStore().List() {
		p, ok := obj.(*corev1.Pod)
		if !ok {
			continue
		}
		if end, isDead := dead[p.Name]; isDead && !end.Class.Outside() && !outcome.Started(p, s.timeouts) {
			pools[poolOf(p)] = end
		}
	}
	for pool, stop := range s.refused {
		if stop.verdict.end != nil {
			pools[pool] = *stop.verdict.end
		}
	}
	return pools
}

// removePods removes the pods of dead workers: by force when their machine is lost or
// when they do not end in time.
func (s *ResidentScaler) removePods(ctx context.Context, dead map[string]launcher.End, now time.Time) error {
	var errs []error
	for _, obj := range s.pods.GetStore().List() {
		p, ok := obj.(*corev1.Pod)
		if _, isDead := dead[podName(p)]; !ok || !isDead {
			continue
		}
		options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID}}
		lost := s.config.Lost(p.Spec.NodeName) != ""
		switch {
		case lost:
			options.GracePeriodSeconds = new(int64(0))
		case p.DeletionTimestamp == nil:
		case now.Before(p.DeletionTimestamp.Add(forceAfter)):
			continue
		default:
			options.GracePeriodSeconds = new(int64(0))
		}
		call, cancel := context.WithTimeout(ctx, callTimeout)
		err := s.client.api.CoreV1().Pods(p.Namespace).Delete(call, p.Name, options)
		cancel()
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			errs = append(errs, fmt.Errorf("delete the warm pod %s/%s: %w", p.Namespace, p.Name, err))
		}
	}
	return errors.Join(errs...)
}

func podName(p *corev1.Pod) string {
	if p == nil {
		return ""
	}
	return p.Name
}

// scale creates pods for the work that exceeds the free workers, up to the limit of each
// project. Surplus pods end by themselves. After a pod was not admitted, its pool pauses.
func (s *ResidentScaler) scale(ctx context.Context, pools []launcher.ResidentPool, alive map[string]*corev1.Pod, dead map[string]launcher.End, now time.Time) error {
	ofPool, ofProject := s.countPods(alive, dead, now)
	maps.DeleteFunc(s.refused, func(_ string, stop residentStop) bool { return !now.Before(stop.until) })
	var errs []error
	made := 0
	for _, pool := range pools {
		if _, rests := s.refused[pool.ID]; rests {
			continue
		}
		free := max(0, ofPool[pool.ID]-pool.Busy)
		want := min(pool.Queued-free, s.config.Max-ofProject[pool.ProjectID], residentBurst-made)
		for range max(0, want) {
			name, err := s.client.addResident(ctx, pool, s.config.Idle)
			if err != nil {
				errs = append(errs, fmt.Errorf("create a warm pod of %s: %w", pool.ID, err))
				s.refused[pool.ID] = residentStop{until: now.Add(refusedFor), verdict: s.client.verdictOf(err)}
				break
			}
			s.fresh[name] = freshPod{pool: pool.ID, project: pool.ProjectID, at: now}
			ofProject[pool.ProjectID]++
			made++
		}
	}
	return errors.Join(errs...)
}

// countPods counts the warm pods by pool and by project, including those just created,
// which the informer may not have yet.
func (s *ResidentScaler) countPods(alive map[string]*corev1.Pod, dead map[string]launcher.End, now time.Time) (ofPool, ofProject map[string]int) {
	ofPool, ofProject = map[string]int{}, map[string]int{}
	for _, p := range alive {
		if p.DeletionTimestamp == nil {
			ofPool[poolOf(p)]++
			ofProject[p.Labels[pod.LabelProject]]++
		}
	}
	for name, one := range s.fresh {
		_, isDead := dead[name]
		if alive[name] != nil || isDead || now.Sub(one.at) >= unseenLimit {
			delete(s.fresh, name)
			continue
		}
		ofPool[one.pool]++
		ofProject[one.project]++
	}
	return ofPool, ofProject
}

// report reports where attempts run and why others wait, when that has changed.
func (s *ResidentScaler) report(ctx context.Context, work []launcher.ResidentWork, alive map[string]*corev1.Pod, now time.Time) error {
	waiting := map[string]*launcher.Waiting{}
	for pool, stop := range s.refused {
		waiting[pool] = stop.verdict.waiting
	}
	for _, p := range alive {
		if verdict := outcome.Of(outcome.Pod{Object: p}, s.timeouts, now); verdict.Waiting != nil {
			waiting[poolOf(p)] = verdict.Waiting
		}
	}
	reported := make(map[string]string, len(work))
	var seen []launcher.Observation
	for _, one := range work {
		o := launcher.Observation{TaskID: one.TaskID}
		if p := alive[one.Worker]; p != nil {
			o.Location = &launcher.Location{Namespace: p.Namespace, Pod: p.Name, Machine: p.Spec.NodeName}
			reported[one.TaskID] = p.Name + p.Spec.NodeName
		} else if one.Worker == "" {
			o.Waiting = &launcher.Waiting{Code: launcher.WaitResident, Message: "Waiting for a free warm pod."}
			if w := waiting[one.Pool]; w != nil {
				o.Waiting.Message = "Waiting for a warm pod to start: " + w.Message
			}
			reported[one.TaskID] = o.Waiting.Message
		}
		if reported[one.TaskID] != "" && reported[one.TaskID] != s.reported[one.TaskID] {
			seen = append(seen, o)
		}
	}
	if len(seen) > 0 {
		if err := s.config.Observe(ctx, seen); err != nil {
			return fmt.Errorf("report the attempts of warm pods: %w", err)
		}
	}
	s.reported = reported
	return nil
}
