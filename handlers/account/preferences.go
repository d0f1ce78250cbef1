package account

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

const preferenceAge = 365 * 24 * time.Hour

// setTheme stores the theme that the reader chose, for browsers without JavaScript.
func (h *Pages) setTheme(w http.ResponseWriter, r *http.Request) error {
	return setPreference(w, r, "theme", "light", "dark")
}

// setKeys turns the single-key shortcuts on or off.
func (h *Pages) setKeys(w http.ResponseWriter, r *http.Request) error {
	return setPreference(w, r, "keys", "on", "off")
}

// setProject sets the current project of the reader's session. It redirects to the list that
// the previous page belongs to, because the previous page shows another project.
func (h *Pages) setProject(w http.ResponseWriter, r *http.Request) error {
	subject, err := auth.SignedIn(r.Context())
	if err != nil {
		return err
	}
	id, err := uuid.Parse(r.PostFormValue("project"))
	if err != nil {
		return apperr.New(apperr.NotFound, "There is no project %q.", r.PostFormValue("project"))
	}
	if err := h.Sessions.SetProject(r.Context(), subject, id); err != nil {
		return err
	}
	http.Redirect(w, r, listOf(page.LocalPath(r.PostFormValue("next"))), http.StatusSeeOther)
	return nil
}

// listOf is the first level of a path, which exists in every project.
func listOf(next string) string {
	path, _, _ := strings.Cut(next, "?")
	section, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch section {
	case "executions", "workflows", "artifacts", "types", "waiting", "quotas":
		return "/" + section
	}
	return "/"
}

// projectList finds the reader's projects. The switcher requests only the buttons; readers
// without JavaScript request the page.
func (h *Pages) projectList(w http.ResponseWriter, r *http.Request) error {
	m := views.ProjectsList{Page: h.Page.Base(r, "My projects", views.SectionNone), Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	m.Found = views.FindProjects(h.Page.Projects(r.Context()), m.Query)
	if web.IsHTMX(r) {
		return web.Render(w, r, http.StatusOK, views.ProjectChoices(m.Found[:min(len(m.Found), projectsShown)]))
	}
	return web.Render(w, r, http.StatusOK, views.ProjectsPage(m))
}

// projectsShown is how many projects the switcher shows at once.
const projectsShown = 50

// setPreference stores one choice in a cookie that scripts can read and write, too.
func setPreference(w http.ResponseWriter, r *http.Request, name string, allowed ...string) error {
	value := r.PostFormValue(name)
	if !slices.Contains(allowed, value) {
		return apperr.New(apperr.Invalid, "%q is not a valid value of %s.", value, name)
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // a preference, not a secret: scripts set it too
		Name: name, Value: value, Path: "/", MaxAge: int(preferenceAge.Seconds()), SameSite: http.SameSiteLaxMode,
	})
	http.Redirect(w, r, page.LocalPath(r.PostFormValue("next")), http.StatusSeeOther)
	return nil
}
