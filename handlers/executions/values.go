package executions

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// valueOf formats a value by its type: a reference is a link, a composite value expandable
// JSON.
func valueOf(name string, t *typeregistry.Type, v any) views.Value {
	value := builtInValue(name, t, v)
	value.Renderer = rendererOf(name, t, v)
	return value
}

// rendererOf is the page of the type of a value; nil without one.
func rendererOf(name string, t *typeregistry.Type, v any) *ui.Renderer {
	for t.Kind == typeregistry.KindOptional {
		t = t.Elem
	}
	if t.Page == nil || v == nil {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	r := &ui.Renderer{
		URL: forms.RendererURL(t.Page.Type, t.Page.File), Type: t.Page.Type, Kind: string(t.Kind), Value: string(text), Title: name + ", " + t.Page.Type,
	}
	// Only values of these types have artifacts that the engine checked: other objects can name any.
	if ref, ok := v.(map[string]any); ok && t.IsBlob() {
		if id, ok := ref["$artifact"].(string); ok && uuid.Validate(id) == nil {
			r.Artifacts = []ui.RendererArtifact{{ID: id, URL: views.ArtifactDownloadURL(id), Name: name}}
		}
	}
	return r
}

func builtInValue(name string, t *typeregistry.Type, v any) views.Value {
	value := views.Value{Name: name, Type: t.Name(), Text: ui.Short(t.Render(v), 300)}
	switch {
	case v == nil:
		value.Text = "none"
	case value.Text == "":
		value.Text = "empty text"
	}
	if n, ok := v.(json.Number); ok && t.Kind == typeregistry.KindFloat {
		if f, err := n.Float64(); err == nil && len(n) > roundedFrom {
			value.Text, value.Exact = ui.Float(f), value.Text
		}
	}
	if ref, ok := v.(map[string]any); ok {
		if id, ok := ref["$artifact"].(string); ok {
			value.URL, value.Artifact, value.Text = views.ArtifactURL(id), id, "an artifact"
			return value
		}
	}
	if ref, ok := v.(map[string]any); ok && ref["$catalogue"] != nil {
		if entry, ok := ref["$catalogue"].(string); ok {
			value.URL = label.EntryURL(t, entry)
		}
		return value
	}
	switch v := v.(type) {
	case map[string]any, []any:
		value.Code = label.Indented(v)
		if value.Files, value.MoreFiles = filesIn(v); len(value.Files) > 0 {
			value.Text = "The value as JSON"
		}
		if n := len(value.Code); n > codeShown {
			cut := strings.LastIndexByte(value.Code[:codeShown], '\n')
			value.Code = value.Code[:cut] + "\n…"
			value.Note = "the first " + units.Bytes(codeShown) + " of " + units.Bytes(int64(n)) + "; the API returns the full value"
		}
	case string:
		if strings.Contains(v, "\n") || len(v) > 300 {
			value.Code = v
		}
	}
	return value
}

// filesShown is the maximum number of files that a page lists of one value.
const filesShown = 50

// filesIn lists the artifacts in a composite value, such as those of a List<File>.
func filesIn(value any) (files []views.Value, more string) {
	var collect func(at string, v any)
	collect = func(at string, v any) {
		switch v := v.(type) {
		case []any:
			for i, item := range v {
				collect(at+"["+strconv.Itoa(i)+"]", item)
			}
		case map[string]any:
			if id, ok := v["$artifact"].(string); ok {
				files = append(files, views.Value{URL: views.ArtifactURL(id), Artifact: id, Text: strings.TrimPrefix(at, ".")})
				return
			}
			for _, key := range slices.Sorted(maps.Keys(v)) {
				collect(at+"."+key, v[key])
			}
		}
	}
	collect("", value)
	if n := len(files) - filesShown; n > 0 {
		return files[:filesShown], "and " + strconv.Itoa(n) + " more"
	}
	return files, ""
}

// codeShown is the maximum size of a composite value on a page. The list of a large fan-out
// can be much longer.
const codeShown = 8 << 10

// roundedFrom is the length from which a number is rounded; its tooltip keeps all digits.
const roundedFrom = 8

// artifactNames maps the ids in values to the names of artifacts. It exists for the lifetime
// of a page or its stream.
type artifactNames struct {
	h     *Pages
	known map[string]views.Value
}

func (h *Pages) artifactNames() *artifactNames {
	return &artifactNames{h: h, known: map[string]views.Value{}}
}

// resolve sets the name and size of the artifact of every reference in values. A reference to a
// removed or unreadable artifact is unchanged.
func (n *artifactNames) resolve(ctx context.Context, values []views.Value) []views.Value {
	for i := range values {
		n.resolve(ctx, values[i].Files)
		id := values[i].Artifact
		if id == "" {
			continue
		}
		known, ok := n.known[id]
		if !ok {
			known = values[i]
			if key, err := uuid.Parse(id); err == nil {
				if a, err := n.h.Artifacts.Get(ctx, key); err == nil {
					known.Text, known.Note = a.Node+"."+a.Name, units.Bytes(a.Size)
				}
			}
			n.known[id] = known
		}
		values[i].Text, values[i].Note = known.Text, known.Note
	}
	return values
}
