package runner

import (
	"time"

	"google.golang.org/protobuf/proto"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// outbox is what one attempt has to tell the server. Its fields are guarded by
// the courier's lock; the log queue has its own.
type outbox struct {
	taskID, token string
	log           *logQueue
	cancel        func() // the server wants the attempt stopped
	preempt       func() // the server wants it to make room
	delivered     func() // everything is taken; called once
	// answered is called with whether the server refused the token of the last
	// reports, and whether the end was among them.
	answered func(refused, end bool)

	started   *flowforgev1.Started
	heartbeat *flowforgev1.Heartbeat
	telemetry []*flowforgev1.Telemetry // what the SDK could not send
	finished  *flowforgev1.Finished    // sent as soon as it is set; a long log follows
	last      bool                     // nothing follows what is here: delivered is due when it is taken
	follows   bool                     // the end announced more of the log

	startedDue time.Time
	logDue     time.Time // zero: no log entry waits
	waiting    bool      // in the courier's list
	done       bool      // the last parcel is packed: nothing is sent any more
}

// due returns when the outbox next has something to send; ok is false when it has nothing.
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

// parcel is the share of one outbox in a Deliver call.
type parcel struct {
	box     *outbox
	reports []*flowforgev1.AttemptReport
	logs    bool // entries of the log queue are in it
	end     bool // the end is in it
	last    bool // delivered is due when it is taken
}

// pack moves what is due into a parcel. An attempt that ended before its start
// was told tells its end alone.
func (o *outbox) pack(now time.Time) parcel {
	p := parcel{box: o}
	add := func(r *flowforgev1.AttemptReport) {
		r.TaskId, r.Token = o.taskID, o.token
		p.reports = append(p.reports, r)
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
			Telemetry: &flowforgev1.Telemetry{Logs: entries, Last: o.follows && !more},
		}})
	}
	for _, t := range o.telemetry {
		add(&flowforgev1.AttemptReport{Report: &flowforgev1.AttemptReport_Telemetry{Telemetry: t}})
	}
	o.telemetry = nil
	if o.finished != nil {
		finished := proto.CloneOf(o.finished)
		finished.LogFollows = more
		add(&flowforgev1.AttemptReport{Report: &flowforgev1.AttemptReport_Finished{Finished: finished}})
		o.finished, o.follows, p.end = nil, more, true
	}
	o.logDue = time.Time{}
	if more {
		o.logDue = now
	} else if o.last {
		p.last, o.done = true, true
	}
	return p
}
