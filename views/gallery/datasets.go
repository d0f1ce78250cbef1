package gallery

import (
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

func datasetEntries() []Entry {
	return []Entry{
		{"datasets", "Datasets", func(f views.Page) templ.Component { return views.DatasetsPage(datasets(f)) }},
		{"datasets-empty", "Datasets: none", func(f views.Page) templ.Component {
			m := datasets(f)
			m.Rows = nil
			return views.DatasetsPage(m)
		}},
		{"dataset", "Dataset: drift", func(f views.Page) templ.Component { return views.DatasetPage(dataset(f)) }},
		{"dataset-waiting", "Dataset: statistics are computed", func(f views.Page) templ.Component { return views.DatasetPage(datasetWaiting(f)) }},
		{"dataset-failed", "Dataset: no statistics", func(f views.Page) templ.Component { return views.DatasetPage(datasetFailed(f)) }},
		{"model", "Model", func(f views.Page) templ.Component { return views.ModelPage(model(f)) }},
		{"model-policy", "Rules for promotions", func(f views.Page) templ.Component { return views.ProjectPolicyPage(modelPolicy(f)) }},
	}
}

func datasets(f views.Page) views.Datasets {
	return views.Datasets{
		Page: frame(f, "Datasets", views.SectionDatasets), Kind: "Dataset",
		Tabs:  []ui.Tab{{Name: "Datasets", URL: "#", Current: true}, {Name: "Feature sets", URL: "#"}},
		Rows:  []views.DatasetRow{{Name: "mnist-train", URL: "#", Newest: "7", Versions: "7", Rows: "60,000", Columns: "3", NewestAt: clock().Moment(ago(time.Hour))}},
		Pager: ui.Pager{Text: "1 name"},
	}
}

func dataset(f views.Page) views.Dataset {
	same := views.DriftMark{Class: "drift-same", Icon: "check", Word: "same", PSI: "0.02"}
	moved := views.DriftMark{Class: "drift-moved", Icon: "warn", Word: "moved", PSI: "0.31"}
	flat := chart.NewDistribution([]float64{0.1, 0.11, 0.1, 0.09}, []float64{0.1, 0.1, 0.1, 0.1}, "Distribution of label")
	source := chart.NewDistribution([]float64{0.6, 0.29, 0.11}, []float64{0.66, 0.34, 0}, "Distribution of source; most common: form 60.0 %")
	change := views.DatasetChange{Name: "source", URL: "#", Note: "tablet is new: 11.0 % of the rows", Mark: moved}
	return views.Dataset{
		Page: frame(f, "mnist-train", views.SectionDatasets), Kind: "Dataset", Name: "mnist-train", Version: "7", Description: "Digits of writers, with tablets", FormURL: "#",
		Choose: []ui.Option{{Value: "7", Name: "version 7, newest", Selected: true}, {Value: "6", Name: "version 6"}}, Against: []ui.Option{{Value: "6", Name: "version 6", Selected: true}},
		By: "Mei Tanaka", At: clock().Moment(ago(time.Hour)), MadeBy: "an artifact", MadeByURL: "#", Used: "used by 214 executions, 1 model",
		Links: []ui.Action{{Name: "Lineage", Icon: "flow", URL: "#"}, {Name: "Download", Icon: "down", URL: "#"}},
		Tiles: []views.DatasetTile{
			{Name: "Rows", Value: "60,000", Note: "+1,600 since version 6"}, {Name: "Columns", Value: "3", Note: "1 gone"}, {Name: "Size", Value: "47", Unit: "MiB", Note: "Parquet"},
			{Name: "Missing", Value: "0.4", Unit: "%", Note: "most in slant"}, {Name: "Drift", Value: "1", Unit: "of 3 columns", Note: "source"},
		},
		Columns: views.DatasetColumns{Now: "7", Before: "6", Read: "Over all 60,000 rows.", Counted: true, Declared: true, Rows: []views.DatasetColumn{
			{Name: "label", URL: "#", Type: "Integer", Description: "The digit", Chart: flat, Missing: "0 %", Distinct: "10", Range: "0 to 9, mean 4.5", Declared: []string{"default 0"}, Drift: same},
			{Name: "source", URL: "#", Type: "String", Chart: source, Missing: "0 %", Distinct: "3", Range: "form, scan, tablet", Drift: moved},
			{Name: "writer", URL: "#", Type: "String", Missing: "0.4 %", Distinct: "about 48,812", Range: "a to z", Drift: same},
		}},
		Drift: &views.DatasetDrift{
			Before: "6", Changes: []views.DatasetChange{change, {Name: "old", Note: "The column was removed; it was String.", Mark: views.DriftMark{Class: "drift-moved", Icon: "REMOVED", Word: "gone"}}},
			Lineage: "#", Chosen: &change, Chart: source, Low: "form", High: "tablet", Method: "PSI 0.31 over values, by chance up to 0.01",
			Parts: []views.DatasetPart{{Name: "form", Before: "66.0 %", Now: "60.0 %"}, {Name: "tablet", Before: "0 %", Now: "11.0 %"}}, ChooseOf: []ui.Option{{Value: "source", Name: "source", Selected: true}},
		},
		Preview: &views.DataSample{
			Note: "First 2 rows", OpenURL: "#", Columns: []views.DataColumn{{Name: "label", Type: "Integer", Number: true}, {Name: "source", Type: "String"}},
			Rows: [][]views.DataCell{{{Text: "9"}, {Text: "tablet"}}, {{Text: "4"}, {Null: true}}},
		},
		Uses:     []views.DatasetUse{{Title: "digits.train", URL: "#", Short: "#7k31aa", State: "SUCCEEDED", Input: "data", Requested: "mnist-train", By: "Amara Okafor", At: clock().Moment(ago(time.Hour))}},
		MoreUses: "The newest of 214 executions.",
		Models:   []views.LineageLink{{Icon: "box", Name: "digits-net 1.9.2", URL: "#", Note: "production"}}, Sources: []views.LineageLink{{Icon: "file", Name: "ingest", URL: "#", Note: "Execution"}},
		Versions: []views.DatasetVersionRow{
			{Version: "7", URL: "#", Rows: "60,000", Size: "47 MiB", Statistics: "Ready", By: "Mei Tanaka", At: clock().Moment(ago(time.Hour)), Current: true},
			{Version: "6", URL: "#", Rows: "58,400", Size: "45 MiB", Statistics: "Ready", By: "Mei Tanaka", At: clock().Moment(ago(48 * time.Hour)), CompareURL: "#", Aliases: []string{"golden"}},
		},
		Older: ui.Pager{Text: "2 versions"}, Aliases: []views.ModelAlias{{Name: "golden", Version: "6", URL: "#", RemoveURL: "#"}}, AliasURL: "#",
		Facts: []ui.Fact{{Name: "Reference", Value: "mnist-train@7", Mono: true}},
	}
}

func datasetWaiting(f views.Page) views.Dataset {
	m := dataset(f)
	m.Waiting, m.Columns, m.Drift, m.Tiles = "#", views.DatasetColumns{Now: "7"}, nil, m.Tiles[:3]
	return m
}

func datasetFailed(f views.Page) views.Dataset {
	m := datasetWaiting(f)
	m.Waiting, m.Problem, m.ComputeURL, m.Preview = "", "mnist-train is not a table. Tables are Parquet, CSV and TSV files.", "#", nil
	m.Drift = &views.DatasetDrift{Before: "6", Problem: "7 has no statistics.", Nothing: "Not compared.", Lineage: "#"}
	return m
}

func model(f views.Page) views.Model {
	now := views.ModelVersion{Version: "1.9.2", URL: "#", Stage: "none", Metric: "accuracy 0.993", By: "Mei Tanaka", At: clock().Moment(ago(time.Hour)), Current: true, Facts: []ui.Fact{{Name: "Stage", Value: "No stage"}}}
	return views.Model{
		Page: frame(f, "digits-net", views.SectionModels), Name: "digits-net", Versions: "2 versions", Chosen: now, LineageURL: "#", MoveURL: "#", AliasURL: "#",
		Stages: []views.ModelStage{
			{Class: "stage-live", State: "SUCCEEDED", Title: "Production", Version: "1.9.1", URL: "#", Note: "accuracy 0.991"},
			{Class: "stage-next", State: "READY", Title: "Waiting for approval", Version: "1.9.2", URL: "#", Note: "for production, asked by Mei Tanaka"},
			{Class: "stage-old", State: "PENDING", Title: "Staging", Version: "None"},
		},
		Compared: views.ModelComparison{
			Title: "1.9.2 against production", Before: "1.9.1", Now: "1.9.2", FormURL: "#", Versions: []ui.Option{{Value: "1.9.2", Name: "1.9.2", Selected: true}}, Choose: []ui.Option{{Value: "1.9.1", Name: "1.9.1, production", Selected: true}},
			Rows: []views.ModelMetric{{Name: "accuracy", Before: "0.991", Now: "0.993", Difference: "+0.002", Verdict: "better"}},
			Differences: []views.ModelDifferences{
				{Title: "Inputs and code", Note: "7 values are the same.", Rows: []views.ModelDifference{{Name: "hyperparameters.learning_rate", Before: "0.05", Now: "0.02"}, {Name: "version", Kind: "Definition", Before: "1.4.0", Now: "1.5.0"}}},
				{Title: "Lineage", Note: "1 source is the same.", Rows: []views.ModelDifference{{Name: "uci-digits", Kind: "Dataset", Before: "1", Now: "2"}}},
			},
			Links: []ui.Action{{Name: "Compare the executions", Icon: "runs", URL: "#"}}, Foot: "Measured on digits-test@1.",
		},
		Signature: []views.ModelTensor{{Side: "in", Name: "pixels", Type: "Float"}}, Against: "1.9.1",
		Rows:     []views.ModelVersion{now, {Version: "1.9.1", URL: "#", Stage: "production", Aliases: []string{"champion"}, By: "Mei Tanaka", At: clock().Moment(ago(48 * time.Hour))}},
		Older:    ui.Pager{Text: "2 versions"},
		Requests: []views.ModelRequest{{Title: "1.9.2 to production", By: "Requested by Mei Tanaka", Reason: "better on every writer", At: clock().Moment(ago(time.Hour)), URL: "#", Checks: []views.ModelCheck{{Text: "accuracy at least as high as in production", Detail: "0.993, 0.991 in production", OK: true}}}},
		Aliases:  []views.ModelAlias{{Name: "champion", Version: "1.9.1", URL: "#", RemoveURL: "#"}}, MoveTo: []ui.Option{{Value: "staging", Name: "Staging"}},
		History: []views.ModelEvent{{Text: "Mei Tanaka registered 1.9.2", At: clock().Moment(ago(time.Hour))}}, Policy: rules(),
	}
}

func rules() views.ModelPolicy {
	return views.ModelPolicy{Whose: "Project policy", Lines: []string{"Another person must approve.", "accuracy at least as high as in production"}, URL: "#", Approval: true, Rules: []views.ModelRule{{Metric: "accuracy"}}}
}

func modelPolicy(f views.Page) views.ProjectPolicy {
	p := rules()
	p.Rules = append(p.Rules, views.ModelRule{Metric: "worst writer", Margin: "a bit", AnyTestSet: true, Invalid: true})
	p.Error = `"a bit" is not a number of 0 or more. Enter a margin such as 0.01.`
	at := clock().Moment(ago(time.Hour))
	return views.ProjectPolicy{Page: frame(f, "Promotion rules", views.SectionModels), Policy: p, Failed: p.Error, By: "Mei Tanaka", At: &at}
}
