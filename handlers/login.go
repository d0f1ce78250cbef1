package handlers

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/auth/oidc"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// loginPage offers the sign-in providers, or, from a link, a button for its token,
// so that a program which only looks at links does not use it up.
func (h *Handlers) loginPage(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	page := h.loginView(r, localPath(q.Get("next")), nil)
	page.Token = q.Get("token")
	return web.Render(w, r, http.StatusOK, views.LoginPage(page))
}

// loginView is the sign-in page, after err when there is one.
func (h *Handlers) loginView(r *http.Request, next string, err error) views.Login {
	m := views.Login{Page: views.Page{Title: "Sign in", Path: "/login", Theme: Theme(r)}, Next: next}
	if err != nil {
		m.Page.Title, m.Message = "Error: Sign in", apperr.MessageOf(err)
	}
	for _, p := range h.Identity.Providers() {
		m.Providers = append(m.Providers, views.LoginProvider{Name: p.Name, URL: views.ProviderLoginURL(p.ID, next), Unreachable: p.Unreachable})
	}
	return m
}

// refuse answers a sign-in that failed with the sign-in page, counts it against
// the address, and notes in the log what the reader is not told.
func (h *Handlers) refuse(w http.ResponseWriter, r *http.Request, next string, err error) error {
	switch apperr.CodeOf(err) {
	case apperr.Unauthenticated:
		h.Site.LoginFailed(w, r)
		h.Log.Info("a sign-in was refused", "request_id", web.RequestID(r.Context()), "address", auth.OriginOf(r.Context()).Address, "error", err)
	case apperr.Forbidden, apperr.Unavailable:
		h.Log.Warn("a sign-in was refused", "request_id", web.RequestID(r.Context()), "error", err)
	case apperr.Invalid, apperr.NotFound, apperr.Conflict, apperr.Quota, apperr.Internal:
		return err
	}
	return web.Render(w, r, web.Status(apperr.CodeOf(err)), views.LoginPage(h.loginView(r, next, err)))
}

// login redeems a login link and begins a session of the local administrator.
func (h *Handlers) login(w http.ResponseWriter, r *http.Request) error {
	if err := h.Site.LoginAllowed(w, r); err != nil {
		return err
	}
	next := localPath(r.PostFormValue("next"))
	subject, err := h.Links.Redeem(r.PostFormValue("token"))
	if err != nil {
		return h.refuse(w, r, next, err)
	}
	login, err := h.Identity.LocalSignIn(r.Context(), subject)
	if err != nil {
		return err
	}
	return h.enter(w, r, login, next)
}

// enter begins the session of a sign-in that succeeded.
func (h *Handlers) enter(w http.ResponseWriter, r *http.Request, login auth.Login, next string) error {
	if err := h.Sessions.SignIn(w, r, login); err != nil {
		return err
	}
	http.Redirect(w, r, next, http.StatusSeeOther) //nolint:gosec // localPath keeps it on this server
	return nil
}

// providerLogin sends the reader to a sign-in provider.
func (h *Handlers) providerLogin(w http.ResponseWriter, r *http.Request) error {
	next := localPath(r.URL.Query().Get("next"))
	address, sealed, err := h.Identity.BeginSignIn(r.Context(), chi.URLParam(r, "provider"), next)
	if err != nil {
		return h.refuse(w, r, next, err)
	}
	h.Sessions.KeepAttempt(w, sealed, int(oidc.AttemptTTL.Seconds()))
	http.Redirect(w, r, address, http.StatusSeeOther) //nolint:gosec // the provider's own, by its discovery document
	return nil
}

// providerCallback takes what the provider sends the reader back with.
func (h *Handlers) providerCallback(w http.ResponseWriter, r *http.Request) error {
	if err := h.Site.LoginAllowed(w, r); err != nil {
		return err
	}
	login, next, err := h.Identity.FinishSignIn(r.Context(), chi.URLParam(r, "provider"), h.Sessions.TakeAttempt(w, r), r.URL.Query())
	if err != nil {
		return h.refuse(w, r, "/", err)
	}
	return h.enter(w, r, login, localPath(next))
}

// logout ends the session here, and at the provider when that offers it: a
// redirect would be the answer to a form, which our content security policy keeps
// on this site, so a page leads there.
func (h *Handlers) logout(w http.ResponseWriter, r *http.Request) error {
	ended, ok, err := h.Sessions.SignOut(w, r)
	if err != nil {
		return err
	}
	if _, known := auth.SubjectOf(r.Context()); ok && known {
		address, offered, err := h.Identity.SignedOut(r.Context(), ended, h.PublicURL+views.LoginURL())
		if err != nil {
			return err
		}
		if offered {
			w.Header().Set("Refresh", "0; url="+address)
			m := views.SignedOut{Page: views.Page{Title: "Signed out", Path: "/login", Theme: Theme(r)}, Provider: h.providerName(ended.Provider), URL: address}
			return web.Render(w, r, http.StatusOK, views.SignedOutPage(m))
		}
	}
	http.Redirect(w, r, views.LoginURL(), http.StatusSeeOther)
	return nil
}

// providerName is what people call a provider; one that is not configured any
// more keeps its id.
func (h *Handlers) providerName(id string) string {
	for _, p := range h.Identity.Providers() {
		if p.ID == id {
			return p.Name
		}
	}
	if id == "" {
		return "login link"
	}
	return id
}

// localPath returns next when it is a path on this server, else the home page.
func localPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || len(next) > 2000 || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return next
}

// Theme returns "light" or "dark" as the reader chose, "" for the system's.
func Theme(r *http.Request) string {
	c, err := r.Cookie("theme")
	if err != nil || (c.Value != "light" && c.Value != "dark") {
		return ""
	}
	return c.Value
}
