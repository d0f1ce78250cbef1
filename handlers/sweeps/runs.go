package sweeps

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const (
	runsShown = 100
	topRuns   = 5 // compared with one press
)

// runsView is a page of the table of runs: the best first, unless the address selects another
// order.
func runsView(ctx context.Context, study sweep.Study, q url.Values) (views.SweepRuns, error) {
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
	m := views.SweepRuns{ID: s.ID.String(), Caption: "Runs of this sweep", Total: units.Number(int64(total)), Columns: columns(s, sort), Pager: ui.Pager{InOrder: true}}
	for _, r := range found {
		m.Rows = append(m.Rows, runRow(s, r))
	}
	m.Pager.Text = "Rows " + units.Number(int64(min(after+1, total))) + " to " + units.Number(int64(after+len(found))) + " of " + units.Number(int64(total))
	to := func(after int) string {
		q := url.Values{"sort": {sort}}
		if after > 0 {
			q.Set("after", strconv.Itoa(after))
		}
		return views.SweepRunsURL(s.ID.String(), q)
	}
	if after > 0 {
		m.Pager.Newer = to(max(0, after-runsShown))
	}
	if after+len(found) < total {
		m.Pager.Older = to(after + runsShown)
	}
	m.TableURL = runTableURL(s)
	return m, best(ctx, study, &m)
}

// runTableURL is the table of the runs with the varied inputs and the objective, where people filter,
// tag and compare them.
func runTableURL(s sweep.Sweep) string {
	q := url.Values{"where": {"sweep = " + s.ID.String()}}
	var columns []string
	for _, p := range s.Space {
		columns = append(columns, "inputs."+p.Path)
	}
	if o := s.Objective; o != nil && o.Metric != "" {
		columns = append(columns, "metrics."+o.Metric)
	} else if o != nil {
		columns = append(columns, "outputs."+o.Output)
	}
	q.Set("columns", strings.Join(append(columns, "tags", "duration"), ","))
	return views.ExecutionsURL() + "?" + q.Encode()
}

// best adds the actions for the best runs.
func best(ctx context.Context, study sweep.Study, m *views.SweepRuns) error {
	s := study.Sweep
	if s.Best == nil || s.Best.ExecutionID == nil {
		return nil
	}
	from := url.Values{"from": {s.Best.ExecutionID.String()}, "version": {s.Version}}
	ref := workflowRef(ctx, s)
	m.BestURL = views.LaunchQueryURL(ref, from)
	from.Set("save", "1")
	m.PresetURL = views.LaunchQueryURL(ref, from)
	top, _, err := study.Runs(sweep.Filter{Sort: "objective", Limit: topRuns})
	if err != nil {
		return err
	}
	var ids []string
	for _, r := range top {
		if r.Rank > 0 && r.ExecutionID != nil {
			ids = append(ids, r.ExecutionID.String())
		}
	}
	if len(ids) > 1 {
		m.TopURL, m.TopName = views.CompareURL(ids...), "Compare the best "+units.Number(int64(len(ids)))
	}
	return nil
}

// columns are the columns of the table. A heading sorts by its column, and reverses the order
// when pressed again.
func columns(s sweep.Sweep, sort string) []views.SweepColumn {
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
		c.URL = views.SweepRunsURL(s.ID.String(), url.Values{"sort": {next}})
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
	row := views.SweepRunRow{Index: r.Index, Rank: "–", Name: runName(r), State: runState(r), Message: r.Message, Objective: "–", Step: "–", Took: "–", Hours: rounded(r.GPUHours), Best: r.Rank == 1}
	if r.ExecutionID != nil {
		row.URL = views.ExecutionURL(r.ExecutionID.String())
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

// frame sends the columns of all runs to the drawings.
func (h *Pages) frame(w http.ResponseWriter, r *http.Request) error {
	id, err := sweepID(r)
	if err != nil {
		return err
	}
	study, err := h.Sweeps.Study(r.Context(), id)
	if err != nil {
		return err
	}
	runs, _, err := study.Runs(sweep.Filter{Sort: "index", Limit: sweep.MaxRuns})
	if err != nil {
		return err
	}
	web.WriteJSON(w, http.StatusOK, "application/json", frameOf(study.Sweep, runs, h.Page.Clock(r).Zone.String()))
	return nil
}

// frameOf are the columns of the runs that have an execution.
func frameOf(s sweep.Sweep, runs []sweep.Run, zone string) views.PlotFrame {
	f := views.PlotFrame{URLs: views.ExecutionURL(""), Objective: -1, Best: -1, IDs: []string{}, Names: []string{}, States: []string{}}
	var rows []sweep.Run
	for _, r := range runs {
		if r.ExecutionID == nil {
			continue
		}
		if r.Rank == 1 {
			f.Best = len(rows)
		}
		rows = append(rows, r)
		f.IDs, f.Names, f.States = append(f.IDs, r.ExecutionID.String()), append(f.Names, runName(r)), append(f.States, string(r.State))
	}
	names := shortNames(s.Space)
	for _, p := range s.Space {
		c := parameterColumn(p, rows)
		c.Label = names[p.Path]
		f.Columns = append(f.Columns, c)
	}
	read := func(c views.PlotColumn, value func(r sweep.Run) (float64, bool)) {
		for _, r := range rows {
			v, ok := value(r)
			if !ok {
				v = math.NaN()
			}
			c.Values = append(c.Values, v)
		}
		f.Columns = append(f.Columns, c)
	}
	if s.Objective != nil {
		f.Objective = len(f.Columns)
		read(views.PlotColumn{Name: s.Objective.Name(), Role: "objective", Better: string(s.Objective.Goal)}, func(r sweep.Run) (float64, bool) {
			if r.Objective == nil {
				return 0, false
			}
			return *r.Objective, true
		})
	}
	read(views.PlotColumn{Name: "Duration in seconds", Role: "metric"}, func(r sweep.Run) (float64, bool) {
		if r.StartedAt == nil || r.FinishedAt == nil {
			return 0, false
		}
		return r.FinishedAt.Sub(*r.StartedAt).Seconds(), true
	})
	read(views.PlotColumn{Name: "Run", Role: "order", Integer: true}, func(r sweep.Run) (float64, bool) { return float64(r.Index + 1), true })
	read(views.PlotColumn{Name: "Ended", Role: "order", Time: true, Zone: zone}, func(r sweep.Run) (float64, bool) {
		if r.FinishedAt == nil {
			return 0, false
		}
		return float64(r.FinishedAt.UnixMilli()) / 1000, true
	})
	used := 0.0
	read(views.PlotColumn{Name: "GPU-hours", Role: "order"}, func(r sweep.Run) (float64, bool) {
		used += r.GPUHours
		return used, true
	})
	return f
}

// extent returns the lowest and the highest value of a parameter, and the values of a list of numbers.
// A drawing that shows only the values of the runs so far would change with each run.
func extent(p space.Parameter) (ends, list []float64) {
	for _, v := range p.Values {
		n, ok := number(v)
		if !ok {
			return nil, nil
		}
		list = append(list, n)
	}
	if len(list) > 0 {
		slices.Sort(list)
		return []float64{list[0], list[len(list)-1]}, slices.Compact(list)
	}
	if p.From == nil || p.To == nil {
		return nil, nil
	}
	return []float64{*p.From, *p.To}, nil
}

// parameterColumn is a column of numbers, or of the distinct values.
func parameterColumn(p space.Parameter, rows []sweep.Run) views.PlotColumn {
	c := views.PlotColumn{Name: p.Path, Role: "input", Log: p.Kind == space.LogUniform || p.Scale == space.Log}
	c.Range, c.Ticks = extent(p)
	numbers := true
	for _, r := range rows {
		if _, ok := number(r.Values[p.Path]); !ok && r.Values[p.Path] != nil {
			numbers = false
		}
	}
	if numbers {
		c.Integer = true
		for _, r := range rows {
			v, ok := number(r.Values[p.Path])
			if !ok {
				v = math.NaN()
			} else if v != math.Trunc(v) {
				c.Integer = false
			}
			c.Values = append(c.Values, v)
		}
		return c
	}
	c.Range, c.Ticks = nil, nil
	index := map[string]int{}
	add := func(v any) {
		text := ui.Short(space.Text(v), 60)
		if _, ok := index[text]; !ok {
			index[text] = len(c.Categories)
			c.Categories = append(c.Categories, text)
		}
	}
	for _, v := range p.Values {
		add(v)
	}
	for _, r := range rows {
		v, ok := r.Values[p.Path]
		if !ok {
			c.Values = append(c.Values, math.NaN())
			continue
		}
		add(v)
		c.Values = append(c.Values, float64(index[ui.Short(space.Text(v), 60)]))
	}
	return c
}
