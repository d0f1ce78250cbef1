package oidc

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/flowforge/flowforge/apperr"
)

// The timeout of a provider, and the delays of background retries: doubled each time,
// up to a maximum.
const (
	patience   = 10 * time.Second
	firstRetry = time.Second
	mostRetry  = 30 * time.Second
)

// Provider is one OpenID provider. Discovery runs on first use and in the background,
// so that an unreachable provider does not prevent the server from starting. It is safe
// for concurrent use.
type Provider struct {
	cfg      Config
	client   *http.Client
	redirect string
	log      *slog.Logger
	now      func() time.Time

	discovering     sync.Mutex // one discovery at a time
	mu              sync.Mutex
	found           *discovered
	discoveryFailed bool // the last discovery failed
}

// discovered is the discovery document of a provider.
type discovered struct {
	provider   *oidc.Provider
	endSession string
}

// New returns the provider of cfg, which Complete has checked, for a server at
// publicURL.
func New(cfg Config, publicURL string, log *slog.Logger, now func() time.Time) *Provider {
	return &Provider{
		cfg: cfg, client: &http.Client{Timeout: patience, Transport: boundedBody{http.DefaultTransport}},
		redirect: publicURL + CallbackPath(cfg.ID), log: log, now: now,
	}
}

// CallbackPath is the redirect path of the provider with this id.
func CallbackPath(id string) string { return "/login/" + url.PathEscape(id) + "/callback" }

// ID returns the provider's id.
func (p *Provider) ID() string { return p.cfg.ID }

// Name returns the provider's name for people.
func (p *Provider) Name() string { return p.cfg.Name }

// Unreachable reports whether the last request to the provider failed.
func (p *Provider) Unreachable() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.found == nil && p.discoveryFailed
}

// Run discovers the provider in the background, until it is found or ctx ends.
func (p *Provider) Run(ctx context.Context) error {
	for retry := firstRetry; ; retry = min(2*retry, mostRetry) {
		_, err := p.discover(ctx)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		p.log.Warn("the sign-in provider is not responding", "provider", p.cfg, "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retry):
		}
	}
}

// discover returns the discovery document of the provider; it returns
// apperr.Unavailable while the provider does not respond.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	p.discovering.Lock()
	defer p.discovering.Unlock()
	p.mu.Lock()
	found := p.found
	p.mu.Unlock()
	if found != nil {
		return found, nil
	}
	found, err := p.fetchDiscovery(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found, p.discoveryFailed = found, err != nil
	if err != nil {
		return nil, p.unreachable(err)
	}
	return found, nil
}

func (p *Provider) fetchDiscovery(ctx context.Context) (*discovered, error) {
	provider, err := oidc.NewProvider(p.with(ctx), p.cfg.Issuer)
	if err != nil {
		return nil, fmt.Errorf("discover %s: %w", p.cfg.Issuer, err)
	}
	var more struct {
		EndSession string `json:"end_session_endpoint"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, fmt.Errorf("discover %s: %w", p.cfg.Issuer, err)
	}
	return &discovered{provider: provider, endSession: more.EndSession}, nil
}

func (p *Provider) unreachable(err error) error {
	return apperr.Wrap(apperr.Unavailable, err, p.cfg.Name+" is not responding. Try again in a minute.")
}

// with returns a context whose calls to the provider use p's client.
func (p *Provider) with(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.client)
}

func (p *Provider) oauth(d *discovered) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.cfg.ClientID, ClientSecret: p.cfg.ClientSecret, Endpoint: d.provider.Endpoint(),
		RedirectURL: p.redirect, Scopes: append([]string{oidc.ScopeOpenID}, p.cfg.Scopes...),
	}
}

// SignOutURL returns the address at which the provider ends its own session and then
// redirects to back; ok is false when the provider does not support it or is not
// discovered yet.
func (p *Provider) SignOutURL(hint, back string) (address string, ok bool) {
	p.mu.Lock()
	found := p.found
	p.mu.Unlock()
	if found == nil || found.endSession == "" {
		return "", false
	}
	u, err := url.Parse(found.endSession)
	if err != nil || !secureURL(u) {
		return "", false
	}
	query := u.Query()
	query.Set("client_id", p.cfg.ClientID)
	query.Set("post_logout_redirect_uri", back)
	if hint != "" {
		query.Set("id_token_hint", hint)
	}
	u.RawQuery = query.Encode()
	return u.String(), true
}

// boundedBody limits the size of a provider's answers.
type boundedBody struct{ http.RoundTripper }

const mostAnswerBytes = 1 << 20

// RoundTrip implements http.RoundTripper.
func (t boundedBody) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("call the provider: %w", err)
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(res.Body, mostAnswerBytes), res.Body}
	return res, nil
}
