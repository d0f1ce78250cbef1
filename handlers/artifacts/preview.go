package artifacts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/artifact/preview"
	"github.com/flowforge/flowforge/handlers/source"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// highlightedBytes limits texts that are shown as source code with line numbers.
const highlightedBytes = 64 << 10

// maxFindRunes is the maximum length of a text that a preview searches.
const maxFindRunes = 200

// part is the part of an artifact that an address selects.
type part struct {
	id    string // of the artifact
	name  string // of the artifact
	query url.Values
	clock ui.Clock
}

// link is the address with other values, as pairs; it keeps the file that is shown.
func (p part) link(pairs ...string) string {
	next := url.Values{}
	if path := p.query.Get("path"); path != "" {
		next.Set("path", path)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if next.Del(pairs[i]); pairs[i+1] != "" {
			next.Set(pairs[i], pairs[i+1])
		}
	}
	return views.PreviewURL(p.id, next)
}

// form is a form that keeps the values of some parameters.
func (p part) form(keys ...string) views.PreviewForm {
	f := views.PreviewForm{URL: views.ArtifactURL(p.id)}
	for _, key := range append([]string{"path"}, keys...) {
		if v := p.query.Get(key); v != "" {
			f.Hidden = append(f.Hidden, [2]string{key, v})
		}
	}
	return f
}

// selection reads an address.
func (p part) selection() (artifact.Selection, error) {
	find, sel := []rune(strings.TrimSpace(p.query.Get("find"))), artifact.Selection{Path: p.query.Get("path"), At: p.query.Get("at")}
	sel.Find = string(find[:min(len(find), maxFindRunes)])
	sel.From, _ = strconv.ParseInt(p.query.Get("from"), 10, 64)
	sel.Array = arrayQuery(p.query)
	var err error
	sel.Page, err = preview.ParsePosition(p.query.Get("page"))
	return sel, err
}

// Preview is the beginning of an artifact, for other pages.
func (h *Pages) Preview(r *http.Request, a artifact.Artifact) views.Preview {
	return h.previewOf(r, a, url.Values{})
}

// previewOf is the part that query selects, or the beginning, of an artifact for its page. A preview that cannot be read
// does not prevent the rest of the page.
func (h *Pages) previewOf(r *http.Request, a artifact.Artifact, query url.Values) views.Preview {
	p := h.builtIn(r, a, query)
	if query.Get("path") == "" {
		p.Renderer = h.renderer(r.Context(), a)
	}
	return p
}

// renderer is the page of the type of an artifact; nil without one.
func (h *Pages) renderer(ctx context.Context, a artifact.Artifact) *ui.Renderer {
	registry, err := h.Catalogue.Types(ctx)
	if err != nil {
		return nil // the built-in view remains
	}
	t, err := registry.Parse(a.Type)
	if err != nil || t.Page == nil {
		return nil
	}
	id := a.ID.String()
	value, err := json.Marshal(map[string]string{"$artifact": id})
	if err != nil {
		return nil
	}
	return &ui.Renderer{
		URL: forms.RendererURL(t.Page.Type, t.Page.File), Type: t.Page.Type, Kind: string(t.Kind), Value: string(value), Title: a.Name + ", " + t.Page.Type,
		Artifacts: []ui.RendererArtifact{{ID: id, URL: views.ArtifactDownloadURL(id), Name: cmp.Or(a.Filename, a.Name), MediaType: a.MediaType, Size: a.Size}},
	}
}

// builtIn is the preview by the kind of the artifact.
func (h *Pages) builtIn(r *http.Request, a artifact.Artifact, query url.Values) views.Preview {
	ctx := r.Context()
	at := part{id: a.ID.String(), name: a.Name, query: query, clock: h.Page.Clock(r)}
	if _, ok := artifact.TableFormat(a); ok && query.Get("path") == "" {
		return h.tableOf(ctx, a, query)
	}
	sel, err := at.selection()
	var p artifact.Preview
	if err == nil {
		p, err = h.Artifacts.Preview(ctx, a, sel)
	}
	var v views.Preview
	switch {
	case err != nil:
		v = h.noPreview(a, err)
	case p.Kind == artifact.PreviewTable:
		v = h.tableOf(ctx, a, query)
	default:
		v = shown(a, at, sel, p)
	}
	v.Where = at.where()
	if len(v.Where) > 0 {
		v.DownloadURL = views.ArtifactFileURL(at.id, sel.Path)
	}
	return v
}

// where leads from the artifact to the file that is shown.
func (p part) where() []views.Crumb {
	path := p.query.Get("path")
	if path == "" {
		return nil
	}
	return []views.Crumb{{Name: p.name, URL: views.ArtifactURL(p.id)}, {Name: path}}
}

func shown(a artifact.Artifact, at part, sel artifact.Selection, p artifact.Preview) views.Preview {
	v := views.Preview{Kind: string(p.Kind), Text: p.Text, HTML: p.HTML}
	if p.Truncated {
		v.Truncated = "beginning only; download the artifact for the rest"
	}
	switch p.Kind {
	case artifact.PreviewText:
		textPage(&v, at, p)
	case artifact.PreviewJSON:
		v.Truncated = units.Bytes(p.File.Size)
		v.Tree = treeOf(at, sel, p.Tree)
	case artifact.PreviewLines:
		v.Truncated = units.Bytes(p.File.Size)
		v.Lines = linesOf(at, sel, p.Documents)
	case artifact.PreviewArray:
		v.Truncated = ""
		v.Array = arrayOf(at, p.Array)
	case artifact.PreviewModel:
		v.Model, v.Truncated = modelOf(at, sel, p.Model), modelFormat(p.Model)
	case artifact.PreviewNotebook:
		v.Notebook, v.Truncated = notebookOf(at, p.Notebook), units.Plural(p.Notebook.Total, "cell", "cells")
	case artifact.PreviewArchive:
		v.List = entriesOf(at, sel, p.Archive)
		v.Truncated = units.Plural(len(p.Archive.Entries), "entry", "entries")
	case artifact.PreviewDirectory:
		v.List = filesOf(at, sel, p.Directory)
		v.Truncated = units.Plural(len(p.Directory.Entries), "file", "files")
	case artifact.PreviewImage, artifact.PreviewAudio, artifact.PreviewVideo, artifact.PreviewPDF:
		media(&v, a, at, sel, p)
	case artifact.PreviewReport:
		v.Frame = views.ArtifactFrameURL(at.id)
		if sel.Path != "" {
			v.Frame += "?" + url.Values{"path": {sel.Path}}.Encode()
		}
	case artifact.PreviewConfusion:
		v.Matrix = confusionMatrix(p.Confusion)
	case artifact.PreviewMetrics:
		for _, m := range p.Metrics {
			v.Facts = append(v.Facts, ui.Fact{Name: m.Name, Value: m.Value})
		}
	}
	return v
}

// media shows what a browser draws or plays.
func media(v *views.Preview, a artifact.Artifact, at part, sel artifact.Selection, p artifact.Preview) {
	v.Image, v.Alt, v.Truncated = views.ArtifactInlineURL(at.id, sel.Path), cmp.Or(sel.Path, a.Name)+", produced by "+a.Node, units.Bytes(p.File.Size)
	if p.Image != nil && p.Image.Width > 0 {
		v.Truncated = fmt.Sprintf("%d × %d pixels", p.Image.Width, p.Image.Height)
		if p.Image.Orientation > 1 {
			v.Truncated += ", rotated according to its EXIF data"
		}
	}
}

// textPage shows a page of a text; source code and logs have line numbers.
func textPage(v *views.Preview, at part, p artifact.Preview) {
	page := p.Page
	if page == nil {
		return
	}
	v.Truncated = ""
	if page.Next != nil || page.From.Byte > 0 {
		v.Pager = ui.Pager{InOrder: true, Text: "Bytes " + units.Number(page.From.Byte) + " to " + units.Number(page.From.Byte+int64(len(page.Text))) + " of " + units.Number(p.File.Size)}
		if page.Next != nil {
			v.Pager.Older = at.link("page", page.Next.String())
		}
		if page.From.Byte > 0 {
			v.Pager.Newer = at.link()
		}
	}
	if name := cmp.Or(p.File.Filename, p.File.Name); len(page.Text) <= highlightedBytes && source.Highlights(name) {
		v.Source = &views.Source{Name: name, ID: "L", Lines: source.Lines(name, page.Text, int(page.First))}
	}
}

// noPreview explains why an artifact has no preview.
func (h *Pages) noPreview(a artifact.Artifact, err error) views.Preview {
	if apperr.CodeOf(err) == apperr.Internal {
		h.Log.Error("an artifact cannot be previewed", "artifact", a.ID, "error", err)
	}
	return views.Preview{Problem: apperr.MessageOf(err)}
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
