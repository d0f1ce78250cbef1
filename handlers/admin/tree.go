package admin

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// tree shows the tree.
func (h *Pages) tree(w http.ResponseWriter, r *http.Request) error {
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

// maxTreeRows limits the rows of the page. Readers find the others by name.
const maxTreeRows = 400

func (h *Pages) showTree(w http.ResponseWriter, r *http.Request, open openForm) error {
	q := r.URL.Query()
	subject, _ := auth.SubjectOf(r.Context())
	m := views.AdminTree{
		Page: h.Page.Base(r, "Teams and people", views.SectionAdmin), Tabs: h.tabs(r, views.SectionAdmin, false),
		Query: q.Get("q"), Archived: q.Get("archived") != "", Notice: done(r), Problems: open.problems(),
	}
	m.Filtered = m.Query != ""
	root := auth.Installation
	if q.Get("root") != "" {
		id, err := uuid.Parse(q.Get("root"))
		if err != nil {
			return apperr.New(apperr.NotFound, "There is no tenant, department, team or project %q.", q.Get("root"))
		}
		root, m.Root = id, id.String()
	}
	branches, err := h.Tenancy.Tree(r.Context(), root, m.Archived || open.name != "")
	if err != nil {
		return err
	}
	branches = named(branches, m.Query)
	if len(branches) > maxTreeRows {
		m.More = "The first " + units.Number(maxTreeRows) + " of " + units.Plural(len(branches), "entry", "entries") + " are shown. Search by name to find the others."
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

// named keeps the nodes whose name contains text, and their ancestors.
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
	row.Adds = creatableKinds(subject, b.Node)
	if mayChange(subject, b.Node) {
		row.EditURL = views.AdminEditURL(row.ID)
	}
	return row
}

// figure replaces zero by a dash, so that other numbers are easy to see.
func figure(n int) string {
	if n == 0 {
		return "–"
	}
	return units.Number(int64(n))
}

// creatableKinds are the kinds of node that the reader may create below n.
func creatableKinds(subject auth.Subject, n tenancy.Node) []ui.Action {
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
func (h *Pages) treeForm(r *http.Request, open openForm, b tenancy.Branch) *views.AdminForm {
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
		tenancy.Tenant: "A company or unit that is isolated from other tenants.", tenancy.Department: "A department can contain other departments.",
		tenancy.Team: "A group of users who share limits and projects.", tenancy.Project: "The project gets its own Kubernetes namespace.",
	}[kind]
	return &views.AdminForm{
		ID: "edit", Label: "New " + string(kind) + " in " + b.Name, Action: views.AdminNodesURL(), CancelURL: back,
		Hidden: []ui.Option{{Name: "parent", Value: b.ID.String()}, {Name: "kind", Value: string(kind)}, {Name: "key", Value: open.value("key", uuid.NewString())}},
		Fields: []views.AdminField{
			open.field("new", views.AdminField{Name: "name", Label: "Name of the " + string(kind), Help: help}, ""),
			open.field("new", views.AdminField{Name: "description", Label: "Description", Help: "A one-sentence summary of its purpose.", Optional: true}, ""),
		},
		Buttons: []views.AdminButton{{Text: "Create the " + string(kind), Primary: true}},
	}
}

func editNodeForm(open openForm, b tenancy.Branch, back string) *views.AdminForm {
	form := &views.AdminForm{
		ID: "edit", Label: "Edit " + b.Name, Action: views.AdminNodeURL(b.ID.String()), CancelURL: back,
		Hidden: []ui.Option{{Name: "revision", Value: open.value("revision", b.Revision)}},
		Fields: []views.AdminField{
			open.field("edit", views.AdminField{Name: "name", Label: "Name", Help: "A new name does not change links or the namespace."}, b.Name),
			open.field("edit", views.AdminField{Name: "description", Label: "Description", Help: "A one-sentence summary of its purpose.", Optional: true}, b.Description),
		},
		Buttons: []views.AdminButton{{Text: "Save", Primary: true}},
	}
	if apperr.Is(open.err, apperr.Conflict) && len(apperr.FieldsOf(open.err)) == 0 { // shown again over the current values
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
		Text:    "Archive the " + string(b.Kind) + " " + b.Name + "? Its data stays readable, nothing new can be launched, and you can restore it.",
		Hidden:  []ui.Option{{Name: "confirm", Value: "yes"}},
		Fields:  []views.AdminField{open.field("archive", views.AdminField{Name: "reason", Label: "Reason", Help: "For the audit log.", Optional: true}, "")},
		Buttons: []views.AdminButton{{Text: "Archive the " + string(b.Kind), Danger: true}},
	}
}
