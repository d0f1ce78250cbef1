package handlers

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/auth"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// loginPage shows a button for the token of the link, so that a program which
// only looks at links does not use it up; without a token it says where one is.
func (h *Handlers) loginPage(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	page := views.Page{Title: "Sign in", Path: r.URL.Path, Theme: Theme(r)}
	return web.Render(w, r, http.StatusOK, views.LoginPage(page, q.Get("token"), localPath(q.Get("next")), ""))
}

// login redeems a login link and begins a session.
func (h *Handlers) login(w http.ResponseWriter, r *http.Request) error {
	next := localPath(r.PostFormValue("next"))
	subject, err := h.Links.Redeem(r.PostFormValue("token"))
	if err != nil {
		page := views.Page{Title: "Error: Sign in", Path: r.URL.Path, Theme: Theme(r)}
		return web.Render(w, r, web.Status(apperr.CodeOf(err)), views.LoginPage(page, "", next, apperr.MessageOf(err)))
	}
	if err := h.Sessions.SignIn(w, r, auth.Login{UserID: subject.ID}); err != nil {
		return err
	}
	http.Redirect(w, r, next, http.StatusSeeOther) //nolint:gosec // localPath keeps it on this server
	return nil
}

func (h *Handlers) logout(w http.ResponseWriter, r *http.Request) error {
	if _, _, err := h.Sessions.SignOut(w, r); err != nil {
		return err
	}
	http.Redirect(w, r, "/login", http.StatusSeeOther)
	return nil
}

// issueLoginLink gives an administrator a link for another browser.
func (h *Handlers) issueLoginLink(w http.ResponseWriter, r *http.Request) error {
	if _, err := auth.Authorize(r.Context(), auth.Administer); err != nil {
		return err
	}
	link := "http://" + r.Host + "/login?token=" + h.Links.Issue()
	web.WriteJSON(w, http.StatusOK, "application/json", map[string]string{"url": link})
	return nil
}

// localPath returns next when it is a path on this server, else the home page.
func localPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.Contains(next, `\`) {
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
