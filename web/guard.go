package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// A stream outlives the authorisation of its caller. Its guard checks again whenever a
// role or credential is revoked in this process, and at intervals for revocations on
// other servers. A stream therefore ends within checkInterval+checkTimeout.
const (
	checkInterval = 2 * time.Second
	checkTimeout  = 2 * time.Second
)

type guardKey struct{}

var errStopping = errors.New("the server stops")

// guard ends one request when its caller loses access to the response.
type guard struct {
	site    *Site
	request *http.Request // the original request
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// guarded returns a context that a stream can watch with watchOver, and a function that
// releases it at the end of the request.
func (s *Site) guarded(ctx context.Context, r *http.Request) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	g := &guard{site: s, request: r, cancel: cancel}
	return context.WithValue(ctx, guardKey{}, g), func() {
		cancel()
		g.running.Wait()
	}
}

// watchOver ends the context of r once its caller loses access or the server begins to stop.
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
		g.site.cfg.Log.Debug("stream ended by the server", "request_id", RequestID(r.Context()), "path", r.URL.Path, "reason", reason)
		g.cancel()
		// A client that has stopped reading must not hold the stream open either.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now())
	})
}

// watch returns the reason once the caller of ctx loses access or the server begins to stop,
// or nil when ctx ends.
func (g *guard) watch(ctx context.Context, may func(context.Context) error) error {
	ticks := time.NewTicker(checkInterval)
	defer ticks.Stop()
	stopping := stoppingOf(ctx)
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
		case <-stopping:
			return errStopping
		case <-changed:
		case <-ticks.C:
		}
	}
}

// check authenticates the credential again and checks that its subject may still read
// the response. If the check itself fails, the stream ends and the client reconnects.
func (g *guard) check(ctx context.Context, may func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	was, _ := auth.SubjectOf(ctx)
	now, err := g.caller(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("check the credential: %w", err)
	case now.ID != was.ID, now.Role != was.Role:
		return apperr.New(apperr.Unauthenticated, "The credential now belongs to another user.")
	}
	now.TenantID, now.ProjectID = was.TenantID, was.ProjectID // a project chosen since then applies to other requests
	return may(auth.WithSubject(ctx, now))
}

// caller returns the current subject of the request's credential.
func (g *guard) caller(ctx context.Context) (auth.Subject, error) {
	if token, ok := strings.CutPrefix(g.request.Header.Get("Authorization"), "Bearer "); ok {
		return g.site.cfg.Tokens.Verify(ctx, token)
	}
	return g.site.cfg.Sessions.peek(ctx, g.request)
}

// StillMay returns the check of a stream of the current project: its caller may still
// perform all actions there.
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
