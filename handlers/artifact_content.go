package handlers

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/artifact"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

// previewOf is the beginning of an artifact for its page. What cannot be read is a
// part of the page, not its end.
func (h *Handlers) previewOf(ctx context.Context, a artifact.Artifact) views.Preview {
	p, err := h.Artifacts.Preview(ctx, a)
	if err != nil {
		if apperr.CodeOf(err) == apperr.Internal {
			h.Log.Error("an artifact cannot be previewed", "artifact", a.ID, "error", err)
		}
		return views.Preview{Problem: apperr.MessageOf(err)}
	}
	id := a.ID.String()
	v := views.Preview{Kind: string(p.Kind), Text: p.Text, HTML: p.HTML}
	if p.Truncated {
		v.Truncated = "the beginning; download it for the rest"
	}
	switch p.Kind {
	case artifact.PreviewTable:
		v.Table = previewTable(p.Table)
		v.Truncated = ui.Plural(len(v.Table.Rows), "row", "rows")
		if p.Truncated {
			v.Truncated = "the first " + v.Truncated
		}
	case artifact.PreviewImage:
		v.Image, v.Alt = views.ArtifactDownloadURL(id)+"?inline=1", a.Name+", put out by "+a.Node
		if p.Image != nil && p.Image.Width > 0 {
			v.Truncated = fmt.Sprintf("%d × %d pixels", p.Image.Width, p.Image.Height)
		}
	case artifact.PreviewReport:
		v.Frame = views.ArtifactFrameURL(id)
	case artifact.PreviewConfusion:
		v.Matrix = confusionMatrix(p.Confusion)
	case artifact.PreviewMetrics:
		for _, m := range p.Metrics {
			v.Facts = append(v.Facts, ui.Fact{Name: m.Name, Value: m.Value})
		}
	case artifact.PreviewDirectory:
		if p.Directory != nil {
			for _, f := range p.Directory.Entries {
				v.Files = append(v.Files, ui.Fact{Name: f.Path, Value: ui.Bytes(f.Size)})
			}
		}
	case artifact.PreviewText, artifact.PreviewJSON, artifact.PreviewMarkdown, artifact.PreviewBinary:
	}
	return v
}

func previewTable(t *artifact.Table) views.PreviewTable {
	var out views.PreviewTable
	if t == nil {
		return out
	}
	for _, c := range t.Columns {
		out.Columns = append(out.Columns, views.PreviewColumn{Name: c.Name, Number: c.Numeric})
	}
	out.Rows = t.Rows
	return out
}

func confusionMatrix(c *artifact.Confusion) chart.Matrix {
	if c == nil {
		return chart.Matrix{}
	}
	counts := make([][]float64, len(c.Matrix))
	for i, row := range c.Matrix {
		for _, n := range row {
			counts[i] = append(counts[i], float64(n))
		}
	}
	return chart.NewMatrix(c.Labels, counts)
}

// artifactDownload sends the bytes of an artifact, parts of them by Range. Bytes of
// tasks are never run by a browser: they are attachments, except pictures that the
// page shows, which are sandboxed.
func (h *Handlers) artifactDownload(w http.ResponseWriter, r *http.Request) error {
	a, err := h.artifactOf(r)
	if err != nil {
		return err
	}
	if r.Method == http.MethodGet && r.URL.Query().Get("inline") == "" {
		link, err := h.Artifacts.BrowserLink(r.Context(), a)
		if err != nil {
			return err
		}
		if link != "" {
			w.Header().Set("Cache-Control", "no-store")
			http.Redirect(w, r, link, http.StatusFound) //nolint:gosec // signed by the store of this server
			return nil
		}
	}
	disposition, contentType := "attachment", "application/octet-stream"
	if r.URL.Query().Get("inline") != "" && inlineImage(a.MediaType) {
		disposition, contentType = "inline", a.MediaType
	} else if a.MediaType != "" && disposition == "attachment" {
		contentType = a.MediaType
	}
	w.Header().Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": firstOf(a.Filename, a.Name)}))
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'")
	w.Header().Set("Content-Type", contentType)
	return h.sendBlob(w, r, a)
}

func inlineImage(mediaType string) bool {
	switch mediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// artifactFrame sends an HTML report for the sandboxed frame of its page. The
// policy forbids scripts, forms and every address but data within the report, and
// lets only our own pages frame it.
func (h *Handlers) artifactFrame(w http.ResponseWriter, r *http.Request) error {
	a, err := h.artifactOf(r)
	if err != nil {
		return err
	}
	if a.Kind != "Report" {
		return apperr.New(apperr.NotFound, "This artifact is not a report.")
	}
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; frame-ancestors 'self'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	return h.sendBlob(w, r, a)
}

// sendBlob sends the bytes; the hash is their entity tag, so they are never sent twice.
func (h *Handlers) sendBlob(w http.ResponseWriter, r *http.Request, a artifact.Artifact) error {
	reader, err := h.Artifacts.Open(r.Context(), a)
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }() // only read
	if err := http.NewResponseController(w).SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("download of artifact %s: %w", a.ID, err)
	}
	w.Header().Set("ETag", `"`+a.SHA256+`"`)
	w.Header().Set("Cache-Control", "private, no-cache")
	http.ServeContent(w, r, "", a.CreatedAt, reader)
	return nil
}
