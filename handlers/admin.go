package handlers

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/auth"
	"github.com/flowforge/flowforge/tenancy"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// adminRoutes are the pages of tenants, members, people and the audit log.
func (h *Handlers) adminRoutes(r chi.Router) {
	r.Get("/admin", h.page(h.adminTree))
	r.Post("/admin/nodes", h.page(h.adminCreate))
	r.Get("/admin/nodes/{id}", h.page(h.adminNode))
	r.Post("/admin/nodes/{id}", h.page(h.adminUpdate))
	r.Post("/admin/nodes/{id}/archive", h.page(h.adminArchive))
	r.Post("/admin/nodes/{id}/restore", h.page(h.adminRestore))
	r.Post("/admin/nodes/{id}/members", h.page(h.adminAddMember))
	r.Post("/admin/nodes/{id}/members/{member}", h.page(h.adminChangeMember))
	r.Post("/admin/nodes/{id}/members/{member}/remove", h.page(h.adminRemoveMember))
	r.Post("/admin/nodes/{id}/groups", h.page(h.adminAddGroup))
	r.Post("/admin/nodes/{id}/groups/{group}/remove", h.page(h.adminRemoveGroup))
	r.Post("/admin/nodes/{id}/accounts", h.page(h.adminAddAccount))
	r.Post("/admin/nodes/{id}/accounts/{account}/disable", h.page(h.adminDisableAccount))
	r.Post("/admin/nodes/{id}/accounts/{account}/enable", h.page(h.adminEnableAccount))
	r.Get("/admin/users", h.page(h.adminUsers))
	r.Get("/admin/users/{id}", h.page(h.adminUser))
	r.Post("/admin/users/{id}/{change}", h.page(h.adminChangeUser))
	r.Get("/admin/audit", h.page(h.auditLog))
	r.Get("/admin/audit/export", h.page(h.auditExport))
}

// openForm is the form that a page shows open, with what was typed and why it
// was refused when it was sent.
type openForm struct {
	name   string // which form
	id     string // of what it is about
	values url.Values
	err    error
}

// again reports whether err is one that the form itself shows; other errors are
// for the error page.
func again(err error) bool { return apperr.Is(err, apperr.Invalid) || apperr.Is(err, apperr.Conflict) }

// status is that of the page with the form.
func (f openForm) status() int {
	if f.err == nil {
		return http.StatusOK
	}
	return web.Status(apperr.CodeOf(f.err))
}

// value is what was typed in a field, or what it shows at first.
func (f openForm) value(name, first string) string {
	if f.values == nil {
		return first
	}
	return f.values.Get(name)
}

// field is a field with what was typed and what is wrong with it.
func (f openForm) field(form string, field views.AdminField, first string) views.AdminField {
	field.ID = form + "-" + field.Name
	field.Value = first
	if f.name != form {
		return field
	}
	field.Value = f.value(field.Name, first)
	for _, wrong := range apperr.FieldsOf(f.err) {
		if wrong.Path == field.Name {
			field.Error = wrong.Message
		}
	}
	for i := range field.Options {
		field.Options[i].Selected = field.Options[i].Value == field.Value
	}
	return field
}

// problems sums up why the form was refused.
func (f openForm) problems() *views.AdminProblems {
	if f.err == nil {
		return nil
	}
	p := &views.AdminProblems{Title: apperr.MessageOf(f.err)}
	for _, wrong := range apperr.FieldsOf(f.err) {
		p.Links = append(p.Links, ui.Crumb{Name: wrong.Message, URL: "#" + f.name + "-" + wrong.Path})
	}
	return p
}

// done is what a page says after a form went well; the address carries the word
// alone.
func done(r *http.Request) *views.AdminNotice {
	said := map[string][2]string{
		"created":  {"Created.", "It stands in the tree now."},
		"saved":    {"Saved.", ""},
		"archived": {"Archived.", "What it holds stays legible, and nothing new happens in it."},
		"restored": {"Restored.", "It is in use again."},
		"added":    {"Given.", "The role holds from now on."},
		"changed":  {"Changed.", "The new role holds from now on."},
		"removed":  {"Removed.", "The role is gone."},
		"invited":  {"Invited.", "People of the group have the role from their next sign-in on."},
		"made":     {"The service account is made.", "Make a key for it on the page of API keys."},
		"disabled": {"Disabled.", "Sessions are ended, and keys are refused."},
		"enabled":  {"Enabled.", ""},
		"promoted": {"Made an administrator of the installation.", "They sign in again."},
		"demoted":  {"No longer an administrator of the installation.", "They sign in again."},
	}[r.URL.Query().Get("did")]
	if said[0] == "" {
		return nil
	}
	return &views.AdminNotice{Kind: "ok", Strong: said[0], Text: said[1]}
}

// sent reads the form of a page.
func sent(r *http.Request, name, id string) (openForm, error) {
	if err := r.ParseForm(); err != nil {
		return openForm{}, apperr.Wrap(apperr.Invalid, err, "The form cannot be read.")
	}
	return openForm{name: name, id: id, values: r.PostForm}, nil
}

// pathID is a parameter of the path that is an id. Whatever else stands there
// names nothing.
func pathID(r *http.Request, name string) (uuid.UUID, error) {
	id, err := uuid.Parse(pathValue(r, name))
	if err != nil {
		return id, apperr.New(apperr.NotFound, "There is nothing at %s.", r.URL.Path)
	}
	return id, nil
}

// adminTabs are the pages of administration that the reader may open.
func (h *Handlers) adminTabs(r *http.Request, current views.Section, users bool) []ui.Tab {
	subject, _ := auth.SubjectOf(r.Context())
	tabs := []ui.Tab{{Name: "Tenants and teams", URL: views.AdminURL(), Icon: "team", Current: current == views.SectionAdmin && !users}}
	if subject.May(auth.Administer, auth.Installation) {
		tabs = append(tabs, ui.Tab{Name: "People", URL: views.AdminUsersURL(), Icon: "user", Current: users})
	}
	if readsAudit(subject) {
		tabs = append(tabs, ui.Tab{Name: "Audit log", URL: views.AuditURL(), Icon: "log", Current: current == views.SectionAudit})
	}
	return tabs
}

func readsAudit(s auth.Subject) bool {
	return s.May(auth.AuditRead, auth.Installation) || s.May(auth.AuditRead, s.TenantID) || s.May(auth.AuditRead, s.ProjectID)
}

// administers reports whether the reader runs anything: the installation, the
// tenant or the team of the current project.
func administers(s auth.Subject) bool {
	return s.May(auth.MemberWrite, auth.Installation) || s.May(auth.MemberWrite, s.TenantID) || s.May(auth.MemberWrite, s.ProjectID)
}

// adminTree shows the tree.
func (h *Handlers) adminTree(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	switch {
	case q.Get("new") != "":
		return h.showTree(w, r, openForm{name: "new", id: q.Get("in")})
	case q.Get("edit") != "":
		return h.showTree(w, r, openForm{name: "edit", id: q.Get("edit")})
	case q.Get("archive") != "":
		return h.showTree(w, r, openForm{name: "archive", id: q.Get("archive")})
	}
	return h.showTree(w, r, openForm{})
}

// maxTreeRows bounds the rows of the page; the rest is found by name.
const maxTreeRows = 400

func (h *Handlers) showTree(w http.ResponseWriter, r *http.Request, open openForm) error {
	q := r.URL.Query()
	subject, _ := auth.SubjectOf(r.Context())
	m := views.AdminTree{
		Page: h.basePage(r, "Teams and people", views.SectionAdmin), Tabs: h.adminTabs(r, views.SectionAdmin, false),
		Query: q.Get("q"), Archived: q.Get("archived") != "", Notice: done(r), Problems: open.problems(),
	}
	m.Filtered = m.Query != ""
	root := auth.Installation
	if q.Get("root") != "" {
		id, err := uuid.Parse(q.Get("root"))
		if err != nil {
			return apperr.New(apperr.NotFound, "There is nothing to show.")
		}
		root, m.Root = id, id.String()
	}
	branches, err := h.Tenancy.Tree(r.Context(), root, m.Archived || open.name != "")
	if err != nil {
		return err
	}
	branches = named(branches, m.Query)
	if len(branches) > maxTreeRows {
		m.More = "The first " + ui.Number(maxTreeRows) + " of " + ui.Plural(len(branches), "entry", "entries") + " are shown. Find the others by name."
		branches = branches[:maxTreeRows]
	}
	for _, b := range branches {
		if b.Archived() && !m.Archived && b.ID.String() != open.id || b.Kind == tenancy.Installation && b.Outside {
			continue
		}
		row := adminRow(subject, b)
		if row.ID == open.id {
			row.Form = h.treeForm(r, open, b)
		}
		m.Rows = append(m.Rows, row)
	}
	if subject.May(auth.TenancyWrite, auth.Installation) {
		m.NewURL = views.AdminNewURL(auth.Installation.String(), string(tenancy.Tenant))
	}
	if open.err != nil {
		m.Title = "Error: " + m.Title
	}
	return web.Render(w, r, open.status(), views.AdminTreePage(m))
}

// named keeps what has text in its name, with the way to it.
func named(branches []tenancy.Branch, text string) []tenancy.Branch {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" {
		return branches
	}
	keep := map[uuid.UUID]bool{}
	for _, b := range branches {
		if strings.Contains(strings.ToLower(b.Name), text) {
			for _, id := range b.Path {
				keep[id] = true
			}
		}
	}
	return slices.DeleteFunc(branches, func(b tenancy.Branch) bool { return !keep[b.ID] })
}

func adminRow(subject auth.Subject, b tenancy.Branch) views.AdminRow {
	row := views.AdminRow{
		ID: b.ID.String(), Name: b.Name, Kind: string(b.Kind), Description: ui.Short(b.Description, 140), Depth: b.Depth,
		Archived: b.Archived(), Outside: b.Outside,
	}
	if b.Kind == tenancy.Installation {
		row.Name, row.Kind = "Whole installation", ""
	}
	if b.Outside {
		return row
	}
	row.URL = views.AdminNodeURL(row.ID)
	row.Members, row.Groups = figure(b.Members), figure(b.Groups)
	if b.Kind != tenancy.Project {
		row.Projects = figure(b.Projects)
	}
	row.Adds = adminAdds(subject, b.Node)
	if mayChange(subject, b.Node) {
		row.EditURL = views.AdminEditURL(row.ID)
	}
	return row
}

// figure leaves out what is none, so that the eye finds what is some.
func figure(n int) string {
	if n == 0 {
		return "–"
	}
	return ui.Number(int64(n))
}

// adminAdds are the kinds of node that the reader may make below n.
func adminAdds(subject auth.Subject, n tenancy.Node) []ui.Action {
	if n.Archived() || !subject.May(auth.TenancyWrite, n.ID) {
		return nil
	}
	var adds []ui.Action
	for _, kind := range n.Kind.Below() {
		adds = append(adds, ui.Action{Name: ui.Word(string(kind)), URL: views.AdminNewURL(n.ID.String(), string(kind))})
	}
	return adds
}

// mayChange reports whether the reader may rename or archive n itself.
func mayChange(subject auth.Subject, n tenancy.Node) bool {
	return n.Kind != tenancy.Installation && subject.May(auth.TenancyWrite, n.ParentID)
}

// treeForm is the form below the row of a node.
func (h *Handlers) treeForm(r *http.Request, open openForm, b tenancy.Branch) *views.AdminForm {
	subject, _ := auth.SubjectOf(r.Context())
	back := views.AdminURL() + "#node-" + b.ID.String()
	switch {
	case open.name == "new" && subject.May(auth.TenancyWrite, b.ID):
		return newNodeForm(r, open, b, back)
	case open.name == "edit" && mayChange(subject, b.Node):
		return editNodeForm(open, b, back)
	case open.name == "archive" && mayChange(subject, b.Node):
		return archiveForm(open, b, back)
	}
	return nil
}

func newNodeForm(r *http.Request, open openForm, b tenancy.Branch, back string) *views.AdminForm {
	kind := tenancy.Kind(open.value("kind", r.URL.Query().Get("new")))
	if !slices.Contains(b.Kind.Below(), kind) {
		return nil
	}
	help := map[tenancy.Kind]string{
		tenancy.Tenant: "A company or a unit that sees nothing of the others.", tenancy.Department: "It may hold departments of its own.",
		tenancy.Team: "People who share limits and projects.", tenancy.Project: "It gets a Kubernetes namespace of its own.",
	}[kind]
	return &views.AdminForm{
		ID: "edit", Label: "New " + string(kind) + " in " + b.Name, Action: views.AdminNodesURL(), CancelURL: back,
		Hidden: []ui.Option{{Name: "parent", Value: b.ID.String()}, {Name: "kind", Value: string(kind)}, {Name: "key", Value: open.value("key", uuid.NewString())}},
		Fields: []views.AdminField{
			open.field("new", views.AdminField{Name: "name", Label: "Name of the " + string(kind), Help: help}, ""),
			open.field("new", views.AdminField{Name: "description", Label: "Description", Help: "What it is for, in a sentence.", Optional: true, Long: true}, ""),
		},
		Buttons: []views.AdminButton{{Text: "Create the " + string(kind), Primary: true}},
	}
}

func editNodeForm(open openForm, b tenancy.Branch, back string) *views.AdminForm {
	form := &views.AdminForm{
		ID: "edit", Label: "Edit " + b.Name, Action: views.AdminNodeURL(b.ID.String()), CancelURL: back,
		Hidden: []ui.Option{{Name: "revision", Value: open.value("revision", b.Revision)}},
		Fields: []views.AdminField{
			open.field("edit", views.AdminField{Name: "name", Label: "Name", Help: "Links and the namespace stay when it changes."}, b.Name),
			open.field("edit", views.AdminField{Name: "description", Label: "Description", Help: "What it is for, in a sentence.", Optional: true, Long: true}, b.Description),
		},
		Buttons: []views.AdminButton{{Text: "Save", Primary: true}},
	}
	if apperr.Is(open.err, apperr.Conflict) && len(apperr.FieldsOf(open.err)) == 0 { // shown again on top of what is there now
		form.Hidden[0].Value = b.Revision
	}
	if b.Archived() {
		form.Buttons = append(form.Buttons, views.AdminButton{Text: "Restore", URL: views.AdminNodeURL(b.ID.String()) + "/restore", Danger: true})
		return form
	}
	form.Buttons = append(form.Buttons, views.AdminButton{Text: "Archive…", URL: views.AdminNodeURL(b.ID.String()) + "/archive", Danger: true})
	return form
}

func archiveForm(open openForm, b tenancy.Branch, back string) *views.AdminForm {
	return &views.AdminForm{
		ID: "edit", Label: "Archive " + b.Name, Action: views.AdminNodeURL(b.ID.String()) + "/archive", CancelURL: back,
		Text:    "Archive the " + string(b.Kind) + " " + b.Name + "? What it holds stays legible, nothing new happens in it, and it can be restored.",
		Hidden:  []ui.Option{{Name: "confirm", Value: "yes"}},
		Fields:  []views.AdminField{open.field("archive", views.AdminField{Name: "reason", Label: "Reason", Help: "For the audit log.", Optional: true}, "")},
		Buttons: []views.AdminButton{{Text: "Archive the " + string(b.Kind), Danger: true}},
	}
}

// adminCreate makes a node.
func (h *Handlers) adminCreate(w http.ResponseWriter, r *http.Request) error {
	form, err := sent(r, "new", r.PostFormValue("parent"))
	if err != nil {
		return err
	}
	parent, err := uuid.Parse(form.id)
	if err != nil {
		return apperr.New(apperr.NotFound, "There is no such place in the tree.")
	}
	n, err := h.Tenancy.Create(r.Context(), tenancy.NewNode{
		ParentID: parent, Kind: tenancy.Kind(form.values.Get("kind")), Name: form.values.Get("name"),
		Description: strings.TrimSpace(form.values.Get("description")), Key: form.values.Get("key"),
	})
	if err != nil {
		return h.treeAgain(w, r, form, err)
	}
	return seeOther(w, r, views.AdminURL()+"?did=created#node-"+n.ID.String())
}

func (h *Handlers) treeAgain(w http.ResponseWriter, r *http.Request, form openForm, err error) error {
	if !again(err) {
		return err
	}
	form.err = err
	return h.showTree(w, r, form)
}

func seeOther(w http.ResponseWriter, r *http.Request, to string) error {
	http.Redirect(w, r, to, http.StatusSeeOther) //nolint:gosec // an address of ours, made by package views
	return nil
}

// adminUpdate renames or describes a node.
func (h *Handlers) adminUpdate(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	form, err := sent(r, "edit", id.String())
	if err != nil {
		return err
	}
	edit := tenancy.Edit{Name: new(form.values.Get("name")), Description: new(form.values.Get("description")), Revision: form.values.Get("revision")}
	if _, err := h.Tenancy.Update(r.Context(), id, edit); err != nil {
		return h.treeAgain(w, r, form, err)
	}
	return seeOther(w, r, views.AdminURL()+"?did=saved#node-"+id.String())
}

// adminArchive asks once more, then archives a node.
func (h *Handlers) adminArchive(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	form, err := sent(r, "archive", id.String())
	if err != nil {
		return err
	}
	if form.values.Get("confirm") == "" {
		return seeOther(w, r, views.AdminURL()+"?archive="+id.String()+"#edit")
	}
	if _, err := h.Tenancy.Archive(r.Context(), id, strings.TrimSpace(form.values.Get("reason"))); err != nil {
		return h.treeAgain(w, r, form, err)
	}
	return seeOther(w, r, views.AdminURL()+"?did=archived&archived=1#node-"+id.String())
}

// adminRestore takes a node back from the archive.
func (h *Handlers) adminRestore(w http.ResponseWriter, r *http.Request) error {
	return h.nodeDo(w, r, "edit", "restored", views.AdminURL()+"?did=restored", func(ctx context.Context, id uuid.UUID) error {
		_, err := h.Tenancy.Restore(ctx, id, "")
		return err
	})
}

// nodeDo runs a change of the node of the path that takes no values.
func (h *Handlers) nodeDo(w http.ResponseWriter, r *http.Request, form, did, to string, do func(ctx context.Context, id uuid.UUID) error) error {
	id, err := pathID(r, "id")
	if err != nil {
		return err
	}
	if err := do(r.Context(), id); err != nil {
		if !again(err) {
			return err
		}
		if to != "" {
			return h.showTree(w, r, openForm{name: form, id: id.String(), err: err})
		}
		return h.showNode(w, r, id, openForm{name: form, err: err})
	}
	if to == "" {
		to = views.AdminNodeURL(id.String()) + "?did=" + did
	}
	return seeOther(w, r, to)
}
