package gallery

import (
	"fmt"
	"time"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
)

func logs() views.Logs {
	line := func(i int, level, node, text string) views.LogLine {
		at := ago(5 * time.Minute).Add(time.Duration(i*7) * time.Second)
		return views.LogLine{
			ID: fmt.Sprintf("L%d", 8120+i), Time: at.Format("15:04:05"), Exact: at.Format(time.RFC3339Nano), Level: level,
			Node: node, NodeURL: "#", Parts: []views.LogPart{{Text: text}},
		}
	}
	l := views.Logs{
		ExecutionID: someID, Action: "#", Query: "epoch", Hits: "2 hits", Follow: true, DownloadURL: "#", PageURL: "#", OlderURL: "#",
		Nodes:  []ui.Option{{Name: "All nodes", Selected: true}, {Value: "train", Name: "train"}},
		Levels: []ui.Option{{Name: "All levels", Selected: true}, {Value: "WARN", Name: "Warn 1"}, {Value: "ERROR", Name: "Error 1"}},
		Lines: []views.LogLine{
			line(0, "INFO", "load", "1,797 images of 8 × 8, 10 classes"),
			line(1, "INFO", "split", "1,437 for training, 360 for testing"),
			line(2, "WARN", "train", "learning_rate 0.05 is above the usual 0.01"),
			line(3, "ERROR", "train", "MemoryError: unable to allocate 512 MiB"),
			line(4, "INFO", "train", ""), line(5, "DEBUG", "train", "    indented  text   keeps its spaces"), line(6, "INFO", "train", ""),
		},
	}
	l.Lines[4].Cut = "attempt 2 of train"
	l.Lines[4].Parts = []views.LogPart{{Text: "resumed from "}, {Text: "epoch", Hit: true}, {Text: "-7, see "}, {Text: "https://example.org/docs", URL: "https://example.org/docs"}}
	l.Lines[6].Parts = []views.LogPart{{Text: "epoch", Hit: true}, {Text: " 12 "}, {Text: "done", Class: "ansi-green ansi-bold"}, {Text: " loss=0.214 acc=0.948"}}
	return l
}

func logsPage(f views.Page) views.LogsPage {
	l := logs()
	l.FullPage, l.PageURL = true, ""
	return views.LogsPage{
		Page:  frame(f, "Logs", views.SectionExecutions, views.Crumb{Name: "Executions", URL: "/executions"}, views.Crumb{Name: "digits.train #7k2f00", URL: "#"}),
		Title: "Logs of digits.train #7k2f00", State: "RUNNING", Back: "#", Logs: l,
	}
}

func node(f views.Page) views.Node {
	return views.Node{
		Runs:     true,
		Page:     frame(f, "train", views.SectionExecutions, views.Crumb{Name: "Executions", URL: "/executions"}, views.Crumb{Name: "digits.train #7k2f00", URL: "#"}),
		Head:     views.NodeHead{Name: "train", State: "RUNNING", GraphURL: "#", Summary: "Running for 4 min 02 s in attempt 2 of 3: epoch 12 of 30, loss 0.214."},
		Facts:    []ui.Fact{{Name: "State", Value: "Running"}, {Name: "Level", Value: "4 of 6"}, {Name: "Waited", Value: "3 s"}, {Name: "Heartbeat", Value: "2 s ago"}},
		Attempts: attempts(), Code: trainCode(),
		Python: views.PythonEnvironment{
			Requirements: []string{"scikit-learn==1.7.2", "pandas>=3"}, State: "ready", UsesURL: "#",
			Facts:    []ui.Fact{{Name: "ID", Value: "3f2a9c41d07be85512fa90c3", Mono: true}, {Name: "Python", Value: "3.13.5"}, {Name: "Installed by", Value: "uv"}, {Name: "Build took", Value: "4.2 s"}},
			Packages: []string{"joblib==1.5.3", "numpy==2.4.6", "pandas==3.1.1", "scikit-learn==1.7.2", "scipy==1.17.0", "threadpoolctl==3.6.0"},
		},
		Variables: []ui.Fact{{Name: "PYTHONUNBUFFERED", Value: "1", Mono: true}},
		Resources: []ui.Fact{{Name: "CPU", Value: "1"}, {Name: "Memory", Value: "512 MiB"}, {Name: "Storage", Value: "1.0 GiB"}},
		Policy:    []ui.Fact{{Name: "Timeout", Value: "10 min"}, {Name: "Retries", Value: "2", Note: "after 1 s, then 2 times as long each time, up to 1 min"}},
		Inputs:    inputs(), Outputs: []views.Value{{Name: "model", Type: "Model", Missing: "when it succeeds"}},
		Place:   views.NodePath{Before: []views.Tag{{Name: "split", URL: "#"}, {Name: "warm_start", URL: "#"}}, After: []views.Tag{{Name: "evaluate", URL: "#"}, {Name: "misread_images", URL: "#"}}},
		Metrics: metrics(), Logs: logs(),
	}
}

func workflow(f views.Page, tab string) views.Workflow {
	items := digits()
	plain := make([]dagview.NodeState, len(items))
	for i := range plain {
		plain[i].Sub = []string{"Dataset → Table", "python", "Model", "2 tables", "1 CPU, retry 3", "per class", "Image", "Report"}[i]
	}
	names := map[string]string{"": "Overview", "executions": "Executions", "versions": "Versions", "source": "Source"}
	var tabs []ui.Tab
	for _, t := range []string{"", "executions", "versions", "source"} {
		tabs = append(tabs, ui.Tab{Name: names[t], URL: views.WorkflowTabURL("digits.train", t), Current: t == tab})
	}
	tabs[2].Count = "3"
	return views.Workflow{
		Page: frame(f, "digits.train", views.SectionWorkflows, views.Crumb{Name: "Workflows", URL: "/workflows"}),
		Name: "digits.train", Description: "Trains a classifier for handwritten digits: softmax regression or a small network in plain Python, with a confusion matrix and a report.",
		Version: "1.0.0", Latest: true, Team: "vision", Tags: []views.Tag{{Name: "example", URL: "#"}, {Name: "training", URL: "#"}}, Author: "Amara Okafor", Created: clock().Moment(ago(30 * time.Hour)),
		LaunchURL: "#", Tabs: tabs, Tab: tab, Plan: paint(items, dagview.Right, plain, -1), PlanText: "8 operators, 6 levels",
		Inputs: []views.SchemaRow{
			{Name: "data", Type: "Dataset", TypeURL: "#", Required: true, Description: "Labelled images"},
			{Name: "epochs", Type: "Integer(min=1, max=200)", TypeURL: "#", Default: "20", Description: "Passes over the data"},
			{Name: "hyperparameters", Type: "HyperparameterSet", TypeURL: "#", Default: "3 values", Description: "Training settings"},
			{Name: "as_of", Type: "Date", TypeURL: "#", Default: "today", Description: "Rows after this day are excluded"},
		},
		Outputs:    []views.SchemaRow{{Name: "model", Type: "Model", TypeURL: "#", From: "train.model", Description: "Weights"}, {Name: "report", Type: "Report", TypeURL: "#", From: "report.html"}},
		Operators:  []views.OperatorRow{{Name: "load", Kind: "python", Resources: "0.5 CPU · 256 MiB", Retry: "none", Timeout: "10 min"}, {Name: "train", Kind: "python", After: "split, warm_start", Resources: "8 CPU · 64 GiB · 4 A100 GPUs", Place: "registry.example.com/ml/torch:2.9 · 2 pods, gang-scheduled · sets nodeSelector, tolerations", Retry: "2 times", Timeout: "10 min"}},
		Versions:   []views.VersionRow{{Version: "1.0.0", URL: "#", LaunchURL: "#", Latest: true, By: "Amara Okafor", Created: clock().Moment(ago(30 * time.Hour)), Runs: "24", Succeeded: "91 %"}, {Version: "0.9.0", URL: "#", LaunchURL: "#", By: "Amara Okafor", Created: clock().Moment(ago(300 * time.Hour))}},
		Executions: executionRows(), Trend: trend(), TrendLabel: "Last 24 executions: 21 succeeded, 2 failed, 1 running",
		History: []ui.Fact{{Name: "Usually takes", Value: "41 s", Note: "(38 s to 46 s)"}, {Name: "Succeeds", Value: "91 %"}, {Name: "Executions", Value: "24 shown"}},
		Source:  "name: digits.train\nversion: 1.0.0\nowner_team: vision\noperators:\n  - name: load\n    type: python\n", Format: "YAML",
	}
}

func artifactRows() []views.ArtifactRow {
	one := func(name, kind, node, size string) views.ArtifactRow {
		return views.ArtifactRow{
			ID: name, Name: name, URL: "#", Type: kind, Icon: views.KindIcon(kind), Size: size, Hash: "9f3ac1…", FullHash: "9f3ac11d3bfa54cbb96bc59d41d9f7c2d2a5f5d8c5f1d0ab29c0d6cf0f2a7e11",
			Node: node, NodeURL: "#", Execution: "#7k2f00", ExecutionURL: "#", Workflow: "digits.train", Created: clock().Moment(ago(2 * time.Minute)), DownloadURL: "#",
		}
	}
	return []views.ArtifactRow{
		one("model", "Model", "train", "26 KiB"), one("confusion_matrix", "Metrics", "evaluate", "1.1 KiB"), one("misread", "Image", "misread_images", "88 KiB"),
		one("per_class", "Table", "evaluate", "4.0 KiB"), one("report", "Report", "report", "112 KiB"), one("train_split", "Dataset", "split", "412 KiB"),
	}
}

func artifacts(f views.Page) views.Artifacts {
	return views.Artifacts{
		Page:  frame(f, "Artifacts", views.SectionArtifacts),
		Kinds: []ui.Option{{Name: "Any type", Selected: true}, {Value: "Model", Name: "Model"}}, Flows: []ui.Option{{Name: "Every workflow", Selected: true}},
		Rows: artifactRows(), Pager: ui.Pager{Text: "6 artifacts"},
	}
}

func artifact(f views.Page, i int, preview views.Preview) views.Artifact {
	r := artifactRows()[i]
	return views.Artifact{
		Page: frame(f, r.Name, views.SectionArtifacts, views.Crumb{Name: "Artifacts", URL: "/artifacts"}), Row: r,
		Facts:    []ui.Fact{{Name: "Produced by", Value: r.Node, URL: "#", Note: "attempt 2"}, {Name: "Execution", Value: "digits.train #7k2f00", URL: "#"}, {Name: "Created", Value: "14:10"}, {Name: "Size", Value: r.Size}, {Name: "Media type", Value: "text/csv", Mono: true}},
		Metadata: []ui.Fact{{Name: "framework", Value: "numpy"}, {Name: "accuracy", Value: "0.9712"}}, Preview: preview, Siblings: artifactRows()[2:5],
		Lineage: []views.LineageStep{{What: "Workflow", Name: "digits.train 1.0.0", URL: "#"}, {What: "Execution", Name: "#7k2f00", URL: "#", Note: "today 14:08"}, {What: "Node", Name: r.Node, URL: "#", Note: "attempt 2"}, {What: "Artifact", Name: r.Name}},
	}
}

func artifactTable(f views.Page) views.Artifact {
	columns := []views.DataColumn{{Name: "class", Type: "Integer", Number: true, SortURL: "#"}, {Name: "precision", Type: "Float", Number: true, SortURL: "#", Sorted: "descending"}, {Name: "reader", Type: "String", SortURL: "#"}, {Name: "reviewed", Type: "Date", SortURL: "#"}}
	t := &views.DataTable{
		Columns: columns, FormURL: "#", Names: []ui.Option{{Value: "class", Name: "class"}}, Ops: []ui.Option{{Value: "ge", Name: "≥"}},
		Filters: []views.Chip{{Name: "precision", Value: "≥ 0.9", RemoveURL: "#"}}, Read: "Sorted within the first 1,000,000 rows.",
		Pager: ui.Pager{Text: "Rows 1 to 10", Older: "#", InOrder: true}, Of: "Columns 1 to 4 of 12", RightURL: "#", StatisticsRead: "Statistics of the first 100,000 rows",
	}
	var bins []chart.HistogramBin
	for i := range 10 {
		t.Rows = append(t.Rows, []views.DataCell{{Text: fmt.Sprint(i)}, {Text: fmt.Sprintf("0.9%d", 90-i)}, {Text: "writer " + fmt.Sprint(i%3)}, {Null: true}})
		bins = append(bins, chart.HistogramBin{Name: fmt.Sprintf("0.9%d to 0.9%d", i, i+1), Count: int64((i*7)%10 + 1)})
	}
	t.Statistics = []views.ColumnStatistics{
		{Name: "class", Type: "Integer", Count: "100,000", Nulls: "0", Distinct: "10", Min: "0", Mean: "4.5", Max: "9", Histogram: chart.NewHistogram(bins, "Histogram of class, 0 to 9")},
		{Name: "precision", Type: "Float", Count: "99,998", Nulls: "2", Distinct: "> 1,000", Min: "0.9", Mean: "0.94", Max: "1", Histogram: chart.NewHistogram(bins, "Histogram of precision, 0.9 to 1"), Other: "3 values are not of this type."},
		{Name: "reader", Type: "String", Count: "100,000", Nulls: "0", Distinct: "> 1,000", Min: "writer 0", Mean: "–", Max: "writer 2"},
		{Name: "reviewed", Type: "Date", Count: "0", Nulls: "100,000", Distinct: "0", Min: "–", Mean: "–", Max: "–"},
	}
	return artifact(f, 3, views.Preview{Kind: "table", Table: t, Truncated: "120,000,000 rows, 12 columns"})
}

func artifactTableProblem(f views.Page) views.Artifact {
	t := &views.DataTable{
		FormURL: "#", Names: []ui.Option{{Value: "class", Name: "class"}}, Ops: []ui.Option{{Value: "ge", Name: "≥"}}, Filters: []views.Chip{{Name: "class", Value: "≥ two", RemoveURL: "#"}},
		Problem: `filter: "two" is not a valid value for column class of type Integer.`, Empty: "Change or remove the filter.", ClearURL: "#", Pager: ui.Pager{Text: "No rows", InOrder: true},
	}
	return artifact(f, 3, views.Preview{Kind: "table", Table: t})
}

func artifactMatrix(f views.Page) views.Artifact {
	var labels []string
	counts := make([][]float64, 10)
	for i := range counts {
		labels = append(labels, fmt.Sprint(i))
		counts[i] = make([]float64, 10)
		counts[i][i] = float64(34 - i%3)
		counts[i][(i+5)%10] = float64(i % 4)
	}
	return artifact(f, 1, views.Preview{Kind: "confusion_matrix", Matrix: chart.NewMatrix(labels, counts)})
}

func artifactBinary(f views.Page) views.Artifact {
	return artifact(f, 0, views.Preview{Kind: "binary"})
}

func types(f views.Page) views.Types {
	card := func(name, summary, example string) views.TypeCard {
		return views.TypeCard{Name: name, URL: views.TypeURL(name), Icon: views.KindIcon(name), Summary: summary, Example: example, Anchor: "t-" + name}
	}
	return views.Types{
		Page: frame(f, "Types", views.SectionTypes), Count: "28 registered",
		Groups: []views.TypeGroup{
			{Name: "Data", Types: []views.TypeCard{card("Dataset", "Rows with a schema, from the catalogue or an earlier execution.", "Dataset(format=csv)"), card("Model", "Weights of a framework.", "Model(framework=torch)")}},
			{Name: "Numbers", Types: []views.TypeCard{card("Integer", "Whole number with limits, a step and a unit.", "Integer(min=1, max=16)"), card("Float", "Number, linear or log scaled.", "Float(min=0, max=1)")}},
		},
	}
}

func typePage(f views.Page) views.Type {
	return views.Type{
		Page: frame(f, "Integer", views.SectionTypes, views.Crumb{Name: "Types", URL: "/types"}), Name: "Integer", Icon: "type", Summary: "Whole number with limits, a step and a unit.",
		Expression: "Integer(min=1, max=16)", Problem: "The widget is shown here.", Parameters: []views.TypeParameter{{Name: "min", Kind: "Integer", Does: "the lowest value"}, {Name: "max", Kind: "Integer", Does: "the highest value"}},
		Checks: []string{"is a whole number", "is at least min", "is at most max"}, Examples: []ui.Fact{{Name: "10009", Value: "10,009"}},
		UISchema: "{\n  \"component\": \"NumberInput\"\n}", JSONSchema: "{\n  \"type\": \"integer\"\n}", UsedIn: []views.TypeUse{{Workflow: "digits.train", URL: "#", Fields: "epochs"}}, Others: types(f).Groups,
	}
}
