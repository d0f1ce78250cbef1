package metaflowruns

import (
	"fmt"
	"net/url"
	"slices"
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

// counts are the numbers of tasks by state, of one step unless it is "".
func (x *runView) counts(step string) []ui.Count {
	by := map[string]int{}
	for i := range x.Tasks {
		if step == "" || x.Tasks[i].Step == step {
			by[x.Tasks[i].State]++
		}
	}
	counts := []ui.Count{}
	for _, s := range taskStates() {
		counts = append(counts, ui.Count{State: string(s.shown), N: by[s.name], URL: x.tasksURL(step, s.name)})
	}
	return counts
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

// step is a step with its tasks.
type step struct {
	tasks        []*metaflow.TaskProgress
	state        string // displayed
	start, ended int64  // of all tasks; ended is 0 while one of them has not ended
}

// steps are the steps of the run by name.
func (x *runView) steps() map[string]*step {
	steps := map[string]*step{}
	for i := range x.Tasks {
		t := &x.Tasks[i]
		s := steps[t.Step]
		if s == nil {
			s = &step{}
			steps[t.Step] = s
		}
		s.tasks = append(s.tasks, t)
		if at := t.Started(); at > 0 && (s.start == 0 || at < s.start) {
			s.start = at
		}
	}
	for _, s := range steps {
		s.settle()
	}
	return steps
}

// settle decides the state of the step from its most important task.
func (s *step) settle() {
	has := map[string]bool{}
	for _, t := range s.tasks {
		has[t.State] = true
		s.ended = max(s.ended, t.Ended())
	}
	for _, state := range []string{metaflow.Running, metaflow.Failed, metaflow.Waiting, metaflow.Omitted, metaflow.Completed} {
		if has[state] {
			s.state = shownState(state)
			break
		}
	}
	if has[metaflow.Running] || has[metaflow.Waiting] {
		s.ended = 0
	}
}

// graph is the order of the steps with their states.
func (x *runView) graph() views.MetaflowGraph {
	g := views.MetaflowGraph{}
	for _, a := range x.settings {
		if a.Name == "_graph_info" {
			g.Source = artifactLine(a).Location
		}
	}
	if len(x.Steps) == 0 {
		return g
	}
	steps := x.steps()
	items := make([]dagview.Item, len(x.Steps))
	painter := dagview.Painter{ID: "step", Selected: -1, Fit: true}
	painter.Links.Node = func(i int) string {
		name := x.Steps[i].Name
		if tasks := steps[name].tasks; len(tasks) == 1 {
			return views.MetaflowTaskURL(x.flow, x.run, name, tasks[0].ID.String())
		}
		return x.tasksURL(name, "")
	}
	for i, o := range x.Steps {
		s := steps[o.Name]
		items[i] = dagview.Item{Name: o.Name, Level: o.Level, Dependencies: o.After, Expands: len(s.tasks) > 1}
		state := dagview.NodeState{State: s.state}
		state.Sub, state.Since = s.took(x.clock.Now)
		if items[i].Expands {
			state.Times, state.Children = "× "+units.Number(int64(len(s.tasks))), x.counts(o.Name)
			state.Note = strings.Join(dagview.CountTexts(state.Children), ", ")
		}
		painter.States, painter.Names = append(painter.States, state), append(painter.Names, o.Name)
	}
	painter.Links.Group = func(dagview.Box) string { return views.MetaflowTasksURL(x.flow, x.run, nil) }
	painter.Drawing = dagview.Layout(items, dagview.Right)
	g.Picture = painter.Picture(fmt.Sprintf("Order of %s of %s", units.Plural(len(items), "step", "steps"), x.flow))
	return g
}

// took is the duration of the step and, while it is running, its start.
func (s *step) took(now time.Time) (text, since string) {
	if s.ended == 0 && s.state != string(dag.Running) {
		return "", "" // nothing has reported an end
	}
	return duration(now, s.start, s.ended)
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
	steps := x.steps()
	var rows []chart.Row
	for _, order := range x.Steps {
		rows = append(rows, x.timelineRow(order.Name, steps[order.Name], end))
	}
	return views.ExecutionTimeline{Chart: chart.NewTimeline(rows, o)}
}

// timelineRow has a bar per attempt of a single task, and one bar for several tasks.
func (x *runView) timelineRow(name string, s *step, end time.Time) chart.Row {
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
	switch {
	case len(s.tasks) > 1:
		row.Name += " × " + units.Number(int64(len(s.tasks)))
		if s.start > 0 {
			span(s.state, s.start, s.ended, row.Name)
		}
	default:
		for _, a := range s.tasks[0].Attempts {
			span(shownState(a.State), a.Started, a.Ended, fmt.Sprintf("%s, attempt %d", name, a.Number))
		}
	}
	if len(row.Spans) == 0 {
		row.Note = strings.ToLower(ui.Word(s.state))
	}
	return row
}

// tasks is a page of the table of tasks, the newest first.
func (x *runView) tasks() (views.MetaflowTasks, error) {
	q := x.query
	t := views.MetaflowTasks{Action: views.MetaflowRunURL(x.flow, x.run) + "#tasks", ClearURL: x.tasksURL("", "")}
	t.Steps, t.States = []ui.Option{{Name: "Every step"}}, []ui.Option{{Name: "Any state"}}
	for _, s := range x.Steps {
		t.Steps = append(t.Steps, ui.Option{Value: s.Name, Name: s.Name, Selected: s.Name == q.Get("step")})
	}
	for _, s := range taskStates() {
		t.States = append(t.States, ui.Option{Value: s.name, Name: ui.Word(string(s.shown)), Selected: s.name == q.Get("state")})
	}
	t.Filtered = q.Get("step") != "" || q.Get("state") != ""
	var after int64
	if text := q.Get("after"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return t, apperr.New(apperr.Invalid, "after: enter the number of a task, not %q.", text)
		}
		after, t.Pager.Newer = n, x.tasksURL(q.Get("step"), q.Get("state"))
	}
	for i := range slices.Backward(x.Tasks) {
		task := &x.Tasks[i]
		if q.Get("step") != "" && task.Step != q.Get("step") || q.Get("state") != "" && task.State != q.Get("state") || after > 0 && task.ID.Number >= after {
			continue
		}
		if len(t.Rows) == taskPageSize {
			next := url.Values{"after": {strconv.FormatInt(x.Tasks[i+1].ID.Number, 10)}}
			for _, key := range []string{"step", "state"} {
				if value := q.Get(key); value != "" {
					next.Set(key, value)
				}
			}
			t.Pager.Older = views.MetaflowTasksURL(x.flow, x.run, next)
			break
		}
		t.Rows = append(t.Rows, x.taskRow(task))
	}
	t.Pager.Text = units.Plural(len(t.Rows), "task", "tasks")
	return t, nil
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
