package admin

import (
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const userPageSize = 50

// users lists the users of the installation.
func (h *Pages) users(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	f := tenancy.UserFilter{Text: q.Get("q"), Status: q.Get("status"), After: q.Get("after"), Limit: userPageSize}
	page, err := h.Tenancy.Users(r.Context(), f)
	if err != nil {
		return err
	}
	m := views.AdminUsers{
		Page: h.Page.Base(r, "People", views.SectionAdmin, views.Crumb{Name: "Teams and people", URL: views.AdminURL()}),
		Tabs: h.tabs(r, views.SectionAdmin, true), Query: f.Text, Filtered: f.Text != "" || f.Status != "",
	}
	for _, o := range []ui.Option{{Name: "All users"}, {Value: "active", Name: "Active"}, {Value: "disabled", Name: "Disabled"}, {Value: "admin", Name: "Administrators"}} {
		o.Selected = o.Value == f.Status
		m.Statuses = append(m.Statuses, o)
	}
	clock := h.Page.Clock(r)
	for _, u := range page.Items {
		row := views.AdminUserRow{
			Name: u.Name, URL: views.AdminUserURL(u.ID.String()), Email: u.Email, Provider: issuerName(u.Issuer), Admin: u.Admin,
			Disabled: u.DisabledAt != nil, Roles: figure(u.Roles), Sessions: figure(u.Sessions),
		}
		if u.SeenAt != nil {
			row.Seen = clock.Ago(*u.SeenAt)
		}
		m.Rows = append(m.Rows, row)
	}
	if page.Next != "" {
		q.Set("after", page.Next)
		m.Pager = ui.Pager{Text: units.Plural(len(m.Rows), "person", "people"), Older: views.AdminUsersURL() + "?" + q.Encode()}
	}
	return web.Render(w, r, http.StatusOK, views.AdminUsersPage(m))
}

// issuerName is the host of an issuer, which users recognize.
func issuerName(issuer string) string {
	if issuer == "" {
		return "this machine"
	}
	if u, err := url.Parse(issuer); err == nil && u.Host != "" {
		return u.Host
	}
	return issuer
}

// user shows one user.
func (h *Pages) user(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	return h.showUser(w, r, id, nil)
}

func (h *Pages) showUser(w http.ResponseWriter, r *http.Request, id uuid.UUID, refused error) error {
	u, roles, err := h.Tenancy.User(r.Context(), id)
	if err != nil {
		return err
	}
	m := views.AdminUser{
		Page: h.Page.Base(r, u.Name, views.SectionAdmin, views.Crumb{Name: "Teams and people", URL: views.AdminURL()}, views.Crumb{Name: "People", URL: views.AdminUsersURL()}),
		ID:   u.ID.String(), Name: u.Name, Admin: u.Admin, Disabled: u.DisabledAt != nil, Facts: userFacts(h.Page.Clock(r), u), Notice: done(r),
	}
	status := http.StatusOK
	if refused != nil {
		status = web.Status(apperr.CodeOf(refused))
		m.Title = "Error: " + m.Title
		m.Notice = &views.AdminNotice{Kind: "error", Strong: "Nothing was changed.", Text: apperr.MessageOf(refused)}
	}
	for _, role := range roles {
		row := views.AdminUserRole{
			Place: role.Name, URL: views.AdminNodeURL(role.ID.String()), Kind: string(role.Kind), Role: role.Role, Group: role.Group, Archived: role.Archived,
		}
		if role.Kind == tenancy.Installation {
			row.Place, row.Kind = "Whole installation", ""
		}
		m.Roles = append(m.Roles, row)
	}
	if u.ID != auth.LocalAdmin {
		m.Forms = userForms(u)
	}
	return web.Render(w, r, status, views.AdminUserPage(m))
}

func userFacts(clock ui.Clock, u tenancy.User) []ui.Fact {
	first := clock.Moment(u.CreatedAt)
	facts := []ui.Fact{{Name: "E-mail", Value: orDash(u.Email)}, {Name: "Signs in with", Value: issuerName(u.Issuer)}, {Name: "First seen", Moment: &first}}
	if u.SeenAt != nil {
		last := clock.Moment(*u.SeenAt)
		facts = append(facts, ui.Fact{Name: "Last seen", Moment: &last})
	}
	if u.DisabledAt != nil {
		at := clock.Moment(*u.DisabledAt)
		facts = append(facts, ui.Fact{Name: "Disabled", Moment: &at})
	}
	for i, group := range u.Groups {
		name := ""
		if i == 0 {
			name = units.Plural(len(u.Groups), "group", "groups")
		}
		facts = append(facts, ui.Fact{Name: name, Value: group})
	}
	return append(facts, ui.Fact{Name: "Id", Value: u.ID.String(), Mono: true})
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// userForms are the possible changes of a user's account.
func userForms(u tenancy.User) []views.AdminUserAction {
	base := views.AdminUserURL(u.ID.String())
	if u.DisabledAt != nil {
		return []views.AdminUserAction{{Action: base + "/enable", Text: "The account is disabled: sign-in, sessions and keys are blocked.", Button: views.AdminButton{Text: "Enable the account"}}}
	}
	admin := views.AdminUserAction{Action: base + "/promote", Text: "Installation administrators have full access to every tenant.", Button: views.AdminButton{Text: "Make administrator"}}
	if u.Admin {
		admin = views.AdminUserAction{Action: base + "/demote", ID: "demote", Ask: "Remove " + u.Name + " as administrator?", Text: "Installation administrators have full access to every tenant. The user's other roles are kept.", Button: views.AdminButton{Text: "Remove administrator"}}
	}
	return []views.AdminUserAction{admin, {
		Action: base + "/disable", ID: "disable", Ask: "Disable the account of " + u.Name + "?", Text: "Disabling ends all sessions immediately and blocks sign-in and keys. Everything that the user created is kept.", Button: views.AdminButton{Text: "Disable the account"},
	}}
}

// changeUser changes the account of a user.
func (h *Pages) changeUser(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	change := request.PathValue(r, "change")
	switch change {
	case "disable", "enable":
		_, err = h.Tenancy.SetUserDisabled(r.Context(), id, change == "disable")
	case "promote", "demote":
		_, err = h.Tenancy.SetUserAdmin(r.Context(), id, change == "promote")
	default:
		return apperr.New(apperr.NotFound, "There is no action %q for users.", change)
	}
	if err != nil {
		if !shownInForm(err) {
			return err
		}
		return h.showUser(w, r, id, err)
	}
	return seeOther(w, r, views.AdminUserURL(id.String())+"?did="+change+"d")
}
