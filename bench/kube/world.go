package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	patience = 15 * time.Minute
	tick     = 50 * time.Millisecond
)

// kwok contains the pod fields that schedule pods on the simulated machines; an annotation
// controls their behaviour.
func kwok(annotation, value string) string {
	return fmt.Sprintf(`{"nodeSelector":{"type":"kwok"},"tolerations":[{"key":"kwok.x-k8s.io/node","operator":"Exists"}],"annotations":{"test.flowforge.io/%s":%q}}`, annotation, value)
}

// counter counts the API requests for pods and Secrets.
type counter struct {
	http.RoundTripper
	mu     sync.Mutex
	byKind map[string]int
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	parts := strings.Split(r.URL.Path, "/")
	if len(parts) > 5 && parts[3] == "namespaces" && (parts[5] == "pods" || parts[5] == "secrets") {
		kind := r.Method + " " + parts[5]
		if len(parts) > 7 {
			kind += "/" + parts[7]
		}
		c.mu.Lock()
		c.byKind[kind]++
		c.mu.Unlock()
	}
	return c.RoundTripper.RoundTrip(r)
}

func (c *counter) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, k := range c.byKind {
		n += k
	}
	return n
}

// bench is a separate installation in the cluster, with one project.
type bench struct {
	config  kube.ControllerConfig
	client  *kube.Client
	api     kubernetes.Interface
	counter *counter
	project kube.Project

	mu       sync.Mutex
	placed   map[string]bool
	ended    map[string]time.Time
	stop     context.CancelFunc
	unfollow context.CancelFunc
	done     sync.WaitGroup
}

func newBench(ctx context.Context, kubeconfig string, o options, log *slog.Logger) (*bench, error) {
	id := uuid.NewString()
	b := &bench{
		counter: &counter{byKind: map[string]int{}}, placed: map[string]bool{}, ended: map[string]time.Time{},
		project: kube.Project{ID: id, TenantID: "bench", Slug: "bench", Namespace: "ff-bench-" + id[:8]},
	}
	b.config.Config = kube.Config{
		Kubeconfig: kubeconfig, Installation: "b" + id[:8], Namespace: "ff-bench-" + id[:8], QPS: float32(o.qps),
		Image: "localhost/flowforge:test", TaskImage: "localhost/task:test", TaskURL: "http://" + o.host, Logger: log,
		Projects: func(context.Context) ([]kube.Project, error) { return []kube.Project{b.project}, nil },
	}
	rc, err := kube.RESTConfig(b.config.Config)
	if err != nil {
		return nil, err
	}
	rc.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		b.counter.RoundTripper = inner
		return b.counter
	})
	if b.api, err = kubernetes.NewForConfig(rc); err != nil {
		return nil, err
	}
	b.config.API, b.config.Observe, b.config.Alive = b.api, b.observe, b.alive
	b.config.Capacity = func(kube.Capacity) {}
	b.client = kube.NewFor(b.config.Config, b.api, nil)
	return b, kube.Prepare(b.config)(ctx, b.project)
}

// follow records which pods have succeeded, as the server learns it from its runners. It uses a
// separate informer without a rate limit, whose requests are not counted.
func (b *bench) follow(ctx context.Context) error {
	rc, err := kube.RESTConfig(b.config.Config)
	if err != nil {
		return err
	}
	api, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return err
	}
	ctx, b.unfollow = context.WithCancel(ctx)
	pods := informers.NewSharedInformerFactoryWithOptions(api, 0, informers.WithNamespace(b.project.Namespace)).Core().V1().Pods().Informer()
	_, err = pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    b.note,
		UpdateFunc: func(_, now any) { b.note(now) },
	})
	b.done.Go(func() { pods.RunWithContext(ctx) })
	return err
}

// note records the state of a pod.
func (b *bench) note(obj any) {
	p, ok := obj.(*corev1.Pod)
	if !ok || p.Status.Phase != corev1.PodSucceeded {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if task := p.Labels[pod.LabelTask]; b.ended[task].IsZero() {
		b.ended[task] = time.Now()
	}
}

// control runs the controller until close.
func (b *bench) control(ctx context.Context) {
	ctx, b.stop = context.WithCancel(ctx)
	b.done.Go(func() {
		if err := kube.NewController(b.config).Run(ctx); err != nil {
			b.config.Logger.Error("the controller ended", "error", err)
		}
	})
}

// close removes everything that the benchmark created.
func (b *bench) close() {
	if b.stop != nil {
		b.stop()
	}
	if b.unfollow != nil {
		b.unfollow()
	}
	b.done.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	zero := int64(0)
	_ = b.api.CoreV1().Pods(b.project.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &zero}, metav1.ListOptions{})
	_ = b.api.CoreV1().Namespaces().Delete(ctx, b.project.Namespace, metav1.DeleteOptions{})
}

func (b *bench) observe(_ context.Context, all []launcher.Observation) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, o := range all {
		if o.Location != nil && o.Location.Machine != "" {
			b.placed[o.TaskID] = true
		}
		if _, again := b.ended[o.TaskID]; o.End != nil && !again {
			b.ended[o.TaskID] = time.Now()
		}
	}
	return nil
}

func (b *bench) alive(_ context.Context, tasks []string) (map[string]bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	alive := map[string]bool{}
	for _, task := range tasks {
		_, over := b.ended[task]
		alive[task] = !over
	}
	return alive, nil
}

func (b *bench) counts() (placed, ended int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.placed), len(b.ended)
}

// attempts returns small attempts with the given pod fields.
func (b *bench) attempts(n int, fields string) []launcher.Attempt {
	all := make([]launcher.Attempt, n)
	for i := range all {
		id := uuid.Must(uuid.NewV7()).String()
		all[i] = &flowforgev1.AttemptSpec{
			TaskId: id + ".0.1", ExecutionId: id, WorkflowId: id, TenantId: "bench", ProjectId: b.project.ID, Node: "bench", Attempt: 1,
			Token: id + ".0.1", InputsJson: "{}", PodJson: fields, GraceMs: 1000, ApiEndpoint: b.config.TaskURL,
			Work:      &flowforgev1.AttemptSpec_Process{Process: &flowforgev1.Process{Command: []string{"true"}}},
			Resources: &flowforgev1.Resources{CpuMillis: 10, MemoryMib: 256},
		}
	}
	return all
}

// until repeats done until it returns true.
func until(ctx context.Context, what string, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not come about: %w", what, ctx.Err())
		case <-ticker.C:
		}
	}
	return nil
}
