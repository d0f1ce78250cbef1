package gallery

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
)

// sweepEntries are sweeps in their states.
func sweepEntries() []Entry {
	return []Entry{
		{"sweeps", "Sweeps", func(f views.Page) templ.Component { return views.SweepsPage(sweepList(f)) }},
		{"sweep", "Sweep: running", func(f views.Page) templ.Component { return views.SweepPage(sweepPage(f)) }},
		{"sweep-launch", "Sweep: launch, a value needs attention", func(f views.Page) templ.Component { return views.LaunchView(launchSweep(f)) }},
		{"sweep-change", "Sweep: change", func(f views.Page) templ.Component { return views.SweepChangePage(sweepChange(f)) }},
		{"sweep-stop", "Sweep: stop without JavaScript", func(f views.Page) templ.Component {
			return views.SweepStopPage(views.SweepStop{Page: frame(f, "Stop", views.SectionSweeps), ID: sweepID, Name: "Learning rate and regularisation"})
		}},
		{"plots", "Drawings of runs", func(f views.Page) templ.Component { return plotsPage(frame(f, "Drawings of runs", ""), plots()) }},
	}
}

// plots are the drawings of 46 runs.
func plots() views.Plots {
	return views.Plots{
		Name: "digits.train", Frame: plotFrame(46), Objective: "accuracy",
		Orders: []views.PlotOrder{{Name: "Run", Value: "Run"}, {Name: "Clock", Value: "Time"}, {Name: "GPU-h", Value: "GPU-hours"}},
		Importance: views.Importance{
			For: "accuracy", Note: "fANOVA with 64 trees over 36 finished runs; ± is the standard deviation of 10 fits.",
			Rows: []views.ImportanceRow{
				{Name: "hyperparameters.learning_rate", Text: "0.64", Error: "± 0.05", Note: "best near 0.003", Width: "64%", From: "59%", To: "69%"},
				{Name: "dropout", Text: "0.19", Error: "± 0.04", Width: "19%", From: "15%", To: "23%"},
				{Name: "optimizer", Text: "0.12", Error: "± 0.04", Width: "12%", From: "8%", To: "16%"},
			},
		},
	}
}

// plotFrame is the columns of n runs of a sweep.
func plotFrame(n int) string {
	columns := []views.PlotColumn{
		{Name: "hyperparameters.learning_rate", Label: "learning_rate", Role: "input", Log: true}, {Name: "dropout", Role: "input"},
		{Name: "optimizer", Role: "input", Categories: []string{"adam", "adamw", "sgd"}}, {Name: "batch_size", Role: "input", Integer: true},
		{Name: "accuracy", Role: "objective", Better: "max"}, {Name: "loss", Role: "metric"},
		{Name: "Run", Role: "order", Integer: true}, {Name: "Time", Role: "order", Time: true, Zone: "UTC"}, {Name: "GPU-hours", Role: "order"},
	}
	ids, names, states := make([]string, n), make([]string, n), make([]string, n)
	colors, dashes := make([]int, n), make([]int, n)
	best, most := -1, 0.0
	for i := range n {
		a, b, c := math.Mod(float64(i)*0.754877, 1), math.Mod(float64(i)*0.569840, 1), math.Mod(float64(i)*0.430159, 1)
		rate := math.Pow(10, -4+3*a)
		accuracy := 0.993 - 0.012*math.Pow(math.Log10(rate)+2.5, 2) - 0.02*(b-0.5)*(b-0.5) - 0.003*c
		ids[i], names[i], states[i] = fmt.Sprintf("0191f3a2-7c1d-7a2b-9c3d-%012d", i), fmt.Sprintf("#r%03d", i), "SUCCEEDED"
		colors[i], dashes[i] = i*5%6, i/6%6
		values := []float64{rate, 0.1 + 0.4*b, math.Floor(3 * c), float64(int(64) << (i % 4)), accuracy, 1.2 - accuracy, float64(i + 1), 1.7637e9 + 240*float64(i), 0.2 * float64(i)}
		switch {
		case i >= n-6:
			states[i], values[4] = "RUNNING", math.NaN()
		case i%9 == 8:
			states[i], values[4], values[5] = "FAILED", math.NaN(), math.NaN()
		case i%11 == 10:
			states[i] = "STOPPED_EARLY"
		case accuracy > most:
			best, most = i, accuracy
		}
		for j := range columns {
			columns[j].Values = append(columns[j].Values, values[j])
		}
	}
	body, err := json.Marshal(views.PlotFrame{IDs: ids, Names: names, States: states, Colors: colors, Dashes: dashes, URLs: "/executions/", Columns: columns, Objective: 4, Best: best})
	if err != nil {
		panic("gallery: " + err.Error()) // the tests render these constant examples
	}
	return string(body)
}

// manyOf draws what takes many values.
func manyOf(fields []views.ManyField) func(string) templ.Component {
	return func(path string) templ.Component {
		for _, f := range fields {
			if f.Path == path {
				return views.ManyBlock(f)
			}
		}
		return nil
	}
}

// sweepChange is the form that changes a sweep, with an error.
func sweepChange(f views.Page) views.SweepChange {
	return views.SweepChange{
		Page: frame(f, "Change", views.SectionSweeps), ID: sweepID, Name: "Learning rate and regularisation", Action: views.SweepPartURL(sweepID, "change"),
		Failed: "Nothing was changed: 1 value needs attention", ErrorLines: []views.ErrorTarget{{URL: "#change-runs", Text: "Number of runs: The sweep already has 46 runs. Enter at least as many, or stop the sweep."}},
		Errors:  map[string]string{"runs": "The sweep already has 46 runs. Enter at least as many, or stop the sweep."},
		NewName: "Learning rate and regularisation", Runs: "40", RunsHelp: "46 runs exist already. Adding runs continues a sweep that has ended.", Parallel: "8", GPUHours: "14", Fields: manyFields(),
	}
}
