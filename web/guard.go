package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// A stream outlives the moment at which its caller was authorised. Its guard looks
// again whenever a right or a credential ends in this process, and at intervals for
// what other servers changed: so a stream ends within checkInterval+checkTimeout.
const (
	checkInterval = 2 * time.Second
	checkTimeout  = 2 * time.Second
)

type guardKey struct{}

// guard ends one request when its caller has lost the right to its answer.
type guard struct {
	site    *Site
	request *http.Request // as it came
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// guarded returns ctx of a request that a stream can have watched over, and what
// releases it at the end of the request.
func (s *Site) guarded(ctx context.Context, r *http.Request) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	g := &guard{site: s, request: r, cancel: cancel}
	return context.WithValue(ctx, guardKey{}, g), func() {
		cancel()
		g.running.Wait()
	}
}

// watchOver ends the context of r once its caller may not go on.
func watchOver(w http.ResponseWriter, r *http.Request, may func(context.Context) error) {
	g, ok := r.Context().Value(guardKey{}).(*guard)
	if !ok {
		return // a request without a caller
	}
	g.running.Go(func() {
		reason := g.watch(r.Context(), may)
		if r.Context().Err() != nil {
			return // the request ended first
		}
		g.site.cfg.Log.Debug("stream ended: its caller may not go on", "request_id", RequestID(r.Context()), "path", r.URL.Path, "reason", reason)
		g.cancel()
		// A reader that takes nothing more must not hold the stream open either.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now())
	})
}

// watch returns why the caller of ctx may not go on, or nil when ctx ends.
func (g *guard) watch(ctx context.Context, may func(context.Context) error) error {
	ticks := time.NewTicker(checkInterval)
	defer ticks.Stop()
	var changed <-chan struct{}
	for {
		if g.site.cfg.Users != nil {
			changed = g.site.cfg.Users.Changed()
		}
		if err := g.check(ctx, may); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-ticks.C:
		}
	}
}

// check asks anew who the credential of the request stands for, and whether they may
// have the answer. A check that cannot be made fails: the reader comes back.
func (g *guard) check(ctx context.Context, may func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	was, _ := auth.SubjectOf(ctx)
	now, err := g.caller(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("check the credential: %w", err)
	case now.ID != was.ID, now.Role != was.Role:
		return apperr.New(apperr.Unauthenticated, "The credential stands for somebody else now.")
	}
	now.TenantID, now.ProjectID = was.TenantID, was.ProjectID // what the session chose since is for other requests
	return may(auth.WithSubject(ctx, now))
}

// caller is who the credential of the request stands for now.
func (g *guard) caller(ctx context.Context) (auth.Subject, error) {
	if token, ok := strings.CutPrefix(g.request.Header.Get("Authorization"), "Bearer "); ok {
		return g.site.cfg.Tokens.Verify(ctx, token)
	}
	return g.site.cfg.Sessions.peek(ctx, g.request)
}

// StillMay is what a stream of the current project asks while it is open: whether its
// caller may still do all of actions there.
func StillMay(actions ...auth.Action) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, a := range actions {
			if _, err := auth.Authorize(ctx, a); err != nil {
				return err
			}
		}
		return nil
	}
}
