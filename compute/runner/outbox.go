package runner

import (
	"time"

	"google.golang.org/protobuf/proto"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// outbox holds what one attempt has to report to the server. The reporter's lock guards
// its fields; the log queue has its own lock.
type outbox struct {
	taskID, token string
	pod, machine  string // where the attempt runs
	log           *logQueue
	cancel        func() // the server requests cancellation
	preempt       func() // the server requests preemption
	delivered     func() // the server has accepted everything; called once
	// answered is called with whether the server refused the token of the last reports
	// and whether they included the end.
	answered func(refused, end bool)

	started   *flowforgev1.Started
	heartbeat *flowforgev1.Heartbeat
	telemetry []*flowforgev1.Telemetry // what the SDK could not send
	finished  *flowforgev1.Finished    // sent as soon as it is set; a long log follows
	last      bool                     // no more reports follow: call delivered when the server accepts these
	follows   bool                     // the end announced more log lines

	startedDue time.Time
	logDue     time.Time // zero: no log entries are waiting
	waiting    bool      // in the reporter's list
	done       bool      // the last batch is packed: nothing more is sent
}

// due returns when the outbox next has something to send; ok is false when it has
// nothing.
func (o *outbox) due() (at time.Time, ok bool) {
	if o.done {
		return time.Time{}, false
	}
	if o.heartbeat != nil || o.last || len(o.telemetry) > 0 {
		return time.Time{}, true
	}
	if o.started != nil {
		at, ok = o.startedDue, true
	}
	if !o.logDue.IsZero() && (!ok || o.logDue.Before(at)) {
		at, ok = o.logDue, true
	}
	return at, ok
}

// reportBatch is the share of one outbox in a Deliver call.
type reportBatch struct {
	box     *outbox
	reports []*flowforgev1.AttemptReport
	size    int  // bytes of the reports
	logs    bool // it includes entries of the log queue
	end     bool // it includes the end
	last    bool // call delivered when the server accepts it
}

// pack moves the due reports into a batch. An attempt that ends before its start was
// reported reports only its end. The batch has at most batchBytes and one more report; the rest
// follows with the next one, and the end with the last.
func (o *outbox) pack(now time.Time) reportBatch {
	p := reportBatch{box: o}
	add := func(r *flowforgev1.AttemptReport) {
		r.TaskId, r.Token = o.taskID, o.token
		p.reports = append(p.reports, r)
		p.size += proto.Size(r)
	}
	if o.last {
		o.started, o.heartbeat = nil, nil
	}
	if o.started != nil && (!now.Before(o.startedDue) || o.heartbeat != nil) {
		add(&flowforgev1.AttemptReport{Report: &flowforgev1.AttemptReport_Started{Started: o.started}})
		o.started = nil
	}
	if o.heartbeat != nil {
		add(&flowforgev1.AttemptReport{Report: &flowforgev1.AttemptReport_Heartbeat{Heartbeat: o.heartbeat}})
		o.heartbeat = nil
	}
	entries := o.log.take()
	more := o.log.pending() > 0
	if p.logs = len(entries) > 0; p.logs || o.follows && !more {
		add(&flowforgev1.AttemptReport{Report: &flowforgev1.AttemptReport_Telemetry{
			Telemetry: &flowforgev1.Telemetry{Logs: entries, Last: o.follows && !more, PodName: o.pod, NodeName: o.machine},
		}})
	}
	for len(o.telemetry) > 0 && p.size < batchBytes {
		t := o.telemetry[0]
		o.telemetry = o.telemetry[1:]
		t.PodName, t.NodeName = o.pod, o.machine
		add(&flowforgev1.AttemptReport{Report: &flowforgev1.AttemptReport_Telemetry{Telemetry: t}})
	}
	full := len(o.telemetry) > 0 || p.size >= batchBytes
	if o.finished != nil && !full {
		finished := proto.CloneOf(o.finished)
		finished.LogFollows = more
		add(&flowforgev1.AttemptReport{Report: &flowforgev1.AttemptReport_Finished{Finished: finished}})
		o.finished, o.follows, p.end = nil, more, true
	}
	o.logDue = time.Time{}
	if more {
		o.logDue = now
	} else if o.last && !full {
		p.last, o.done = true, true
	}
	return p
}
