package content

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

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
		if a.MediaType != artifact.DirectoryMediaType {
			return h.saveEntry(w, r, a, name)
		}
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
	bytesHeader(w, r, a)
	return h.sendBlob(w, r, a)
}

// bytesHeader describes bytes that a browser saves, or with inline shows on a page of ours.
func bytesHeader(w http.ResponseWriter, r *http.Request, a artifact.Artifact) {
	disposition, contentType := "attachment", cmp.Or(a.MediaType, "application/octet-stream")
	policy := "sandbox; default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'"
	if shown := artifact.InlineType(a.MediaType); shown != "" && r.URL.Query().Get("inline") != "" {
		disposition, contentType = "inline", shown
	}
	if disposition == "inline" && contentType == "application/pdf" {
		policy = documentPolicy
	}
	w.Header().Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": cmp.Or(a.Filename, a.Name)}))
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Content-Type", contentType)
}

// documentPolicy lets the viewer of the browser show a PDF in a frame of our pages. Viewers do not
// open in sandboxed frames; they run the scripts of a PDF apart from the page.
const documentPolicy = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'"

// saveEntry sends a file of an archive.
func (h *Content) saveEntry(w http.ResponseWriter, r *http.Request, a artifact.Artifact, name string) error {
	return h.Artifacts.OpenFile(r.Context(), a, name, func(part artifact.Part, content io.ReadSeeker) error {
		if part.Cut {
			return apperr.New(apperr.Invalid, "%q is too large to be unpacked here. Download the archive.", name)
		}
		bytesHeader(w, r, part.Artifact)
		w.Header().Set("Cache-Control", "private, no-cache")
		w.Header().Set("ETag", entryTag(a, name))
		http.ServeContent(w, r, "", a.CreatedAt, content)
		return nil
	})
}

// entryTag is the entity tag of a file in an artifact, whose bytes never change.
func entryTag(a artifact.Artifact, name string) string {
	sum := sha256.Sum256([]byte(a.SHA256 + "\x00" + name))
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// ReportPolicy runs the scripts of a report in their own origin, without cookies, storage or
// network access: the browser loads only content of the report itself.
const ReportPolicy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; worker-src blob:; img-src data: blob:; " +
	"style-src 'unsafe-inline'; font-src data:; frame-ancestors 'self'"

// RendererPolicy runs the page that shows values of a type in its own origin, without cookies,
// storage, forms and network access. The webrtc directive is needed because the directives about
// requests do not apply to WebRTC.
const RendererPolicy = "sandbox allow-scripts; default-src 'none'; webrtc 'block'; script-src 'unsafe-inline'; img-src data: blob:; media-src data: blob:; " +
	"style-src 'unsafe-inline'; font-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"

// Frame sends an HTML report for the sandboxed frame of its page. Only our own pages can
// frame it.
func (h *Content) Frame(w http.ResponseWriter, r *http.Request) error {
	a, err := h.Artifact(r)
	if err != nil {
		return err
	}
	name := r.URL.Query().Get("path")
	if r.URL.Query().Has("output") {
		return h.frameOutput(w, r, a, name)
	}
	if name != "" {
		return h.frameFile(w, r, a, name)
	}
	if a.Kind != "Report" && a.MediaType != "text/html" {
		return apperr.New(apperr.NotFound, "This artifact is not a report.")
	}
	reportHeader(w)
	return h.sendBlob(w, r, a)
}

func reportHeader(w http.ResponseWriter) {
	w.Header().Set("Content-Security-Policy", ReportPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
}

// frameOutput sends an HTML output of a notebook for its frame.
func (h *Content) frameOutput(w http.ResponseWriter, r *http.Request, a artifact.Artifact, name string) error {
	cell, err := strconv.ParseInt(r.URL.Query().Get("cell"), 10, 64)
	output, alsoErr := strconv.Atoi(r.URL.Query().Get("output"))
	if err != nil || alsoErr != nil {
		return apperr.New(apperr.Invalid, "cell and output must be numbers.")
	}
	html, err := h.Artifacts.NotebookHTML(r.Context(), a, name, cell, output)
	if err != nil {
		return err
	}
	reportHeader(w)
	w.Header().Set("Cache-Control", "private, no-cache")
	w.Header().Set("ETag", entryTag(a, name+"\x00"+r.URL.RawQuery))
	http.ServeContent(w, r, "", a.CreatedAt, strings.NewReader(html))
	return nil
}

// Thumbnail sends a small picture of an image. Its bytes never change, so browsers keep it.
func (h *Content) Thumbnail(w http.ResponseWriter, r *http.Request) error {
	a, err := h.Artifact(r)
	if err != nil {
		return err
	}
	name := r.URL.Query().Get("path")
	tag := entryTag(a, "thumbnail\x00"+name)
	if r.Header.Get("If-None-Match") == tag {
		w.Header().Set("Cache-Control", "private, no-cache")
		w.Header().Set("ETag", tag)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	picture, err := h.Artifacts.Thumbnail(r.Context(), a, name)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "private, no-cache")
	w.Header().Set("ETag", tag)
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
	http.ServeContent(w, r, "", a.CreatedAt, bytes.NewReader(picture))
	return nil
}

// frameFile sends an HTML file of a folder or an archive for its frame.
func (h *Content) frameFile(w http.ResponseWriter, r *http.Request, a artifact.Artifact, name string) error {
	return h.Artifacts.OpenFile(r.Context(), a, name, func(part artifact.Part, content io.ReadSeeker) error {
		if part.MediaType != "text/html" {
			return apperr.New(apperr.NotFound, "This file is not a report.")
		}
		reportHeader(w)
		w.Header().Set("Cache-Control", "private, no-cache")
		w.Header().Set("ETag", entryTag(a, name))
		http.ServeContent(w, r, "", a.CreatedAt, content)
		return nil
	})
}

// sendBlob sends the bytes. The hash is the entity tag, so browsers do not load them twice.
func (h *Content) sendBlob(w http.ResponseWriter, r *http.Request, a artifact.Artifact) error {
	reader, err := h.Artifacts.Open(r.Context(), a)
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }() // only read
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
