package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// node shows a tenant, department, team or project with its members.
func (h *Pages) node(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	open := openForm{}
	if member := r.URL.Query().Get("member"); member != "" {
		open = openForm{name: "change", id: member}
	}
	return h.showNode(w, r, id, open)
}

func (h *Pages) showNode(w http.ResponseWriter, r *http.Request, id uuid.UUID, open openForm) error {
	ctx := r.Context()
	n, steps, err := h.Tenancy.Node(ctx, id)
	if err != nil {
		return err
	}
	roles, err := h.Tenancy.Roles(ctx, id)
	if err != nil {
		return err
	}
	subject, _ := auth.SubjectOf(ctx)
	m := views.AdminNode{
		Page: h.Page.Base(r, nodeName(n), views.SectionAdmin, nodeCrumbs(steps)...), Name: nodeName(n), Kind: string(n.Kind), Description: n.Description,
		Archived: n.Archived(), Facts: nodeFacts(h.Page.Clock(r), n), Notice: done(r), Problems: open.problems(),
	}
	if open.err != nil {
		m.Title = "Error: " + m.Title
	}
	m.Actions = nodeActions(subject, n)
	for _, g := range auth.Grants() {
		m.Roles = append(m.Roles, views.AdminRole{Name: g.Role, About: g.About})
	}
	if n.Archived() {
		roles = nil
	}
	if err := h.fillMembers(r, &m, n, open, roles); err != nil {
		return err
	}
	if err := h.fillGroups(r, &m, n, open, roles); err != nil {
		return err
	}
	if n.Kind == tenancy.Project {
		err = h.fillAccounts(r, &m, n, open, roles)
	} else {
		err = h.fillBelow(ctx, &m, n, subject)
	}
	if err != nil {
		return err
	}
	return web.Render(w, r, open.status(), views.AdminNodePage(m))
}

func nodeName(n tenancy.Node) string {
	if n.Kind == tenancy.Installation {
		return "Whole installation"
	}
	return n.Name
}

// nodeCrumbs is the path to the last of steps, which is the page itself.
func nodeCrumbs(steps []tenancy.Step) []views.Crumb {
	crumbs := []views.Crumb{{Name: "Teams and people", URL: views.AdminURL()}}
	for _, s := range steps[:max(len(steps)-1, 0)] {
		c := views.Crumb{Name: s.Name}
		if s.Readable {
			c.URL = views.AdminNodeURL(s.ID.String())
		}
		crumbs = append(crumbs, c)
	}
	return crumbs
}

func nodeFacts(clock ui.Clock, n tenancy.Node) []ui.Fact {
	made := clock.Moment(n.CreatedAt)
	facts := []ui.Fact{{Name: "Created", Moment: &made}}
	if n.ArchivedAt != nil {
		at := clock.Moment(*n.ArchivedAt)
		facts = append(facts, ui.Fact{Name: "Archived", Moment: &at})
	}
	if n.Namespace != "" {
		facts = append(facts, ui.Fact{Name: "Namespace", Value: n.Namespace, Mono: true})
	}
	return append(facts, ui.Fact{Name: "Id", Value: n.ID.String(), Mono: true})
}

func nodeActions(subject auth.Subject, n tenancy.Node) []ui.Action {
	var actions []ui.Action
	if subject.May(auth.QuotaRead, n.ID) {
		actions = append(actions, ui.Action{Name: "Limits", URL: views.QuotasURL(url.Values{"edit": {n.ID.String()}}), Icon: "quota"})
	}
	if page.ReadsAudit(subject) && n.Kind != tenancy.Installation {
		actions = append(actions, ui.Action{Name: "Changes", URL: views.AuditOfURL(n.ID.String()), Icon: "log"})
	}
	if mayChange(subject, n) {
		actions = append(actions, ui.Action{Name: "Edit", URL: views.AdminEditURL(n.ID.String()), Icon: "edit"})
	}
	return actions
}

func roleOptions(roles []auth.Grant, chosen string) []ui.Option {
	var options []ui.Option
	for _, g := range roles {
		options = append(options, ui.Option{Value: g.Role, Name: g.Role, Selected: g.Role == chosen})
	}
	return options
}

// likelyRole is the preselected role of a form.
func likelyRole(kind tenancy.Kind) string {
	if kind == tenancy.Project || kind == tenancy.Team {
		return auth.ProjectDev
	}
	return auth.Viewer
}

func grantsRole(roles []auth.Grant, role string) bool {
	return slices.ContainsFunc(roles, func(g auth.Grant) bool { return g.Role == role })
}

// above names the node of an inherited role, with its address if the reader may open it.
func above(from tenancy.Step, inherited bool) (name, address string) {
	if !inherited {
		return "", ""
	}
	if from.Kind == tenancy.Installation {
		return "whole installation", ""
	}
	if from.Readable {
		address = views.AdminNodeURL(from.ID.String())
	}
	return from.Name, address
}

func (h *Pages) fillMembers(r *http.Request, m *views.AdminNode, n tenancy.Node, open openForm, roles []auth.Grant) error {
	members, err := h.Tenancy.Members(r.Context(), n.ID)
	if err != nil {
		return err
	}
	subject, _ := auth.SubjectOf(r.Context())
	administrator := subject.May(auth.Administer, auth.Installation)
	base, clock := views.AdminNodeURL(n.ID.String()), h.Page.Clock(r)
	for _, x := range members {
		row := views.AdminMember{
			Name: x.Name, Email: x.Email, Service: x.Service, Disabled: x.Disabled, Role: x.Role, Group: x.Group,
			Since: clock.Moment(x.CreatedAt), By: x.CreatedBy,
		}
		row.From, row.FromURL = above(x.From, x.Inherited)
		if administrator && !x.Service {
			row.URL = views.AdminUserURL(x.UserID.String())
		}
		if !x.Inherited && x.Group == "" && grantsRole(roles, x.Role) {
			row.EditURL = base + "?member=" + x.ID.String() + "#change"
			if open.name == "change" && open.id == x.ID.String() {
				row.Form = memberForm(base, open, x, roles)
			}
		}
		m.Members = append(m.Members, row)
	}
	if len(roles) == 0 {
		return nil
	}
	m.MemberForm = &views.AdminForm{
		ID: "member", Label: "Add a member", Action: base + "/members",
		Fields: []views.AdminField{
			open.field("member", views.AdminField{Name: "email", Label: "E-mail address", Help: "The user must have signed in once.", Email: true}, ""),
			open.field("member", views.AdminField{Name: "role", Label: "Role", Help: "Applies to this level and everything below it.", Options: roleOptions(roles, likelyRole(n.Kind))}, likelyRole(n.Kind)),
		},
		Buttons: []views.AdminButton{{Text: "Add member", Primary: true}},
	}
	return nil
}

func memberForm(base string, open openForm, x tenancy.Member, roles []auth.Grant) *views.AdminForm {
	address := base + "/members/" + x.ID.String()
	return &views.AdminForm{
		ID: "change", Label: "Change the role of " + x.Name, Action: address, CancelURL: base + "#members",
		Fields: []views.AdminField{
			open.field("change", views.AdminField{Name: "role", Label: "Role of " + x.Name, Help: "The new role applies from the next request.", Options: roleOptions(roles, x.Role)}, x.Role),
		},
		Buttons: []views.AdminButton{{Text: "Save", Primary: true}, {Text: "Remove " + x.Name, URL: address + "/remove", Danger: true}},
	}
}

func (h *Pages) fillGroups(r *http.Request, m *views.AdminNode, n tenancy.Node, open openForm, roles []auth.Grant) error {
	groups, err := h.Tenancy.GroupRoles(r.Context(), n.ID)
	if err != nil {
		return err
	}
	base, clock := views.AdminNodeURL(n.ID.String()), h.Page.Clock(r)
	for _, g := range groups {
		row := views.AdminGroup{
			Provider: g.Provider, Group: g.Group, Role: g.Role, Members: figure(g.Members), Since: clock.Moment(g.CreatedAt), By: g.CreatedBy,
		}
		row.From, row.FromURL = above(g.From, g.Inherited)
		if !g.Inherited && grantsRole(roles, g.Role) {
			row.RemoveURL = base + "/groups/" + g.ID.String() + "/remove"
		}
		m.Groups = append(m.Groups, row)
	}
	if len(roles) == 0 {
		return nil
	}
	provider := views.AdminField{Name: "provider", Label: "Sign-in provider", Help: "Its ID in the server configuration.", List: h.providers()}
	m.GroupForm = &views.AdminForm{
		ID: "group", Label: "Add a group", Action: base + "/groups",
		Fields: []views.AdminField{
			open.field("group", provider, cmp.Or(append(h.providers(), "sso")...)),
			open.field("group", views.AdminField{Name: "group", Label: "Group", Help: "The exact group name at the provider."}, ""),
			open.field("group", views.AdminField{Name: "role", Label: "Role", Help: "Applies to this level and everything below it.", Options: roleOptions(roles, likelyRole(n.Kind))}, likelyRole(n.Kind)),
		},
		Buttons: []views.AdminButton{{Text: "Add group", Primary: true}},
	}
	return nil
}

func (h *Pages) fillAccounts(r *http.Request, m *views.AdminNode, n tenancy.Node, open openForm, roles []auth.Grant) error {
	accounts, err := h.Tenancy.ServiceAccounts(r.Context(), n.ID)
	if err != nil {
		return err
	}
	m.HasAccounts = true
	base, clock := views.AdminNodeURL(n.ID.String()), h.Page.Clock(r)
	for _, a := range accounts {
		row := views.AdminAccount{Name: a.Name, Role: cmp.Or(a.Role, "–"), Keys: figure(a.Keys), Created: clock.Moment(a.CreatedAt), By: a.CreatedBy, Disabled: a.DisabledAt != nil}
		if a.LastUsedAt != nil {
			row.LastUsed = clock.Ago(*a.LastUsedAt)
		}
		if len(roles) > 0 && (a.Role == "" || grantsRole(roles, a.Role)) {
			change := "disable"
			if row.Disabled {
				change = "enable"
			}
			row.Action = fmt.Sprintf("%s/accounts/%s/%s", base, a.ID, change)
		}
		m.Accounts = append(m.Accounts, row)
	}
	if len(roles) == 0 {
		return nil
	}
	m.AccountForm = &views.AdminForm{
		ID: "new-account", Label: "Create a service account", Action: base + "/accounts",
		Hidden: []ui.Option{{Name: "key", Value: open.value("key", uuid.NewString())}},
		Fields: []views.AdminField{
			open.field("account", views.AdminField{Name: "name", Label: "Name", Help: "For example: ci or nightly-evaluation."}, ""),
			open.field("account", views.AdminField{Name: "role", Label: "Role", Help: "The role that its keys have in this project.", Options: roleOptions(roles, auth.ProjectDev)}, auth.ProjectDev),
		},
		Buttons: []views.AdminButton{{Text: "Create service account", Primary: true}},
	}
	return nil
}

func (h *Pages) fillBelow(ctx context.Context, m *views.AdminNode, n tenancy.Node, subject auth.Subject) error {
	branches, err := h.Tenancy.Tree(ctx, n.ID, false)
	if err != nil {
		return err
	}
	m.HasBelow, m.Adds = true, creatableKinds(subject, n)
	for _, b := range branches {
		if b.Depth == 1 {
			m.Below = append(m.Below, adminRow(subject, b))
		}
	}
	return nil
}

// nodeForm runs a form on the page of a node.
func (h *Pages) nodeForm(w http.ResponseWriter, r *http.Request, name, about, did string, do func(ctx context.Context, id uuid.UUID, v url.Values) error) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	form, err := sent(r, name, about)
	if err != nil {
		return err
	}
	if err := do(r.Context(), id, form.values); err != nil {
		if !shownInForm(err) {
			return err
		}
		form.err = err
		return h.showNode(w, r, id, form)
	}
	return seeOther(w, r, views.AdminNodeURL(id.String())+"?did="+did)
}

func (h *Pages) addMember(w http.ResponseWriter, r *http.Request) error {
	return h.nodeForm(w, r, "member", "", "added", func(ctx context.Context, id uuid.UUID, v url.Values) error {
		_, err := h.Tenancy.AddMember(ctx, id, tenancy.Invitation{Email: v.Get("email"), Role: v.Get("role")})
		return err
	})
}

func (h *Pages) changeMember(w http.ResponseWriter, r *http.Request) error {
	return h.nodeForm(w, r, "change", request.PathValue(r, "member"), "changed", func(ctx context.Context, id uuid.UUID, v url.Values) error {
		member, err := pathID(r, "member")
		if err != nil {
			return err
		}
		_, err = h.Tenancy.ChangeMember(ctx, id, member, v.Get("role"))
		return err
	})
}

func (h *Pages) removeMember(w http.ResponseWriter, r *http.Request) error {
	return h.nodeForm(w, r, "change", request.PathValue(r, "member"), "removed", func(ctx context.Context, id uuid.UUID, _ url.Values) error {
		member, err := pathID(r, "member")
		if err != nil {
			return err
		}
		return h.Tenancy.RemoveMember(ctx, id, member)
	})
}

func (h *Pages) addGroup(w http.ResponseWriter, r *http.Request) error {
	return h.nodeForm(w, r, "group", "", "invited", func(ctx context.Context, id uuid.UUID, v url.Values) error {
		_, err := h.Tenancy.AddGroupRole(ctx, id, tenancy.GroupRole{Provider: v.Get("provider"), Group: v.Get("group"), Role: v.Get("role")})
		return err
	})
}

func (h *Pages) removeGroup(w http.ResponseWriter, r *http.Request) error {
	return h.nodeDo(w, r, "group", "removed", "", func(ctx context.Context, id uuid.UUID) error {
		group, err := pathID(r, "group")
		if err != nil {
			return err
		}
		return h.Tenancy.RemoveGroupRole(ctx, id, group)
	})
}

func (h *Pages) addAccount(w http.ResponseWriter, r *http.Request) error {
	return h.nodeForm(w, r, "account", "", "made", func(ctx context.Context, id uuid.UUID, v url.Values) error {
		_, err := h.Tenancy.CreateServiceAccount(ctx, id, strings.TrimSpace(v.Get("name")), v.Get("role"), v.Get("key"))
		return err
	})
}

func (h *Pages) disableAccount(w http.ResponseWriter, r *http.Request) error {
	return h.setAccount(w, r, true, "disabled")
}

func (h *Pages) enableAccount(w http.ResponseWriter, r *http.Request) error {
	return h.setAccount(w, r, false, "enabled")
}

func (h *Pages) setAccount(w http.ResponseWriter, r *http.Request, disabled bool, did string) error {
	return h.nodeDo(w, r, "account", did, "", func(ctx context.Context, id uuid.UUID) error {
		account, err := pathID(r, "account")
		if err != nil {
			return err
		}
		_, err = h.Tenancy.SetServiceAccountDisabled(ctx, id, account, disabled)
		return err
	})
}

// providers are the ids of the sign-in providers whose groups can be added.
func (h *Pages) providers() []string {
	var ids []string
	for _, p := range h.Identity.Providers() {
		ids = append(ids, p.ID)
	}
	return ids
}
