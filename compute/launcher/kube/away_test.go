package kube_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
)

// proxy forwards connections to the API server until it is cut.
type proxy struct {
	target   string
	listener net.Listener
	mu       sync.Mutex
	cut      bool
	open     map[net.Conn]bool
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: target, listener: listener, open: map[net.Conn]bool{}}
	t.Cleanup(func() { _ = listener.Close(); p.set(true) })
	go p.serve()
	return p
}

func (p *proxy) serve() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", p.target)
		if err != nil || !p.keep(from, to) {
			_ = from.Close()
			continue
		}
		go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
		go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
	}
}

func (p *proxy) keep(from, to net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		_ = to.Close()
		return false
	}
	p.open[from], p.open[to] = true, true
	return true
}

// set cuts all connections and rejects new ones, or restores the connection.
func (p *proxy) set(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
	for conn := range p.open {
		_ = conn.Close()
	}
	p.open = map[net.Conn]bool{}
}

// TestAPIAway cuts the controller off from the API server: waiting attempts report the
// reason, nothing ends, changes during the outage are detected afterwards, and the outage
// does not count as lost machines.
func TestAPIAway(t *testing.T) {
	t.Parallel()
	rc := cluster(t)
	address, err := url.Parse(rc.Host)
	if err != nil {
		t.Fatal(err)
	}
	way := newProxy(t, address.Host)
	rc.Host = "https://" + way.listener.Addr().String()
	api, err := kubernetes.NewForConfig(rc)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *kube.ControllerConfig) { c.API = api }).run()
	waits := w.start(w.pod(map[string]string{"waiting": "ImagePullBackOff"}))
	runs := w.start(w.pod(map[string]string{"hold": "true"}))
	deleted := w.start(w.pod(map[string]string{"hold": "true"}))
	w.untilWaiting(waits, launcher.WaitImage)
	for _, task := range []string{runs, deleted} {
		w.untilRunning(task)
		w.until(task, "its machine", func(o launcher.Observation) bool { return o.Location != nil && o.Location.Machine != "" })
	}

	way.set(true)
	w.untilWaiting(waits, launcher.WaitCluster)
	none := int64(0)
	if err := w.api.CoreV1().Pods(w.namespace).Delete(t.Context(), pod.Name(deleted), metav1.DeleteOptions{GracePeriodSeconds: &none}); err != nil {
		t.Fatal(err)
	}
	way.set(false)

	w.untilWaiting(waits, launcher.WaitImage)
	w.untilEnd(deleted, launcher.ClassDeleted)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, task := range []string{waits, runs} {
		if o := w.seen[task]; o.End != nil {
			t.Errorf("%s ended: %+v", task, o.End)
		}
	}
}
