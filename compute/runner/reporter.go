package runner

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	// startedHold is how long a start report waits for the end of a short attempt, which then
	// costs one report instead of two. Attempts that share a processor take longer, so they wait
	// in proportion, up to startedHoldMost.
	startedHold     = 15 * time.Millisecond
	startedHoldMost = 250 * time.Millisecond
	// logHold is how long the lines of an attempt are collected into one report.
	logHold = 50 * time.Millisecond
	// batchReports and batchBytes bound one Deliver call: it has at most one report more.
	batchReports = 1000
	batchBytes   = 1 << 20
	deliverLimit = 30 * time.Second
	// unreachableAfter is how long the server may be unreachable before results are written to
	// disk.
	unreachableAfter = 500 * time.Millisecond
	retryAtFirst     = 10 * time.Millisecond
	retryAtMost      = 500 * time.Millisecond
)

// deliver sends reports to the server.
type deliver func(context.Context, *connect.Request[flowforgev1.DeliverRequest]) (*connect.Response[flowforgev1.DeliverResponse], error)

// reporter sends the reports of all attempts to the server: at once when no call is in
// flight, together during a call. It repeats a failed call unchanged until the server
// accepts it, except for reports that the server rejects as invalid or too large.
type reporter struct {
	request deliver
	logger  *slog.Logger
	persist func() // writes to disk what must not be lost while the server is unreachable

	away atomic.Bool
	wake chan struct{}

	mu      sync.Mutex
	waiting []*outbox // outboxes with reports to send, the longest waiting first
}

func newReporter(request deliver, logger *slog.Logger, persist func()) *reporter {
	return &reporter{request: request, logger: logger, persist: persist, wake: make(chan struct{}, 1)}
}

// update changes an outbox and wakes the reporter.
func (c *reporter) update(o *outbox, change func()) {
	c.mu.Lock()
	change()
	if _, ok := o.due(); ok && !o.waiting {
		o.waiting = true
		c.waiting = append(c.waiting, o)
	}
	c.mu.Unlock()
	c.sendNow()
}

// logged records that the log queue of o has grown.
func (c *reporter) logged(o *outbox) {
	full := o.log.pending() >= logMemory/2
	c.mu.Lock()
	first := o.logDue.IsZero()
	if first {
		o.logDue = time.Now().Add(logHold)
	}
	if full {
		o.logDue = time.Now()
	}
	if !o.waiting {
		o.waiting = true
		c.waiting = append(c.waiting, o)
	}
	c.mu.Unlock()
	if first || full {
		c.sendNow()
	}
}

func (c *reporter) sendNow() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run sends until ctx is cancelled. Unsent reports remain in the log queues and in the
// attempts' results.
func (c *reporter) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		batches, next := c.collect(time.Now())
		if len(batches) > 0 {
			c.send(ctx, batches)
			continue
		}
		timer.Reset(next)
		select {
		case <-ctx.Done():
		case <-c.wake:
		case <-timer.C:
		}
	}
}

// collect packs the due reports; if there are none, it returns when to check again.
func (c *reporter) collect(now time.Time) (batches []reportBatch, next time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next = time.Hour
	reports, size := 0, 0
	var rest []*outbox
	for i, o := range c.waiting {
		if reports >= batchReports || size >= batchBytes {
			rest = append(rest, c.waiting[i:]...)
			break
		}
		at, ok := o.due()
		if !ok {
			o.waiting = false
			continue
		}
		if wait := at.Sub(now); wait > 0 {
			next = min(next, wait)
			rest = append(rest, o)
			continue
		}
		p := o.pack(now)
		if len(p.reports) > 0 || p.last {
			batches = append(batches, p)
			reports += len(p.reports)
			size += p.size
		}
		if _, more := o.due(); more {
			rest = append(rest, o)
		} else {
			o.waiting = false
		}
	}
	c.waiting = rest
	return batches, next
}

// send repeats one Deliver call until the server has answered it.
func (c *reporter) send(ctx context.Context, batches []reportBatch) {
	var reports []*flowforgev1.AttemptReport
	for _, p := range batches {
		reports = append(reports, p.reports...)
	}
	var results []*flowforgev1.ReportResult
	if len(reports) > 0 {
		var ok bool
		if results, ok = c.deliver(ctx, reports); !ok {
			return // ctx has ended
		}
	}
	for _, p := range batches {
		n := len(p.reports)
		c.settle(p, results[:n])
		results = results[n:]
	}
}

// settle passes the results of the reports of p to its outbox.
func (c *reporter) settle(p reportBatch, results []*flowforgev1.ReportResult) {
	if p.logs {
		p.box.log.commit()
	}
	if slices.ContainsFunc(results, (*flowforgev1.ReportResult).GetCancel) {
		p.box.cancel()
	}
	if slices.ContainsFunc(results, (*flowforgev1.ReportResult).GetPreempt) {
		p.box.preempt()
	}
	if len(results) > 0 && p.box.answered != nil {
		p.box.answered(slices.ContainsFunc(results, (*flowforgev1.ReportResult).GetRefused), p.end)
	}
	if p.last {
		p.box.delivered()
	}
}

// deliver returns one result per report, or false when ctx is cancelled first.
func (c *reporter) deliver(ctx context.Context, reports []*flowforgev1.AttemptReport) ([]*flowforgev1.ReportResult, bool) {
	begin, wait := time.Now(), retryAtFirst
	for {
		results, err := c.call(ctx, reports)
		if err == nil {
			if c.away.Swap(false) {
				c.logger.Info("The server is reachable again; reporting resumes.", "reports", len(reports))
			}
			return results, true
		}
		switch connect.CodeOf(err) { //nolint:exhaustive // a retry can change the others
		case connect.CodeInvalidArgument:
			return c.deliverSingly(ctx, reports, err)
		case connect.CodeResourceExhausted:
			return c.deliverSmaller(ctx, reports, err)
		}
		if time.Since(begin) >= unreachableAfter && !c.away.Swap(true) {
			c.logger.Warn("The server is not responding; results and logs are kept on disk until it does.", "error", err)
			c.persist()
		}
		select {
		case <-ctx.Done():
			return nil, false
		case <-time.After(wait):
		}
		wait = min(2*wait, retryAtMost)
	}
}

// deliverSingly finds the report that the server rejects as invalid and drops it:
// repeating it would block all others forever.
func (c *reporter) deliverSingly(ctx context.Context, reports []*flowforgev1.AttemptReport, cause error) ([]*flowforgev1.ReportResult, bool) {
	if len(reports) == 1 {
		c.logger.Error("The server rejected a report as invalid. The report is dropped.", "task", reports[0].TaskId, "error", cause)
		return []*flowforgev1.ReportResult{{Reason: cause.Error()}}, true
	}
	var results []*flowforgev1.ReportResult
	for i := range reports {
		one, ok := c.deliver(ctx, reports[i:i+1])
		if !ok {
			return nil, false
		}
		results = append(results, one...)
	}
	return results, true
}

func (c *reporter) call(ctx context.Context, reports []*flowforgev1.AttemptReport) ([]*flowforgev1.ReportResult, error) {
	ctx, cancel := context.WithTimeout(ctx, deliverLimit)
	defer cancel()
	resp, err := c.request(ctx, connect.NewRequest(&flowforgev1.DeliverRequest{Reports: reports}))
	if err != nil {
		return nil, err
	}
	if len(resp.Msg.Results) != len(reports) {
		return nil, connect.NewError(connect.CodeInternal, errResultCount)
	}
	return resp.Msg.Results, nil
}

// startedHold returns how long the start report of an attempt waits now.
func (s *Supervisor) startedHold() time.Duration {
	return holdOf(int(s.commands.Load()), runtime.NumCPU())
}

// holdOf returns how long the start report of an attempt waits while commands share processors.
func holdOf(commands, processors int) time.Duration {
	each := (commands + processors - 1) / processors
	return min(startedHold*time.Duration(max(each, 1)), startedHoldMost)
}

// started reports that the command is running, after all preparation.
func (a *attempt) started(pid int) {
	a.begin = time.Now()
	if !a.gang.reports() {
		return
	}
	hold, awaited := a.s.startedHold(), a.isRead() || a.spec.GetServes()
	if awaited {
		hold = startedHold
	}
	a.s.reporter.update(a.box, func() {
		a.box.startedDue = a.begin.Add(hold)
		a.box.started = &flowforgev1.Started{
			Timestamp: a.begin.UnixMilli(), Pid: int32(pid), Host: a.s.config.Host, Inputs: a.inputs.placed, Awaited: awaited, //nolint:gosec // the kernel's ids fit
		}
	})
}
