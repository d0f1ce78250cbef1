package registry

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/registry"
	"github.com/flowforge/flowforge/engine/comparison/model"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// typed are the values of a refused form.
type typed struct {
	failed            string
	stage             registry.Stage
	reason            string
	policy            bool
	approval, propose bool
	rules             []views.ModelRule
	more              bool // the form requests a row for another rule
	rulesError        string
}

// render shows a model and one version. With "" it selects the version of the newest open
// request, or else the newest version.
func (h *Pages) render(w http.ResponseWriter, r *http.Request, status int, version string, t typed) error {
	model, err := h.Registry.Get(r.Context(), request.PathValue(r, "name"), r.URL.Query().Get("after"))
	if err != nil {
		return err
	}
	if version == "" && len(model.Requests) > 0 {
		version = model.Requests[0].Version
	}
	x := &shown{model: model, clock: h.Page.Clock(r), version: &model.Versions[0]}
	if version != "" {
		v, err := h.Models.Find(r.Context(), model, version)
		switch {
		case err == nil:
			x.version = v
		case r.Method == http.MethodGet || !apperr.Is(err, apperr.NotFound):
			return err
		}
	}
	if x.compared, err = h.Models.Of(r.Context(), model, *x.version, r.URL.Query().Get("against")); err != nil {
		return err
	}
	chosen := x.row(*x.version)
	source, err := h.source(r.Context(), *x.version)
	if err != nil {
		return err
	}
	ref := model.Name + "@" + x.version.Version
	chosen.Facts = slices.Concat([]ui.Fact{{Name: "Reference", Value: ref, Mono: true, Copy: ref}}, chosen.Facts, source)
	m := views.Model{
		Page: h.Page.Base(r, model.Name, views.SectionModels, views.Crumb{Name: "Models", URL: views.ModelsURL()}),
		Name: model.Name, Python: pythonOf(model.Name, *x.version), Versions: units.Plural(len(model.Versions), "version", "versions"), Failed: t.failed, Done: doneWords(r.URL.Query().Get("done")),
		Stages: x.stages(), Chosen: chosen, Compared: x.comparison(), Signature: x.signature(), Requests: x.requests(), Aliases: x.aliases(),
		History: x.history(), Policy: x.policy(t), Reason: t.reason, LineageURL: views.LineageURL("model:"+ref, nil),
	}
	for _, v := range model.Versions {
		m.Rows = append(m.Rows, x.row(v))
	}
	if model.More != "" {
		m.Versions = "more than " + m.Versions
		m.Older.Older = views.ModelURL(model.Name, "") + "?after=" + model.More
	}
	m.Older.Text = units.Plural(len(m.Rows), "version", "versions")
	if p := x.compared.Against; p != nil {
		m.Against, m.Changes = p.Version, x.compared.Signature
	}
	if model.MayChange {
		m.MoveURL, m.AliasURL = views.ModelFormURL(model.Name, "stage"), views.ModelFormURL(model.Name, "aliases")
		m.MoveTo = moveOptions(x.version.Stage, t.stage)
	}
	return web.Render(w, r, status, views.ModelPage(m))
}

// source names the execution that produced a version, if the caller may read its artifact.
func (h *Pages) source(ctx context.Context, v registry.Version) ([]ui.Fact, error) {
	if v.From == nil {
		return nil, nil
	}
	a, err := h.Artifacts.Get(ctx, *v.From)
	if apperr.Is(err, apperr.NotFound) || apperr.Is(err, apperr.Forbidden) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []ui.Fact{{Name: "Execution", Value: a.WorkflowName + " " + label.ShortID(a.ExecutionID), URL: views.ExecutionURL(a.ExecutionID.String())}}, nil
}

func doneWords(done string) string {
	return map[string]string{
		"moved": "The version was moved.", "requested": "The request is waiting for another person.", "alias": "The aliases were changed.",
		"decided": "The decision was recorded.", "policy": "The policy was saved.",
	}[done]
}

func moveOptions(current, chosen registry.Stage) []ui.Option {
	var options []ui.Option
	for _, s := range []registry.Stage{registry.Production, registry.Staging, registry.Archived, registry.None} {
		if s != current {
			options = append(options, ui.Option{Value: string(s), Name: stageName(s), Selected: s == chosen})
		}
	}
	return options
}

func stageName(s registry.Stage) string {
	if s == registry.None {
		return "No stage"
	}
	return strings.ToUpper(string(s[:1])) + string(s[1:])
}

// shown turns a model into what its page shows.
type shown struct {
	model    registry.Model
	version  *registry.Version
	compared model.Comparison
	clock    ui.Clock
}

func (x *shown) url(version string) string { return views.ModelURL(x.model.Name, version) }

// stages are the cards of production, of what waits, and of staging.
func (x *shown) stages() []views.ModelStage {
	live := views.ModelStage{Class: "stage-old", State: "PENDING", Title: "Production", Version: "None", Note: "No version is in production."}
	if p := x.model.Production; p != nil {
		live = views.ModelStage{Class: "stage-live", State: "SUCCEEDED", Title: "Production", Version: p.Version, URL: x.url(p.Version), Note: joinNotes(metric(p.Entry), x.since(p))}
	}
	next := views.ModelStage{Class: "stage-old", State: "PENDING", Title: "Waiting for approval", Version: "None"}
	if len(x.model.Requests) > 0 {
		q := x.model.Requests[0]
		next = views.ModelStage{Class: "stage-next", State: "READY", Title: "Waiting for approval", Version: q.Version, URL: x.url(q.Version), Note: "for " + string(q.Stage) + ", requested by " + q.By}
	}
	staging := views.ModelStage{Class: "stage-old", State: "PENDING", Title: "Staging", Version: "None"}
	for i := range x.model.Versions {
		if v := &x.model.Versions[i]; v.Stage == registry.Staging {
			staging.Version, staging.URL, staging.Note = v.Version, x.url(v.Version), joinNotes(metric(v.Entry), x.since(v))
			break
		}
	}
	return []views.ModelStage{live, next, staging}
}

func joinNotes(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

func (x *shown) since(v *registry.Version) string {
	if v.ChangedAt == nil {
		return ""
	}
	return "since " + x.clock.Moment(*v.ChangedAt).Text
}

// metric is the most informative metric of a version: its accuracy, or else the first one.
func metric(e catalogue.Entry) string {
	rows := registry.Compare(catalogue.Entry{}, e, nil)
	if len(rows) == 0 {
		return ""
	}
	best := rows[0]
	for _, r := range rows {
		if r.Name == "accuracy" {
			best = r
		}
	}
	return best.Name + " " + figure(best.Now)
}

func figure(v *float64) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatFloat(*v, 'g', 6, 64)
}

func (x *shown) row(v registry.Version) views.ModelVersion {
	row := views.ModelVersion{
		Version: v.Version, URL: x.url(v.Version), Stage: string(v.Stage), Aliases: v.Aliases, Metric: metric(v.Entry), Framework: v.Framework,
		By: v.CreatedBy, At: x.clock.Moment(v.CreatedAt), Current: v.ID == x.version.ID,
	}
	row.Facts = append(row.Facts, ui.Fact{Name: "Stage", Value: stageName(v.Stage)}, ui.Fact{Name: "Registered", Moment: &row.At}, ui.Fact{Name: "By", Value: v.CreatedBy})
	if v.From != nil {
		row.FromURL = views.ArtifactURL(v.From.String())
		row.From = label.ShortID(*v.From)
		row.Facts = append(row.Facts, ui.Fact{Name: "Artifact", Value: row.From, URL: row.FromURL})
	}
	if v.Framework != "" {
		row.Facts = append(row.Facts, ui.Fact{Name: "Framework", Value: v.Framework})
	}
	if v.TestSet() != "" {
		row.Facts = append(row.Facts, ui.Fact{Name: "Test set", Value: v.TestSet()})
	}
	if v.Blob != nil {
		row.Facts = append(row.Facts, ui.Fact{Name: "Size", Value: units.Bytes(v.Blob.Size)})
	}
	return row
}

func (x *shown) signature() []views.ModelTensor {
	var list []views.ModelTensor
	add := func(side string, columns []typeregistry.Column) {
		for _, c := range columns {
			var notes []string
			for name, v := range c.Attributes {
				notes = append(notes, fmt.Sprintf("%s %v", name, v))
			}
			slices.Sort(notes)
			list = append(list, views.ModelTensor{Side: side, Name: c.Name, Type: c.DType, Note: strings.Join(notes, ", ")})
		}
	}
	add("in", x.version.Facts.Inputs)
	add("out", x.version.Facts.Outputs)
	return list
}

func (x *shown) requests() []views.ModelRequest {
	var list []views.ModelRequest
	for _, q := range x.model.Requests {
		r := views.ModelRequest{Title: q.Version + " to " + string(q.Stage), By: "Requested by " + q.By, Reason: q.Reason, At: x.clock.Moment(q.At), Mine: q.Mine}
		if q.Proposed {
			r.By = "Proposed by the rules when " + q.By + " registered it"
		}
		for _, c := range q.Checks {
			r.Checks = append(r.Checks, views.ModelCheck{Text: c.Text, Detail: c.Detail, OK: c.OK})
		}
		if x.model.MayChange {
			r.URL = views.ModelRequestURL(x.model.Name, q.ID.String())
		}
		list = append(list, r)
	}
	return list
}

func (x *shown) aliases() []views.ModelAlias {
	var list []views.ModelAlias
	for _, a := range x.model.Aliases {
		row := views.ModelAlias{Name: a.Name, Version: a.Version, URL: x.url(a.Version)}
		if x.model.MayChange {
			row.RemoveURL = views.ModelFormURL(x.model.Name, "aliases")
		}
		list = append(list, row)
	}
	return list
}

func (x *shown) history() []views.ModelEvent {
	words := map[string]string{
		"registered": "registered %s", "requested": "requested approval of %s", "approved": "approved %s", "rejected": "rejected %s", "withdrawn": "withdrew the request for %s",
		"moved": "moved %s", "archived": "archived %s", "alias_set": "set an alias of %s", "alias_removed": "removed an alias of %s",
	}
	var list []views.ModelEvent
	for _, e := range x.model.History {
		note := e.Detail
		if e.Reason != "" {
			note = strings.TrimPrefix(note+": “"+e.Reason+"”", ": ")
		}
		list = append(list, views.ModelEvent{Text: e.By + " " + fmt.Sprintf(words[e.Action], e.Version), Note: note, At: x.clock.Moment(e.At)})
	}
	return list
}

// pythonOf is the code that reads a version. The version in production is named by its stage.
func pythonOf(name string, v registry.Version) string {
	ref := name + "@" + v.Version
	if v.Stage == registry.Production {
		ref = name + "@production"
	}
	return fmt.Sprintf("import flowforge\n\nmodel = flowforge.model(%q).load()\n", ref)
}
