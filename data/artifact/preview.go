package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact/preview"
	"github.com/flowforge/flowforge/data/markdown"
)

// PreviewKind describes how a preview is rendered.
type PreviewKind string

// The kinds of previews. A report is untrusted HTML: it is shown only in a sandboxed
// frame. Anything that is not safe to render is PreviewBinary.
const (
	PreviewText      PreviewKind = "text"
	PreviewJSON      PreviewKind = "json"
	PreviewLines     PreviewKind = "json_lines"
	PreviewTable     PreviewKind = "table"
	PreviewArray     PreviewKind = "array"
	PreviewModel     PreviewKind = "model"
	PreviewNotebook  PreviewKind = "notebook"
	PreviewArchive   PreviewKind = "archive"
	PreviewImage     PreviewKind = "image"
	PreviewAudio     PreviewKind = "audio"
	PreviewVideo     PreviewKind = "video"
	PreviewPDF       PreviewKind = "pdf"
	PreviewMarkdown  PreviewKind = "markdown"
	PreviewMetrics   PreviewKind = "metrics"
	PreviewConfusion PreviewKind = "confusion_matrix"
	PreviewReport    PreviewKind = "report"
	PreviewDirectory PreviewKind = "directory"
	PreviewBinary    PreviewKind = "binary"
)

// Preview is a part of an artifact in a form that a page can render. The field that
// belongs to Kind is set.
type Preview struct {
	Kind      PreviewKind
	File      Artifact // whose content is shown: the artifact, or a file in it
	Truncated bool     // the file is longer than the preview
	Text      string   // of texts, and of JSON documents of at most 256 KiB and 1 MiB indented
	Page      *preview.TextPage
	HTML      string // of Markdown, sanitised
	Metrics   []Metric
	Confusion *Confusion
	Image     *ImageFacts
	Directory *Directory
	Tree      *preview.Tree
	Documents *preview.Documents
	Array     *preview.Array
	Archive   *preview.Archive
	Model     *preview.Model
	Notebook  *preview.Notebook
}

// Selection specifies which part of an artifact is shown. The zero value is its beginning.
type Selection struct {
	Path  string           // a file of a folder or of an archive
	At    string           // JSON: path of a value
	From  int64            // the first element of that value
	Page  preview.Position // texts and JSON Lines
	Find  string           // JSON and JSON Lines: text in names and values
	Array preview.ArrayQuery
}

// Metric is one named number of a metrics artifact.
type Metric struct {
	Name  string
	Value string
}

// Confusion is a confusion matrix: Matrix[i][j] counts items of class Labels[i] that
// were predicted as Labels[j].
type Confusion struct {
	Labels []string
	Matrix [][]int64
}

// Preview reads a part of an artifact. Bytes that do not match the type return PreviewBinary. It
// returns apperr.Invalid for a damaged file, and for a selection that does not fit it.
func (s *Service) Preview(ctx context.Context, a Artifact, sel Selection) (Preview, error) {
	var p Preview
	err := s.withPart(ctx, a, sel.Path, func(part Part, f preview.File) (err error) {
		p, err = previewOf(ctx, part, f, sel)
		p.File = part.Artifact
		return err
	})
	return p, err
}

func previewOf(ctx context.Context, part Part, f preview.File, sel Selection) (Preview, error) {
	if part.MediaType == DirectoryMediaType {
		return previewDirectory(io.NewSectionReader(f, 0, f.Size))
	}
	if _, ok := TableFormat(part.Artifact); ok {
		return Preview{Kind: PreviewTable}, nil
	}
	format := preview.Format(f, part.file(), part.MediaType)
	if part.Cut && format != "" && format != "json" && format != "jsonl" {
		return Preview{}, apperr.New(apperr.Invalid, "%s is larger than %d MiB unpacked. Download the archive to open it.", part.file(), preview.EntryBytes>>20)
	}
	p, err := previewFormat(ctx, part, f, format, sel)
	if p.Kind != "" || err != nil {
		return p, err
	}
	if kind := mediaKind(part.MediaType); kind != "" {
		return Preview{Kind: kind}, nil
	}
	if isRaster(part.MediaType) {
		return previewImage(f), nil
	}
	return previewText(ctx, part, f, sel)
}

// previewFormat shows the formats that package preview reads.
func previewFormat(ctx context.Context, part Part, f preview.File, format string, sel Selection) (Preview, error) {
	switch format {
	case "npy", "npz":
		array, err := preview.ReadArray(ctx, f, format, sel.Array)
		return Preview{Kind: PreviewArray, Array: &array}, err
	case "json":
		return previewTree(ctx, f, sel)
	case "jsonl":
		return previewDocuments(ctx, f, sel)
	case "safetensors", "onnx", "pickle", "torch":
		model, err := preview.ReadModel(ctx, f, format)
		return Preview{Kind: PreviewModel, Model: &model}, err
	case "notebook":
		return previewNotebook(f, sel)
	case "zip", "tar", "tar.gz", "tar.zst", "gz", "zst":
		archive, err := preview.ListArchive(ctx, f, format, part.file())
		return Preview{Kind: PreviewArchive, Archive: &archive}, err
	}
	return Preview{}, nil
}

// previewNotebook renders cells of a notebook. HTML that is not a table stays untrusted: it is only
// for a sandboxed frame.
func previewNotebook(f preview.File, sel Selection) (Preview, error) {
	n, err := preview.ReadNotebook(f, sel.From)
	for i := range n.Cells {
		c := &n.Cells[i]
		if c.Kind == "markdown" {
			c.HTML = previewMarkdown([]byte(c.Source)).HTML
		}
		for j := range c.Outputs {
			o := &c.Outputs[j]
			if o.Kind != "html" {
				continue
			}
			html := o.HTML
			if o.HTML = ""; strings.Contains(html, "<table") && !strings.Contains(html, "<script") && len(html) <= tableHTML {
				o.Kind, o.HTML = "table", markdown.Sanitize(html)
			}
		}
	}
	return Preview{Kind: PreviewNotebook, Notebook: &n, Truncated: int64(len(n.Cells)) < n.Total}, err
}

// tableHTML is the maximum size of a table of a notebook on its page, in bytes.
const tableHTML = 128 << 10

// NotebookHTML is the HTML of one output of a notebook. It is not trusted.
func (s *Service) NotebookHTML(ctx context.Context, a Artifact, path string, cell int64, output int) (string, error) {
	var html string
	err := s.withPart(ctx, a, path, func(part Part, f preview.File) (err error) {
		if part.Cut || preview.Format(f, part.file(), part.MediaType) != "notebook" {
			return apperr.New(apperr.Invalid, "%s is not a notebook.", part.file())
		}
		html, err = preview.NotebookHTML(f, cell, output)
		return err
	})
	return html, err
}

// previewTree shows a JSON document. Flat metrics and confusion matrices have a form of their own.
func previewTree(ctx context.Context, f preview.File, sel Selection) (Preview, error) {
	text := ""
	if f.Size <= preview.TextBytes {
		page, err := preview.ReadText(f, preview.Position{})
		if err != nil {
			return Preview{}, err
		}
		if p, ok := previewJSON([]byte(page.Text)); ok && (p.Kind != PreviewJSON || p.Text == "") && sel.At == "" && sel.Find == "" {
			return p, nil
		} else if ok {
			text = p.Text
		}
	}
	tree, err := preview.ReadTree(ctx, f, sel.At, sel.From, sel.Find)
	return Preview{Kind: PreviewJSON, Tree: &tree, Text: text, Truncated: !tree.Complete}, err
}

// previewDocuments shows lines of a JSON Lines file, or a value of one line.
func previewDocuments(ctx context.Context, f preview.File, sel Selection) (Preview, error) {
	if sel.At != "" {
		tree, err := preview.ReadDocument(ctx, f, sel.Page, sel.At, sel.From)
		return Preview{Kind: PreviewJSON, Tree: &tree}, err
	}
	documents, err := preview.ReadDocuments(ctx, f, sel.Page, sel.Find)
	return Preview{Kind: PreviewLines, Documents: &documents, Truncated: documents.Next != nil}, err
}

// previewText shows a file that no format or media type describes, if it is a text.
func previewText(ctx context.Context, part Part, f preview.File, sel Selection) (Preview, error) {
	page, err := preview.ReadText(f, sel.Page)
	if err != nil {
		return Preview{}, err
	}
	head := []byte(page.Text)
	if !page.Valid || bytes.IndexByte(head, 0) >= 0 {
		return Preview{Kind: PreviewBinary}, nil
	}
	truncated := page.Next != nil || part.Cut
	switch part.MediaType {
	case "text/html":
		return Preview{Kind: PreviewReport, Truncated: truncated}, nil
	case "text/markdown":
		p := previewMarkdown(head)
		p.Truncated = truncated
		return p, nil
	}
	if page.From.Byte == 0 {
		switch preview.SniffJSON(head, f.Size) {
		case "json":
			return previewTree(ctx, f, sel)
		case "jsonl":
			return previewDocuments(ctx, f, sel)
		}
	}
	return Preview{Kind: PreviewText, Text: page.Text, Page: &page, Truncated: truncated}, nil
}

// previewJSON recognises a confusion matrix and flat metrics by their form.
func previewJSON(head []byte) (Preview, bool) {
	if len(head) == 0 {
		return Preview{}, false
	}
	if p, ok := previewConfusion(head); ok {
		return p, true
	}
	if p, ok := previewMetrics(head); ok {
		return p, true
	}
	if indentedSize(head) > maxIndented {
		return Preview{}, false // it is shown as a tree
	}
	var indented bytes.Buffer
	if json.Indent(&indented, bytes.TrimSpace(head), "", "  ") != nil {
		return Preview{}, false
	}
	return Preview{Kind: PreviewJSON, Text: indented.String()}, true
}

// maxIndented is the maximum size of an indented JSON document, in bytes.
const maxIndented = 1 << 20

// indentedSize is at least the size of a JSON document whose elements are indented by two spaces at
// each level. A deep document of some kilobytes can have gigabytes.
func indentedSize(doc []byte) int {
	size, depth, inText := len(doc), 0, false
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '[', c == '{':
			depth++
			size += 1 + 2*depth
		case c == ',':
			size += 1 + 2*depth
		case c == ']', c == '}':
			depth = max(depth-1, 0)
			size += 1 + 2*depth
		case c == ':':
			size++
		}
	}
	return size
}

// maxClasses is the maximum size of a rendered confusion matrix.
const maxClasses = 200

func previewConfusion(head []byte) (Preview, bool) {
	var doc struct {
		Kind   string    `json:"kind"`
		Labels []string  `json:"labels"`
		Matrix [][]int64 `json:"matrix"`
	}
	if json.Unmarshal(head, &doc) != nil || doc.Kind != string(PreviewConfusion) {
		return Preview{}, false
	}
	if len(doc.Labels) == 0 || len(doc.Labels) > maxClasses || len(doc.Matrix) != len(doc.Labels) {
		return Preview{}, false
	}
	for _, row := range doc.Matrix {
		if len(row) != len(doc.Labels) {
			return Preview{}, false
		}
	}
	return Preview{Kind: PreviewConfusion, Confusion: &Confusion{Labels: doc.Labels, Matrix: doc.Matrix}}, true
}

// previewMetrics reads an object whose values are numbers, in its order.
func previewMetrics(head []byte) (Preview, bool) {
	d := json.NewDecoder(bytes.NewReader(head))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return Preview{}, false
	}
	var metrics []Metric
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return Preview{}, false
		}
		value, err := d.Token()
		number, isNumber := value.(json.Number)
		if err != nil || !isNumber {
			return Preview{}, false
		}
		metrics = append(metrics, Metric{Name: fmt.Sprint(name), Value: number.String()})
	}
	return Preview{Kind: PreviewMetrics, Metrics: metrics}, len(metrics) > 0
}
