package quotas

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/handlers/amount"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// quotas is the page of all limits, their usage and idle capacity.
func (h *Pages) quotas(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	o, err := h.Quotas.Reader.Overview(r.Context(), uuid.Nil)
	if err != nil {
		return err
	}
	page := quotaPage{h: h, clock: h.Page.Clock(r), selection: quotaSelected(q), overview: o}
	m, err := page.model(r, typedQuota(q))
	if err != nil {
		return err
	}
	if page.selection.edit != uuid.Nil {
		form, err := page.form(r.Context(), page.selection.edit, typedQuota(q))
		if err != nil {
			return err
		}
		if m.Edit, err = form.draw(r.Context()); err != nil {
			return err
		}
	}
	if m.Saved, err = page.saved(r.Context(), q.Get("saved")); err != nil {
		return err
	}
	return web.Render(w, r, http.StatusOK, views.QuotasView(m))
}

// quotaPage draws the quota page for one reader and one selection.
type quotaPage struct {
	h         *Pages
	clock     ui.Clock
	selection quotaSelection
	overview  quota.Overview
}

// model is the page without the form of an edit. If the reader has not chosen resources, the
// submitted values determine them.
func (p *quotaPage) model(r *http.Request, typed url.Values) (views.QuotasPage, error) {
	groups := quotaGroups(p.overview)
	group := p.selection.pick(groups, typed)
	p.selection.group = group.key // for the links and the stream
	m := views.QuotasPage{
		Page: p.h.Page.Base(r, "Quotas", views.SectionQuotas), CSVURL: views.QuotaCSVURL(),
		Live: p.live(), Tree: p.tree(group), StreamURL: views.QuotaStreamURL(p.selection.values()),
		Only: views.QuotaFilter{On: p.selection.only, URL: p.selection.url(func(s *quotaSelection) { s.only, s.from = !s.only, 0 })},
	}
	for _, g := range groups {
		m.Groups = append(m.Groups, ui.Choice{Name: g.name, URL: p.selection.url(func(s *quotaSelection) { s.group = g.key }), Current: g.key == group.key})
	}
	if n := p.needAttention(); n > 0 {
		m.Only.Count = strconv.Itoa(n)
	}
	var err error
	if m.History, err = p.history(r.Context(), group); err != nil {
		return m, err
	}
	m.Changes, err = p.changes(r.Context())
	return m, err
}

// needAttention counts the nodes that wait within their guarantee or leave it idle.
func (p *quotaPage) needAttention() int {
	count := 0
	for i := range p.overview.Nodes {
		if p.starves(p.overview.Nodes[i].ID) || p.idles(p.overview.Nodes[i].ID) {
			count++
		}
	}
	return count
}

func (p *quotaPage) starves(id uuid.UUID) bool {
	for _, pair := range p.overview.Pairs {
		if pair.Starved.ID == id {
			return true
		}
	}
	return false
}

func (p *quotaPage) idles(id uuid.UUID) bool {
	for _, i := range p.overview.Idle {
		if i.Level.ID == id {
			return true
		}
	}
	return false
}

// tree is the table of a group of resources.
func (p *quotaPage) tree(group quotaGroup) views.QuotaTree {
	t := views.QuotaTree{Empty: "No level waits within its guarantee, and no guarantee is idle."}
	for _, r := range group.resources {
		c := views.QuotaColumn{Name: amount.Name(r)}
		if r == fair.CPU || r == fair.Memory || r == fair.Storage {
			c.Note = amount.Unit(r).Short
		}
		t.Columns = append(t.Columns, c)
	}
	rows, folded := p.selection.shown(&p.overview, func(n *quota.Node) bool { return p.starves(n.ID) || p.idles(n.ID) })
	total := len(rows)
	from := max(min(p.selection.from, total-1), 0)
	if p.selection.edit != uuid.Nil { // the form is on this page, independent of the position of its row
		for i, row := range rows {
			if row.ID == p.selection.edit && (i < from || i >= from+quotaRowsPerPage) {
				from = i / quotaRowsPerPage * quotaRowsPerPage
			}
		}
	}
	to := min(from+quotaRowsPerPage, total)
	scales := p.scales(group)
	for _, row := range rows[from:to] {
		t.Rows = append(t.Rows, p.row(row, group, scales))
	}
	if total > to || from > 0 {
		t.More = fmt.Sprintf("Rows %d to %d of %d", from+1, to, total)
	}
	if folded > 0 {
		if t.More != "" {
			t.More += "; "
		}
		t.More += units.Plural(folded, "node is", "nodes are") + " collapsed"
	}
	if from > 0 {
		t.Before = p.selection.url(func(s *quotaSelection) { s.from = max(from-quotaRowsPerPage, 0) }) + "#tree"
	}
	if to < total {
		t.After = p.selection.url(func(s *quotaSelection) { s.from = to }) + "#tree"
	}
	return t
}

// scales are the scales of the columns; all bars of a column share one.
func (p *quotaPage) scales(group quotaGroup) []int64 {
	scales := make([]int64, len(group.resources))
	for i, r := range group.resources {
		for _, n := range p.overview.Nodes {
			state := n.Resources[r]
			scales[i] = max(scales[i], n.Most[r], state.Used)
			if state.Limit != nil {
				scales[i] = max(scales[i], *state.Limit)
			}
		}
	}
	return scales
}

func (p *quotaPage) row(n quotaShown, group quotaGroup, scales []int64) views.QuotaRow {
	short := shortNode(n.ID)
	row := views.QuotaRow{
		ID: short, Name: levelName(n.Ref()), Kind: n.Kind, Level: len(n.Path) - 1, Open: n.open, Context: n.context,
		Weight: ui.Float(n.Limits.Weight), Notes: p.notes(n.ID), Editing: n.ID == p.selection.edit,
		Waiting: views.QuotaWaiting{ID: "qw-" + short, Text: units.Number(int64(n.Waiting))},
	}
	switch n.Kind {
	case "installation":
		row.Weight = "–"
	case "team":
		row.URL = views.TeamURL(n.ID.String())
	}
	if n.foldable {
		verb := map[bool]string{true: "Hide", false: "Show"}[n.open]
		row.FoldText = verb + " the levels below " + row.Name
		row.FoldURL = p.selection.url(func(s *quotaSelection) { s.toggle(n.ID) }) + "#" + row.ElementID()
	}
	if n.Writable {
		row.EditURL = p.selection.editURL(n.ID, nil)
	}
	for i, r := range group.resources {
		row.Cells = append(row.Cells, views.QuotaBarCell{ID: fmt.Sprintf("qc-%s-%d", short, i), Bar: quotaBar(n.Node, r, scales[i])})
	}
	return row
}

// levelName is the name of a tenancy node on pages.
func levelName(l fair.LevelRef) string {
	if l.Kind == "installation" {
		return "This installation"
	}
	return l.Name
}

// quotaBar is the bar of one resource of a node.
func quotaBar(n *quota.Node, r fair.Resource, scale int64) ui.QuotaBar {
	return ui.NewQuotaBar(quotaFigures(n, r, scale))
}

func quotaFigures(n *quota.Node, r fair.Resource, scale int64) ui.QuotaFigures {
	state := n.Resources[r]
	f := ui.QuotaFigures{
		Who: levelName(n.Ref()), Resource: amount.Name(r), Unit: amount.Unit(r), Used: state.Used, Limit: -1, Most: -1,
		Borrowed: state.Borrowed, Lent: state.Lent, Free: state.Free, Scale: scale,
	}
	if limit, ok := n.Limits.Limit[r]; ok {
		f.Limit = limit
	}
	if most, ok := n.Most[r]; ok {
		f.Most = most
	}
	return f
}

// notes are the short notes below the name of a node.
func (p *quotaPage) notes(id uuid.UUID) []views.QuotaNote {
	var notes []views.QuotaNote
	noted := map[fair.Resource]bool{}
	for _, pair := range p.overview.Pairs {
		if pair.Starved.ID == id && !noted[pair.Resource] {
			noted[pair.Resource] = true
			notes = append(notes, views.QuotaNote{State: "READY", Text: "waiting for " + amount.Words(pair.Resource, pair.Demand)})
		}
	}
	for _, i := range p.overview.Idle {
		if i.Level.ID != id {
			continue
		}
		text := amount.Words(i.Resource, i.Amount) + " unused for " + units.Duration(p.clock.Now.Sub(i.Since))
		if i.Lent > 0 {
			text += ", " + amount.Unit(i.Resource).Amount(i.Lent) + " of them lent"
		}
		notes = append(notes, views.QuotaNote{Text: text})
	}
	return notes
}

// saved confirms an edit after the redirect.
func (p *quotaPage) saved(ctx context.Context, id string) (*views.QuotaSaved, error) {
	if id == "" {
		return nil, nil
	}
	changes, err := p.h.Quotas.Reader.Changes(ctx, quotaChangesShown)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		if c.Node.ID.String() == id {
			text := append([]string{changeText(c) + ". Applies from the next admission."}, p.h.Quotas.Editor.Warnings(c.New)...)
			return &views.QuotaSaved{Strong: "Saved: " + levelName(c.Node) + ".", Text: strings.Join(text, " "), UndoURL: p.undoURL(c)}, nil
		}
	}
	return nil, nil
}
