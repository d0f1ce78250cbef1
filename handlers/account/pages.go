// Package account contains the pages of a user's own account: sign-in, keys and preferences.
package account

import (
	"log/slog"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/identity"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/web"
)

// Config contains the dependencies of the pages.
type Config struct {
	Log       *slog.Logger
	Now       func() time.Time
	Site      *web.Site
	Sessions  *web.Sessions
	Links     *auth.LoginLinks
	Identity  *identity.Service
	PublicURL string // public address of this server; "": taken from the request
	Page      *page.Shell
}

// Pages are the pages of accounts. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// MountSignIn adds the pages that need no signed-in reader, and preferences, to r.
func (h *Pages) MountSignIn(r chi.Router) {
	r.Get("/login", h.Page.Open(h.loginPage))
	r.Post("/login", h.Page.Open(h.login))
	r.Get("/login/{provider}", h.Page.Open(h.providerLogin))
	r.Get("/login/{provider}/callback", h.Page.Open(h.providerCallback))
	r.Post("/preferences/theme", h.Page.Open(h.setTheme))
	r.Post("/preferences/keys", h.Page.Open(h.setKeys))
	r.Post("/preferences/project", h.Page.Serve(h.setProject))
}

// Mount adds the pages of accounts to r.
func (h *Pages) Mount(r chi.Router) {
	r.Post("/logout", h.Page.Open(h.logout))
	r.Get("/projects", h.Page.Serve(h.projectList))
	r.Get("/account", h.Page.Serve(h.account))
	r.Post("/account/sessions/end", h.Page.Serve(h.endSessions))
	r.Post("/account/sessions/{id}/end", h.Page.Serve(h.endSession))
	r.Get("/account/keys", h.Page.Serve(h.accountKeys))
	r.Post("/account/keys", h.Page.Serve(h.makeKey))
	r.Post("/account/keys/{id}/revoke", h.Page.Serve(h.revokeKey))
}
