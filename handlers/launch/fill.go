package launch

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
)

// recentOffered is the number of earlier inputs that the form offers.
const recentOffered = 10

// newDraft starts a form for a version of the workflow in the path.
func (h *Pages) newDraft(r *http.Request, version string) (*draft, error) {
	name, err := url.PathUnescape(chi.URLParam(r, "name"))
	if err != nil {
		return nil, apperr.New(apperr.NotFound, "There is no such workflow.")
	}
	return h.draftOf(r, name, version)
}

// draftOf starts a form for a version of a workflow.
func (h *Pages) draftOf(r *http.Request, name, version string) (*draft, error) {
	wf, err := h.Workflows.Get(r.Context(), name)
	if err != nil {
		return nil, err
	}
	v, err := h.Workflows.Version(r.Context(), name, version)
	if err != nil {
		return nil, err
	}
	return &draft{
		workflow: wf, ref: request.WorkflowRef(r.Context(), wf.Name, wf.ID), version: v, schema: v.Definition.Inputs, values: url.Values{},
		mode: views.LaunchForm, key: newKey(), shown: v.Version, options: takeOptions(url.Values{}), saving: views.PresetForm{Whole: true},
	}, nil
}

// prefill copies the inputs of a preset, then those of an earlier execution and of the link.
func (h *Pages) prefill(r *http.Request, d *draft) error {
	link := r.URL.Query()
	taken, err := h.fillPreset(r, d, link)
	if err != nil {
		return err
	}
	inputs := taken.inputs
	var source *query.Execution
	if from := link.Get("from"); from != "" {
		e, err := h.earlier(r.Context(), from)
		if err != nil {
			return err
		}
		source, d.from = &e, &e.ID
		maps.Copy(inputs, e.Inputs)
	}
	linked, unknown := forms.FromLink(d.schema, link)
	maps.Copy(inputs, linked)
	for _, name := range undeclared(d.schema, inputs) {
		delete(inputs, name)
		unknown = append(unknown, name)
	}
	d.values = d.schema.EncodeForm(inputs, forms.Prefix)
	d.origin = taken.note(d, provenance(d, source, len(linked) > 0, unknown))
	if source != nil {
		d.options = optionsOf(source.TTL)
		labels, err := h.Index.Labels(r.Context(), []uuid.UUID{source.ID})
		if err != nil {
			return err
		}
		d.options.tags = labels[source.ID].Tags
		d.saving.Open = link.Has("save")
	}
	return nil
}

func (h *Pages) earlier(ctx context.Context, text string) (query.Execution, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return query.Execution{}, apperr.New(apperr.NotFound, "There is no execution %q to copy values from.", text)
	}
	return h.Executions.Get(ctx, id)
}

func undeclared(schema typeregistry.Schema, inputs map[string]any) []string {
	var out []string
	for name := range inputs {
		if _, ok := schema.Field(name); !ok {
			out = append(out, name)
		}
	}
	return out
}

// provenance describes the source of the values and lists those that the version lacks.
func provenance(d *draft, source *query.Execution, linked bool, unknown []string) *views.Provenance {
	if source == nil && !linked && len(unknown) == 0 {
		return nil
	}
	p := &views.Provenance{From: "Filled in from a link.", Reset: views.LaunchVersionURL(d.ref, d.version.Version)}
	if source != nil {
		p.From, p.URL = "Filled in from execution "+executionLabel(*source), views.ExecutionURL(source.ID.String())
		if linked {
			p.From += " and a link"
		}
		p.From += "."
		if source.Version != d.version.Version {
			p.Text = "It ran version " + source.Version + ". "
		}
	}
	if len(unknown) > 0 {
		p.Kind = "warn"
		p.Text += units.Plural(len(unknown), "value does", "values do") + " not exist in version " + d.version.Version + ": " + strings.Join(unknown, ", ") + ". "
	}
	return p
}

// executionLabel names an execution in a sentence.
func executionLabel(e query.Execution) string {
	if e.Name != "" {
		return "“" + e.Name + "”"
	}
	return label.ShortID(e.ID)
}

// recentInputs lists the reader's last distinct inputs of the workflow, and how they differ from
// the defaults.
func (h *Pages) recentInputs(r *http.Request, d *draft) ([]views.RecentInputs, error) {
	recent, err := h.Executions.RecentInputs(r.Context(), d.workflow.ID, d.workflow.ProjectID, recentOffered)
	if err != nil {
		return nil, err
	}
	clock := h.Page.Clock(r)
	defaults := forms.Defaults(d.schema, typeregistry.Env{Now: h.Now()})
	out := make([]views.RecentInputs, 0, len(recent))
	for _, e := range recent {
		out = append(out, views.RecentInputs{
			URL:   views.LaunchURL(d.ref) + "?" + url.Values{"from": {e.ID.String()}, "version": {d.version.Version}}.Encode(),
			Label: executionLabel(query.Execution{ID: e.ID, Name: e.Name}), State: string(e.Status), When: clock.Moment(e.CreatedAt),
			Note: forms.Particular(d.schema, e.Inputs, defaults),
		})
	}
	return out, nil
}

// formSchema is the schema of the latest version. It limits the size of files before the rest
// of the form is read.
func (h *Pages) formSchema(r *http.Request) (typeregistry.Schema, error) {
	d, err := h.newDraft(r, "")
	if err != nil {
		return typeregistry.Schema{}, err
	}
	return d.schema, nil
}
