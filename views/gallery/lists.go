package gallery

import (
	"fmt"
	"time"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

func states() []string {
	return []string{"PENDING", "READY", "QUEUED", "RUNNING", "RETRYING", "SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"}
}

func sampleBar() ui.Bar {
	return ui.NewBar("nodes", []ui.Count{
		{State: "SUCCEEDED", N: 6415, URL: "#"}, {State: "RUNNING", N: 221, URL: "#"}, {State: "RETRYING", N: 9, URL: "#"},
		{State: "FAILED", N: 3, URL: "#"}, {State: "READY", N: 3356, URL: "#"}, {State: "PENDING", N: 4, URL: "#"},
	})
}

func digitsBar(done, running, failed, waiting, pending int) ui.Bar {
	return ui.NewBar("nodes", []ui.Count{
		{State: "SUCCEEDED", N: done}, {State: "RUNNING", N: running}, {State: "FAILED", N: failed},
		{State: "READY", N: waiting}, {State: "PENDING", N: pending},
	})
}

const someID = "01939f2a-7c1e-7a44-9d3b-0f6a5e7k2f00"

func row(id, state, title, version, sub, by string, started, took time.Duration, bar ui.Bar) views.ExecutionRow {
	r := views.ExecutionRow{
		ID: id, Short: "#" + id, URL: views.ExecutionURL(id), State: state, Title: title, Version: version, Sub: sub, By: by,
		Started: clock().Moment(ago(started)), Took: units.Duration(took), Bar: bar, RelaunchURL: views.RelaunchURL(title, id), EditURL: views.LabelsURL(id), WorkflowURL: views.WorkflowURL(title),
	}
	return r
}

func executionRows() []views.ExecutionRow {
	return []views.ExecutionRow{
		row("7k31aa", "RUNNING", "digits.train", "1.0.0", "train: epoch 12 of 30, loss 0.214", "Amara Okafor", 4*time.Minute, 4*time.Minute, digitsBar(2, 1, 0, 0, 2)),
		row("7k2f04", "RUNNING", "image_report", "0.3.1", "detect × 400: 212 done, 8 running, 1 failed", "Mei Tanaka", 32*time.Minute, 32*time.Minute, sampleBar()),
		row("6c21b9", "PENDING", "digits.train", "1.0.0", "Waiting: requests 4 CPU, 1.5 free on this machine", "Priya Raman", 38*time.Second, 38*time.Second, digitsBar(0, 0, 0, 1, 4)),
		row("6b0d77", "SUCCEEDED", "digits.train", "1.0.0", "accuracy 0.9712", "Amara Okafor", 2*time.Hour, 41*time.Second, digitsBar(5, 0, 0, 0, 0)),
		row("6a9001", "FAILED", "sklearn.digits", "2.1.0", "train failed: exit code 1 after 3 attempts", "Jonas Lindqvist", 5*time.Hour, 94*time.Second, digitsBar(2, 0, 1, 0, 2)),
		row("69f2c3", "CANCELLED", "image_report", "0.3.0", "cancelled by Mei Tanaka: wrong folder", "Mei Tanaka", 26*time.Hour, 12*time.Second, ui.NewBar("nodes", []ui.Count{{State: "SUCCEEDED", N: 1}, {State: "CANCELLED", N: 3}})),
	}
}

func home(f views.Page) views.Home {
	rows := executionRows()
	return views.Home{
		Page: frame(f, "Home", views.SectionHome), Greeting: "Good afternoon, Amara",
		Again: ui.Action{Name: "Launch again: digits.train", URL: views.LaunchURL("digits.train")},
		Live: views.HomeLive{
			Running: rows[:3], More: 11,
			Waiting: []views.WaitingRow{
				{Node: "load", NodeURL: "#", Execution: "#6c21b9", ExecutionURL: "#", Reason: "Requests 4 CPU, 1.5 free on this machine; digits.train #7k31aa uses 2."},
				{Node: "detect_0231", NodeURL: "#", Execution: "#7k2f04", ExecutionURL: "#", Reason: "Retries in 12 s: attempt 1 exited with code 137."},
			},
			Figures: []ui.Fact{{Name: "Succeeded", Value: "168"}, {Name: "Failed", Value: "4", Note: "2.3 %"}, {Name: "Nodes", Value: "12,480"}},
		},
		Recent: []views.HomeRecent{
			{State: "SUCCEEDED", Title: "digits.train", Short: "#6b0d77", URL: "#", Note: "accuracy 0.9712 · 41 s", Ended: clock().Moment(ago(2 * time.Hour))},
			{State: "SUCCEEDED", Title: "Sweep of digits.train", Short: "40 runs", URL: "#", Note: "best accuracy 0.9822", Long: true, Ended: clock().Moment(ago(3 * time.Hour))},
			{State: "FAILED", Title: "sklearn.digits", Short: "#6a9001", URL: "#", Note: "train failed: exit code 1", Long: true, Ended: clock().Moment(ago(5 * time.Hour))},
		},
		Workflows: tiles(), Total: 23,
	}
}

func tiles() []views.WorkflowTile {
	tile := func(name, version, sub string, values ...float64) views.WorkflowTile {
		return views.WorkflowTile{
			Name: name, URL: views.WorkflowURL(name), LaunchURL: views.LaunchURL(name), Version: version, Sub: version + " · " + sub,
			Spark: chart.Spark(values), SparkLabel: "Durations of the last executions",
		}
	}
	return []views.WorkflowTile{
		tile("digits.train", "1.0.0", "usually 41 s", 44, 43, 41, 46, 40, 41, 39, 42, 41),
		tile("image_report", "0.3.1", "usually 3 min", 180, 170, 210, 190, 175, 171),
		tile("sklearn.digits", "2.1.0", "usually 1 min 30 s", 90, 96, 88, 94),
	}
}

func homeFirst(f views.Page) views.Home {
	m := home(f)
	m.First, m.Live = true, views.HomeLive{}
	m.Example = views.WorkflowTile{Name: "digits.train", URL: "#", LaunchURL: "#", Sub: "An example that recognizes handwritten digits is ready to run."}
	return m
}

func trend() []chart.TrendBar {
	var past []chart.Past
	for i := range 24 {
		state := "SUCCEEDED"
		switch i {
		case 5, 14:
			state = "FAILED"
		case 23:
			state = "RUNNING"
		}
		past = append(past, chart.Past{State: state, Title: fmt.Sprintf("#%04d: %s after %d s", i, ui.Word(state), 30+(i*17)%25), URL: "#", Seconds: float64(30 + (i*17)%25)})
	}
	return chart.Trend(past)
}

func workflows(f views.Page) views.Workflows {
	m := views.Workflows{Page: frame(f, "Workflows", views.SectionWorkflows), Teams: []ui.Option{{Value: "", Name: "All teams", Selected: true}, {Value: "vision", Name: "vision"}, {Value: "ranking", Name: "ranking"}}}
	add := func(name, version, team, text string, tags ...string) {
		r := views.WorkflowRow{
			Name: name, URL: views.WorkflowURL(name), LaunchURL: views.LaunchURL(name), Version: version, Team: team, Description: text,
			Updated: clock().Moment(ago(time.Duration(len(m.Rows)) * 30 * time.Hour)), Trend: trend(), TrendLabel: "Last 24 executions: 21 succeeded, 2 failed, 1 running",
		}
		for _, t := range tags {
			r.Tags = append(r.Tags, views.Tag{Name: t, URL: views.WorkflowsByTagURL(t)})
		}
		m.Rows = append(m.Rows, r)
	}
	add("digits.train", "1.0.0", "vision", "Trains a classifier for handwritten digits and reports its mistakes.", "example", "training")
	add("image_report", "0.3.1", "vision", "Detects objects in a folder of images and writes a report.", "example")
	add("sklearn.digits", "2.1.0", "ranking", "The same with scikit-learn, in its own virtual environment.", "example", "sklearn")
	m.Rows[2].Trend = nil
	m.Pager = ui.Pager{Text: "3 workflows"}
	return m
}

func workflowsEmpty(f views.Page) views.Workflows {
	return views.Workflows{Page: frame(f, "Workflows", views.SectionWorkflows), Query: "recommender", Filtered: true}
}

// sweepRow is a sweep in the list of executions.
func sweepRow() views.ExecutionRow {
	r := row("5d44e1", "", "Learning rates", "1.0.0", "best accuracy 0.9804", "Mei Tanaka", 3*time.Hour, 2*time.Hour, ui.NewBar("runs", []ui.Count{{State: "SUCCEEDED", N: 930}, {State: "RUNNING", N: 8}, {State: "FAILED", N: 12}, {State: "PENDING", N: 50}}))
	r.Flow, r.RelaunchURL, r.EditURL = "Sweep of digits.train 1.0.0", "", ""
	r.Sweep = &views.ExecutionSweep{State: views.SweepState{Icon: "RUNNING", Word: "Running"}, Runs: "950 runs", RunsURL: "#"}
	return r
}

func executions(f views.Page) views.Executions {
	return views.Executions{
		Page:    frame(f, "Executions", views.SectionExecutions),
		States:  []ui.Option{{Value: "", Name: "Any state", Selected: true}, {Value: "live", Name: "Live"}, {Value: "FAILED", Name: "Failed"}},
		Flows:   []ui.Option{{Value: "", Name: "Every workflow", Selected: true}, {Value: "digits.train", Name: "digits.train"}},
		Periods: []ui.Option{{Value: "", Name: "Any time"}, {Value: "7d", Name: "Last 7 days", Selected: true}},
		Chips:   []views.Chip{{Name: "Started", Value: "last 7 days", RemoveURL: "#"}},
		Mine:    []ui.Choice{{Name: "Everyone", URL: "#", Current: true}, {Name: "Mine", URL: "#"}},
		Layouts: []ui.Choice{{Name: "List", URL: "#", Current: true}, {Name: "Table", URL: "#"}},
		Sweeps:  []ui.Choice{{Name: "Sweeps", URL: "#", Current: true}, {Name: "Each run", URL: "#"}},
		Rows:    append(executionRows(), sweepRow()), Pager: ui.Pager{Text: "6 executions and 1 sweep", Older: "#"}, ClearURL: "#",
	}
}

func executionsEmpty(f views.Page) views.Executions {
	m := executions(f)
	m.Rows = nil
	return m
}

func search(f views.Page) views.Search {
	return views.Search{
		Page: frame(f, "Search", ""), Query: "dig",
		Groups: []views.SearchGroup{
			{Name: "Workflows", Hits: []views.SearchHit{{Icon: "flow", Name: "digits.train", URL: "#", Note: "1.0.0"}}},
			{Name: "Executions", Hits: []views.SearchHit{{State: "RUNNING", Name: "digits.train", Short: "#7k31aa", URL: "#", Note: "14:08"}}},
		},
	}
}
