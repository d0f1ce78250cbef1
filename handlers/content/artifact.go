package content

import (
	"cmp"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/handlers/request"
)

// Download sends the bytes of an artifact; see Save.
func (h *Content) Download(w http.ResponseWriter, r *http.Request) error {
	a, err := h.Artifact(r)
	if err != nil {
		return err
	}
	return h.Save(w, r, a)
}

// Save sends the bytes of an artifact, or of the file of a folder that the query names as path,
// and supports Range. A browser must never run the output of tasks: it is sent as an attachment,
// except images on pages, which are sandboxed.
func (h *Content) Save(w http.ResponseWriter, r *http.Request, a artifact.Artifact) error {
	if name := r.URL.Query().Get("path"); name != "" {
		var err error
		if a, err = h.Artifacts.FileOf(r.Context(), a, name); err != nil {
			return err
		}
	}
	if r.Method == http.MethodGet && r.URL.Query().Get("inline") == "" {
		link, err := h.Artifacts.BrowserLink(r.Context(), a)
		if err != nil {
			return err
		}
		if link != "" {
			w.Header().Set("Cache-Control", "no-store")
			http.Redirect(w, r, link, http.StatusFound)
			return nil
		}
	}
	disposition, contentType := "attachment", "application/octet-stream"
	if r.URL.Query().Get("inline") != "" && inlineImage(a.MediaType) {
		disposition, contentType = "inline", a.MediaType
	} else if a.MediaType != "" && disposition == "attachment" {
		contentType = a.MediaType
	}
	w.Header().Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": cmp.Or(a.Filename, a.Name)}))
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

// ReportPolicy runs the scripts of a report in their own origin, without cookies, storage or
// network access: the browser loads only content of the report itself.
const ReportPolicy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; worker-src blob:; img-src data: blob:; " +
	"style-src 'unsafe-inline'; font-src data:; frame-ancestors 'self'"

// Frame sends an HTML report for the sandboxed frame of its page. Only our own pages can
// frame it.
func (h *Content) Frame(w http.ResponseWriter, r *http.Request) error {
	a, err := h.Artifact(r)
	if err != nil {
		return err
	}
	if a.Kind != "Report" {
		return apperr.New(apperr.NotFound, "This artifact is not a report.")
	}
	w.Header().Set("Content-Security-Policy", ReportPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	return h.sendBlob(w, r, a)
}

// sendBlob sends the bytes. The hash is the entity tag, so browsers do not load them twice.
func (h *Content) sendBlob(w http.ResponseWriter, r *http.Request, a artifact.Artifact) error {
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

// Artifact reads the artifact that r names.
func (h *Content) Artifact(r *http.Request) (artifact.Artifact, error) {
	id, err := request.ParseID(request.PathValue(r, "id"), "artifact")
	if err != nil {
		return artifact.Artifact{}, err
	}
	return h.Artifacts.Get(r.Context(), id)
}
