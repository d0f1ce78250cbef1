package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/flowforge/flowforge/access/auth"
)

// PreviewKind says how a preview is rendered.
type PreviewKind string

// The kinds of previews. A report is untrusted HTML: it is shown only in a sandboxed
// frame. Anything that is not safe to render is PreviewBinary.
const (
	PreviewText      PreviewKind = "text"
	PreviewJSON      PreviewKind = "json"
	PreviewImage     PreviewKind = "image"
	PreviewMarkdown  PreviewKind = "markdown"
	PreviewMetrics   PreviewKind = "metrics"
	PreviewConfusion PreviewKind = "confusion_matrix"
	PreviewReport    PreviewKind = "report"
	PreviewDirectory PreviewKind = "directory"
	PreviewBinary    PreviewKind = "binary"
)

// Preview is the start of an artifact in a form that a page can render. The field that
// belongs to Kind is set.
type Preview struct {
	Kind      PreviewKind
	Truncated bool // the artifact is longer than the preview
	Text      string
	HTML      string // of Markdown, sanitised
	Metrics   []Metric
	Confusion *Confusion
	Image     *ImageFacts
	Directory *Directory
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

// previewBytes is the maximum number of bytes read for one preview.
const previewBytes = 256 << 10

// Preview reads the beginning of an artifact. Bytes that do not match the type return
// PreviewBinary; it fails only when they cannot be read.
func (s *Service) Preview(ctx context.Context, a Artifact) (Preview, error) {
	if _, err := auth.AuthorizeIn(ctx, auth.ArtifactRead, a.ProjectID, absent(a.ID)); err != nil {
		return Preview{}, err
	}
	r, err := s.store.Open(ctx, a.SHA256)
	if err != nil {
		return Preview{}, err
	}
	defer r.Close()
	return previewOf(a, r)
}

func previewOf(a Artifact, r *Reader) (Preview, error) {
	if a.MediaType == DirectoryMediaType {
		return previewDirectory(r)
	}
	if isRaster(a.MediaType) {
		return previewImage(r), nil
	}
	head, err := io.ReadAll(io.LimitReader(r, previewBytes+1))
	if err != nil {
		return Preview{}, fmt.Errorf("preview of artifact %s: %w", a.ID, err)
	}
	truncated := len(head) > previewBytes
	if truncated {
		head = head[:previewBytes]
		for len(head) > 0 && !utf8.FullRune(head[max(0, len(head)-utf8.UTFMax):]) {
			head = head[:len(head)-1]
		}
	}
	p := previewText(a, head, truncated)
	p.Truncated = p.Truncated || truncated
	return p, nil
}

func previewText(a Artifact, head []byte, truncated bool) Preview {
	if truncated { // the last character may be cut
		head = bytes.ToValidUTF8(head, nil)
	}
	if !utf8.Valid(head) || bytes.IndexByte(head, 0) >= 0 {
		return Preview{Kind: PreviewBinary}
	}
	switch a.MediaType {
	case "text/html":
		return Preview{Kind: PreviewReport}
	case "text/markdown":
		return previewMarkdown(head)
	}
	if p, ok := previewJSON(head, truncated); ok {
		return p
	}
	return Preview{Kind: PreviewText, Text: string(head)}
}

// previewJSON recognises a confusion matrix and flat metrics by their form.
func previewJSON(head []byte, truncated bool) (Preview, bool) {
	if truncated || len(head) == 0 {
		return Preview{}, false
	}
	if p, ok := previewConfusion(head); ok {
		return p, true
	}
	if p, ok := previewMetrics(head); ok {
		return p, true
	}
	var indented bytes.Buffer
	if json.Indent(&indented, bytes.TrimSpace(head), "", "  ") != nil {
		return Preview{}, false
	}
	return Preview{Kind: PreviewJSON, Text: indented.String()}, true
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
