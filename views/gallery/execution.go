package gallery

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
)

func executionRunning(f views.Page) views.Execution {
	items := digits()
	return views.Execution{
		Page: frame(f, "Running: digits.train #7k2f00", views.SectionExecutions, views.Crumb{Name: "Executions", URL: "/executions"}),
		Head: views.ExecutionHead{
			ID: someID, Title: "digits.train", Short: "#7k2f00", State: "RUNNING", GPUHours: "3.5 GPU-hours", CancelURL: views.CancelURL(someID),
			CancelText:  "1 running node is stopped and 4 do not start. Results of succeeded nodes are kept.",
			RelaunchURL: views.RelaunchURL("digits.train", someID), LineageURL: views.LineageURL("execution:"+someID, nil), Workflow: "digits.train 1.0.0", WorkflowURL: "#", By: "Amara Okafor",
			Started: clock().Moment(ago(4 * time.Minute)), Took: "4 min 12 s", Priority: "high", RelaunchOf: "#6b0d77", RelaunchLink: "#",
			Progress: "50 %",
			Bar:      ui.NewBar("nodes", []ui.Count{{State: "SUCCEEDED", N: 3, URL: "#"}, {State: "RUNNING", N: 1, URL: "#"}, {State: "READY", N: 1, URL: "#"}, {State: "PENDING", N: 2, URL: "#"}, {State: "SKIPPED", N: 1, URL: "#"}}),
			Levels:   "3 of 6 levels", Left: "about 2 min left",
		},
		Views: []ui.Choice{{Name: "Graph", URL: "#", Current: true}, {Name: "List", URL: "#"}},
		Graph: paint(items, dagview.Down, digitStates(), 4),
		Panel: panel(), Timeline: views.ExecutionTimeline{Chart: timeline()}, Metrics: metrics(), Logs: logs(),
		Inputs: inputs(), Outputs: views.Outputs{Values: []views.Value{
			{Name: "model", Type: "Model", Missing: "after train"}, {Name: "accuracy", Type: "Float", Missing: "after evaluate"},
			{Name: "report", Type: "Report", Missing: "after report"},
		}},
		Artifacts: views.ExecutionArtifacts{Rows: artifactRows()[:3], MoreURL: "#"}, Events: events(),
	}
}

func executionFailed(f views.Page) views.Execution {
	m := executionRunning(f)
	m.Title = "Failed: digits.train #7k2f00"
	m.Head.State, m.Head.CancelURL, m.Head.Left = "FAILED", "", ""
	m.Head.Bar = ui.NewBar("nodes", []ui.Count{{State: "SUCCEEDED", N: 3}, {State: "FAILED", N: 1}, {State: "SKIPPED", N: 1}, {State: "CANCELLED", N: 3}})
	m.Head.Failure = &views.FailureNotice{Node: "train", Message: "Exit code 1 in attempt 3 of 3: ValueError: loss is NaN at step 212.", NodeURL: "#", LogURL: "#"}
	states := digitStates()
	states[4] = dagview.NodeState{State: "FAILED", Sub: "exit code 1"}
	for i := 5; i < 8; i++ {
		states[i] = dagview.NodeState{State: "CANCELLED", Sub: "train failed"}
	}
	m.Graph = paint(digits(), dagview.Down, states, -1)
	m.Panel = views.NodePanel{}
	m.Logs.Follow = false
	return m
}

func executionWaiting(f views.Page) views.Execution {
	m := executionRunning(f)
	m.Title = "Pending: digits.train #7k2f00"
	m.Head.State, m.Head.Left = "PENDING", ""
	m.Head.Bar = digitsBar(0, 0, 0, 1, 7)
	m.Head.Wait = waitingForGPUs().Short()
	states := digitStates()
	for i := range states {
		states[i] = dagview.NodeState{State: "PENDING", Sub: "after 1 node"}
	}
	states[0] = dagview.NodeState{State: "READY", Sub: "4 CPU requested"}
	m.Graph = paint(digits(), dagview.Down, states, -1)
	m.Panel, m.Timeline = views.NodePanel{}, views.ExecutionTimeline{Empty: "No node has started yet."}
	m.Metrics.Charts, m.Metrics.Explains = nil, "Metrics that tasks report with client.metric(…) are shown here."
	m.Logs.Lines, m.Logs.Empty = nil, "No log output."
	m.Artifacts = views.ExecutionArtifacts{}
	return m
}

func executionList(f views.Page) views.Execution {
	m := executionRunning(f)
	m.List = true
	m.Views = []ui.Choice{{Name: "Graph", URL: "#"}, {Name: "List", URL: "#", Current: true}}
	m.Nodes = views.NodeTable{ExecutionID: someID, States: []ui.Option{{Name: "Any state"}, {Value: "FAILED", Name: "Failed"}}, Pager: ui.Pager{Text: "8 nodes"}}
	for i, s := range digitStates() {
		m.Nodes.Rows = append(m.Nodes.Rows, views.NodeRow{
			Index: i, Name: digits()[i].Name, URL: "#", State: s.State, Sub: s.Sub, Attempt: "1 of 3", Level: fmt.Sprint(digits()[i].Level + 1),
			Started: clock().Moment(ago(time.Duration(8-i) * time.Minute)), Took: "41 s", LogURL: "#",
		})
	}
	return m
}

func executionLarge(f views.Page) views.Execution {
	m := executionRunning(f)
	items := fanOut()
	m.Head.Bar = sampleBar()
	m.Graph = paint(items, dagview.Down, fanOutStates(len(items)), -1)
	m.Panel = views.NodePanel{}
	return m
}

func executionDegraded(f views.Page) views.Execution {
	m := executionRunning(f)
	m.Logs.Lines, m.Logs.Problem = nil, "The log store is not responding. No data is lost: lines are kept on disk and appear when it is back."
	m.Metrics.Charts, m.Metrics.Problem = nil, "The metric store is not responding. No data is lost: values are kept on disk."
	return m
}

func cancel(f views.Page) views.CancelExecution {
	return views.CancelExecution{Page: frame(f, "Cancel #7k2f00", views.SectionExecutions), Head: executionRunning(f).Head, Back: "#"}
}

func attempts() []views.AttemptLine {
	return []views.AttemptLine{
		{Number: "1", State: "FAILED", Class: "Out of memory", Sentence: "Exit code 137: out of memory, limit 512 MiB.", LogURL: "#", Started: clock().Exactly(ago(9 * time.Minute)), Took: "2 min 10 s", Facts: []ui.Fact{{Name: "Process", Value: "41 223"}, {Name: "Exit", Value: "137"}}},
		{Number: "2", State: "RUNNING", Sentence: "Restarted from checkpoint epoch-7.", LogURL: "#", Started: clock().Exactly(ago(4 * time.Minute)), Took: "4 min 02 s"},
	}
}

func panel() views.NodePanel {
	bar := ui.ProgressBar("RUNNING", 40, "40 %: epoch 12 of 30")
	return views.NodePanel{
		Name: "train", State: "RUNNING", URL: "#", CloseURL: "#", LogURL: "#", Progress: &bar, ProgressTo: "epoch 12 of 30 · loss 0.214",
		Facts:    []ui.Fact{{Name: "Attempt", Value: "2 of 3"}, {Name: "Running for", Value: "4 min 02 s", Note: "(waited 3 s)"}, {Name: "Requests", Value: "1 CPU · 512 MiB"}, {Name: "Checkpoint", Value: "epoch-11", Note: "34 s ago"}},
		Attempts: attempts(), Inputs: inputs()[:3],
		Outputs: []views.Value{{Name: "model", Type: "Model", Missing: "when it succeeds"}},
	}
}

func inputs() []views.Value {
	return []views.Value{
		{Name: "data", Type: "Dataset", Text: "digits@1", URL: "#"}, {Name: "epochs", Type: "Integer", Text: "30"},
		{Name: "hyperparameters", Type: "HyperparameterSet", Text: "learning_rate 0.05, l2 1e-4, batch_size 64", Code: "{\n  \"learning_rate\": 0.05,\n  \"l2\": 1e-4,\n  \"batch_size\": 64\n}"},
		{Name: "as_of", Type: "Date", Text: "20 November 2026", Note: "default"}, {Name: "model", Type: "Enum", Text: "softmax"},
	}
}

func timeline() chart.Timeline {
	at := func(s int) time.Time { return ago(5 * time.Minute).Add(time.Duration(s) * time.Second) }
	rows := []chart.Row{
		{Name: "load", URL: "#", Spans: []chart.Span{{State: "SUCCEEDED", From: at(0), To: at(12), Title: "load: 12 s"}}},
		{Name: "check_schema", URL: "#", Spans: []chart.Span{{State: "SUCCEEDED", From: at(12), To: at(17), Title: "check_schema: 5 s"}}},
		{Name: "split", URL: "#", Spans: []chart.Span{{From: at(17), To: at(30), Title: "split waited 13 s"}, {State: "SUCCEEDED", From: at(30), To: at(48), Title: "split: 18 s"}}},
		{Name: "train", URL: "#", Spans: []chart.Span{{From: at(48), To: at(60), Title: "waited"}, {State: "FAILED", From: at(60), To: at(110), Title: "attempt 1 failed"}, {From: at(110), To: at(121), Title: "waited to retry"}, {State: "RUNNING", From: at(121), To: at(300), Title: "attempt 2"}}},
		{Name: "evaluate", URL: "#", Note: "pending"}, {Name: "report", URL: "#", Note: "pending"},
	}
	return chart.NewTimeline(rows, chart.TimelineOptions{From: at(0), To: at(340), Now: at(300), Zone: time.UTC, Label: "Timeline: train is running in attempt 2"})
}

func metrics() views.Metrics {
	curve := func(from, to, rate float64) []chart.Point {
		var ps []chart.Point
		for i := range 60 {
			ps = append(ps, chart.Point{X: float64(i + 1), Y: to + (from-to)*math.Exp(-rate*float64(i)) + 0.02*math.Sin(float64(i)*1.7)*(from-to)})
		}
		return ps
	}
	one := func(name string, series ...chart.Series) views.MetricChart {
		o := chart.LineOptions{XUnit: "step", Smooth: 0.4, Format: ui.Float}
		c := views.MetricChart{Name: name, Label: name + " per step", Lines: chart.NewLines(series, o)}
		data := map[string]any{"time": false, "log": false}
		var names []string
		var ys [][]float64
		var xs []float64
		for i, s := range series {
			last := s.Points[len(s.Points)-1].Y
			key := views.ChartKey{Index: i + 1, Name: s.Name, Last: ui.Float(last), Best: "0.21 to 2.3", Count: "60"}
			c.Keys, c.Table, c.Last = append(c.Keys, key), append(c.Table, key), ui.Float(last)
			names = append(names, s.Name)
			var y []float64
			xs = nil
			for _, p := range s.Points {
				xs, y = append(xs, p.X), append(y, p.Y)
			}
			ys = append(ys, y)
		}
		data["names"], data["x"], data["ys"] = names, xs, ys
		raw, _ := json.Marshal(data) //nolint:errchkjson // plain numbers
		c.Data = string(raw)
		return c
	}
	return views.Metrics{
		Note: "train", Live: true, Smooth: 40, Action: views.ExecutionURL(someID),
		Axes:   []ui.Choice{{Name: "Step", URL: "#", Current: true}, {Name: "Time", URL: "#"}},
		Scales: []ui.Choice{{Name: "Linear", URL: "#", Current: true}, {Name: "Log", URL: "#"}},
		Charts: []views.MetricChart{
			one("loss", chart.Series{Name: "train", Points: curve(2.3, 0.21, 0.08)}, chart.Series{Name: "val", Points: curve(2.35, 0.34, 0.07)}),
			one("accuracy", chart.Series{Name: "train", Points: curve(0.1, 0.9712, 0.09)}),
			one("learning_rate", chart.Series{Name: "train", Points: curve(0.05, 0.001, 0.05)}),
		},
	}
}

func events() views.Events {
	return views.Events{Rows: []views.EventRow{
		{Icon: "RUNNING", Text: "train started, attempt 2", At: clock().Exactly(ago(4 * time.Minute)), URL: "#"},
		{Icon: "RETRYING", Text: "train retries in 10 s", At: clock().Exactly(ago(6 * time.Minute)), URL: "#"},
		{Icon: "FAILED", Text: "train attempt 1 exited with code 137", At: clock().Exactly(ago(6 * time.Minute)), URL: "#"},
		{Icon: "SUCCEEDED", Text: "split succeeded after 18 s", At: clock().Exactly(ago(9 * time.Minute)), URL: "#"},
	}, MoreURL: "#"}
}
