package ha_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

// tasks are the attempts of an installation. They run in the test and report to any
// server that accepts reports, until one does.
type tasks struct {
	flowforgev1connect.UnimplementedRunnerServiceHandler
	servers func() []string // addresses that accept reports

	mu    sync.Mutex
	known map[string]*task
	ran   map[string]bool // by attempt, also after its end: like the runner, it starts no attempt twice
	open  bool            // held attempts may end
	ended chan struct{}
	all   sync.WaitGroup
}

type task struct {
	spec    *flowforgev1.AttemptSpec
	release chan struct{} // closed when it may end
	stopped bool
	done    bool
}

// serveTasks starts the runner of an installation on a socket.
func serveTasks(t *testing.T, socket string, servers func() []string) *tasks {
	t.Helper()
	ts := &tasks{servers: servers, known: map[string]*task{}, ran: map[string]bool{}, ended: make(chan struct{})}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(flowforgev1connect.NewRunnerServiceHandler(ts))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		close(ts.ended)
		ts.all.Wait()
	})
	return ts
}

// Start starts attempts that it has not started before.
func (ts *tasks) Start(_ context.Context, r *connect.Request[flowforgev1.StartRequest]) (*connect.Response[flowforgev1.StartResponse], error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, spec := range r.Msg.GetAttempts() {
		if ts.ran[spec.GetTaskId()] {
			continue
		}
		k := &task{spec: spec, release: make(chan struct{})}
		ts.known[spec.GetTaskId()] = k
		ts.ran[spec.GetTaskId()] = true
		if ts.open || spec.GetNode() != "hold" {
			close(k.release)
		}
		ts.all.Go(func() { ts.run(k) })
	}
	return connect.NewResponse(&flowforgev1.StartResponse{}), nil
}

// Stop ends attempts.
func (ts *tasks) Stop(_ context.Context, r *connect.Request[flowforgev1.StopRequest]) (*connect.Response[flowforgev1.StopResponse], error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, id := range r.Msg.GetTaskIds() {
		if k := ts.known[id]; k != nil && !k.stopped {
			k.stopped = true
			select {
			case <-k.release:
			default:
				close(k.release)
			}
		}
	}
	return connect.NewResponse(&flowforgev1.StopResponse{}), nil
}

// List returns the attempts whose end no server has accepted yet.
func (ts *tasks) List(context.Context, *connect.Request[flowforgev1.ListRequest]) (*connect.Response[flowforgev1.ListResponse], error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	answer := &flowforgev1.ListResponse{}
	for id, k := range ts.known {
		answer.Attempts = append(answer.Attempts, &flowforgev1.AttemptStatus{TaskId: id, Finished: k.done})
	}
	return connect.NewResponse(answer), nil
}

// openAll lets every held attempt end.
func (ts *tasks) openAll() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.open = true
	for _, k := range ts.known {
		select {
		case <-k.release:
		default:
			close(k.release)
		}
	}
}

// running returns how many attempts have started and not ended.
func (ts *tasks) running() int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return len(ts.known)
}

// run runs one attempt: it starts, works briefly, and ends.
func (ts *tasks) run(k *task) {
	began := time.Now()
	ts.report(&flowforgev1.AttemptReport{TaskId: k.spec.TaskId, Token: k.spec.Token, Report: &flowforgev1.AttemptReport_Started{
		Started: &flowforgev1.Started{Timestamp: began.UnixMilli(), Pid: 1, Host: "test"},
	}})
	select {
	case <-k.release:
	case <-ts.ended:
		return
	}
	select {
	case <-time.After(workTime):
	case <-ts.ended:
		return
	}
	finished := &flowforgev1.Finished{StartedAt: began.UnixMilli(), FinishedAt: time.Now().UnixMilli(), Outcome: flowforgev1.Outcome_OUTCOME_SUCCEEDED}
	ts.mu.Lock()
	k.done = true
	if k.stopped {
		finished.Outcome = flowforgev1.Outcome_OUTCOME_CANCELLED
	}
	ts.mu.Unlock()
	ts.report(&flowforgev1.AttemptReport{TaskId: k.spec.TaskId, Token: k.spec.Token, Report: &flowforgev1.AttemptReport_Finished{Finished: finished}})
	ts.mu.Lock()
	delete(ts.known, k.spec.TaskId)
	ts.mu.Unlock()
}

// workTime is how long an attempt works.
const workTime = 30 * time.Millisecond

// reportLimit bounds one try: a frozen server accepts a report and does not respond.
const reportLimit = 2 * time.Second

// report sends r to one server after another until one has accepted it.
func (ts *tasks) report(r *flowforgev1.AttemptReport) {
	for try := 0; ; try++ {
		servers := ts.servers()
		if len(servers) > 0 && ts.deliver(servers[try%len(servers)], r) == nil {
			return
		}
		select {
		case <-ts.ended:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (ts *tasks) deliver(server string, r *flowforgev1.AttemptReport) error {
	ctx, cancel := context.WithTimeout(context.Background(), reportLimit)
	defer cancel()
	client := flowforgev1connect.NewTaskServiceClient(http.DefaultClient, "http://"+server)
	_, err := client.Deliver(ctx, connect.NewRequest(&flowforgev1.DeliverRequest{Reports: []*flowforgev1.AttemptReport{r}}))
	return err
}
