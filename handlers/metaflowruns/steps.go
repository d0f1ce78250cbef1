package metaflowruns

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
)

const taskPageSize = 50

// taskStates are the states of tasks with the displayed ones, in the order of bars.
func taskStates() []struct {
	name  string
	shown dag.State
} {
	return []struct {
		name  string
		shown dag.State
	}{
		{metaflow.Completed, dag.Succeeded}, {metaflow.Running, dag.Running}, {metaflow.Failed, dag.Failed},
		{metaflow.Waiting, dag.Ready}, {metaflow.Omitted, "OMITTED"},
	}
}

// shownState is the displayed state of a task.
func shownState(state string) string {
	for _, s := range taskStates() {
		if s.name == state {
			return string(s.shown)
		}
	}
	return ""
}

// counts are the numbers of tasks by state.
func (x *runView) counts(step string, tasks map[string]int64) []ui.Count {
	counts := []ui.Count{}
	for _, s := range taskStates() {
		counts = append(counts, ui.Count{State: string(s.shown), N: int(tasks[s.name]), URL: x.tasksURL(step, s.name)})
	}
	return counts
}

// allTasks are the numbers of tasks of all steps by state.
func (x *runView) allTasks() map[string]int64 {
	all := map[string]int64{}
	for _, s := range x.Steps {
		for state, n := range s.Tasks {
			all[state] += n
		}
	}
	return all
}

func (x *runView) tasksURL(step, state string) string {
	q := url.Values{}
	if step != "" {
		q.Set("step", step)
	}
	if state != "" {
		q.Set("state", state)
	}
	return views.MetaflowTasksURL(x.flow, x.run, q)
}

// stepState is the displayed state of a step: that of its most important task.
func stepState(s metaflow.StepSummary) string {
	for _, state := range []string{metaflow.Running, metaflow.Failed, metaflow.Waiting, metaflow.Omitted, metaflow.Completed} {
		if s.Tasks[state] > 0 {
			return shownState(state)
		}
	}
	return string(dag.Pending)
}

// stepEnd is the end of a step, or 0 while one of its tasks has not ended.
func stepEnd(s metaflow.StepSummary) int64 {
	if s.Tasks[metaflow.Running]+s.Tasks[metaflow.Waiting] > 0 {
		return 0
	}
	return s.Ended
}

// graph is the graph of the flow with the states of its steps, or the order of the steps.
func (x *runView) graph() views.MetaflowGraph {
	g := views.MetaflowGraph{Problem: x.plan.problem, Ordered: !x.plan.known}
	if len(x.plan.order) == 0 {
		return g
	}
	items := make([]dagview.Item, len(x.plan.order))
	painter := dagview.Painter{ID: "step", Selected: -1, Fit: true}
	steps := x.byName()
	painter.Links.Node = func(i int) string {
		name := x.plan.order[i].Name
		if s := steps[name]; s.Only != nil {
			return views.MetaflowTaskURL(x.flow, x.run, name, s.Only.ID.String())
		}
		return x.tasksURL(name, "")
	}
	for i, o := range x.plan.order {
		s := steps[o.Name]
		wide := s.Total() > 1 || x.plan.wide[o.Name]
		items[i] = dagview.Item{Name: o.Name, Level: o.Level, Dependencies: o.After, Expands: wide}
		state := dagview.NodeState{State: stepState(s)}
		state.Sub, state.Since = stepTook(s, x.clock.Now)
		if s.Total() == 0 && x.Run.EndedEpoch > 0 {
			state.State = string(dag.Skipped)
		}
		if wide {
			state.Times = "foreach"
			if s.Total() > 0 {
				state.Times, state.Children = "× "+units.Number(s.Total()), x.counts(o.Name, s.Tasks)
				state.Note = strings.Join(dagview.CountTexts(state.Children), ", ")
			}
		}
		painter.States, painter.Names = append(painter.States, state), append(painter.Names, o.Name)
	}
	painter.Links.Group = func(dagview.Box) string { return views.MetaflowTasksURL(x.flow, x.run, nil) }
	painter.Drawing = dagview.Layout(items, dagview.Right)
	title := "Graph of %s of %s"
	if g.Ordered {
		title = "Order of %s of %s"
	}
	g.Picture = painter.Picture(fmt.Sprintf(title, units.Plural(len(items), "step", "steps"), x.flow))
	return g
}

// byName are the steps that have started by their names.
func (x *runView) byName() map[string]metaflow.StepSummary {
	steps := make(map[string]metaflow.StepSummary, len(x.Steps))
	for _, s := range x.Steps {
		steps[s.Name] = s
	}
	return steps
}

// stepTook is the duration of the step and, while it is running, its start.
func stepTook(s metaflow.StepSummary, now time.Time) (text, since string) {
	ended := stepEnd(s)
	if ended == 0 && stepState(s) != string(dag.Running) {
		return "", "" // nothing has reported an end
	}
	return duration(now, s.Started, ended)
}

// timeline has one row per step.
func (x *runView) timeline() views.ExecutionTimeline {
	if len(x.Steps) == 0 {
		return views.ExecutionTimeline{Empty: "No step has started yet."}
	}
	running := x.Run.Status == metaflow.Running
	end := time.UnixMilli(x.Run.LastEpoch())
	if running {
		end = x.clock.Now
	}
	o := chart.TimelineOptions{From: time.UnixMilli(x.Run.TSEpoch), To: end, Zone: x.clock.Zone, Label: "Timeline of " + units.Plural(len(x.Steps), "step", "steps")}
	if running {
		o.Now, o.To = end, end.Add(end.Sub(o.From)/12)
	}
	var rows []chart.Row
	for _, s := range x.Steps {
		rows = append(rows, x.timelineRow(s, end))
	}
	return views.ExecutionTimeline{Chart: chart.NewTimeline(rows, o)}
}

// timelineRow has a bar per attempt of a single task, and one bar for several tasks.
func (x *runView) timelineRow(s metaflow.StepSummary, end time.Time) chart.Row {
	name, state := s.Name, stepState(s)
	row := chart.Row{Name: name, URL: x.tasksURL(name, "")}
	until := func(at int64) time.Time {
		if at == 0 {
			return end
		}
		return time.UnixMilli(at)
	}
	span := func(state string, start, ended int64, title string) {
		from, to := time.UnixMilli(start), until(ended)
		row.Spans = append(row.Spans, chart.Span{State: state, From: from, To: to, Title: fmt.Sprintf("%s: %s, %s", title, ui.Word(state), units.Duration(to.Sub(from)))})
	}
	if s.Only != nil {
		for _, a := range s.Only.Attempts {
			span(shownState(a.State), a.Started, a.Ended, fmt.Sprintf("%s, attempt %d", name, a.Number))
		}
	} else {
		row.Name += " × " + units.Number(s.Total())
		if s.Started > 0 {
			span(state, s.Started, stepEnd(s), row.Name)
		}
	}
	if len(row.Spans) == 0 {
		row.Note = strings.ToLower(ui.Word(state))
	}
	return row
}

// taskFilter reads the filter of the table of tasks.
func taskFilter(q url.Values) (metaflow.TaskFilter, error) {
	f := metaflow.TaskFilter{Step: q.Get("step"), State: q.Get("state"), Limit: taskPageSize}
	if text := q.Get("after"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return f, apperr.New(apperr.Invalid, "after: enter the number of a task, not %q.", text)
		}
		f.Before = n
	}
	return f, nil
}

// tasks is a page of the table of tasks, newest first.
func (x *runView) tasks() views.MetaflowTasks {
	f := x.filter
	t := views.MetaflowTasks{Action: views.MetaflowRunURL(x.flow, x.run) + "#tasks", ClearURL: x.tasksURL("", "")}
	t.Steps, t.States = []ui.Option{{Name: "Every step"}}, []ui.Option{{Name: "Any state"}}
	for _, s := range x.Steps {
		t.Steps = append(t.Steps, ui.Option{Value: s.Name, Name: s.Name, Selected: s.Name == f.Step})
	}
	for _, s := range taskStates() {
		t.States = append(t.States, ui.Option{Value: s.name, Name: ui.Word(string(s.shown)), Selected: s.name == f.State})
	}
	t.Filtered = f.Step != "" || f.State != ""
	if f.Before > 0 {
		t.Pager.Newer = x.tasksURL(f.Step, f.State)
	}
	for i := range x.page {
		t.Rows = append(t.Rows, x.taskRow(&x.page[i]))
	}
	if x.more {
		next := url.Values{"after": {strconv.FormatInt(x.page[len(x.page)-1].ID.Number, 10)}}
		for key, value := range map[string]string{"step": f.Step, "state": f.State} {
			if value != "" {
				next.Set(key, value)
			}
		}
		t.Pager.Older = views.MetaflowTasksURL(x.flow, x.run, next)
	}
	t.Pager.Text = units.Plural(len(t.Rows), "task", "tasks")
	return t
}

func (x *runView) taskRow(t *metaflow.TaskProgress) views.MetaflowTaskRow {
	row := views.MetaflowTaskRow{
		Name: t.Step + "/" + t.ID.String(), URL: views.MetaflowTaskURL(x.flow, x.run, t.Step, t.ID.String()), Items: itemsText(t.Items),
		State: shownState(t.State), Attempts: attemptsText(t), Started: x.clock.Exactly(time.UnixMilli(t.Epoch)),
	}
	if len(t.Attempts) > 0 && (t.Ended() > 0 || t.State == metaflow.Running) {
		row.Took, row.Since = duration(x.clock.Now, t.Started(), t.Ended())
	}
	return row
}
