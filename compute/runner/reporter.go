package runner

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	// startedHold is how long a start report waits for the end of a quick
	// attempt: one that ends sooner costs one report instead of two.
	startedHold = 15 * time.Millisecond
	// logHold gathers the lines of an attempt into one report.
	logHold = 50 * time.Millisecond
	// batchReports and batchBytes bound one Deliver call.
	batchReports = 1000
	batchBytes   = 1 << 20
	deliverLimit = 30 * time.Second
	// awayAfter is the time without the server after which results go to disk.
	awayAfter    = 500 * time.Millisecond
	retryAtFirst = 10 * time.Millisecond
	retryAtMost  = 500 * time.Millisecond
)

// deliverer is the server, as far as the courier knows it.
type deliverer interface {
	Deliver(context.Context, *connect.Request[flowforgev1.DeliverRequest]) (*connect.Response[flowforgev1.DeliverResponse], error)
}

// reporter carries the reports of all attempts to the server: at once when
// nothing is in flight, together while a call is. A call that fails is repeated
// as it was until the server takes it.
type reporter struct {
	server  deliverer
	logger  *slog.Logger
	persist func() // the server is away: write to disk what must not be lost

	away atomic.Bool
	wake chan struct{}

	mu      sync.Mutex
	waiting []*outbox // those with something to send, the longest waiting first
}

func newReporter(server deliverer, logger *slog.Logger, persist func()) *reporter {
	return &reporter{server: server, logger: logger, persist: persist, wake: make(chan struct{}, 1)}
}

// update changes an outbox and has the courier look at it.
func (c *reporter) update(o *outbox, change func()) {
	c.mu.Lock()
	change()
	if _, ok := o.due(); ok && !o.waiting {
		o.waiting = true
		c.waiting = append(c.waiting, o)
	}
	c.mu.Unlock()
	c.nudge()
}

// logged notes that the log queue of o has grown.
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
		c.nudge()
	}
}

func (c *reporter) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run sends until ctx ends. What is unsent then is still in the outboxes' log
// queues and in the attempts' results.
func (c *reporter) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		parcels, next := c.collect(time.Now())
		if len(parcels) > 0 {
			c.send(ctx, parcels)
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

// collect packs what is due, and says when to look again when nothing is.
func (c *reporter) collect(now time.Time) (parcels []parcel, next time.Duration) {
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
			parcels = append(parcels, p)
			reports += len(p.reports)
			if p.logs {
				size += logBatch / 2
			}
		}
		if _, more := o.due(); more {
			rest = append(rest, o)
		} else {
			o.waiting = false
		}
	}
	c.waiting = rest
	return parcels, next
}

// send repeats one Deliver call until the server has answered it.
func (c *reporter) send(ctx context.Context, parcels []parcel) {
	var reports []*flowforgev1.AttemptReport
	for _, p := range parcels {
		reports = append(reports, p.reports...)
	}
	var results []*flowforgev1.ReportResult
	if len(reports) > 0 {
		var ok bool
		if results, ok = c.deliver(ctx, reports); !ok {
			return // ctx has ended
		}
	}
	for _, p := range parcels {
		n := len(p.reports)
		c.settle(p, results[:n])
		results = results[n:]
	}
}

// settle tells the outbox of p what became of its reports.
func (c *reporter) settle(p parcel, results []*flowforgev1.ReportResult) {
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

// deliver returns one result per report, or false when ctx has ended before.
func (c *reporter) deliver(ctx context.Context, reports []*flowforgev1.AttemptReport) ([]*flowforgev1.ReportResult, bool) {
	begin, wait := time.Now(), retryAtFirst
	for {
		results, err := c.call(ctx, reports)
		if err == nil {
			if c.away.Swap(false) {
				c.logger.Info("The server is back; reports go on.", "reports", len(reports))
			}
			return results, true
		}
		if connect.CodeOf(err) == connect.CodeInvalidArgument {
			return c.deliverSingly(ctx, reports, err)
		}
		if time.Since(begin) >= awayAfter && !c.away.Swap(true) {
			c.logger.Warn("The server does not answer; results and logs go to disk until it does.", "error", err)
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

// deliverSingly finds the report that the server does not understand and drops
// it: repeating it would hold up all others for ever.
func (c *reporter) deliverSingly(ctx context.Context, reports []*flowforgev1.AttemptReport, cause error) ([]*flowforgev1.ReportResult, bool) {
	if len(reports) == 1 {
		c.logger.Error("The server refuses a report as invalid; it is dropped.", "task", reports[0].TaskId, "error", cause)
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
	resp, err := c.server.Deliver(ctx, connect.NewRequest(&flowforgev1.DeliverRequest{Reports: reports}))
	if err != nil {
		return nil, err
	}
	if len(resp.Msg.Results) != len(reports) {
		return nil, connect.NewError(connect.CodeInternal, errResultCount)
	}
	return resp.Msg.Results, nil
}
