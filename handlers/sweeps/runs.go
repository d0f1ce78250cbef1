package sweeps

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

const (
	runsShown = 100
	topRuns   = 5 // compared with one press
)

// runsView is a page of the table of runs: the best first, unless the address selects another
// order.
func (h *Pages) runsView(ctx context.Context, study sweep.Study, q url.Values) (views.SweepRuns, error) {
	s := study.Sweep
	sort := q.Get("sort")
	if sort == "" {
		sort = "-index"
		if s.Objective != nil {
			sort = "objective"
		}
	}
	after, err := strconv.Atoi(q.Get("after"))
	if err != nil || after < 0 {
		after = 0
	}
	found, total, err := study.Runs(sweep.Filter{Sort: sort, After: after, Limit: runsShown})
	if err != nil {
		return views.SweepRuns{}, err
	}
	all, _, err := study.Runs(sweep.Filter{Sort: "index", Limit: sweep.MaxRuns})
	if err != nil {
		return views.SweepRuns{}, err
	}
	styles := stylesOf(all) // a page of the table draws its runs as the charts do
	m := views.SweepRuns{ID: s.ID.String(), Caption: "Runs of this sweep", Total: units.Number(int64(total)), Columns: columns(s, sort, q), Pager: ui.Pager{InOrder: true}}
	for _, r := range found {
		row := runRow(s, r)
		if r.ExecutionID != nil {
			row.Style = styles[*r.ExecutionID]
		}
		m.Rows = append(m.Rows, row)
	}
	m.Pager.Text = "Rows " + units.Number(int64(min(after+1, total))) + " to " + units.Number(int64(after+len(found))) + " of " + units.Number(int64(total))
	to := func(after int) string {
		q := kept(q)
		q.Set("sort", sort)
		if after > 0 {
			q.Set("after", strconv.Itoa(after))
		}
		return views.SweepRunsURL(s.ID.String(), q)
	}
	m.SortURL = to(after)
	if after > 0 {
		m.Pager.Newer = to(max(0, after-runsShown))
	}
	if after+len(found) < total {
		m.Pager.Older = to(after + runsShown)
	}
	m.TableURL = runTableURL(s)
	err = h.best(ctx, study, &m)
	return m, err
}

// nameRuns adds the names that people gave the executions of runs. The sweep itself names them by their
// number, which the table has.
func (h *Pages) nameRuns(ctx context.Context, rows []views.SweepRunRow) error {
	var ids []uuid.UUID
	at := map[uuid.UUID]int{}
	for i, r := range rows {
		if id, err := uuid.Parse(r.ExecutionID); err == nil {
			ids, at[id] = append(ids, id), i
		}
	}
	if len(ids) == 0 {
		return nil
	}
	list, err := h.Executions.Named(ctx, ids)
	if err != nil {
		return err
	}
	for _, e := range list {
		if row := &rows[at[e.ID]]; !strings.HasSuffix(e.Name, "run "+strconv.Itoa(row.Index+1)) {
			row.Title = e.Name
		}
	}
	return nil
}

// runTableURL is the table of the runs with the varied inputs and the objective, the best first, and
// the curves of the objective. There, people filter, tag and compare the runs. The table has no columns
// for what no run has yet.
func runTableURL(s sweep.Sweep) string {
	q := url.Values{"where": {"sweep = " + s.ID.String()}}
	var columns []string
	for _, p := range s.Space {
		column := "inputs." + tablePath(s.Inputs, p)
		if launched := s.Counts.Created > s.Counts.Waiting+s.Counts.Refused; launched && column != "inputs." && !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
	}
	var result string
	switch o := s.Objective; {
	case o == nil || s.Best == nil:
	case o.Metric == "":
		result = "outputs." + o.Output
	case o.Value == sweep.LastValue:
		result = "metrics." + o.Metric
	default:
		result = "metrics." + o.Metric + "." + string(o.Goal)
	}
	if result != "" {
		columns = append(columns, result)
		q.Set("sort", result)
		if s.Objective.Goal == sweep.Maximize {
			q.Set("sort", "-"+result)
		}
	}
	columns = append(columns, "tags", "duration")
	if o := s.Objective; o != nil {
		if chart, ok := index.ChartEntry(o.Metric); ok {
			columns = append(columns, chart)
		}
	}
	q.Set("columns", strings.Join(columns, ","))
	return views.ExecutionsURL() + "?" + q.Encode()
}

// tablePath is the input in whose column the table has a parameter: a list is one value there, and an
// object has no value of its own.
func tablePath(inputs map[string]any, p space.Parameter) string {
	if slices.ContainsFunc(p.Values, func(v any) bool { object, ok := v.(map[string]any); return ok && object["$catalogue"] == nil }) {
		return ""
	}
	names := strings.Split(p.Path, ".")
	var value any = inputs
	for i, name := range names {
		object, _ := value.(map[string]any)
		if value = object[name]; isList(value) {
			return strings.Join(names[:i+1], ".")
		}
	}
	return p.Path
}

func isList(v any) bool {
	_, ok := v.([]any)
	return ok
}

// best adds the actions for the best runs. Deleted executions cannot be compared.
func (h *Pages) best(ctx context.Context, study sweep.Study, m *views.SweepRuns) error {
	s := study.Sweep
	if s.Best == nil || s.Best.ExecutionID == nil {
		return nil
	}
	from := url.Values{"from": {s.Best.ExecutionID.String()}, "version": {s.Version}}
	ref := workflowRef(ctx, s)
	m.BestURL = views.LaunchQueryURL(ref, from)
	from.Set("save", "1")
	m.PresetURL = views.LaunchQueryURL(ref, from)
	top, _, err := study.Runs(sweep.Filter{Sort: "objective", Limit: 10 * topRuns})
	if err != nil {
		return err
	}
	var ranked []uuid.UUID
	for _, r := range top {
		if r.Rank > 0 && r.ExecutionID != nil {
			ranked = append(ranked, *r.ExecutionID)
		}
	}
	list, err := h.Executions.Named(ctx, ranked)
	if err != nil {
		return err
	}
	var ids []string
	for _, e := range list[:min(len(list), topRuns)] {
		ids = append(ids, e.ID.String())
	}
	if len(ids) > 1 {
		m.TopURL, m.TopName = views.CompareURL(ids...), "Compare the best "+units.Number(int64(len(ids)))
	}
	return nil
}

// columns are the columns of the table. A heading sorts by its column, and reverses the order
// when pressed again.
func columns(s sweep.Sweep, sort string, q url.Values) []views.SweepColumn {
	sorted, descending := strings.CutPrefix(sort, "-")
	column := func(name, title, key string, number bool) views.SweepColumn {
		c := views.SweepColumn{Name: name, Title: title, Number: number}
		if key == "" {
			return c
		}
		next := key
		if key == sorted {
			if !descending {
				next = "-" + key
			}
			if key == "objective" && s.Objective.Goal == sweep.Maximize {
				descending = !descending // the best first
			}
			if c.Sorted = "ascending"; descending {
				c.Sorted = "descending"
			}
		}
		to := kept(q)
		to.Set("sort", next)
		c.URL = views.SweepRunsURL(s.ID.String(), to)
		return c
	}
	names := shortNames(s.Space)
	out := []views.SweepColumn{column("Run", "", "index", false), column("Rank", "", "", true), column("State", "", "", false)}
	for _, p := range s.Space {
		out = append(out, column(names[p.Path], p.Path, p.Path, true))
	}
	name, key := "Objective", ""
	if s.Objective != nil {
		name, key = s.Objective.Name(), "objective"
	}
	return append(out, column(name, "", key, true), column("Step", "", "", true), column("Duration", "", "", true), column("GPU-h", "GPU-hours", "", true))
}

func runRow(s sweep.Sweep, r sweep.Run) views.SweepRunRow {
	row := views.SweepRunRow{Index: r.Index, Rank: "–", Name: runName(r), State: runState(r), Message: reasonOf(r), Objective: "–", Step: "–", Took: "–", Hours: rounded(r.GPUHours), Best: r.Rank == 1}
	if r.ExecutionID != nil {
		row.ExecutionID = r.ExecutionID.String()
		row.URL = views.ExecutionURL(row.ExecutionID)
	}
	if s.MayRun && r.State == sweep.RunStoppedEarly && r.ExecutionID != nil {
		row.ContinueURL = views.ResumeURL(r.ExecutionID.String(), "")
	}
	if r.Rank > 0 {
		row.Rank = strconv.Itoa(r.Rank)
	}
	for _, p := range s.Space {
		row.Values = append(row.Values, ui.Short(valueText(r.Values[p.Path]), 60))
	}
	if r.Objective != nil {
		row.Objective = ui.Float(*r.Objective)
	}
	if r.Step != nil {
		row.Step = units.Number(*r.Step)
	}
	if r.StartedAt != nil && r.FinishedAt != nil {
		row.Took = units.Duration(r.FinishedAt.Sub(*r.StartedAt))
	}
	return row
}

// valueText is a value of a parameter for readers.
func valueText(v any) string {
	if v == nil {
		return "–"
	}
	if f, ok := number(v); ok {
		return ui.Float(f)
	}
	return space.Text(v)
}

func number(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

func runState(r sweep.Run) views.SweepState {
	switch r.State {
	case sweep.RunProposed:
		return views.SweepState{Icon: "PENDING", Word: "Not started"}
	case sweep.RunRunning:
		if r.StartedAt == nil || r.Waiting {
			return views.SweepState{Icon: "READY", Word: "Waiting"}
		}
		return views.SweepState{Icon: "RUNNING", Word: "Running"}
	case sweep.RunSucceeded:
		return views.SweepState{Icon: "SUCCEEDED", Word: "Succeeded"}
	case sweep.RunFailed:
		return views.SweepState{Icon: "FAILED", Word: "Failed"}
	case sweep.RunStoppedEarly:
		return views.SweepState{Icon: "CANCELLED", Word: "Stopped early"}
	case sweep.RunRefused:
		return views.SweepState{Icon: "FAILED", Word: "Not launched"}
	case sweep.RunCancelled:
	}
	return views.SweepState{Icon: "CANCELLED", Word: "Cancelled"}
}

// reasonOf is why a run ended, without the state that is next to it.
func reasonOf(r sweep.Run) string {
	reason, stopped := strings.CutPrefix(r.Message, "Stopped early: ")
	if r.State != sweep.RunStoppedEarly || !stopped || reason == "" {
		return r.Message
	}
	return strings.ToUpper(reason[:1]) + reason[1:]
}
