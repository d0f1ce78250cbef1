package clickhouse

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flowforge/flowforge/apperr"
)

const (
	startPatience = 30 * time.Second // of a request that waits for the engine
	checkTimeout  = 10 * time.Second
)

// demand counts the requests to an engine.
type demand struct {
	mu      sync.Mutex
	users   int       // requests that wait or run
	last    time.Time // when the last one ended
	resting bool      // the engine stops or is stopped
	awake   chan struct{}
	rested  chan struct{} // closed when the engine begins to rest

	requested chan struct{} // has an element if a request waits for a resting engine
}

func newDemand() *demand {
	return &demand{last: time.Now(), awake: make(chan struct{}), rested: make(chan struct{}), requested: make(chan struct{}, 1)}
}

// begin counts a request. If the engine rests, it requests a start, before which awake is not closed.
func (d *demand) begin() (resting bool, awake <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.users++
	if d.resting {
		select {
		case d.requested <- struct{}{}:
		default:
		}
	}
	return d.resting, d.awake
}

func (d *demand) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.users--
	d.last = time.Now()
}

// left is how long the engine stays in use if no request follows: 0 if it has been idle for idle.
func (d *demand) left(idle time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users > 0 {
		return idle
	}
	return max(0, idle-time.Since(d.last))
}

// rest makes later requests wait, unless there is one or was one during idle.
func (d *demand) rest(idle time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users > 0 || time.Since(d.last) < idle {
		return false
	}
	select {
	case <-d.requested: // of requests that did not wait until the start
	default:
	}
	d.resting = true
	close(d.rested)
	return true
}

// wake lets requests continue.
func (d *demand) wake() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.resting = false
	close(d.awake)
	d.awake, d.rested = make(chan struct{}), make(chan struct{})
}

func (d *demand) rests() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.resting
}

// nextRest returns a channel that is closed if the engine rests, or when it begins to.
func (d *demand) nextRest() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rested
}

// restWhenIdle stops the engine when it has been idle, and starts it for the next request, until ctx
// ends.
func (e *Engine) restWhenIdle(ctx context.Context) {
	for e.untilIdle(ctx) {
		e.cfg.Logger.Info(what+" stops until it is needed", "idle", e.cfg.Idle)
		if err := e.supervisor.Rest(ctx); err != nil && ctx.Err() == nil {
			e.cfg.Logger.Error(what+" did not stop cleanly", "err", err)
		}
		if e.cfg.Stopped != nil {
			e.cfg.Stopped()
		}
		select {
		case <-e.demand.requested:
		case <-ctx.Done():
			return
		}
		e.supervisor.Wake()
		e.demand.wake()
	}
}

// untilIdle waits until the engine is idle and has no work of its own, and makes requests wait from
// then on. It returns false when ctx ends.
func (e *Engine) untilIdle(ctx context.Context) bool {
	for {
		wait := e.demand.left(e.cfg.Idle)
		if wait == 0 {
			if e.works(ctx) {
				wait = e.cfg.Idle
			} else if e.demand.rest(e.cfg.Idle) {
				return true
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
}

// works reports whether the engine is merging or rewriting data, which a stop would discard.
func (e *Engine) works(ctx context.Context) bool {
	const query = "SELECT (SELECT count() FROM system.merges) + (SELECT count() FROM system.mutations WHERE NOT is_done)"
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	answer, err := e.get(ctx, "/?query="+url.QueryEscape(query))
	return err != nil || strings.TrimSpace(answer) != "0" // an engine without an answer is restarted by its supervisor
}

// Check reports whether the engine responds or rests, even if it begins to rest meanwhile. It does not
// start the engine, and does not count as use.
func (e *Engine) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	rests, result := e.demand.nextRest(), make(chan error, 1)
	go func() { result <- e.responds(ctx) }()
	select {
	case <-rests:
		return nil
	case err := <-result:
		select {
		case <-rests:
			return nil
		default:
			return err
		}
	}
}

func (e *Engine) responds(ctx context.Context) error {
	if _, err := e.supervisor.Ready(ctx); err != nil {
		return err
	}
	_, err := e.get(ctx, "/ping")
	return err
}

// get returns the response to a request that does not count as use.
func (e *Engine) get(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine"+path, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = apperr.New(apperr.Unavailable, "%s responds with %s", what, resp.Status)
	}
	return string(answer), err
}

// Await starts the engine if it rests, and waits until it responds. It does not rest before end is
// called.
func (e *Engine) Await(ctx context.Context) (end func(), err error) {
	if _, err := e.begin(ctx); err != nil {
		return nil, err
	}
	return e.demand.end, nil
}

// Transport returns a transport whose requests start the engine if it rests, and wait until it
// responds. It has the signature of clickhouse.Options.TransportFunc.
func (e *Engine) Transport(base *http.Transport) (http.RoundTripper, error) {
	return &transport{Transport: base, engine: e}, nil
}

type transport struct {
	*http.Transport

	engine *Engine
	starts atomic.Int64 // of the engine, at the last request
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	starts, err := t.engine.begin(req.Context())
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	if t.starts.Swap(starts) != starts {
		t.CloseIdleConnections() // they lead to a process that has ended
	}
	end := sync.OnceFunc(t.engine.demand.end)
	resp, err := t.Transport.RoundTrip(req)
	if err != nil {
		end()
		return nil, err
	}
	resp.Body = &body{resp.Body, end}
	return resp, nil
}

// begin counts a request and waits until the engine is ready for it. Without an error, the caller
// must call demand.end.
func (e *Engine) begin(ctx context.Context) (starts int64, err error) {
	resting, awake := e.demand.begin()
	defer func() {
		if err != nil {
			e.demand.end()
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, apperr.New(apperr.Unavailable, "%s did not start in %s", what, startPatience))
	defer cancel()
	if resting {
		select {
		case <-awake:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-e.closing:
			return 0, apperr.New(apperr.Unavailable, "%s is closed", what)
		}
	}
	n, err := e.supervisor.Ready(ctx)
	return int64(n), err
}

// body is the body of a response, whose end is the end of the request.
type body struct {
	io.ReadCloser

	end func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}

func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
