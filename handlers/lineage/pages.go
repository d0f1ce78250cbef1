// Package lineage contains the page that shows what items were made from, and what was made from
// them.
package lineage

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/lineage"
	"github.com/flowforge/flowforge/engine/lineage/graph"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// Config contains the dependencies of the page.
type Config struct {
	Lineage *lineage.Service
	Page    *page.Shell
}

// Pages are the pages of lineage. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) { r.Get("/lineage", h.Page.Serve(h.lineage)) }

// pageFan is the number of neighbours of an item in the graph. A box "more" stands for the
// others.
const pageFan = 6

func (h *Pages) lineage(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	up, err := steps(q, "up")
	if err != nil {
		return err
	}
	down, err := steps(q, "down")
	if err != nil {
		return err
	}
	l, err := h.Lineage.Trace(r.Context(), lineage.Request{Of: q.Get("of"), Up: up, Down: down, Fan: pageFan, Expand: q["expand"]})
	if err != nil {
		return err
	}
	p := &picture{lineage: l, q: q, clock: h.Page.Clock(r)}
	name := p.name(l.Focus)
	m := views.Lineage{
		Page:    h.Page.Base(r, "Lineage of "+name, views.SectionArtifacts, views.Crumb{Name: "Artifacts", URL: views.ArtifactsURL()}),
		Heading: "Lineage of " + name, Kind: label.LineageKind(l.Focus.Kind), Stage: l.Focus.Stage, OpenURL: label.LineageItemURL(l.Focus), Of: q.Get("of"), Expanded: q["expand"],
		Shown: units.Plural(len(l.Items), "item", "items"), Up: stepOptions(up), Down: stepOptions(down), Production: p.production(),
		Picture: p.draw(), Facts: p.facts(), Before: p.side(graph.Up), After: p.side(graph.Down), Rows: p.rows(),
	}
	if l.Cut {
		m.Cut = "The graph has " + units.Number(int64(len(l.Items))) + " items, its limit. Show fewer steps, or the lineage of one of the items."
	}
	return web.Render(w, r, http.StatusOK, views.LineagePage(m))
}

// steps reads a number of steps; 2 when the address has none.
func steps(q url.Values, name string) (int, error) {
	if !q.Has(name) {
		return lineage.DefaultSteps, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil {
		return 0, apperr.InvalidFields("The lineage request has invalid values.", []apperr.Field{{Path: name, Message: "Enter a number of steps."}})
	}
	return n, nil
}

func stepOptions(chosen int) []ui.Option {
	counts := []int{0, 1, 2, 3, 5, 10, lineage.MaxSteps}
	if !slices.Contains(counts, chosen) {
		counts = append(counts, chosen)
		slices.Sort(counts)
	}
	var options []ui.Option
	for _, n := range counts {
		options = append(options, ui.Option{Value: strconv.Itoa(n), Name: units.Plural(n, "step", "steps"), Selected: n == chosen})
	}
	return options
}

// with returns the address of the page for another item, with the same steps.
func (p *picture) with(of string) string {
	q := url.Values{}
	for _, name := range []string{"up", "down"} {
		if v := p.q.Get(name); v != "" {
			q.Set(name, v)
		}
	}
	return views.LineageURL(of, q)
}

// expand returns the address of the page with more neighbours of an item.
func (p *picture) expand(k graph.Key) string {
	q := url.Values{}
	for name, values := range p.q {
		if name != "of" {
			q[name] = slices.Clone(values)
		}
	}
	q["expand"] = append(q["expand"], string(k))
	return views.LineageURL(p.q.Get("of"), q)
}

func (p *picture) production() views.LineageProduction {
	out := views.LineageProduction{Complete: p.lineage.Production.Complete}
	for _, m := range p.lineage.Production.Models {
		out.Models = append(out.Models, views.LineageLink{Name: m.Name + " " + m.Version, URL: views.ModelURL(m.Name, m.Version)})
		out.Itself = m.Key == p.lineage.Focus.Key && len(p.lineage.Production.Models) == 1
	}
	return out
}

func (p *picture) facts() []ui.Fact {
	f := p.lineage.Focus
	facts := []ui.Fact{{Name: "Name", Value: p.name(f), URL: label.LineageItemURL(f)}}
	if f.Workflow != "" && f.Kind != lineage.KindExecution {
		facts = append(facts, ui.Fact{Name: "Workflow", Value: f.Workflow, URL: views.WorkflowURL(f.Workflow)})
	}
	if f.Kind == lineage.KindArtifact || f.Kind == lineage.KindNode {
		facts = append(facts, ui.Fact{Name: "Execution", Value: label.ShortID(f.Execution), URL: views.ExecutionURL(f.Execution.String())})
	}
	if f.State != "" {
		facts = append(facts, ui.Fact{Name: "State", Value: ui.Word(f.State)})
	}
	if f.Size > 0 {
		facts = append(facts, ui.Fact{Name: "Size", Value: units.Bytes(f.Size)})
	}
	if f.By != "" {
		facts = append(facts, ui.Fact{Name: "By", Value: f.By})
	}
	if !f.At.IsZero() {
		at := p.clock.Moment(f.At)
		facts = append(facts, ui.Fact{Name: "Created", Moment: &at})
	}
	return facts
}

// side lists the neighbours of the focus.
func (p *picture) side(d graph.Direction) views.LineageSide {
	s, more := views.LineageSide{Title: "Upstream", None: "No recorded sources."}, p.lineage.Focus.Before
	if d == graph.Down {
		s, more = views.LineageSide{Title: "Downstream", None: "Not used yet."}, p.lineage.Focus.After
	}
	for _, e := range p.lineage.Edges {
		other, at := e.From, e.To
		if d == graph.Down {
			other, at = e.To, e.From
		}
		if at == p.lineage.Focus.Key {
			i := p.item(other)
			s.Links = append(s.Links, views.LineageLink{Icon: icon(i), Name: p.name(i), Of: executionOf(i), URL: p.with(string(other)), Note: label.RelationWords(e)})
		}
	}
	s.Count = joinText(moreText(more))
	if len(s.Links) == 0 && s.Count != "" {
		s.None = "Choose more steps to see them."
	}
	return s
}

func joinText(list []string) string { return strings.Join(list, ", ") }

// moreText describes what is next to an item and not in the graph.
func moreText(m graph.More) []string {
	var list []string
	if m.Items > 0 {
		text := units.Number(int64(m.Items)) + " more"
		if m.AtLeast {
			text = "at least " + text
		}
		list = append(list, text)
	}
	if m.Hidden > 0 {
		list = append(list, units.Number(int64(m.Hidden))+" not visible to you")
	}
	return list
}
