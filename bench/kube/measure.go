package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flowforge/flowforge/compute/launcher"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

// throughput launches pods that end immediately, as fast as the rate limit allows, and waits until
// they have succeeded and the controller has removed them.
func throughput(ctx context.Context, b *bench, o options) ([]string, error) {
	b.control(ctx)
	if err := b.follow(ctx); err != nil {
		return nil, err
	}
	// They end like pods whose runner has reported its result to the server.
	all := b.attempts(o.pods, kwok("message", `{"outcome":"succeeded","reported":true}`))
	before, used, began := b.counter.total(), processors(), time.Now()
	if err := b.startAll(ctx, all); err != nil {
		return nil, err
	}
	launched := time.Since(began)
	if err := until(ctx, "the end of all pods", func() bool { _, ended := b.counts(); return ended == o.pods }); err != nil {
		return nil, err
	}
	ended := time.Since(began)
	if err := until(ctx, "the removal of all pods", func() bool {
		list, err := b.api.CoreV1().Pods(b.project.Namespace).List(ctx, metav1.ListOptions{Limit: 1, ResourceVersion: "0"})
		return err == nil && len(list.Items) == 0
	}); err != nil {
		return nil, err
	}
	n := float64(o.pods)
	spent := processors().since(used)
	return []string{
		fmt.Sprintf("| pods launched (pod and Secret), QPS %.0f | %.0f/s | |", o.qps, n/launched.Seconds()),
		fmt.Sprintf("| %d pods from launch to Succeeded | %.0f/s | ≥ 50/s |", o.pods, n/ended.Seconds()),
		fmt.Sprintf("| API requests for each pod, to its removal | %.2f | ≤ 6 |", float64(b.counter.total()-before)/n),
		fmt.Sprintf("| processor time for each pod, launch to removal | %s | |", spent.each(o.pods)),
	}, nil
}

// startAll starts attempts in batches, as drive loops do.
func (b *bench) startAll(ctx context.Context, all []launcher.Attempt) error {
	const batch = 100
	var wg sync.WaitGroup
	errs := make(chan error, len(all)/batch+1)
	for part := range slices.Chunk(all, batch) {
		wg.Go(func() {
			if err := b.client.Start(ctx, part); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

// memory measures the memory of a controller and a client while pods are alive.
func memory(ctx context.Context, b *bench, o options) ([]string, error) {
	b.control(ctx)
	empty := heap()
	if err := b.startAll(ctx, b.attempts(o.live, kwok("hold", "true"))); err != nil {
		return nil, err
	}
	seen, cancel := context.WithTimeout(ctx, o.placing)
	defer cancel()
	if err := until(seen, "all pods being seen", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.placed) >= o.live
	}); err != nil {
		placed, _ := b.counts()
		fmt.Fprintf(os.Stderr, "%d of %d pods were placed: %v\n", placed, o.live, err)
	}
	placed, _ := b.counts()
	full := heap()
	return []string{
		fmt.Sprintf("| heap of the launcher's part with %d live pods (%d on machines) | %.0f MiB (%.0f before) | |", o.live, placed, full, empty),
		fmt.Sprintf("| resident memory of the process then | %.0f MiB | |", resident()),
	}, nil
}

// heap returns the heap in use, in MiB.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse) / (1 << 20)
}

// resident returns the resident memory of this process, in MiB.
func resident() float64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kib); n == 1 {
			return kib / 1024
		}
	}
	return 0
}

// taskServer receives the reports of runners and records when each started.
type taskServer struct {
	flowforgev1connect.UnimplementedTaskServiceHandler
	mu      sync.Mutex
	started map[string]time.Time
	ended   map[string]time.Time
}

// Deliver accepts every report.
func (s *taskServer) Deliver(_ context.Context, req *connect.Request[flowforgev1.DeliverRequest]) (*connect.Response[flowforgev1.DeliverResponse], error) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	resp := &flowforgev1.DeliverResponse{}
	for _, r := range req.Msg.Reports {
		if _, again := s.started[r.TaskId]; !again {
			s.started[r.TaskId] = now
		}
		if r.GetFinished() != nil {
			s.ended[r.TaskId] = now
		}
		resp.Results = append(resp.Results, &flowforgev1.ReportResult{Accepted: true})
	}
	return connect.NewResponse(resp), nil
}

func (s *taskServer) at(times map[string]time.Time, task string) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := times[task]
	return at, ok
}

// startOverhead starts one pod after the other on the real kubelet, and measures the time until
// its runner reports from inside the container.
func startOverhead(ctx context.Context, b *bench, o options) ([]string, error) {
	if _, err := b.api.CoreV1().Nodes().Get(ctx, "real-node-0", metav1.GetOptions{}); err != nil {
		return []string{"| from READY to the container's first report, real kubelet | not measured: no real machine | ≤ 1 s p50 |"}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.host+":0")
	if err != nil {
		return nil, err
	}
	tasks := &taskServer{started: map[string]time.Time{}, ended: map[string]time.Time{}}
	mux := http.NewServeMux()
	mux.Handle(flowforgev1connect.NewTaskServiceHandler(tasks))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	b.config.TaskURL = "http://" + listener.Addr().String()
	var lines []string
	for _, kind := range []struct{ image, what string }{
		{b.config.Image, "FlowForge's image"}, {b.config.TaskImage, "another image, into which the program is copied"},
	} {
		starts, whole, err := startOneByOne(ctx, b, tasks, o.starts, kind.image)
		if err != nil {
			return nil, err
		}
		lines = append(lines,
			fmt.Sprintf("| from READY to the container's first report, real kubelet, %d pods of %s | p50 %s, max %s | ≤ 1 s p50 |", o.starts, kind.what, round(starts[len(starts)/2]), round(starts[len(starts)-1])),
			fmt.Sprintf("| from READY to the result of `true` | p50 %s, max %s | |", round(whole[len(whole)/2]), round(whole[len(whole)-1])))
	}
	return lines, nil
}

// startOneByOne returns the times of n pods until their first report and until their result, each
// in ascending order.
func startOneByOne(ctx context.Context, b *bench, tasks *taskServer, n int, image string) (starts, whole []time.Duration, err error) {
	for range n {
		one := b.attempts(1, `{"nodeSelector":{"kubernetes.io/hostname":"real-node-0"}}`)
		one[0].Image = image
		task, began := one[0].GetTaskId(), time.Now()
		if err := b.client.Start(ctx, one); err != nil {
			return nil, nil, err
		}
		if err := until(ctx, "the end of "+task, func() bool { _, ok := tasks.at(tasks.ended, task); return ok }); err != nil {
			return nil, nil, err
		}
		started, _ := tasks.at(tasks.started, task)
		ended, _ := tasks.at(tasks.ended, task)
		starts, whole = append(starts, started.Sub(began)), append(whole, ended.Sub(began))
	}
	slices.Sort(starts)
	slices.Sort(whole)
	return starts, whole, nil
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
