package sweeps

import (
	"math"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/comparison/curve"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// stylesOf are the colors and the dashes of runs, which their table and their drawings share.
func stylesOf(runs []sweep.Run) map[uuid.UUID]views.RunStyle {
	var ids []uuid.UUID
	for _, r := range runs {
		if r.ExecutionID != nil {
			ids = append(ids, *r.ExecutionID)
		}
	}
	styles := make(map[uuid.UUID]views.RunStyle, len(ids))
	for i, style := range curve.Styles(ids) {
		styles[ids[i]] = views.RunStyle(style)
	}
	return styles
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
	styles := stylesOf(runs)
	var rows []sweep.Run
	for _, r := range runs {
		if r.ExecutionID == nil {
			continue
		}
		if r.Rank == 1 {
			f.Best = len(rows)
		}
		rows = append(rows, r)
		f.Add(r.ExecutionID.String(), runName(r), string(r.State), styles[*r.ExecutionID])
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
