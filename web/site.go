// Package web is the HTTP mechanism of FlowForge with no feature in it: handlers
// that return errors, buffered rendering, streams, sessions and the security
// headers of every answer.
package web

import (
	"log/slog"
	"net/http"
	"net/netip"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/access/auth"
)

// HandlerFunc is a handler that leaves its failures to Site.Handler.
type HandlerFunc func(w http.ResponseWriter, r *http.Request) error

// ErrorView is what an error page shows.
type ErrorView struct {
	Status    int
	Title     string // "Not found"
	Message   string // a sentence for people
	RequestID string // to find the log line by
	Path      string
	User      string // name of who is signed in, "" for nobody
}

// Config is what a Site needs.
type Config struct {
	Log       *slog.Logger
	Sessions  *Sessions
	Tokens    auth.TokenChain
	Users     *auth.Users // to choose the project of a request by; nil offers no choice
	Limits    Limits
	ErrorPage func(r *http.Request, v ErrorView) templ.Component

	PublicURL      string         // where people reach the site, when a proxy changes what requests say of it
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed
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

// Handler returns h as a http.HandlerFunc: an error of h is logged once when it
// is internal, and answered as a page, or as problem+json for programs.
func (s *Site) Handler(h HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.Fail(w, r, err)
		}
	}
}
