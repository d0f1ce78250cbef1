package runner

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

// TestMessagesThatTheServerRejectsAsTooLarge: the reporter splits them. An end that does not fit alone fails its
// attempt with the reason, and other attempts are not affected.
func TestMessagesThatTheServerRejectsAsTooLarge(t *testing.T) {
	t.Parallel()
	const limit = 32 << 10
	server := newTaskServer(t)
	mux := http.NewServeMux()
	mux.Handle(flowforgev1connect.NewTaskServiceHandler(server, connect.WithReadMaxBytes(limit)))
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	client := flowforgev1connect.NewTaskServiceClient(site.Client(), site.URL)
	c := newReporter(client.Deliver, slog.New(slog.DiscardHandler), func() {})
	done := make(chan struct{}, 2)
	box := func(task, value string) *outbox {
		o := &outbox{
			taskID: task, log: newLogQueue(task, "", func() bool { return false }, func() {}), cancel: func() {}, preempt: func() {}, delivered: func() { done <- struct{}{} },
			last: true, finished: &flowforgev1.Finished{Outcome: succeeded, Outputs: []*flowforgev1.Output{{Name: "value", Content: &flowforgev1.Output_Value{Value: value}}}},
		}
		lines := &flowforgev1.Telemetry{Metrics: []*flowforgev1.MetricPoint{{Name: "loss"}, {Name: "loss"}}}
		for i := range 100 {
			lines.Logs = append(lines.Logs, &flowforgev1.LogEntry{Stream: "stdout", Sequence: int64(i), Message: strings.Repeat("x", 1000)})
		}
		lines.Logs = append(lines.Logs, &flowforgev1.LogEntry{Stream: "stdout", Sequence: 100, Message: strings.Repeat("x", limit)})
		o.telemetry = []*flowforgev1.Telemetry{lines}
		return o
	}
	large, small := box("large", strings.Repeat("x", limit)), box("small", "1")
	c.update(large, func() {})
	c.update(small, func() {})
	go c.run(t.Context())
	<-done
	<-done
	server.mu.Lock()
	defer server.mu.Unlock()
	for _, task := range []string{"large", "small"} {
		if n := len(server.logs[task]); n != 100 {
			t.Errorf("%s: %d lines; the one that fits into no message is dropped", task, n)
		}
		if n := server.metrics[task]; n != 2 {
			t.Errorf("%s: %d points", task, n)
		}
	}
	if f := server.finished["small"]; f.Outcome != succeeded || len(f.Outputs) != 1 {
		t.Errorf("%v %d outputs: %s", f.Outcome, len(f.Outputs), f.Message)
	}
	f := server.finished["large"]
	want := fmt.Sprintf("is larger than configured max %d. Declare large outputs as files.", limit)
	if f.Outcome != flowforgev1.Outcome_OUTCOME_OUTPUT_FAILED || len(f.Outputs) != 0 || !strings.Contains(f.Message, want) {
		t.Errorf("%v %d outputs: %s", f.Outcome, len(f.Outputs), f.Message)
	}
	if len(server.late) > 0 || server.doubled > 0 {
		t.Errorf("late %v, %d doubled", server.late, server.doubled)
	}
}
