package gallery

import (
	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

func runTableEntries() []Entry {
	return []Entry{
		{"run-table", "Run table with chosen columns", func(f views.Page) templ.Component { return views.ExecutionGridPage(runTable(f)) }},
		{"run-table-sized", "Run table: pinned and resized columns", func(f views.Page) templ.Component { return views.ExecutionGridPage(runTableSized(f)) }},
		{"run-table-charts", "Run table with charts", func(f views.Page) templ.Component { return views.ExecutionGridPage(runTableCharts(f)) }},
		{"run-table-charts-empty", "Run table: executions without metrics", func(f views.Page) templ.Component { return views.ExecutionGridPage(runTableChartsEmpty(f)) }},
		{"run-note-editor", "Run table: the editor of a note", noteEditor},
		{"run-table-empty", "Run table: nothing matches", func(f views.Page) templ.Component { return views.ExecutionGridPage(runTableEmpty(f)) }},
	}
}

// noteEditor is the editor of a note that the server refused.
func noteEditor(f views.Page) templ.Component {
	form := views.LabelForm{URL: "#", Note: "The first run with the cleaned labels.", NoteError: "A note can have at most 4000 characters."}
	return labelEditorPage(frame(f, "Note", views.SectionExecutions), views.LabelEditor{LabelForm: form, Label: views.LabelNote})
}

// runColumns are the columns of a run table. A pinned one has its place and a width.
func runColumns(pinned int) []views.GridColumn {
	columns := []views.GridColumn{
		{Title: "workflow", Path: "workflow"},
		{Title: "learning_rate", Part: "inputs", Path: "inputs.hyperparameters.learning_rate", Numeric: true},
		{Title: "accuracy", Part: "metrics", Path: "metrics.accuracy", Numeric: true, Sorted: "descending"},
		{Title: "loss.min", Part: "metrics", Path: "metrics.loss.min", Numeric: true},
		{Title: "tags", Path: "tags"}, {Title: "user", Path: "user"}, {Title: "duration", Path: "duration", Numeric: true},
	}
	for i := range columns {
		c := &columns[i]
		c.Entry, c.SortURL, c.DropURL, c.PinURL = c.Path, "#", "#", "#"
		if i > 0 && i != pinned {
			c.LeftURL = "#"
		}
		if i < len(columns)-1 && i != pinned-1 {
			c.RightURL = "#"
		}
		if i < pinned {
			c.Pin, c.Width = i+1, 160
			c.Entry += ":160:pin"
		}
	}
	return columns
}

func runTable(f views.Page) views.ExecutionGrid {
	columns := runColumns(0)
	fields := []views.FieldGroup{
		{Name: "Execution", Fields: []views.FieldChoice{{Path: "workflow", Chosen: true}, {Path: "version"}, {Path: "state"}, {Path: "tags", Chosen: true}, {Path: "user", Chosen: true}, {Path: "duration", Chosen: true}, {Path: "gpu_hours"}}},
		{Name: "Inputs", Fields: []views.FieldChoice{{Path: "inputs.epochs", Type: "Integer"}, {Path: "inputs.hyperparameters.learning_rate", Type: "Float", Chosen: true}, {Path: "inputs.hyperparameters.optimizer.weight_decay_of_embeddings", Type: "Float"}, {Path: "inputs.data", Type: "Dataset"}}},
		{Name: "Metrics", Fields: []views.FieldChoice{{Path: "metrics.accuracy", Chosen: true}, {Path: "metrics.accuracy.max"}, {Path: "metrics.loss"}, {Path: "metrics.loss.min", Chosen: true}}},
	}
	return views.ExecutionGrid{
		Page: frame(f, "Executions", views.SectionExecutions), Total: "1,204",
		Query: views.QueryBar{Where: "accuracy >= 0.9", Reads: []string{"accuracy reads as metrics.accuracy"}, Fields: fields}, ClearURL: "#",
		GroupBy: views.GroupChoice{Options: []ui.Option{{Name: "No grouping"}, {Value: "user", Name: "user"}}},
		Facets:  views.Facets{List: []views.Facet{{Name: "state", Values: []views.FacetValue{{Name: "Succeeded", State: "SUCCEEDED", N: "1,180", URL: "#"}, {Name: "Failed", State: "FAILED", N: "24", URL: "#"}}}}},
		Columns: columns, Shown: columns, Rows: runRows(columns), Exports: []ui.Action{{Name: "CSV", URL: "#"}, {Name: "Parquet", URL: "#"}},
		Pager: ui.Pager{Text: "1–4 of 1,204", InOrder: true},
	}
}

func runTableSized(f views.Page) views.ExecutionGrid {
	m := runTable(f)
	m.Columns = runColumns(2)
	m.Shown, m.Sized, m.Rows = m.Columns, true, runRows(m.Columns)
	return m
}

func runTableCharts(f views.Page) views.ExecutionGrid {
	m := runTable(f)
	m.ChartEntries = []string{"metrics.accuracy~chart", "metrics.loss~chart"}
	m.Charts = &views.RunCharts{
		CompareCurves: views.CompareCurves{
			Charts: []views.CompareChart{{Name: "accuracy", DataURL: "#", CSVURL: "#"}, {Name: "loss", DataURL: "#", CSVURL: "#"}}, Live: true, Smooth: 30,
			Axes: []ui.Choice{{Name: "Step", URL: "#", Current: true}, {Name: "Time", URL: "#"}, {Name: "Since start", URL: "#"}},
		},
		Metrics:    []views.MetricChoice{{Name: "accuracy", Chosen: true}, {Name: "loss", Chosen: true}, {Name: "learning_rate", Note: "3 of 4"}},
		Executions: len(m.Rows), CloseURL: "#",
	}
	for i := range m.Rows {
		m.Rows[i].Charted, m.Rows[i].Style, m.Rows[i].Unseen = true, views.RunStyle{Color: (i * 2) % 6, Dash: i / 3}, i == 2
	}
	return m
}

func runTableChartsEmpty(f views.Page) views.ExecutionGrid {
	m := runTable(f)
	m.Charts = &views.RunCharts{Executions: len(m.Rows), Empty: "These executions have not reported metrics.", CloseURL: "#"}
	return m
}

func runTableEmpty(f views.Page) views.ExecutionGrid {
	m := runTable(f)
	m.Rows, m.Total, m.Pager = nil, "0", ui.Pager{}
	return m
}

func runRows(columns []views.GridColumn) []views.GridRow {
	var rows []views.GridRow
	for _, r := range []struct {
		id, state, title string
		values           []string
	}{
		{"7k31aa", "RUNNING", "lower learning rate", []string{"digits.train", "0.001", "0.9731", "0.084", "", "Amara Okafor", "4 min"}},
		{"6b0d77", "SUCCEEDED", "baseline", []string{"digits.train", "0.01", "0.9712", "0.091", "baseline", "Amara Okafor", "41 s"}},
		{"6a9001", "FAILED", "with augmentation and a long name", []string{"digits.train", "0.1", "0.9108", "0.312", "", "Jonas Lindqvist", "94 s"}},
		{"69f2c3", "SUCCEEDED", "", []string{"digits.train", "0.03", "0.9004", "0.295", "", "Mei Tanaka", "39 s"}},
	} {
		row := views.GridRow{ID: r.id, Short: "#" + r.id, URL: "#", State: r.state, Title: r.title, Flow: "digits.train", EditURL: views.LabelsURL(r.id)}
		for i, text := range r.values {
			cell := views.GridCell{Text: text, Numeric: columns[i].Numeric, Pin: columns[i].Pin}
			if columns[i].Path == "tags" && text != "" {
				cell.Text, cell.Tags = "", []string{text}
			}
			if columns[i].Path == "tags" {
				cell.Label = views.LabelTags
			}
			cell.Best = columns[i].Path == "metrics.accuracy" && text == "0.9731"
			row.Cells = append(row.Cells, cell)
		}
		rows = append(rows, row)
	}
	return rows
}
