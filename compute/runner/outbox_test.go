package runner

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestReportsFitInMessages: attempts that end together with large outputs, and one whose SDK left much
// telemetry, fill several messages. The server rejects a message that is too large, and the reporter would
// repeat it forever.
func TestReportsFitInMessages(t *testing.T) {
	t.Parallel()
	c := newReporter(nil, nil, nil)
	large := strings.Repeat("x", maxInline)
	boxes := make([]*outbox, 40)
	for i := range boxes {
		task := fmt.Sprintf("task-%d", i)
		boxes[i] = &outbox{taskID: task, log: newLogQueue(task, "", func() bool { return false }, func() {})}
		c.update(boxes[i], func() {
			boxes[i].last = true
			boxes[i].finished = &flowforgev1.Finished{Outputs: []*flowforgev1.Output{{Name: "value", Content: &flowforgev1.Output_Value{Value: large}}}}
			if i > 0 {
				return
			}
			for range 40 {
				boxes[i].telemetry = append(boxes[i].telemetry, &flowforgev1.Telemetry{Logs: []*flowforgev1.LogEntry{{Message: large}}})
			}
		})
	}
	telemetry, finished, last := map[string]int{}, map[string]int{}, map[string]int{}
	for {
		batches, _ := c.collect(time.Now())
		if len(batches) == 0 {
			break
		}
		message := &flowforgev1.DeliverRequest{}
		for _, b := range batches {
			message.Reports = append(message.Reports, b.reports...)
			for _, r := range b.reports {
				switch r.Report.(type) {
				case *flowforgev1.AttemptReport_Finished:
					finished[r.TaskId]++
				case *flowforgev1.AttemptReport_Telemetry:
					telemetry[r.TaskId]++
					if finished[r.TaskId] > 0 {
						t.Errorf("telemetry of %s follows its end", r.TaskId)
					}
				}
			}
			if b.last {
				last[b.box.taskID]++
			}
		}
		if size := proto.Size(message); size > batchBytes+2*maxInline {
			t.Errorf("a message has %d bytes", size)
		}
	}
	for _, o := range boxes {
		if finished[o.taskID] != 1 || last[o.taskID] != 1 {
			t.Errorf("%s: %d ends, %d last batches", o.taskID, finished[o.taskID], last[o.taskID])
		}
	}
	if telemetry["task-0"] != 40 {
		t.Errorf("%d of 40 batches of telemetry", telemetry["task-0"])
	}
}

// TestOutputsThatNoReportHolds: an attempt whose values together are too large fails, instead of never
// being able to report its end.
func TestOutputsThatNoReportHolds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := shell("values", `cd "$FLOWFORGE_OUTPUTS"; for i in $(seq 17); do head -c 1000000 /dev/zero | tr '\0' x > v$i; done`)
	for i := range 17 {
		spec.Outputs = append(spec.Outputs, inline(fmt.Sprintf("v%d", i+1), "String"))
	}
	f := b.run(t, spec)
	wantOutcome(t, f, flowforgev1.Outcome_OUTCOME_OUTPUT_FAILED)
	if !strings.Contains(f.Message, "are allowed together") || len(f.Outputs) > 0 {
		t.Errorf("%d outputs: %s", len(f.Outputs), f.Message)
	}
}
