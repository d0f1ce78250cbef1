package artifacts

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/artifact/preview"
	"github.com/flowforge/flowforge/handlers/source"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// modelFormat names the format of a model.
func modelFormat(m *preview.Model) string {
	switch m.Format {
	case "safetensors":
		return "safetensors"
	case "onnx":
		return "ONNX"
	case "torch":
		return "PyTorch"
	}
	return "pickle"
}

// modelOf is a model for its page.
func modelOf(at part, sel artifact.Selection, m *preview.Model) *views.ModelView {
	out := &views.ModelView{Commands: m.Commands, Problem: m.Problem, Names: m.Names, Search: at.form(), Text: sel.Find, ClearURL: at.link()}
	if m.Format == "pickle" || m.Format == "torch" {
		out.Warning = "This file is a pickle. When Python loads it, it imports and calls the names in the file. FlowForge has not loaded it. Load only files that you trust."
	}
	add := func(name, value string, mono bool) {
		if value != "" {
			out.Facts = append(out.Facts, ui.Fact{Name: name, Value: value, Mono: mono})
		}
	}
	add("Class", m.Class, true)
	if m.Total > 0 {
		add("Parameters", units.Number(m.Parameters), false)
		add("Tensors", units.Number(m.Total), false)
	}
	for _, f := range m.Facts {
		value := f.Value
		if f.Name == "Storages" { // a number of files and their bytes
			count, size, _ := strings.Cut(strings.TrimSuffix(value, " bytes"), ", ")
			if n, err := strconv.ParseInt(size, 10, 64); err == nil {
				value = count + ", " + units.Bytes(n)
			}
		}
		add(f.Name, value, false)
	}
	for _, v := range m.Inputs {
		out.Inputs = append(out.Inputs, [2]string{v.Name, v.Type})
	}
	for _, v := range m.Outputs {
		out.Outputs = append(out.Outputs, [2]string{v.Name, v.Type})
	}
	for _, c := range m.Operators {
		out.Operators = append(out.Operators, ui.Fact{Name: c.Name, Value: units.Number(c.Count)})
	}
	for _, f := range m.Attributes {
		out.Attributes = append(out.Attributes, ui.Fact{Name: f.Name, Value: f.Value, Mono: true})
	}
	for _, f := range m.Metadata {
		out.Metadata = append(out.Metadata, ui.Fact{Name: f.Name, Value: f.Value})
	}
	tensorsOf(out, at, sel, m)
	return out
}

// tensorsOf is one page of tensors, those whose name contains the text of the search.
func tensorsOf(out *views.ModelView, at part, sel artifact.Selection, m *preview.Model) {
	var kept []preview.Tensor
	for _, t := range m.Tensors {
		if strings.Contains(strings.ToLower(t.Name), strings.ToLower(sel.Find)) {
			kept = append(kept, t)
		}
	}
	if len(kept) == 0 && len(m.Tensors) > 0 {
		out.Empty = "No name contains the text."
	}
	total := int64(len(kept))
	from := min(max(sel.From, 0), total)
	to := min(from+filesShown, total)
	for _, t := range kept[from:to] {
		row := views.TensorRow{Name: t.Name, DType: t.DType, Shape: shapeText(t.Shape), Size: "–"}
		if t.Size >= 0 {
			row.Size = units.Bytes(t.Size)
		}
		out.Tensors = append(out.Tensors, row)
	}
	link := func(n int64) string {
		if n <= 0 {
			return at.link("find", sel.Find)
		}
		return at.link("find", sel.Find, "from", strconv.FormatInt(n, 10))
	}
	out.Pager = ui.Pager{InOrder: true, Text: units.Plural(total, "tensor", "tensors")}
	if to-from < total && to > from {
		out.Pager.Text = "Tensors " + units.Number(from+1) + " to " + units.Number(to) + " of " + units.Number(total)
	}
	if m.Total > int64(len(m.Tensors)) {
		out.Pager.Text += "; the first " + units.Number(preview.MaxTensors) + " of " + units.Number(m.Total) + " are listed"
	}
	if from > 0 {
		out.Pager.Newer = link(from - filesShown)
	}
	if to < total {
		out.Pager.Older = link(to)
	}
}

// languageFile is a name whose ending stands for the language of a notebook.
func languageFile(language string) string {
	switch strings.ToLower(language) {
	case "python", "":
		return "cell.py"
	case "bash", "sh":
		return "cell.sh"
	case "sql":
		return "cell.sql"
	}
	return "cell.txt"
}

// notebookOf is a part of a notebook for its page.
func notebookOf(at part, n *preview.Notebook) *views.NotebookView {
	out := &views.NotebookView{Kernel: n.Kernel}
	for _, c := range n.Cells {
		cell := views.NotebookCell{Label: fmt.Sprintf("Cell %d, %s", c.Index+1, c.Kind), HTML: c.HTML, Note: c.Note}
		switch c.Kind {
		case "code":
			cell.Prompt = "[ ]"
			if c.Count != nil {
				cell.Prompt = fmt.Sprintf("[%d]", *c.Count)
			}
			cell.Source = &views.Source{Name: cell.Label, Lines: source.Lines(languageFile(n.Language), c.Source, 1)}
		case "raw":
			cell.Text = c.Source
		}
		for _, o := range c.Outputs {
			cell.Outputs = append(cell.Outputs, outputOf(at, c, o))
		}
		out.Cells = append(out.Cells, cell)
	}
	if shown := int64(len(n.Cells)); shown < n.Total {
		out.Pager = ui.Pager{InOrder: true, Text: fmt.Sprintf("Cells %s to %s of %s", units.Number(n.From+1), units.Number(n.From+shown), units.Number(n.Total))}
		if n.From > 0 {
			out.Pager.Newer = at.link("from", strconv.FormatInt(max(n.From-preview.NotebookCells, 0), 10))
		}
		if n.From+shown < n.Total {
			out.Pager.Older = at.link("from", strconv.FormatInt(n.From+shown, 10))
		}
	}
	return out
}

func outputOf(at part, c preview.Cell, o preview.CellOutput) views.NotebookOutput {
	out := views.NotebookOutput{Kind: o.Kind, Text: o.Text, HTML: o.HTML, Note: o.Note, Error: o.Stream == "stderr", Alt: fmt.Sprintf("Output %d of cell %d", o.Index+1, c.Index+1)}
	if o.Data != "" {
		out.Image = "data:" + o.MediaType + ";base64," + o.Data
	}
	if o.Kind == "html" {
		query := url.Values{"cell": {strconv.FormatInt(c.Index, 10)}, "output": {strconv.Itoa(o.Index)}}
		if path := at.query.Get("path"); path != "" {
			query.Set("path", path)
		}
		out.Frame = views.ArtifactFrameURL(at.id) + "?" + query.Encode()
	}
	return out
}
