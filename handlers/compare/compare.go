package compare

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/comparison"
	"github.com/flowforge/flowforge/engine/comparison/sheet"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// choice is the selection in the address of the page.
type choice struct {
	q        url.Values
	refs     []string
	ids      []uuid.UUID
	baseline string
}

// choose reads the address and completes the IDs of the executions.
func (h *Pages) choose(r *http.Request) (choice, error) {
	c := choice{q: r.URL.Query()}
	c.refs, c.baseline = comparison.Refs(c.q.Get("executions")), c.q.Get("baseline")
	ids, err := h.Comparison.Resolve(r.Context(), c.refs)
	c.ids = ids
	return c, err
}

// with is the address with one parameter changed; "" removes it.
func (c choice) with(key, value string) string {
	q := c.next(key, value)
	return views.ComparePartURL("", q)
}

func (c choice) next(key, value string) url.Values {
	q := url.Values{}
	for _, k := range []string{"executions", "baseline", "all", "stat", "x", "scale", "xscale", "smooth", "outliers", "group", "objective"} {
		if v := c.q.Get(k); v != "" && k != key {
			q.Set(k, v)
		}
	}
	q.Set("executions", joined(c.ids))
	if value != "" {
		q.Set(key, value)
	}
	return q
}

func joined(ids []uuid.UUID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return strings.Join(texts, ",")
}

// without is the address without an execution.
func (c choice) without(id uuid.UUID) string {
	rest := c
	rest.ids = slices.DeleteFunc(slices.Clone(c.ids), func(other uuid.UUID) bool { return other == id })
	key := ""
	if c.baseline == id.String() {
		key = "baseline"
	}
	return rest.with(key, "")
}

// compare shows the page.
func (h *Pages) compare(w http.ResponseWriter, r *http.Request) error {
	c, err := h.choose(r)
	if err != nil {
		return err
	}
	m := views.Compare{
		Page:    h.Page.Base(r, "Compare", views.SectionCompare, views.Crumb{Name: "Executions", URL: views.ExecutionsURL()}),
		Heading: "Compare executions", CSVURL: views.ComparePartURL("/table.csv", c.next("", "")), Link: request.PublicURL(r, h.PublicURL) + c.with("", ""),
	}
	if len(c.ids) >= comparison.Fewest {
		compared, err := h.Comparison.Compare(r.Context(), c.texts(), c.baseline)
		if err != nil {
			return err
		}
		if c.baseline != "" { // it can be a part of the ID
			c.baseline = c.ids[compared.Baseline].String()
		}
		m.Chosen, m.Notes, m.Heading = true, compared.Notes, "Compare "+units.Plural(len(c.ids), "execution", "executions")
		m.Legend, m.Table = h.legend(r, c, compared), table(r.Context(), c, compared)
		m.Table.Runs = m.Legend.Runs
		m.Curves, m.Plots = curves(c, compared), plots(c, compared)
		if compared.Live {
			m.Stream = views.ComparePartURL("/stream", c.next("", ""))
		}
	} else if len(c.ids) == 1 {
		list, err := h.Executions.Several(r.Context(), c.ids)
		if err != nil {
			return err
		}
		if c.q.Get("with") == "previous" {
			before, found, err := h.Executions.Previous(r.Context(), list[0])
			if err != nil {
				return err
			}
			if found {
				http.Redirect(w, r, views.CompareURL(before.String(), c.ids[0].String()), http.StatusFound)
				return nil
			}
			m.Alone = "This workflow has no earlier execution."
		}
		m.Legend = h.legend(r, c, comparison.Comparison{Executions: list})
	}
	if m.Find, err = h.find(r, c); err != nil {
		return err
	}
	return web.Render(w, r, http.StatusOK, views.ComparePage(m))
}

// texts are the ids as references.
func (c choice) texts() []string {
	return strings.Split(joined(c.ids), ",")
}

// hitsShown is the number of executions that a search offers.
const hitsShown = 10

// choices is the list of executions that a search finds, for the script.
func (h *Pages) choices(w http.ResponseWriter, r *http.Request) error {
	c, err := h.choose(r)
	if err != nil {
		return err
	}
	c.q.Set("asked", "1")
	f, err := h.find(r, c)
	if err != nil {
		return err
	}
	return web.Render(w, r, http.StatusOK, views.CompareFound(f))
}

// find finds executions to add: those of the project that match, without those that are compared.
// Without a text it offers the latest ones.
func (h *Pages) find(r *http.Request, c choice) (views.CompareFind, error) {
	f := views.CompareFind{Query: strings.TrimSpace(c.q.Get("q")), Executions: joined(c.ids), Requested: c.q.Get("asked") != "" || c.q.Get("q") != ""}
	for key, values := range c.next("", "") {
		if key != "executions" {
			f.Hidden = append(f.Hidden, [2]string{key, values[0]})
		}
	}
	slices.SortFunc(f.Hidden, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	if len(c.ids) >= comparison.Most {
		f.Full = "You can compare at most 50 executions. Remove one to add another."
		return f, nil
	}
	if len(c.ids) < comparison.Fewest {
		f.Requested = true
	}
	if !f.Requested {
		return f, nil
	}
	found, err := h.Executions.List(r.Context(), query.Filter{Query: f.Query, Limit: hitsShown + len(c.ids)})
	if err != nil {
		return f, err
	}
	clock := h.Page.Clock(r)
	for _, e := range found.Executions {
		if slices.Contains(c.ids, e.ID) || len(f.Hits) == hitsShown {
			continue
		}
		more := c
		more.ids = append(slices.Clone(c.ids), e.ID)
		f.Hits = append(f.Hits, views.CompareHit{
			Short: label.ShortID(e.ID), Title: label.ExecutionTitle(e) + " " + e.Version, State: string(e.Status), Note: clock.Moment(e.CreatedAt).Text, URL: more.with("", ""),
		})
	}
	return f, nil
}

// legend names the executions by the values in which they differ.
func (h *Pages) legend(r *http.Request, c choice, compared comparison.Comparison) views.CompareLegend {
	var l views.CompareLegend
	clock := h.Page.Clock(r)
	notes := differences(compared)
	styles := comparison.Styles(compared.Executions)
	for i, e := range compared.Executions {
		run := views.CompareRun{
			ID: e.ID.String(), Style: views.RunStyle(styles[i]), Short: label.ShortID(e.ID), URL: views.ExecutionURL(e.ID.String()), Title: label.ExecutionTitle(e) + " " + e.Version, Name: e.Name,
			State: string(e.Status), Note: notes[i], Launched: clock.Moment(e.CreatedAt), RemoveURL: c.without(e.ID),
			Baseline: len(compared.Executions) > 1 && i == compared.Baseline,
		}
		if len(compared.Executions) > 1 {
			run.BaselineURL = c.with("baseline", e.ID.String())
		}
		l.Runs = append(l.Runs, run)
	}
	return l
}

// notedDifferences is the number of values that a legend shows.
const notedDifferences = 2

// differences are the inputs with the most different values, or the versions and names.
func differences(c comparison.Comparison) []string {
	notes := make([]string, len(c.Executions))
	var rows []sheet.Row
	for _, r := range c.Rows {
		if r.Section == sheet.Inputs && r.Differs {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b sheet.Row) int { return cmp.Compare(distinct(b), distinct(a)) })
	for _, r := range rows[:min(len(rows), notedDifferences)] {
		name := r.Path[strings.LastIndexByte(r.Path, '.')+1:]
		for i, cell := range r.Cells {
			if cell.Present {
				notes[i] = label.JoinNote(notes[i], name+" "+ui.Short(cellText(r, cell.Value), 24))
			}
		}
	}
	if len(rows) == 0 {
		for i, e := range c.Executions {
			notes[i] = label.ExecutionTitle(e) + " " + e.Version
		}
	}
	return notes
}

// distinct is the number of different values of a row.
func distinct(r sheet.Row) int {
	seen := map[string]bool{}
	for _, cell := range r.Cells {
		seen[sheet.Text(cell.Value)] = true
	}
	return len(seen)
}

// stream updates legend and table while an execution has not ended.
func (h *Pages) stream(w http.ResponseWriter, r *http.Request) error {
	c, err := h.choose(r)
	if err != nil {
		return err
	}
	followed, err := h.Comparison.Follow(r.Context(), c.ids, c.baseline)
	if err != nil {
		return err
	}
	defer followed.Close()
	if _, _, err := followed.Latest(r.Context()); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead))
	if err != nil {
		return err
	}
	sent, known := page.SentPieces{}, 0
	h.Page.OnHints(r.WithContext(ctx), stream, h.Page.Ticks(ctx), page.ListInterval, func(ctx context.Context) error {
		compared, version, err := followed.Latest(ctx)
		if err != nil || version == known {
			return err
		}
		known = version
		l, t := h.legend(r, c, compared), table(r.Context(), c, compared)
		t.Runs, t.Version = l.Runs, strconv.Itoa(version)
		drawn := plots(c, compared)
		if sent.Changed("compare", []any{l, t, compared.Notes, drawn}) {
			if err := stream.SendComponent(ctx, "", "", views.CompareUpdate(l, t, compared.Notes, drawn)); err != nil {
				return err //nolint:wrapcheck // it names its context
			}
		}
		if compared.Live {
			return nil
		}
		return errors.Join(stream.Send("end", "", nil), page.ErrStreamDone)
	})
	return nil
}

// table is the table of the page.
func table(ctx context.Context, c choice, compared comparison.Comparison) views.CompareTable {
	same, rows := sheet.Rest(compared.Rows)
	t := views.CompareTable{All: c.q.Get("all") != "", Counts: strconv.Itoa(len(rows)) + " differ, " + strconv.Itoa(len(same)) + " are the same"}
	statistic := statisticOf(c.q.Get("stat"))
	if t.All {
		rows, t.Toggle = compared.Rows, c.with("all", "")
	} else {
		t.Toggle = c.with("all", "1")
	}
	for _, s := range []struct {
		key  sheet.Statistic
		name string
	}{{sheet.Last, "Last"}, {sheet.Min, "Lowest"}, {sheet.Max, "Highest"}} {
		if len(compared.Metrics) > 0 {
			value := string(s.key)
			if s.key == sheet.Last {
				value = ""
			}
			t.Statistic = append(t.Statistic, ui.Choice{Name: s.name, URL: c.with("stat", value), Current: s.key == statistic})
		}
	}
	for _, r := range rows {
		if r.Statistic != "" && r.Statistic != statistic {
			continue
		}
		name := label.SentenceCase(string(r.Section))
		if n := len(t.Sections); n == 0 || t.Sections[n-1].Name != name {
			t.Sections = append(t.Sections, views.CompareSection{Name: name})
		}
		last := &t.Sections[len(t.Sections)-1]
		last.Rows = append(last.Rows, tableRow(r))
	}
	for i := range t.Sections {
		if t.Sections[i].Name == label.SentenceCase(string(sheet.Definition)) {
			t.Sections[i].Changes = versionChanges(ctx, compared)
		}
	}
	return t
}

// versionChanges links the changes from the version of the baseline to other versions of its
// workflow, each once.
func versionChanges(ctx context.Context, c comparison.Comparison) []ui.Action {
	base := c.Executions[c.Baseline]
	var links []ui.Action
	seen := map[string]bool{base.Version: true}
	for _, e := range c.Executions {
		if e.WorkflowID != base.WorkflowID || seen[e.Version] {
			continue
		}
		seen[e.Version] = true
		ref := request.WorkflowRef(ctx, e.WorkflowName, e.WorkflowID)
		links = append(links, ui.Action{Name: "Changes from " + base.Version + " to " + e.Version, URL: views.VersionDiffURL(ref, base.Version, e.Version)})
	}
	return links
}

func statisticOf(text string) sheet.Statistic {
	switch s := sheet.Statistic(text); s {
	case sheet.Min, sheet.Max:
		return s
	}
	return sheet.Last
}
