// Package web is FlowForge's HTTP infrastructure, independent of any feature: handlers
// that return errors, buffered rendering, streams, sessions, and the security headers of
// every response.
package web

import (
	"log/slog"
	"net/http"
	"net/netip"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// HandlerFunc is a handler whose errors Site.Handler answers.
type HandlerFunc func(w http.ResponseWriter, r *http.Request) error

// ErrorView is the content of an error page.
type ErrorView struct {
	Status    int
	Title     string // "Not found"
	Message   string // a sentence for users
	Fields    []apperr.Field
	RequestID string // identifies the log line
	Path      string // with the query, of a page that can be requested again; "" for others
	User      string // name of the signed-in user, or ""
}

// Config configures a Site.
type Config struct {
	Log       *slog.Logger
	Sessions  *Sessions
	Tokens    auth.TokenChain
	Users     *auth.Users // resolves the project of a request; nil ignores the project header
	Limits    Limits
	ErrorPage func(r *http.Request, v ErrorView) templ.Component

	Replica Replica // nil: everything is read from the primary

	PublicURL      string         // public URL, if a proxy rewrites the host of requests
	TrustedProxies []netip.Prefix // proxies whose X-Forwarded-For is trusted
}

// Site serves handlers. It is safe for concurrent use.
type Site struct {
	cfg Config

	perCaller, perTenant, perAddress, failedLogins *limiter
}

// NewSite returns a Site of cfg.
func NewSite(cfg Config) *Site {
	return &Site{
		cfg: cfg, perCaller: newLimiter(cfg.Limits.Caller), perTenant: newLimiter(cfg.Limits.Tenant),
		perAddress: newLimiter(cfg.Limits.Address), failedLogins: newLimiter(cfg.Limits.FailedLogins),
	}
}

// Handler returns h as an http.HandlerFunc. It answers an error of h as a page, or as
// problem+json for programs, and logs an internal error once.
func (s *Site) Handler(h HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.Fail(w, r, err)
		}
	}
}
