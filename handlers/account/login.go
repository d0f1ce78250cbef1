package account

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/auth/oidc"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// loginPage offers the sign-in providers. For a login link it shows a button that redeems
// the token, so that a program which previews links does not use it up.
func (h *Pages) loginPage(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	page := h.loginView(r, page.LocalPath(q.Get("next")), nil)
	page.Token = q.Get("token")
	return web.Render(w, r, http.StatusOK, views.LoginPage(page))
}

// loginView is the sign-in page, with the message of err if there is one.
func (h *Pages) loginView(r *http.Request, next string, err error) views.Login {
	m := views.Login{Page: views.Page{Title: "Sign in", Path: "/login", Theme: page.Theme(r)}, Next: next}
	if err != nil {
		m.Page.Title, m.Message = "Error: Sign in", apperr.MessageOf(err)
	}
	for _, p := range h.Identity.Providers() {
		m.Providers = append(m.Providers, views.LoginProvider{Name: p.Name, URL: views.ProviderLoginURL(p.ID, next), Unreachable: p.Unreachable})
	}
	return m
}

// refuse answers a failed sign-in with the sign-in page, counts it against the address,
// and logs the details that the reader does not see.
func (h *Pages) refuse(w http.ResponseWriter, r *http.Request, next string, err error) error {
	switch apperr.CodeOf(err) {
	case apperr.Unauthenticated:
		h.Site.LoginFailed(w, r)
		h.Log.Info("a sign-in failed", "request_id", web.RequestID(r.Context()), "address", auth.OriginOf(r.Context()).Address, "error", err)
	case apperr.Forbidden, apperr.Unavailable:
		h.Log.Warn("a sign-in failed", "request_id", web.RequestID(r.Context()), "error", err)
	case apperr.Invalid, apperr.NotFound, apperr.Conflict, apperr.Quota, apperr.Internal:
		return err
	}
	return web.Render(w, r, web.Status(apperr.CodeOf(err)), views.LoginPage(h.loginView(r, next, err)))
}

// login redeems a login link and starts a session of the local administrator.
func (h *Pages) login(w http.ResponseWriter, r *http.Request) error {
	if err := h.Site.LoginAllowed(w, r); err != nil {
		return err
	}
	next := page.LocalPath(r.PostFormValue("next"))
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

// enter starts the session of a successful sign-in.
func (h *Pages) enter(w http.ResponseWriter, r *http.Request, login auth.Login, next string) error {
	if err := h.Sessions.SignIn(w, r, login); err != nil {
		return err
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

// providerLogin redirects the reader to a sign-in provider.
func (h *Pages) providerLogin(w http.ResponseWriter, r *http.Request) error {
	next := page.LocalPath(r.URL.Query().Get("next"))
	address, sealed, err := h.Identity.BeginSignIn(r.Context(), chi.URLParam(r, "provider"), next)
	if err != nil {
		return h.refuse(w, r, next, err)
	}
	h.Sessions.KeepAttempt(w, sealed, int(oidc.AttemptTTL.Seconds()))
	http.Redirect(w, r, address, http.StatusSeeOther)
	return nil
}

// providerCallback handles the redirect from the provider back to this server.
func (h *Pages) providerCallback(w http.ResponseWriter, r *http.Request) error {
	if err := h.Site.LoginAllowed(w, r); err != nil {
		return err
	}
	login, next, err := h.Identity.FinishSignIn(r.Context(), chi.URLParam(r, "provider"), h.Sessions.TakeAttempt(w, r), r.URL.Query())
	if err != nil {
		return h.refuse(w, r, "/", err)
	}
	return h.enter(w, r, login, page.LocalPath(next))
}

// logout ends the session here, and at the provider if the provider supports it. Our content
// security policy forbids that a form redirects to another site, so a page leads there.
func (h *Pages) logout(w http.ResponseWriter, r *http.Request) error {
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
			m := views.SignedOut{Page: views.Page{Title: "Signed out", Path: "/login", Theme: page.Theme(r)}, Provider: h.providerName(ended.Provider), URL: address}
			return web.Render(w, r, http.StatusOK, views.SignedOutPage(m))
		}
	}
	http.Redirect(w, r, views.LoginURL(), http.StatusSeeOther)
	return nil
}

// providerName is the display name of a provider, or its id if the provider is no longer
// configured.
func (h *Pages) providerName(id string) string {
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
