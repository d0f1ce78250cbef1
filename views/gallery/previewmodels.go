package gallery

import (
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

func previewModel() views.Preview {
	return views.Preview{Kind: "model", Truncated: "ONNX", Model: &views.ModelView{
		Facts:  []ui.Fact{{Name: "Parameters", Value: "25,557,032"}, {Name: "Tensors", Value: "267"}, {Name: "Producer", Value: "pytorch"}, {Name: "Opset", Value: "17"}},
		Inputs: [][2]string{{"input", "float32 [batch, 3, 224, 224]"}}, Outputs: [][2]string{{"output", "float32 [batch, 1000]"}},
		Operators: []ui.Fact{{Name: "Conv", Value: "53"}, {Name: "Relu", Value: "49"}}, Metadata: []ui.Fact{{Name: "author", Value: "mia"}},
		Search: views.PreviewForm{URL: "#"}, Pager: ui.Pager{InOrder: true, Text: "Tensors 1 to 2 of 267", Older: "#"},
		Tensors: []views.TensorRow{{Name: "conv1.weight", DType: "float32", Shape: "64 × 3 × 7 × 7", Size: "36.8 KiB"}, {Name: "fc.bias", DType: "bfloat16", Shape: "1,000", Size: "–"}},
	}}
}

func previewPickle() views.Preview {
	return views.Preview{Kind: "model", Truncated: "pickle", Model: &views.ModelView{
		Warning: "It is a pickle.", Commands: []string{"builtins.eval", "os.system"}, Problem: "The pickle was not read completely.",
		Facts:      []ui.Fact{{Name: "Class", Value: "sklearn.pipeline.Pipeline", Mono: true}, {Name: "scikit-learn", Value: "1.6.0"}},
		Attributes: []ui.Fact{{Name: "max_iter", Value: "321", Mono: true}}, Names: []string{"builtins.eval", "os.system", "sklearn.pipeline.Pipeline"},
		Search: views.PreviewForm{URL: "#"}, Text: "coef", ClearURL: "#", Empty: "No name contains the text.", Pager: ui.Pager{InOrder: true, Text: "0 tensors"},
	}}
}

func previewNotebook() views.Preview {
	code := &views.Source{Name: "Cell 2, code", Lines: []views.SourceLine{
		{Number: 1, Parts: []views.SourcePart{{Class: "k", Text: "import"}, {Text: " pandas "}, {Class: "k", Text: "as"}, {Text: " pd"}}},
		{Number: 2, Parts: []views.SourcePart{{Text: "pd.DataFrame(rows)  "}, {Class: "c", Text: "# the first rows"}}},
	}}
	return views.Preview{Kind: "notebook", Truncated: "120 cells", Notebook: &views.NotebookView{
		Kernel: "Python 3", Pager: ui.Pager{InOrder: true, Text: "Cells 1 to 50 of 120", Older: "#"},
		Cells: []views.NotebookCell{
			{Label: "Cell 1, markdown", HTML: "<h3>Training</h3><p>Some <em>text</em> and <code>code</code>.</p>"},
			{Label: "Cell 2, code", Prompt: "[4]", Source: code, Note: "The cell has more than 50 outputs. Only the first 50 are shown.", Outputs: []views.NotebookOutput{
				{Kind: "table", HTML: "<table><thead><tr><th></th><th>loss</th></tr></thead><tbody><tr><th>0</th><td>0.25</td></tr></tbody></table>"},
				{Kind: "text", Text: "step 1 of 2\nstep 2 of 2"}, {Kind: "text", Text: "a warning", Error: true}, {Kind: "error", Text: "ValueError: no"},
				{Kind: "image", Note: "The image is too large to be shown here. Download the notebook to see it."},
			}},
			{Label: "Cell 3, raw", Text: "raw text"},
		},
	}}
}
