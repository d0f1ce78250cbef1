package sweeps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// sweep shows a sweep.
func (h *Pages) sweep(w http.ResponseWriter, r *http.Request) error {
	id, err := sweepID(r)
	if err != nil {
		return err
	}
	v, err := h.read(r.Context(), h.Page.Clock(r), id, r.URL.Query(), true)
	if err != nil {
		return err
	}
	v.Page = h.Page.Base(r, v.Head.Name, views.SectionSweeps, views.Crumb{Name: "Sweeps", URL: views.SweepsURL()})
	v.Title = v.Head.State.Word + ": " + v.Head.Name
	return web.Render(w, r, http.StatusOK, views.SweepPage(v))
}

// read reads the data of the page, with the metrics that the curves can show if the page needs them.
func (h *Pages) read(ctx context.Context, clock ui.Clock, id uuid.UUID, q url.Values, metrics bool) (views.SweepView, error) {
	study, err := h.Sweeps.Study(ctx, id)
	if err != nil {
		return views.SweepView{}, err
	}
	s := study.Sweep
	runs, err := h.runsView(ctx, study, q)
	if err != nil {
		return views.SweepView{}, err
	}
	if err := h.nameRuns(ctx, runs.Rows); err != nil {
		return views.SweepView{}, err
	}
	if runs.Empty = "The first runs are about to be launched."; s.Method == sweep.TPE {
		runs.Empty = "TPE chooses the values of the first runs. The first sweep on a server takes a few minutes, because FlowForge installs Optuna."
		if h.Sweeps.Installing(s.Method) {
			runs.Empty = "Installing Optuna, which TPE needs. The first sweep takes a few minutes."
		}
	}
	if s.State.Ended() {
		runs.Ended, runs.Empty = true, "The sweep ended before its first run."
	}
	v := views.SweepView{Head: Head(ctx, clock, s), Runs: runs, Space: spaceView(s)}
	if v.Curves, err = h.curves(ctx, study, q, metrics); err != nil {
		return v, err
	}
	v.Plots = views.Plots{
		Name: s.Name, DataURL: views.SweepPartURL(id.String(), "runs.json"), VersionOf: views.SweepHeadSelector(),
		Importance: importanceView(s, study.Importance),
	}
	if s.Objective != nil {
		v.Plots.Objective = s.Objective.Name()
		v.Plots.Orders = []views.PlotOrder{{Name: "Run", Value: "Run"}, {Name: "Clock", Value: "Ended"}}
		if s.UsedGPUHours > 0 {
			v.Plots.Orders = append(v.Plots.Orders, views.PlotOrder{Name: "GPU-h", Value: "GPU-hours"})
		}
	}
	if !s.State.Ended() {
		v.Stream = streamURL(id.String(), q, v)
	}
	return v, nil
}

// sweepStream updates the page of a sweep until it ends.
func (h *Pages) sweepStream(w http.ResponseWriter, r *http.Request) error {
	id, err := sweepID(r)
	if err != nil {
		return err
	}
	if _, err := h.Sweeps.Get(r.Context(), id); err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead))
	if err != nil {
		return err
	}
	clock, sent, order := h.Page.Clock(r), page.SentPieces{}, orderOf(r.URL.Query())
	known, _ := strconv.Atoi(r.URL.Query().Get(metricsKey)) // on the page
	h.Page.OnHints(r, stream, h.Page.Ticks(r.Context()), page.ListInterval, func(ctx context.Context) error {
		clock.Now = h.Now()
		v, err := h.read(ctx, clock, id, r.URL.Query(), known < 2)
		if err != nil {
			return err
		}
		order = keepOrder(&v.Runs, order)
		if n := len(v.Curves.Metrics); known < 2 && n > known {
			update := views.SweepMetricsUpdate(v.Curves)
			if known == 0 {
				update = views.SweepCurvesUpdate(v.Curves)
			}
			known = n
			if err := stream.SendComponent(ctx, "", "", update); err != nil {
				return err //nolint:wrapcheck // it names its context
			}
		}
		if sent.Changed("sweep", []any{v.Head, v.Curves.Note, v.Runs, v.Plots.Importance}) {
			if err := stream.SendComponent(ctx, "", "", views.SweepUpdate(v.Head, v.Curves, v.Runs, v.Plots.Importance)); err != nil {
				return err //nolint:wrapcheck // it names its context
			}
		}
		if v.Stream != "" {
			return nil
		}
		return errors.Join(stream.Send("end", "", nil), page.ErrStreamDone)
	})
	return nil
}

// Head is the title of a sweep with its commands and figures.
func Head(ctx context.Context, clock ui.Clock, s sweep.Sweep) views.SweepHead {
	id, ref := s.ID.String(), workflowRef(ctx, s)
	m := views.SweepHead{
		ID: id, Name: s.Name, State: label.SweepState(s.State), Workflow: s.WorkflowName, URL: views.WorkflowURL(ref), Version: s.Version,
		Method: fmt.Sprintf("%s, seed %d", methodName(s.Method), s.Seed), By: s.CreatedBy.Name, Started: clock.Moment(s.CreatedAt),
		MayChange: s.MayRun && s.State != sweep.Stopping, Pauses: s.State == sweep.Running, Resumes: s.State == sweep.Paused, Stops: s.State == sweep.Running || s.State == sweep.Paused,
		LikeURL: views.SweepLaunchQueryURL(ref, url.Values{"like": {id}}), Kind: "warn",
	}
	if s.Method == sweep.Grid {
		m.Method = methodName(s.Method)
	}
	switch {
	case s.Reason == sweep.ReasonPerson: // "Paused by Ada."
		m.Kind, m.Lead = "", s.Message
	case s.Message != "":
		m.Lead, m.Message = m.State.Word+".", s.Message
	}
	if s.EndedAt != nil {
		m.Ended = new(clock.Moment(*s.EndedAt))
	}
	m.Changed = fmt.Sprint(s.Counts, s.UsedGPUHours, s.SpaceVersion, s.UpdatedAt.UnixNano())
	m.Figures = figures(s)
	if s.Best != nil && s.Best.Objective != nil {
		m.Changed += fmt.Sprint(*s.Best.Objective)
	}
	return m
}

// silentRuns is the number of runs without the objective after which the page of a running sweep
// warns about it. The last values of a run arrive shortly after its end.
const silentRuns = 3

func figures(s sweep.Sweep) []views.SweepFigure {
	best := views.SweepFigure{Name: "Best so far", Value: "–", Note: "No run has a result yet."}
	if s.State.Ended() {
		best.Name = "Best"
	}
	switch {
	case s.Objective == nil:
		best.Note = "The sweep has no objective."
	case s.Best == nil && (s.State.Ended() && s.Counts.Succeeded > 0 || s.Counts.Succeeded >= silentRuns):
		best.Note = units.Plural(s.Counts.Succeeded, "run", "runs") + " ended without reporting “" + s.Objective.Name() + "”."
	case s.Best == nil && s.State.Ended():
		best.Note = "No run has a result."
	case s.Best != nil && s.Best.Objective != nil:
		best.Value, best.Of, best.Note = ui.Float(*s.Best.Objective), s.Objective.Name(), valuesText(s.Space, s.Best.Values)
		if s.Best.ExecutionID != nil {
			best.Link, best.URL = runName(*s.Best), views.ExecutionURL(s.Best.ExecutionID.String())
		}
	}
	bar := label.SweepBar(s)
	runs := views.SweepFigure{Name: "Runs", Value: units.Number(int64(s.Counts.Ended())), Of: "of " + units.Number(int64(s.Planned)) + " ended", Bar: &bar, Note: countsText(s.Counts)}
	hours := views.SweepFigure{Name: "GPU-hours", Value: rounded(s.UsedGPUHours), Of: "used", Note: "No budget is set."}
	if s.GPUHours > 0 {
		share := math.Min(100, 100*s.UsedGPUHours/s.GPUHours)
		hours.Name, hours.Of, hours.Note = "Budget", "of "+rounded(s.GPUHours)+" GPU-hours", ""
		hours.Share, hours.ShareText = strconv.FormatFloat(share, 'f', 1, 64)+"%", strconv.FormatFloat(share, 'f', 0, 64)+" % of the budget is used"
	}
	atOnce := views.SweepFigure{Name: "Concurrent runs", Value: units.Number(int64(s.Counts.Running)), Of: "of " + units.Number(int64(s.Parallelism)) + " allowed"}
	if s.Counts.Queued > 0 {
		atOnce.Note = activeText(s.Counts) + "."
	}
	switch {
	case s.Counts.Waiting > 0 && s.State == sweep.Paused:
		atOnce.Note += " " + units.Plural(s.Counts.Waiting, "run starts", "runs start") + " when the sweep is resumed."
	case s.Counts.Waiting > 0:
		atOnce.Note += " " + units.Plural(s.Counts.Waiting, "run is", "runs are") + " about to be launched."
	}
	return []views.SweepFigure{best, runs, hours, atOnce}
}

func rounded(hours float64) string { return ui.Float(math.Round(hours*100) / 100) }

// activeText is “3 running, 5 waiting for quota”.
func activeText(c sweep.Counts) string {
	return units.Number(int64(c.Running-c.Queued)) + " running, " + units.Number(int64(c.Queued)) + " waiting for quota"
}

// countsText describes the outcome of runs.
func countsText(c sweep.Counts) string {
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{c.Succeeded, "succeeded"}, {c.Running - c.Queued, "running"}, {c.Queued, "waiting for quota"}, {c.StoppedEarly, "stopped early"}, {c.Failed, "failed"}, {c.Cancelled, "cancelled"}, {c.Refused, "not launched"}} {
		if p.n > 0 {
			parts = append(parts, units.Number(int64(p.n))+" "+p.word)
		}
	}
	return strings.Join(parts, ", ")
}

// valuesText are the values of a run in one line.
func valuesText(parameters []space.Parameter, values space.Combination) string {
	var parts []string
	names := shortNames(parameters)
	for i, p := range parameters {
		if i == variesShown {
			break
		}
		parts = append(parts, names[p.Path]+" "+ui.Short(valueText(values[p.Path]), 24))
	}
	return strings.Join(parts, ", ")
}

// runName is the short id of the execution of a run, or its number.
func runName(r sweep.Run) string {
	if r.ExecutionID != nil {
		return label.ShortID(*r.ExecutionID)
	}
	return "run " + strconv.Itoa(r.Index+1)
}

func importanceView(s sweep.Sweep, found sweep.Importances) views.Importance {
	m := views.Importance{Note: found.Message}
	if s.Objective != nil {
		m.For = s.Objective.Name()
	}
	if len(found.Parameters) == 0 {
		return m
	}
	m.Note = strings.TrimSuffix(found.Method, ".") + ". From " + units.Plural(found.Runs, "run", "runs") + "."
	names := shortNames(s.Space)
	percent := func(v float64) string { return strconv.FormatFloat(100*math.Min(1, math.Max(0, v)), 'f', 1, 64) + "%" }
	for _, p := range found.Parameters {
		row := views.ImportanceRow{
			Name: cmp.Or(names[p.Path], p.Path), Title: p.Path, Text: strconv.FormatFloat(p.Share, 'f', 2, 64), Error: "± " + strconv.FormatFloat(p.Deviation, 'f', 2, 64),
			Width: percent(p.Share), From: percent(p.Share - p.Deviation), To: percent(p.Share + p.Deviation),
		}
		if p.Correlation != nil {
			row.Note = "correlation " + strings.Replace(strconv.FormatFloat(*p.Correlation, 'f', 2, 64), "-", "−", 1)
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

// spaceView shows which inputs a sweep varies, and its settings.
func spaceView(s sweep.Sweep) views.SweepSpace {
	m := views.SweepSpace{ID: s.ID.String()}
	if s.MayRun && s.State != sweep.Stopping {
		m.ChangeURL = views.SweepPartURL(m.ID, "change")
	}
	for _, p := range s.Space {
		m.Parameters = append(m.Parameters, views.SweepParameter{Path: p.Path, Text: parameterText(p)})
	}
	m.Facts = append(m.Facts, ui.Fact{Name: "Method", Value: methodName(s.Method)})
	if s.Method != sweep.Grid { // which draws nothing
		m.Facts = append(m.Facts, ui.Fact{Name: "Seed", Value: strconv.FormatInt(s.Seed, 10)})
	}
	if o := s.Objective; o != nil {
		goal := "higher is better"
		if o.Goal == sweep.Minimize {
			goal = "lower is better"
		}
		if o.Metric != "" {
			goal += ", " + o.Value + " value"
		}
		m.Facts = append(m.Facts, ui.Fact{Name: "Objective", Value: o.Name(), Note: goal})
	}
	m.Facts = append(m.Facts, ui.Fact{Name: "Early stopping", Value: stoppingText(s.EarlyStopping)})
	if len(s.Tags) > 0 {
		m.Facts = append(m.Facts, ui.Fact{Name: "Tags", Value: strings.Join(s.Tags, ", ")})
	}
	if s.Note != "" {
		m.Facts = append(m.Facts, ui.Fact{Name: "Note", Value: s.Note})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Inputs)) {
		m.Inputs = append(m.Inputs, views.Value{Name: name, Text: ui.Short(space.Text(s.Inputs[name]), 200)})
	}
	return m
}

func stoppingText(e sweep.EarlyStopping) string {
	switch e.Rule {
	case sweep.Median:
		return fmt.Sprintf("below the median of %d or more runs, from step %d", e.MinRuns, e.MinStep)
	case sweep.Halving:
		return fmt.Sprintf("one of %d runs continues at each rung, from step %d", e.Factor, e.MinStep)
	case sweep.NoRule:
	}
	return "none"
}

// parameterText describes the values of a parameter.
func parameterText(p space.Parameter) string {
	number := func(n *float64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatFloat(*n, 'g', -1, 64)
	}
	between := number(p.From) + " to " + number(p.To)
	switch p.Kind {
	case space.Values:
		texts := make([]string, len(p.Values))
		for i, v := range p.Values {
			texts[i] = space.Text(v)
		}
		return ui.Short(strings.Join(texts, ", "), 300)
	case space.Range:
		text := between
		if p.Scale == space.Log {
			text += ", logarithmic"
		}
		if p.Steps > 0 {
			text += ", " + units.Plural(p.Steps, "value", "values")
		}
		if p.Step != nil {
			text += ", step " + number(p.Step)
		}
		return text
	case space.Uniform:
		return between + ", uniform"
	case space.LogUniform:
		return between + ", log-uniform"
	case space.Int:
		return between + ", whole numbers"
	case space.Normal:
	}
	text := "normal, mean " + number(p.Mean) + ", deviation " + number(p.Deviation)
	if p.From != nil || p.To != nil {
		text += ", cut off at " + strings.TrimSpace(strings.Replace(between, " to ", " … ", 1))
	}
	return text
}
