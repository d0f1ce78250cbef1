package forms_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/flowforge/flowforge/views/forms"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestRichForm compares a form of many kinds, with a message and a preview, with its
// golden file.
func TestRichForm(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t,
		map[string]any{"name": "data", "type": "Dataset(columns=[image: Tensor[28, 28], label: Integer])", "description": "Labelled images."},
		map[string]any{"name": "as_of", "type": "Date", "default": "today"},
		map[string]any{"name": "precision", "type": "Enum(bf16, fp16, fp32)", "default": "bf16"},
		map[string]any{"name": "gpus", "type": `Integer(min=1, max=16, unit="GPUs")`, "default": 4},
		map[string]any{"name": "optimizer", "type": "Union<Adam: Struct{beta_1: Float = 0.9} | SGD: Struct{momentum: Float}>", "default": map[string]any{"$type": "Adam", "beta_1": 0.9}},
		map[string]any{"name": "hyper", "type": "HyperparameterSet{learning_rate: Float(min=1e-5, max=0.1, log=true) = 0.003, epochs: Integer = 30}"},
		map[string]any{"name": "augmentations", "type": "List<Struct{operation: Enum(rotate, shift), probability: Float}>", "default": []any{map[string]any{"operation": "rotate", "probability": 0.5}}},
		map[string]any{"name": "weights", "type": "Map<String, Float>", "default": map[string]any{"4": 1.5}},
		field("labels", `File(media_types=["text/csv"])?`), field("key", "Secret?"),
	)
	dataset, _ := schema.Field("data")
	values := schema.EncodeForm(map[string]any{"data": "mnist@7", "gpus": "64"}, forms.Prefix)
	doc := draw(t, forms.Config{
		Schema: schema, Values: values, Today: today, Typeahead: "/typeahead", Upload: "/uploads",
		Problems: []forms.Problem{{Path: "gpus", Message: "64 is more than 16. Enter 1 to 16."}},
		Offers: forms.Offers{
			Choices: map[string][]forms.Choice{dataset.Type.String(): {{Value: "mnist@7", Title: "mnist@7", Note: "60,000 rows"}}},
			Previews: map[string]forms.Preview{forms.PreviewKey(dataset.Type, "mnist@7"): {
				Ref: "mnist@7", Facts: []string{"60,000 rows", "2 columns"}, Fits: "1 column is missing", Bad: true,
				Columns: []forms.PreviewColumn{{Name: "image", Type: "Tensor", Need: "matches", State: "SUCCEEDED"}, {Name: "label", Need: "missing", State: "FAILED"}},
			}},
		},
	})
	compareGolden(t, "rich.html", indentHTML(doc))
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// indentHTML writes one element per line for readable diffs.
func indentHTML(doc *html.Node) string {
	var b bytes.Buffer
	var walk func(n *html.Node, depth int)
	walk = func(n *html.Node, depth int) {
		indent := strings.Repeat("  ", depth)
		switch n.Type {
		case html.TextNode:
			if text := strings.Join(strings.Fields(n.Data), " "); text != "" {
				b.WriteString(indent + text + "\n")
			}
			return
		case html.ElementNode:
			b.WriteString(indent + "<" + n.Data)
			for _, a := range n.Attr {
				b.WriteString(" " + a.Key + `="` + html.EscapeString(a.Val) + `"`)
			}
			b.WriteString(">\n")
			depth++
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, depth)
		}
	}
	walk(doc, 0)
	return b.String()
}

// TestDocumentedHints: the help describes the limits of the type.
func TestDocumentedHints(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"Integer(min=1, max=200)":                       "1 to 200.",
		"Float(min=0)":                                  "At least 0.",
		"Float(exclusive_min=0, exclusive_max=1)":       "More than 0 and less than 1.",
		"List<Integer>(max_items=8)":                    "0 to 8 entries.",
		"Dataset(columns=[image: Tensor, label: Text])": "Needs the columns image and label.",
		`Duration(max="24h")`:                           "At most",
	} {
		schema := schemaOf(t, field("it", expression))
		c := forms.New(forms.Config{Schema: schema}).Controls()[0]
		require.Contains(t, c.Hint(), want, expression)
	}
}
