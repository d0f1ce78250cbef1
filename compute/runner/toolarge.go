package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// maxBareMessage is the length in bytes of the message of an attempt whose result was too large to report.
const maxBareMessage = 2000

// deliverSmaller sends reports of which the server, or a proxy before it, rejects the message as too large:
// repeating it would block all others forever. Several reports become two messages, log lines and metrics of one
// report too, and an end loses its outputs and says why.
func (c *reporter) deliverSmaller(ctx context.Context, reports []*flowforgev1.AttemptReport, cause error) ([]*flowforgev1.ReportResult, bool) {
	if half := len(reports) / 2; half > 0 {
		first, ok := c.deliver(ctx, reports[:half])
		if !ok {
			return nil, false
		}
		rest, ok := c.deliver(ctx, reports[half:])
		return append(first, rest...), ok
	}
	smaller := smallerReports(reports[0], cause)
	if len(smaller) == 0 {
		c.logger.Error("The server rejected a report as too large. The report is dropped.", "task", reports[0].TaskId, "error", cause)
		return []*flowforgev1.ReportResult{{Reason: cause.Error()}}, true
	}
	c.logger.Warn("The server rejected a report as too large. Smaller ones follow.", "task", reports[0].TaskId, "reports", len(smaller), "error", cause)
	results, ok := c.deliver(ctx, smaller)
	if !ok {
		return nil, false
	}
	one := &flowforgev1.ReportResult{Accepted: true}
	for _, r := range results {
		one.Accepted = one.Accepted && r.Accepted
		one.Cancel, one.Preempt, one.Refused = one.Cancel || r.Cancel, one.Preempt || r.Preempt, one.Refused || r.Refused
		if r.Reason != "" {
			one.Reason = r.Reason
		}
	}
	return []*flowforgev1.ReportResult{one}, true
}

// smallerReports returns reports that replace one that is too large; none if it cannot be smaller.
func smallerReports(report *flowforgev1.AttemptReport, cause error) []*flowforgev1.AttemptReport {
	with := func(change func(*flowforgev1.AttemptReport)) *flowforgev1.AttemptReport {
		r := &flowforgev1.AttemptReport{TaskId: report.TaskId, Token: report.Token}
		change(r)
		return r
	}
	switch r := report.Report.(type) {
	case *flowforgev1.AttemptReport_Telemetry:
		first, rest := halves(r.Telemetry)
		if first == nil {
			return nil
		}
		return []*flowforgev1.AttemptReport{
			with(func(r *flowforgev1.AttemptReport) { r.Report = &flowforgev1.AttemptReport_Telemetry{Telemetry: first} }),
			with(func(r *flowforgev1.AttemptReport) { r.Report = &flowforgev1.AttemptReport_Telemetry{Telemetry: rest} }),
		}
	case *flowforgev1.AttemptReport_Finished:
		bare := bareEnd(r.Finished, cause)
		if proto.Size(bare) >= proto.Size(r.Finished) {
			return nil
		}
		return []*flowforgev1.AttemptReport{with(func(r *flowforgev1.AttemptReport) { r.Report = &flowforgev1.AttemptReport_Finished{Finished: bare} })}
	}
	return nil
}

// halves splits log lines, or else metrics. It returns nil for a single one.
func halves(t *flowforgev1.Telemetry) (first, rest *flowforgev1.Telemetry) {
	if len(t.Logs)+len(t.Metrics) < 2 {
		return nil, nil
	}
	logs, metrics := (len(t.Logs)+1)/2, len(t.Metrics)/2
	return &flowforgev1.Telemetry{Logs: t.Logs[:logs], Metrics: t.Metrics[:metrics], PodName: t.PodName, NodeName: t.NodeName},
		&flowforgev1.Telemetry{Logs: t.Logs[logs:], Metrics: t.Metrics[metrics:], Last: t.Last, PodName: t.PodName, NodeName: t.NodeName}
}

// bareEnd returns the end of an attempt without what can be large. A success without its outputs is a failure.
func bareEnd(f *flowforgev1.Finished, cause error) *flowforgev1.Finished {
	bare := proto.CloneOf(f)
	bare.Outputs, bare.Inputs, bare.Traceback = nil, nil, ""
	reason := cause.Error()
	if e, ok := errors.AsType[*connect.Error](cause); ok {
		reason = e.Message()
	}
	if len(f.Outputs) > 0 && f.Outcome == flowforgev1.Outcome_OUTCOME_SUCCEEDED {
		bare.Outcome = flowforgev1.Outcome_OUTCOME_OUTPUT_FAILED
		bare.Message = fmt.Sprintf("The values of the outputs are too large for a message to the server: %s. Declare large outputs as files.", reason)
	}
	if len(bare.Message) > maxBareMessage {
		bare.Message = strings.ToValidUTF8(bare.Message[:maxBareMessage], "") + "…"
	}
	return bare
}
