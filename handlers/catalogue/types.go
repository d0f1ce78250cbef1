package catalogue

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/a-h/templ"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// types lists the registry. Every type has a live widget.
func (h *Pages) types(w http.ResponseWriter, r *http.Request) error {
	registry, err := h.Catalogue.Types(r.Context())
	if err != nil {
		return err
	}
	m := views.Types{
		Page: h.Page.Base(r, "Types", views.SectionTypes), Count: units.Plural(len(registry.Entries()), "type", "types"),
		Groups: typeGroups(registry),
	}
	for g := range m.Groups {
		for t := range m.Groups[g].Types {
			card := &m.Groups[g].Types[t]
			if _, card.Widget, err = h.previewWidget(r, registry, card.Example, card.Name); err != nil {
				return err
			}
		}
	}
	return web.Render(w, r, http.StatusOK, views.TypesPage(m))
}

// groupNames are the groups of types in the order of the page.
func groupNames() []struct{ key, name string } {
	return []struct{ key, name string }{
		{"scalar", "Single values"}, {"time", "Dates and times"}, {"container", "Composite values"}, {"data", "Data and models"}, {"reference", "References"},
	}
}

func typeGroups(registry *typeregistry.Registry) []views.TypeGroup {
	by := map[string][]views.TypeCard{}
	for _, e := range registry.Entries() {
		by[e.Group] = append(by[e.Group], views.TypeCard{
			Name: e.Name, URL: views.TypeURL(e.Name), Icon: views.KindIcon(string(e.Kind)), Summary: e.Summary, Example: e.Example,
			Custom: e.Custom != nil, Anchor: "type-" + e.Name,
		})
	}
	var groups []views.TypeGroup
	for _, g := range groupNames() {
		if cards := by[g.key]; len(cards) > 0 {
			groups = append(groups, views.TypeGroup{Name: g.name, Types: cards})
			delete(by, g.key)
		}
	}
	for _, e := range registry.Entries() { // a group without a name on this page
		if cards, ok := by[e.Group]; ok {
			groups = append(groups, views.TypeGroup{Name: ui.Word(e.Group), Types: cards})
			delete(by, e.Group)
		}
	}
	return groups
}

// previewWidget is the widget that the launch form draws for expression, with the choices of
// the catalogue.
func (h *Pages) previewWidget(r *http.Request, registry *typeregistry.Registry, expression, name string) (*typeregistry.Type, templ.Component, error) {
	t, err := registry.Parse(expression)
	if err != nil {
		return nil, nil, fmt.Errorf("example of type %s: %w", name, err)
	}
	field := typeregistry.Field{Name: "try_" + strings.ToLower(name), Type: t, Required: true, Hints: typeregistry.Hints{Label: "Value"}}
	config := forms.Config{Schema: typeregistry.Schema{Fields: []typeregistry.Field{field}}, Today: h.Forms.Today(r), Typeahead: views.TypeaheadURL(), Upload: views.UploadsURL()}
	offers, err := h.Forms.Offers(r.Context(), h.Page.Clock(r), forms.New(config).References())
	if err != nil {
		return nil, nil, err
	}
	config.Offers = offers
	controls := forms.New(config).Controls()
	if len(controls) == 0 {
		return t, nil, nil
	}
	return t, forms.Field(controls[0]), nil
}

// typePage shows one type.
func (h *Pages) typePage(w http.ResponseWriter, r *http.Request) error {
	registry, err := h.Catalogue.Types(r.Context())
	if err != nil {
		return err
	}
	entry, ok := registry.Lookup(request.PathValue(r, "name"))
	if !ok {
		return apperr.New(apperr.NotFound, "There is no type %q.", request.PathValue(r, "name"))
	}
	t, widget, err := h.previewWidget(r, registry, entry.Example, entry.Name)
	if err != nil {
		return err
	}
	m := views.Type{
		Page: h.Page.Base(r, entry.Name, views.SectionTypes, views.Crumb{Name: "Types", URL: views.TypesURL()}),
		Name: entry.Name, Icon: views.KindIcon(string(entry.Kind)), Summary: entry.Summary, Custom: entry.Custom != nil,
		Expression: entry.Example, Widget: widget, Problem: "This type has no widget.", Others: typeGroups(registry),
		JSONSchema: label.Indented(t.JSONSchema()), UISchema: label.Indented(t.UI(typeregistry.Field{Name: "value", Type: t}, typeregistry.Env{Now: h.Now()})),
	}
	for _, p := range entry.Parameters {
		m.Parameters = append(m.Parameters, views.TypeParameter{Name: p.Name, Does: p.Summary})
	}
	m.Checks = typeChecks(entry, t)
	if m.UsedIn, m.UsesCut, err = h.typeUses(r.Context(), entry.Name); err != nil {
		return err
	}
	return web.Render(w, r, http.StatusOK, views.TypePage(m))
}

// typeChecks describes the checks of a value of the example.
func typeChecks(entry typeregistry.Entry, t *typeregistry.Type) []string {
	checks := []string{"is a value of kind " + string(entry.Kind)}
	if t.IsBlob() {
		checks = append(checks, "refers to an existing object that you can read")
	}
	for _, p := range entry.Parameters {
		checks = append(checks, p.Name+", if set: "+label.LowerFirst(p.Summary))
	}
	if t.IsComposite() {
		checks = append(checks, "every nested value is checked by its own type; errors name its path")
	}
	for _, rule := range t.Rules {
		checks = append(checks, cmp.Or(rule.Error, "rule "+rule.Rule+" "+rule.Pattern))
	}
	return checks
}

const typeUsesSearched = 100

// typeUses finds the workflows whose latest version has inputs or outputs of the type. cut is the
// number of workflows that were searched if there are more.
func (h *Pages) typeUses(ctx context.Context, name string) (uses []views.TypeUse, cut int, err error) {
	flows, err := h.Workflows.List(ctx, workflow.Filter{Status: workflow.Active, Limit: typeUsesSearched})
	if err != nil {
		return nil, 0, err
	}
	if flows.Next != "" {
		cut = len(flows.Items)
	}
	var ids []uuid.UUID
	for _, f := range flows.Items {
		if f.LatestID != uuid.Nil {
			ids = append(ids, f.LatestID)
		}
	}
	versions, err := h.Workflows.VersionsByID(ctx, ids)
	if err != nil {
		return nil, 0, err
	}
	for _, f := range flows.Items {
		v, ok := versions[f.LatestID]
		if !ok {
			continue
		}
		var fields []string
		for _, in := range v.Definition.Inputs.Fields {
			if mentions(in.Type, name) {
				fields = append(fields, in.Name)
			}
		}
		for _, out := range v.Definition.Outputs {
			if mentions(out.Type, name) {
				fields = append(fields, out.Name+" (output)")
			}
		}
		if len(fields) > 0 {
			uses = append(uses, views.TypeUse{Workflow: f.Name, URL: views.WorkflowURL(f.Name), Fields: strings.Join(fields, ", ")})
		}
	}
	return uses, cut, nil
}

// mentions reports whether t is, extends or contains the type called name.
func mentions(t *typeregistry.Type, name string) bool {
	if t == nil {
		return false
	}
	if t.Name() == name || t.Extends(name) || mentions(t.Elem, name) {
		return true
	}
	for _, v := range t.Variants {
		if mentions(v.Type, name) {
			return true
		}
	}
	for _, f := range t.Fields {
		if mentions(f.Type, name) {
			return true
		}
	}
	return false
}
