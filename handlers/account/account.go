package account

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/identity"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// account shows the name, the roles and the sessions of the reader.
func (h *Pages) account(w http.ResponseWriter, r *http.Request) error {
	me, err := h.Identity.Me(r.Context())
	if err != nil {
		return err
	}
	sessions, err := h.Identity.Sessions(r.Context())
	if err != nil {
		return err
	}
	m := views.Account{
		Page: h.Page.Base(r, "Your account", views.SectionNone), Facts: h.accountFacts(me), Groups: me.Groups,
		NoProjects: len(me.Places) == 0 && me.Subject.Role == auth.RoleUser, Roles: accountRoles(me, h.providerName),
		Limits: h.sessionLimits(),
	}
	current, _ := me.Subject.SessionID()
	clock := h.Page.Clock(r)
	for _, s := range sessions {
		m.Sessions = append(m.Sessions, views.AccountSession{
			Browser: browserName(s.UserAgent), Agent: s.UserAgent, Address: s.Address, By: h.providerName(s.Provider),
			Started: clock.Moment(s.CreatedAt), Seen: clock.Moment(s.SeenAt), Ends: clock.Moment(s.ExpiresAt),
			ID: s.ID.String(), Current: s.ID == current, EndURL: views.SessionEndURL(s.ID.String()),
		})
	}
	return web.Render(w, r, http.StatusOK, views.AccountPage(m))
}

func (h *Pages) accountFacts(me identity.Profile) []ui.Fact {
	facts := []ui.Fact{{Name: "Name", Value: me.Subject.Name}}
	if me.Email != "" {
		facts = append(facts, ui.Fact{Name: "E-mail", Value: me.Email})
	}
	if me.Issuer != "" {
		facts = append(facts, ui.Fact{Name: "Signed in with", Value: me.Issuer})
	} else {
		facts = append(facts, ui.Fact{Name: "Signed in with", Value: "this installation"})
	}
	project := ui.Fact{Name: "Project", Value: "none"}
	if me.Project != nil {
		project.Value = me.Project.Label()
	}
	return append(facts, project, ui.Fact{Name: "User id", Value: me.Subject.ID.String(), Mono: true})
}

func accountRoles(me identity.Profile, provider func(string) string) []views.AccountRole {
	var roles []views.AccountRole
	if me.Subject.Role == auth.RoleAdmin {
		roles = append(roles, views.AccountRole{Role: "Administrator", Where: "the whole installation", About: "Full access to all tenants."})
	}
	for _, role := range me.Roles {
		v := views.AccountRole{Role: role.Role, Where: strings.Join(role.Path, " › ")}
		if len(role.Path) == 0 {
			v.Where = "the whole installation"
		}
		if i := slices.IndexFunc(auth.Grants(), func(g auth.Grant) bool { return g.Role == role.Role }); i >= 0 {
			v.About = auth.Grants()[i].About
		}
		if from, ok := strings.CutPrefix(role.Source, "group:"); ok {
			id, group, _ := strings.Cut(from, "/")
			v.From = "the group " + group + " of " + provider(id)
		}
		roles = append(roles, v)
	}
	return roles
}

// sessionLimits states when sessions expire.
func (h *Pages) sessionLimits() string {
	limits := h.Sessions.Limits()
	return "Sessions expire after " + inWords(limits.Idle) + " of inactivity, and no later than " + inWords(limits.Absolute) + " after sign-in."
}

// inWords formats the duration of a setting: "12 hours", "30 days".
func inWords(d time.Duration) string {
	day := 24 * time.Hour
	n, unit := int64(d/time.Minute), "minute"
	switch {
	case d >= 2*day && d%day == 0:
		n, unit = int64(d/day), "day"
	case d >= time.Hour && d%time.Hour == 0:
		n, unit = int64(d/time.Hour), "hour"
	}
	if n != 1 {
		unit += "s"
	}
	return strconv.FormatInt(n, 10) + " " + unit
}

// endSession ends one session of the reader, possibly the current one.
func (h *Pages) endSession(w http.ResponseWriter, r *http.Request) error {
	id, err := request.ParseID(chi.URLParam(r, "id"), "session")
	if err != nil {
		return err
	}
	if err := h.Identity.EndSession(r.Context(), id); err != nil {
		return err
	}
	subject, err := auth.SignedIn(r.Context())
	if err != nil {
		return err
	}
	if current, ok := subject.SessionID(); ok && current == id {
		h.Sessions.Forget(w)
		http.Redirect(w, r, views.LoginURL(), http.StatusSeeOther)
		return nil
	}
	http.Redirect(w, r, views.AccountURL(), http.StatusSeeOther)
	return nil
}

// endSessions signs the reader out everywhere.
func (h *Pages) endSessions(w http.ResponseWriter, r *http.Request) error {
	if err := h.Identity.EndAllSessions(r.Context()); err != nil {
		return err
	}
	h.Sessions.Forget(w)
	http.Redirect(w, r, views.LoginURL(), http.StatusSeeOther)
	return nil
}

// browserName is the common name of a User-Agent: "Firefox on Linux". Of an unknown one
// it returns the first word.
func browserName(agent string) string {
	find := func(names ...string) string {
		for i := 0; i+1 < len(names); i += 2 {
			if strings.Contains(agent, names[i]) {
				return names[i+1]
			}
		}
		return ""
	}
	browser := find("Edg/", "Edge", "OPR/", "Opera", "Firefox/", "Firefox", "Chrome/", "Chrome", "Safari/", "Safari")
	if browser == "" {
		if browser, _, _ = strings.Cut(agent, "/"); browser == "" {
			return "Unknown browser"
		}
		return browser
	}
	system := find("Windows", "Windows", "Android", "Android", "iPhone", "iPhone", "iPad", "iPad", "Mac OS", "macOS", "Linux", "Linux")
	if system == "" {
		return browser
	}
	return browser + " on " + system
}
