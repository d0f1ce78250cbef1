package gallery

import (
	"fmt"
	"net/url"
	"time"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

const sweepID = "0191f3a2-7c1d-7a2b-9c3d-4e5f60718293"

// sweepPage is a sweep with 46 runs of 60.
func sweepPage(f views.Page) views.SweepView {
	p := plots()
	p.VersionOf = views.SweepHeadSelector()
	bar := ui.NewBar("runs", []ui.Count{{State: "SUCCEEDED", N: 36}, {State: "RUNNING", N: 6}, {State: "CANCELLED", N: 4}, {State: "PENDING", N: 14}})
	return views.SweepView{
		Page: frame(f, "Learning rate and regularisation", views.SectionSweeps, views.Crumb{Name: "Sweeps", URL: views.SweepsURL()}),
		Head: views.SweepHead{
			ID: sweepID, Name: "Learning rate and regularisation", State: views.SweepState{Icon: "RUNNING", Word: "Running"}, Workflow: "digits.train", URL: views.WorkflowURL("digits.train"),
			Version: "2.4.0", Method: "TPE, seed 42", By: "Amara Okafor", Started: clock().Moment(ago(2 * time.Hour)), Changed: "1", MayChange: true, Pauses: true, Stops: true,
			LikeURL: views.SweepLaunchQueryURL("digits.train", url.Values{"like": {sweepID}}),
			Figures: []views.SweepFigure{
				{Name: "Best so far", Value: "0.9911", Of: "accuracy", Link: "#8p5q2r", URL: views.ExecutionURL(sweepID), Note: "learning_rate 0.0032, dropout 0.31"},
				{Name: "Runs", Value: "40", Of: "of 60 ended", Bar: &bar, Note: "36 succeeded, 6 running, 4 stopped early"},
				{Name: "Budget", Value: "9.6", Of: "of 14 GPU-hours", Share: "68.6%", ShareText: "69 % of the budget is used"},
				{Name: "Concurrent runs", Value: "6", Of: "of 8 allowed", Note: "2 runs are about to be launched."},
			},
		},
		Curves: views.SweepCurves{
			CompareCurves: views.CompareCurves{
				Charts: []views.CompareChart{{Name: "accuracy", DataURL: "#", CSVURL: "#"}}, Note: "The best 50 of 52 runs", Live: true,
				Axes: []ui.Choice{{Name: "Step", URL: "#", Current: true}, {Name: "Time", URL: "#"}, {Name: "Since start", URL: "#"}},
			},
			ID: sweepID, Metric: "accuracy", Metrics: []ui.Option{{Value: "accuracy", Name: "accuracy", Selected: true}, {Value: "loss", Name: "loss"}},
		},
		Plots: p, Runs: sweepRuns(), Stream: "/sweeps/stream",
		Space: views.SweepSpace{
			ID: sweepID, ChangeURL: views.SweepPartURL(sweepID, "change"),
			Parameters: []views.SweepParameter{{Path: "hyperparameters.learning_rate", Text: "1e-04 to 0.1, logarithmic"}, {Path: "dropout", Text: "0.1 to 0.5"}, {Path: "optimizer", Text: "adam, adamw, sgd"}},
			Facts:      []ui.Fact{{Name: "Method", Value: "TPE"}, {Name: "Seed", Value: "42"}, {Name: "Objective", Value: "accuracy", Note: "higher is better, best value"}, {Name: "Early stopping", Value: "none"}},
			Inputs:     []views.Value{{Name: "epochs", Text: "30"}},
		},
	}
}

func sweepRuns() views.SweepRuns {
	m := views.SweepRuns{
		ID: sweepID, Caption: "Runs of this sweep", Total: "46", Moved: true, SortURL: views.SweepRunsURL(sweepID, nil), Pager: ui.Pager{Text: "Rows 1 to 8 of 46", InOrder: true, Older: views.SweepRunsURL(sweepID, url.Values{"after": {"8"}})},
		BestURL: views.LaunchURL("digits.train"), PresetURL: views.LaunchURL("digits.train"), TopURL: views.CompareURL("a", "b"), TopName: "Compare the best 5",
		Columns: []views.SweepColumn{
			{Name: "Run", URL: "?sort=index"}, {Name: "Rank", Number: true}, {Name: "State"}, {Name: "learning_rate", Title: "hyperparameters.learning_rate", URL: "?sort=hyperparameters.learning_rate", Number: true},
			{Name: "dropout", URL: "?sort=dropout", Number: true}, {Name: "optimizer", URL: "?sort=optimizer", Number: true}, {Name: "accuracy", URL: "?sort=-objective", Number: true, Sorted: "ascending"},
			{Name: "Step", Number: true}, {Name: "Duration", Number: true}, {Name: "GPU-h", Number: true},
		},
	}
	for i, state := range []string{"SUCCEEDED", "SUCCEEDED", "SUCCEEDED", "SUCCEEDED", "RUNNING", "RUNNING", "CANCELLED", "FAILED"} {
		row := views.SweepRunRow{
			Index: i, Rank: fmt.Sprint(i + 1), Name: fmt.Sprintf("#8p5q%d", i), URL: views.ExecutionURL(sweepID), ExecutionID: fmt.Sprintf("0191f3a2-7c1d-7a2b-9c3d-%012d", i), Style: views.RunStyle{Color: i % 6, Dash: i / 6}, State: views.SweepState{Icon: state, Word: ui.Word(state)},
			Values: []string{"0.0032", "0.31", "adamw"}, Objective: fmt.Sprintf("%.4f", 0.9911-0.0008*float64(i)), Best: i == 0, Step: "30", Took: "12 min", Hours: "0.28",
		}
		switch state {
		case "CANCELLED":
			row.State.Word, row.Message, row.Step = "Stopped early", "Below the median of 12 runs at step 6: 0.94 against 0.97.", "6"
		case "FAILED":
			row.Rank, row.Objective, row.Message = "–", "–", "CUDA out of memory"
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

// sweepList is two sweeps.
func sweepList(f views.Page) views.Sweeps {
	bar := func(counts ...ui.Count) ui.Bar { return ui.NewBar("runs", counts) }
	return views.Sweeps{
		Page: frame(f, "Sweeps", views.SectionSweeps), Any: true, Pager: ui.Pager{Text: "2 sweeps"},
		States: []ui.Choice{{Name: "All", URL: views.SweepsURL(), Current: true}, {Name: "Running", URL: "?state=RUNNING"}, {Name: "Finished", URL: "?state=SUCCEEDED"}},
		Rows: []views.SweepRow{
			{
				ID: sweepID, URL: views.SweepURL(sweepID), Name: "Learning rate and regularisation", State: views.SweepState{Icon: "RUNNING", Word: "Running"}, Workflow: "digits.train 2.4.0", Method: "TPE",
				Varies: "learning_rate, dropout, optimizer", Objective: "accuracy", Best: "0.9911", BestURL: views.ExecutionURL(sweepID), Runs: "40 of 60", Created: clock().Moment(ago(2 * time.Hour)), By: "Amara Okafor",
				Progress: bar(ui.Count{State: "SUCCEEDED", N: 36}, ui.Count{State: "RUNNING", N: 6}, ui.Count{State: "CANCELLED", N: 4}, ui.Count{State: "PENDING", N: 14}),
			},
			{
				ID: sweepID, URL: views.SweepURL(sweepID), Name: "Sweep of digits.train", State: views.SweepState{Icon: "CANCELLED", Word: "Stopped"}, Workflow: "digits.train 2.3.1", Method: "Grid",
				Varies: "batch_size", Runs: "2 of 12", Created: clock().Moment(ago(50 * time.Hour)), By: "Mei Tan", Progress: bar(ui.Count{State: "FAILED", N: 2}, ui.Count{State: "PENDING", N: 10}),
			},
		},
	}
}

// manyFields are inputs with many values, of each kind.
func manyFields() []views.ManyField {
	distributions := []ui.Option{{Value: "uniform", Name: "uniform"}, {Value: "loguniform", Name: "log-uniform"}, {Value: "normal", Name: "normal"}}
	return []views.ManyField{
		{Path: "hyperparameters.learning_rate", Label: "Learning rate", On: true, Number: true, Kind: views.ManyRange, From: "1e-5", To: "1", Scale: "log", Help: "Separated by commas.", Distributions: distributions, Errors: []string{"To: 1 is more than 0.1. Enter 1e-5 to 0.1."}},
		{Path: "hyperparameters.batch_size", Label: "Batch size", On: true, Kind: views.ManyValues, Options: []views.ManyPick{{Value: "64", Name: "64", On: true}, {Value: "256", Name: "256", On: true}}},
		{Path: "workers", Label: "Workers", Number: true, Kind: views.ManyRange, From: "1", To: "16", Help: "Separated by commas.", Distributions: distributions},
		{Path: "data", Label: "Training data", On: true, Kind: views.ManyValues, Lines: true, Values: "mnist-train@6\nmnist-train@7", Help: "One per line."},
	}
}

// launchSweep is the launch form of a sweep with an error.
func launchSweep(f views.Page) views.LaunchPage {
	page := launch(f)
	schema, fields := launchSchema(), manyFields()
	page.Form = forms.New(forms.Config{Schema: schema, Values: schema.EncodeForm(map[string]any{"data": "mnist-train@7"}, forms.Prefix), Today: now(), Many: manyOf(fields)})
	page.Origin = nil
	page.Failed, page.ErrorLines = "No sweep was launched: 1 value needs attention", fields[0].ErrorLines()
	page.Sweep = &views.LaunchSweep{
		Errors: map[string]string{}, Runs: "60", Parallel: "8", Objective: "accuracy", Known: []string{"accuracy", "loss"}, MinStep: "6",
		Kinds:   []ui.Option{{Value: "metric", Name: "Metric", Selected: true}, {Value: "output", Name: "Output"}},
		Methods: []views.SweepCard{{Value: "grid", Name: "Grid", Text: "every combination"}, {Value: "random", Name: "Random", Text: "independent draws"}, {Value: "sobol", Name: "Sobol", Text: "covers the space evenly"}, {Value: "tpe", Name: "TPE", Text: "learns from finished runs", On: true}},
		Rules:   []views.SweepCard{{Value: "none", Name: "None", Text: "every run finishes"}, {Value: "median", Name: "Median", Text: "stops runs below the median at the same step"}, {Value: "halving", Name: "Successive halving", Text: "stops the weakest at each rung", On: true}},
		Estimate: views.SweepEstimate{
			Ready: true, Tone: "ok", Headline: "60 runs, about 3 h 20 min, 14 GPU-hours", Summary: "8 of 8 fit now", Button: "Launch 60 runs",
			Verdicts: []views.Verdict{{Tone: "ok", Strong: "8 runs can start now."}},
			Facts:    []ui.Fact{{Name: "One run", Value: "about 33 min", Note: "from 41 earlier executions"}, {Name: "Ends", Value: "≈ 17:55"}},
			Columns:  []string{"learning_rate", "batch_size"}, First: [][]string{{"1", "0.0021", "64"}, {"2", "0.034", "256"}, {"3", "3.1e-4", "64"}},
		},
	}
	return page
}
