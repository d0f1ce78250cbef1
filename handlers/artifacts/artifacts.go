package artifacts

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const (
	artifactPageSize = 50

	siblingsShown     = 12
	artifactHashShown = 8
)

// artifacts lists artifacts by type and workflow.
func (h *Pages) artifacts(w http.ResponseWriter, r *http.Request) error {
	q, ctx := r.URL.Query(), r.Context()
	filter := artifact.Filter{Workflow: q.Get("workflow"), Type: q.Get("type"), Query: q.Get("q"), Where: q.Get("where"), After: q.Get("after"), Limit: artifactPageSize}
	m := views.Artifacts{Page: h.Page.Base(r, "Artifacts", views.SectionArtifacts), Query: filter.Query, Where: filter.Where, Kinds: kindOptions(filter.Type), ClearURL: views.ArtifactsURL()}
	if text := q.Get("execution"); text != "" {
		id, err := request.ParseID(text, "execution")
		if err != nil {
			return err
		}
		filter.ExecutionID = &id
		m.Hidden = [][2]string{{"execution", text}}
	}
	page, err := h.findArtifacts(ctx, filter)
	if fields := apperr.FieldsOf(err); len(fields) > 0 && fields[0].Path == "where" {
		m.Problem, err = fields[0].Message, nil
	}
	if err != nil {
		return err
	}
	flows, err := h.Workflows.List(ctx, workflow.Filter{Development: true, Limit: 200})
	if err != nil {
		return err
	}
	m.Flows = label.WorkflowOptions(flows.Items, filter.Workflow)
	m.Chips = artifactChips(q, filter)
	clock := h.Page.Clock(r)
	for _, a := range page.Artifacts {
		m.Rows = append(m.Rows, Row(clock, a))
	}
	m.Pager.Text = units.Plural(len(m.Rows), "artifact", "artifacts")
	m.ViewURL = label.ListURL(views.ArtifactsURL(), q, "view", "gallery")
	if q.Get("view") == "gallery" {
		m.Gallery, m.ViewURL = true, label.ListURL(views.ArtifactsURL(), q, "view", "")
		m.Hidden = append(m.Hidden, [2]string{"view", "gallery"})
		m.Images = galleryOf(page.Artifacts)
		m.Pager.Text = units.Plural(len(m.Images), "image", "images") + " of " + m.Pager.Text
	}
	if page.Next != "" {
		m.Pager.Older = label.ListURL(views.ArtifactsURL(), q, "after", page.Next)
	}
	if filter.After != "" {
		m.Pager.Newer = label.ListURL(views.ArtifactsURL(), q, "after", "")
	}
	return web.Render(w, r, http.StatusOK, views.ArtifactsPage(m))
}

// galleryOf are the images of a list of artifacts.
func galleryOf(list []artifact.Artifact) []views.GalleryImage {
	var images []views.GalleryImage
	for _, a := range list {
		if !strings.HasPrefix(artifact.InlineType(a.MediaType), "image/") {
			continue
		}
		id := a.ID.String()
		name := a.Name + ", " + a.Node + " of " + label.ShortID(a.ExecutionID)
		images = append(images, views.GalleryImage{Name: name, URL: views.ArtifactURL(id), Full: views.ArtifactInlineURL(id, ""), Thumbnail: thumbnailOf(a)})
	}
	return images
}

// thumbnailOf is the address of the small picture of an artifact.
func thumbnailOf(a artifact.Artifact) string {
	if a.MediaType == "image/webp" {
		return views.ArtifactInlineURL(a.ID.String(), "")
	}
	return views.ArtifactThumbnailURL(a.ID.String(), "")
}

// findArtifacts lists artifacts. A full SHA-256 as text finds the artifacts with that hash.
func (h *Pages) findArtifacts(ctx context.Context, filter artifact.Filter) (artifact.Page, error) {
	hash := strings.ToLower(strings.TrimSpace(filter.Query))
	if _, err := hex.DecodeString(hash); err != nil || len(hash) != 64 {
		return h.Artifacts.List(ctx, filter)
	}
	found, err := h.Artifacts.ByHash(ctx, hash)
	if apperr.Is(err, apperr.NotFound) {
		return artifact.Page{}, nil
	}
	return artifact.Page{Artifacts: found}, err
}

func artifactChips(q url.Values, f artifact.Filter) []views.Chip {
	var chips []views.Chip
	add := func(key, name, value string) {
		if value != "" {
			chips = append(chips, views.Chip{Name: name, Value: value, RemoveURL: label.ListURL(views.ArtifactsURL(), q, key, "")})
		}
	}
	add("q", "Text", f.Query)
	add("where", "Condition", f.Where)
	add("type", "Type", f.Type)
	add("workflow", "Workflow", f.Workflow)
	if f.ExecutionID != nil {
		add("execution", "Execution", label.ShortID(*f.ExecutionID))
	}
	return chips
}

// kindOptions are the kinds of artifacts.
func kindOptions(chosen string) []ui.Option {
	kinds := []typeregistry.Kind{
		typeregistry.KindModel, typeregistry.KindDataset, typeregistry.KindFeatureSet, typeregistry.KindTable, typeregistry.KindImage,
		typeregistry.KindReport, typeregistry.KindMetrics, typeregistry.KindFile, typeregistry.KindDirectory, typeregistry.KindText,
	}
	options := []ui.Option{{Name: "Any type", Selected: chosen == ""}}
	for _, k := range kinds {
		options = append(options, ui.Option{Value: string(k), Name: string(k), Selected: string(k) == chosen})
	}
	return options
}

// Row is an artifact as lists show it.
func Row(clock ui.Clock, a artifact.Artifact) views.ArtifactRow {
	id := a.ID.String()
	row := views.ArtifactRow{
		ID: id, Name: a.Name, URL: views.ArtifactURL(id), Type: typeName(a), Icon: views.KindIcon(a.Kind), Size: units.Bytes(a.Size),
		Node: a.Node, Workflow: a.WorkflowName, Created: clock.Moment(a.CreatedAt),
		DownloadURL: views.ArtifactDownloadURL(id), Filename: a.Filename, MediaType: a.MediaType, FullHash: a.SHA256,
	}
	row.Hash = ui.Short(a.SHA256, artifactHashShown)
	if a.ExecutionID != uuid.Nil {
		row.Execution, row.ExecutionURL = label.ShortID(a.ExecutionID), views.ExecutionURL(a.ExecutionID.String())
		row.NodeURL = views.NodeURL(a.ExecutionID.String(), a.Node)
	}
	return row
}

// typeName is the type without its parameters.
func typeName(a artifact.Artifact) string {
	name, _, _ := strings.Cut(a.Type, "(")
	return cmp.Or(name, a.Kind)
}

// artifact shows one artifact: its facts, its lineage and a preview.
func (h *Pages) artifact(w http.ResponseWriter, r *http.Request) error {
	a, err := h.Content.Artifact(r)
	if err != nil {
		return err
	}
	return h.render(w, r, http.StatusOK, a, nil)
}

// render shows an artifact. refused is why its registration was refused, or nil.
func (h *Pages) render(w http.ResponseWriter, r *http.Request, status int, a artifact.Artifact, refused error) error {
	ctx, clock := r.Context(), h.Page.Clock(r)
	m := views.Artifact{
		Page: h.Page.Base(r, a.Name, views.SectionArtifacts, views.Crumb{Name: "Artifacts", URL: views.ArtifactsURL()}),
		Row:  Row(clock, a),
	}
	created := clock.Moment(a.CreatedAt)
	m.Facts = []ui.Fact{
		{Name: "Produced by", Value: a.Node, URL: m.Row.NodeURL, Note: fmt.Sprintf("attempt %d", a.Attempt)},
		{Name: "Execution", Value: a.WorkflowName + " " + m.Row.Execution, URL: m.Row.ExecutionURL},
		{Name: "Created", Moment: &created},
		{Name: "Size", Value: units.Bytes(a.Size)},
		{Name: "Media type", Value: cmp.Or(a.MediaType, "unknown"), Mono: true},
		{Name: "File name", Value: cmp.Or(a.Filename, "none")},
	}
	m.Metadata = metadataFacts(a.Metadata)
	m.Python = pythonOf(a)
	m.Preview = h.previewOf(r, a, r.URL.Query())
	m.Register = registerForm(ctx, a, r.PostForm, refused)
	err := h.offerNames(ctx, &m.Register, typeregistry.Kind(a.Kind))
	if err != nil {
		return err
	}
	if m.Lineage, err = h.lineage(ctx, clock, a); err != nil {
		return err
	}
	siblings, err := h.Artifacts.List(ctx, artifact.Filter{ExecutionID: &a.ExecutionID, Limit: siblingsShown + 1})
	if err != nil {
		return err
	}
	for _, s := range siblings.Artifacts {
		if s.ID != a.ID && len(m.Siblings) < siblingsShown {
			m.Siblings = append(m.Siblings, Row(clock, s))
		}
	}
	return web.Render(w, r, status, views.ArtifactPage(m))
}

// pythonOf is the code that reads an artifact: its value if its file name has the extension of a
// known format, otherwise the path of the file.
func pythonOf(a artifact.Artifact) string {
	if a.ExecutionID == uuid.Nil {
		return ""
	}
	name, read := "path", ".path"
	loaded := []string{".json", ".csv", ".tsv", ".parquet", ".arrow", ".feather", ".npz", ".npy", ".pt", ".pth"}
	if a.Kind == string(typeregistry.KindReport) || slices.Contains(loaded, strings.ToLower(path.Ext(a.Filename))) {
		name, read = "value", ".load()"
	}
	return fmt.Sprintf("import flowforge\n\nrun = flowforge.Run(%q)\n%s = run.artifacts[%q]%s\n", a.ExecutionID.String(), name, a.Node+"."+a.Name, read)
}

func metadataFacts(metadata map[string]any) []ui.Fact {
	var facts []ui.Fact
	for k, v := range metadata {
		text := label.Indented(v)
		if s, ok := v.(string); ok {
			text = s
		}
		facts = append(facts, ui.Fact{Name: k, Value: ui.Short(text, 200)})
	}
	slices.SortFunc(facts, func(a, b ui.Fact) int { return strings.Compare(a.Name, b.Name) })
	return facts
}

// lineage leads from the workflow to the artifact. The artifact remains when its execution
// is removed.
func (h *Pages) lineage(ctx context.Context, clock ui.Clock, a artifact.Artifact) ([]views.LineageStep, error) {
	id := a.ExecutionID.String()
	steps := []views.LineageStep{{What: "Workflow", Name: a.WorkflowName, URL: views.WorkflowURL(a.WorkflowName)}}
	e, err := h.Executions.Get(ctx, a.ExecutionID)
	switch {
	case err == nil:
		version, err := h.Workflows.VersionByID(ctx, e.VersionID)
		if err != nil {
			return nil, err
		}
		steps[0].Name += " " + e.Version
		steps[0].URL = views.VersionURL(request.WorkflowRef(ctx, e.WorkflowName, e.WorkflowID), e.Version)
		steps = append(steps, inputSteps(e.Inputs, version.Definition.Inputs.Fields)...)
		steps = append(steps,
			views.LineageStep{What: "Execution", Name: label.ShortID(e.ID), URL: views.ExecutionURL(id), Note: clock.Moment(e.CreatedAt).Text + ", by " + e.SubmittedBy.Name},
			views.LineageStep{What: "Node", Name: a.Node, URL: views.NodeURL(id, a.Node), Note: fmt.Sprintf("attempt %d", a.Attempt)})
	case !apperr.Is(err, apperr.NotFound):
		return nil, err
	}
	return append(steps, views.LineageStep{What: "Artifact", Name: a.Name}), nil
}

// inputSteps are the input data of an execution, in the order of the schema.
func inputSteps(inputs map[string]any, fields []typeregistry.Field) []views.LineageStep {
	var steps []views.LineageStep
	for _, f := range fields {
		ref, ok := inputs[f.Name].(map[string]any)
		if !ok {
			continue
		}
		step := views.LineageStep{What: "Input " + f.Name}
		if id, ok := ref["$artifact"].(string); ok {
			step.Name, step.URL = "an earlier artifact", views.ArtifactURL(id)
		} else if entry, ok := ref["$catalogue"].(string); ok {
			step.Name, step.URL = entry, label.EntryURL(f.Type, entry)
		} else if file, ok := ref["name"].(string); ok && ref["$file"] != nil {
			step.Name = file
		} else {
			continue
		}
		steps = append(steps, step)
	}
	return steps
}
