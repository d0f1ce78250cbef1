package kube_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/compute/launcher/kube/kubetest"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// patience is the timeout for anything in a cluster.
const patience = 8 * time.Minute

// world is an installation in the shared cluster, with one project and a controller.
type world struct {
	t            *testing.T
	api          kubernetes.Interface // directly to the cluster
	config       kube.ControllerConfig
	installation string
	namespace    string
	stop         func()

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at every change
	seen     map[string]launcher.Observation
	history  map[string][]string // codes and classes in order
	events   map[string]map[string]launcher.Event
	dead     map[string]bool
	projects []kube.Project
	capacity kube.Capacity
	made     int
}

// cluster returns the configuration of the shared cluster; the caller may change it.
func cluster(t *testing.T) *rest.Config {
	t.Helper()
	return rest.CopyConfig(kubetest.New(t).Config)
}

// newWorld returns an installation whose controller is not running yet, after applying
// changes to its configuration.
func newWorld(t *testing.T, changes ...func(*kube.ControllerConfig)) *world {
	t.Helper()
	cluster := kubetest.New(t)
	api := cluster.API
	id := uuid.NewString()
	w := &world{
		t: t, api: api, installation: "t" + id[:8], namespace: cluster.Prefix + "watch", stop: func() {},
		changed: make(chan struct{}), seen: map[string]launcher.Observation{}, history: map[string][]string{},
		events: map[string]map[string]launcher.Event{}, dead: map[string]bool{},
	}
	w.projects = []kube.Project{{ID: id, TenantID: "acme", Slug: "watch", Namespace: w.namespace}}
	w.config = kube.ControllerConfig{
		Config: kube.Config{
			Installation: w.installation, Namespace: cluster.Prefix, TaskURL: "http://10.244.0.1:8081",
			ImageTimeout: time.Hour, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Projects: w.listProjects,
		},
		API: api, Observe: w.observe, Alive: w.alive, Capacity: w.setCapacity,
		Timing: kube.Timing{
			Probe: 200 * time.Millisecond, LostAfter: time.Second, Settle: time.Second, Sweep: time.Second,
			OrphanGrace: time.Second, Force: 2 * time.Second, Projects: 200 * time.Millisecond, Drift: time.Second, Capacity: time.Second,
		},
	}
	for _, change := range changes {
		change(&w.config)
	}
	return w
}

// run starts the controller and waits for its namespace.
func (w *world) run() *world {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := kube.NewController(w.config).Run(ctx); err != nil {
			w.t.Error(err)
		}
	}()
	w.stop = func() { cancel(); <-done }
	w.t.Cleanup(w.stop)
	w.poll("the namespace "+w.namespace, func(ctx context.Context) bool {
		_, err := w.api.CoreV1().ServiceAccounts(w.namespace).Get(ctx, pod.ServiceAccount, metav1.GetOptions{})
		return err == nil
	})
	return w
}

func (w *world) observe(_ context.Context, all []launcher.Observation) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range all {
		was := w.seen[o.TaskID]
		if o.Location == nil {
			o.Location = was.Location
		}
		if o.Waiting != nil {
			w.history[o.TaskID] = append(w.history[o.TaskID], o.Waiting.Code)
		} else {
			o.Waiting = was.Waiting
		}
		if o.Serving == nil {
			o.Serving = was.Serving
		}
		if o.End != nil {
			w.history[o.TaskID] = append(w.history[o.TaskID], string(o.End.Class))
			w.dead[o.TaskID] = true
		} else {
			o.End = was.End
		}
		for _, e := range o.Events {
			if w.events[o.TaskID] == nil {
				w.events[o.TaskID] = map[string]launcher.Event{}
			}
			w.events[o.TaskID][e.ID] = e
		}
		w.seen[o.TaskID] = o
	}
	w.signal()
	return nil
}

// signal wakes waiting goroutines; it requires the lock.
func (w *world) signal() {
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *world) alive(_ context.Context, tasks []string) (map[string]bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	alive := map[string]bool{}
	for _, task := range tasks {
		alive[task] = !w.dead[task]
	}
	return alive, nil
}

func (w *world) listProjects(context.Context) ([]kube.Project, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]kube.Project(nil), w.projects...), nil
}

func (w *world) setCapacity(c kube.Capacity) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.capacity = c
	w.signal()
}

// until waits until is returns true for the last observation of a task.
func (w *world) until(task, what string, is func(launcher.Observation) bool) launcher.Observation {
	w.t.Helper()
	deadline := time.After(patience)
	for {
		w.mu.Lock()
		o, changed, history := w.seen[task], w.changed, fmt.Sprint(w.history[task])
		w.mu.Unlock()
		if is(o) {
			return o
		}
		select {
		case <-changed:
		case <-deadline:
			w.t.Fatalf("timed out waiting for %s of %s; last %+v, %s", what, task, o, history)
		}
	}
}

// last returns the last observation of a task.
func (w *world) last(task string) launcher.Observation {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[task]
}

func (w *world) untilEnd(task string, class launcher.Class) launcher.End {
	w.t.Helper()
	o := w.until(task, "end "+string(class), func(o launcher.Observation) bool { return o.End != nil })
	if o.End.Class != class {
		w.t.Fatalf("%s ended as %s (%s), want %s", task, o.End.Class, o.End.Message, class)
	}
	return *o.End
}

func (w *world) untilWaiting(task, code string) launcher.Waiting {
	w.t.Helper()
	o := w.until(task, "waiting "+code, func(o launcher.Observation) bool { return o.Waiting != nil && o.Waiting.Code == code })
	return *o.Waiting
}

// poll waits for a condition in the cluster that sends no signal.
func (w *world) poll(what string, done func(context.Context) bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for !done(ctx) {
		select {
		case <-ctx.Done():
			w.t.Fatalf("timed out waiting for %s", what)
		case <-ticker.C:
		}
	}
}

func (w *world) kill(task string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead[task] = true
}

// pod returns a pod for a simulated machine. Its annotations define its lifecycle.
func (w *world) pod(annotations map[string]string) *corev1.Pod {
	w.mu.Lock()
	w.made++
	task := uuid.NewString() + "." + strconv.Itoa(w.made) + ".1"
	w.mu.Unlock()
	yes, no, user := true, false, int64(10001)
	container := func(name string) corev1.Container {
		return corev1.Container{
			Name: name, Image: "registry.test/" + name + ":1",
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("16Mi")},
			},
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		}
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: pod.Name(task), Annotations: map[string]string{},
			Labels: map[string]string{pod.LabelManagedBy: pod.ManagedBy, pod.LabelInstallation: w.installation, pod.LabelTask: task},
		},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: pod.ServiceAccount,
			NodeSelector:    map[string]string{"type": "kwok"},
			Tolerations:     []corev1.Toleration{{Key: "kwok.x-k8s.io/node", Operator: corev1.TolerationOpExists}},
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			InitContainers:  []corev1.Container{container(pod.InitContainer)}, Containers: []corev1.Container{container(pod.Container)},
		},
	}
	for name, value := range annotations {
		p.Annotations[kubetest.Annotate+name] = value
	}
	return p
}

// start creates a pod and returns its task.
func (w *world) start(p *corev1.Pod) string {
	w.t.Helper()
	if _, err := w.api.CoreV1().Pods(w.namespace).Create(w.t.Context(), p, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	return p.Labels[pod.LabelTask]
}

func (w *world) untilGone(task string) {
	w.t.Helper()
	w.poll("the end of the pod of "+task, func(ctx context.Context) bool {
		list, err := w.api.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{LabelSelector: pod.LabelTask + "=" + task})
		return err == nil && len(list.Items) == 0
	})
}

func (w *world) untilRunning(task string) {
	w.t.Helper()
	w.poll("the start of the pod of "+task, func(ctx context.Context) bool {
		p, err := w.api.CoreV1().Pods(w.namespace).Get(ctx, pod.Name(task), metav1.GetOptions{})
		return err == nil && p.Status.Phase == corev1.PodRunning
	})
}
