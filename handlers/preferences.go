package handlers

import (
	"net/http"
	"slices"
	"time"

	"github.com/flowforge/flowforge/apperr"
)

const preferenceAge = 365 * 24 * time.Hour

// setTheme keeps the theme that the reader chose, for browsers without a script.
func (h *Handlers) setTheme(w http.ResponseWriter, r *http.Request) error {
	return setPreference(w, r, "theme", "light", "dark")
}

// setKeys switches the single-key shortcuts on or off.
func (h *Handlers) setKeys(w http.ResponseWriter, r *http.Request) error {
	return setPreference(w, r, "keys", "on", "off")
}

// setPreference keeps one choice in a cookie that scripts may read and write too.
func setPreference(w http.ResponseWriter, r *http.Request, name string, allowed ...string) error {
	value := r.PostFormValue(name)
	if !slices.Contains(allowed, value) {
		return apperr.New(apperr.Invalid, "%q is not a choice of %s.", value, name)
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // a preference, not a secret: scripts set it too
		Name: name, Value: value, Path: "/", MaxAge: int(preferenceAge.Seconds()), SameSite: http.SameSiteLaxMode,
	})
	http.Redirect(w, r, localPath(r.PostFormValue("next")), http.StatusSeeOther) //nolint:gosec // localPath keeps it on this server
	return nil
}
