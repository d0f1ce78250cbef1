package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/flowforge/flowforge/launcher"
	"github.com/flowforge/flowforge/launcher/kube/outcome"
	"github.com/flowforge/flowforge/launcher/kube/pod"
)

const (
	scaleEvery = 500 * time.Millisecond
	// unseenLimit is how long a worker that is said to have work may be missing from
	// the informer before it counts as gone.
	unseenLimit = 10 * time.Second
	// residentBurst is how many warm pods are made in one look.
	residentBurst = 20
)

// ResidentFloor is the queue as the scaler needs it.
type ResidentFloor interface {
	// Pools returns the pools that have work, waiting or taken.
	Pools(ctx context.Context) ([]launcher.ResidentPool, error)
	// List returns all work.
	List(ctx context.Context) ([]launcher.ResidentWork, error)
	// Remove takes attempts out, whoever has them.
	Remove(ctx context.Context, taskIDs []string) error
}

// ResidentConfig says how warm pods are kept. All fields but Idle are required.
type ResidentConfig struct {
	Client  *Client
	Floor   ResidentFloor
	Observe func(context.Context, []launcher.Observation) error
	Max     int           // warm pods of one project
	Idle    time.Duration // after which a warm pod without work ends; 0: 2 minutes
}

// ResidentScaler keeps as many warm pods as there is work for, and tells of the
// attempts whose pod has died. One runs at a time, under the lease "launcher".
type ResidentScaler struct {
	config   ResidentConfig
	client   *Client
	patience outcome.Config
	pods     cache.SharedIndexInformer

	unseen map[string]time.Time // workers that are not there, since when
	told   map[string]string    // what was told of attempts last
}

// NewResidentScaler returns a scaler that does nothing before Run.
func NewResidentScaler(config ResidentConfig) *ResidentScaler {
	set(&config.Idle, 2*time.Minute)
	c := config.Client
	labelled := informers.NewSharedInformerFactoryWithOptions(c.api, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.LabelSelector = pod.Selector(c.config.Installation) + "," + pod.LabelResident + "=true"
	}))
	return &ResidentScaler{
		config: config, client: c, pods: labelled.Core().V1().Pods().Informer(),
		patience: outcome.Config{
			ImageTimeout: c.config.ImageTimeout, PendingTimeout: c.config.PendingTimeout, StartTimeout: c.config.StartTimeout,
		},
		unseen: map[string]time.Time{}, told: map[string]string{},
	}
}

// Run scales until ctx ends, and returns nil then.
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
		if err := s.look(ctx); err != nil && ctx.Err() == nil {
			s.client.config.Logger.Warn("Warm pods cannot be looked after.", "error", err)
		}
	})
	return nil
}

// workers are the warm pods that run or will, by name, and those that have ended.
func (s *ResidentScaler) workers(now time.Time) (alive map[string]*corev1.Pod, dead map[string]launcher.End) {
	alive, dead = map[string]*corev1.Pod{}, map[string]launcher.End{}
	for _, obj := range s.pods.GetStore().List() {
		p, ok := obj.(*corev1.Pod)
		if !ok {
			continue
		}
		verdict := outcome.Of(outcome.Pod{Object: p}, s.patience, now)
		switch {
		case verdict.End != nil:
			dead[p.Name] = *verdict.End
		case outcome.Ended(p, s.patience):
			dead[p.Name] = launcher.End{Class: launcher.ClassDeleted, Message: "The warm pod of the attempt has ended.", FinishedAt: now}
		default:
			alive[p.Name] = p
		}
	}
	return alive, dead
}

// look compares what there is to do with who does it.
func (s *ResidentScaler) look(ctx context.Context) error {
	now := s.client.config.Now()
	alive, dead := s.workers(now)
	// The pools first: work that comes later is for the next look.
	pools, err := s.config.Floor.Pools(ctx)
	if err != nil {
		return err
	}
	work, err := s.config.Floor.List(ctx)
	if err != nil {
		return err
	}
	return errors.Join(s.bury(ctx, work, alive, dead, now), s.scale(ctx, pools, alive), s.tell(ctx, work, alive, now))
}

// bury ends the attempts of dead workers, and removes their pods. When a pool's
// pod could not even begin, what waits for the pool cannot either.
func (s *ResidentScaler) bury(ctx context.Context, work []launcher.ResidentWork, alive map[string]*corev1.Pod, dead map[string]launcher.End, now time.Time) error {
	var seen []launcher.Observation
	var gone []string
	missing := map[string]time.Time{}
	hopeless := s.hopeless(dead)
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
			return fmt.Errorf("tell of the attempts of lost warm pods: %w", err)
		}
		if err := s.config.Floor.Remove(ctx, gone); err != nil {
			return err
		}
	}
	return s.removePods(ctx, dead)
}

// hopeless are the pools whose pods cannot begin for a reason of their own.
func (s *ResidentScaler) hopeless(dead map[string]launcher.End) map[string]launcher.End {
	pools := map[string]launcher.End{}
	for _, obj := range s.pods.GetStore().List() {
		p, ok := obj.(*corev1.Pod)
		if !ok {
			continue
		}
		if end, isDead := dead[p.Name]; isDead && !end.Class.Outside() && !outcome.Begun(p, s.patience) {
			pools[poolOf(p)] = end
		}
	}
	return pools
}

func (s *ResidentScaler) removePods(ctx context.Context, dead map[string]launcher.End) error {
	var errs []error
	for _, obj := range s.pods.GetStore().List() {
		p, ok := obj.(*corev1.Pod)
		if _, isDead := dead[podName(p)]; !ok || !isDead || p.DeletionTimestamp != nil {
			continue
		}
		call, cancel := context.WithTimeout(ctx, callTimeout)
		err := s.client.api.CoreV1().Pods(p.Namespace).Delete(call, p.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID}})
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

// scale makes pods for what waits beyond the free workers, up to the limit of
// each project. Those that are too many end by themselves.
func (s *ResidentScaler) scale(ctx context.Context, pools []launcher.ResidentPool, alive map[string]*corev1.Pod) error {
	ofPool, ofProject := map[string]int{}, map[string]int{}
	for _, p := range alive {
		if p.DeletionTimestamp == nil {
			ofPool[poolOf(p)]++
			ofProject[p.Labels[pod.LabelProject]]++
		}
	}
	var errs []error
	made := 0
	for _, pool := range pools {
		free := max(0, ofPool[pool.ID]-pool.Taken)
		want := min(pool.Queued-free, s.config.Max-ofProject[pool.ProjectID], residentBurst-made)
		for range max(0, want) {
			if err := s.client.addResident(ctx, pool, s.config.Idle); err != nil {
				errs = append(errs, fmt.Errorf("make a warm pod of %s: %w", pool.ID, err))
				break
			}
			ofProject[pool.ProjectID]++
			made++
		}
	}
	return errors.Join(errs...)
}

// tell says where attempts run, and why the others wait, when that has changed.
func (s *ResidentScaler) tell(ctx context.Context, work []launcher.ResidentWork, alive map[string]*corev1.Pod, now time.Time) error {
	waiting := map[string]*launcher.Waiting{}
	for _, p := range alive {
		if verdict := outcome.Of(outcome.Pod{Object: p}, s.patience, now); verdict.Waiting != nil {
			waiting[poolOf(p)] = verdict.Waiting
		}
	}
	told := make(map[string]string, len(work))
	var seen []launcher.Observation
	for _, one := range work {
		o := launcher.Observation{TaskID: one.TaskID}
		if p := alive[one.Worker]; p != nil {
			o.Place = &launcher.Place{Namespace: p.Namespace, Pod: p.Name, Machine: p.Spec.NodeName}
			told[one.TaskID] = p.Name + p.Spec.NodeName
		} else if one.Worker == "" {
			o.Waiting = &launcher.Waiting{Code: launcher.WaitResident, Message: "A warm pod takes it next."}
			if w := waiting[one.Pool]; w != nil {
				o.Waiting.Message = "A warm pod takes it as soon as it has begun: " + w.Message
			}
			told[one.TaskID] = o.Waiting.Message
		}
		if told[one.TaskID] != "" && told[one.TaskID] != s.told[one.TaskID] {
			seen = append(seen, o)
		}
	}
	if len(seen) > 0 {
		if err := s.config.Observe(ctx, seen); err != nil {
			return fmt.Errorf("tell of the attempts of warm pods: %w", err)
		}
	}
	s.told = told
	return nil
}
