package argo

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// The kinds of documents.
const (
	kindWorkflow        = "Workflow"
	kindTemplate        = "WorkflowTemplate"
	kindClusterTemplate = "ClusterWorkflowTemplate"
	kindCron            = "CronWorkflow"
)

func kinds() []string { return []string{kindWorkflow, kindTemplate, kindClusterTemplate, kindCron} }

const group = "argoproj.io/"

// Format reads Argo's documents; see workflow.Format.
type Format struct{}

// Reads reports whether doc is a Kubernetes object or has a dag_spec. It also accepts Argo's kinds
// with a misspelt apiVersion, which Parse reports.
func (Format) Reads(doc map[string]any) bool {
	if _, ok := doc[dagSpecField]; ok {
		return true
	}
	_, versioned := doc["apiVersion"]
	kind, named := doc["kind"].(string)
	_, hasSpec := doc["spec"]
	return versioned && named || slices.Contains(kinds(), kind) && hasSpec
}

// dropFollowing removes those of the later problems, from index n on, whose field has an
// earlier problem: a field that cannot be read is not missing as well.
func (p *problems) dropFollowing(n int) {
	before := p.list[:n]
	p.list = append(slices.Clone(before), slices.DeleteFunc(slices.Clone(p.list[n:]), func(f apperr.Field) bool {
		return slices.ContainsFunc(before, func(b apperr.Field) bool { return b.Path == f.Path })
	})...)
}

// Parse builds the definition of a document. The templates that it refers to are resolved once and
// stored in the document under status.storedTemplates, so a registered document never changes.
func (Format) Parse(doc map[string]any, in workflow.Surroundings) (*workflow.Definition, []apperr.Field) {
	if _, ok := doc[dagSpecField]; ok {
		made, names, found := fromDagSpec(doc)
		if len(found) > 0 {
			return nil, found
		}
		d, found := parse(made, in)
		return d, asRequested(found, names)
	}
	return parse(doc, in)
}

func parse(doc map[string]any, in workflow.Surroundings) (*workflow.Definition, []apperr.Field) {
	t := newTranslator(&translation{
		problems: &problems{}, types: in.Types, find: in.Find, templates: map[string]*source{}, libraries: map[string]*library{},
	})
	t.read(doc, in)
	if len(t.list) > 0 && len(t.spec.Templates) == 0 {
		return nil, t.located()
	}
	read := len(t.list)
	t.translate()
	t.dropFollowing(read)
	if t.cron != nil {
		t.def.Schedules = []workflow.DeclaredSchedule{t.declared()}
	}
	if in.Find == nil { // a registered document was checked, perhaps by fewer rules
		t.list = nil
	}
	if len(t.list) == 0 {
		_, found := t.def.Compile()
		t.append(found)
	}
	if len(t.list) > 0 {
		return nil, t.located()
	}
	canonical, err := t.canonical(doc)
	if err != nil {
		return nil, []apperr.Field{{Path: "document", Message: "The document cannot be written as JSON."}}
	}
	t.def.SetDocument(canonical)
	return t.def, nil
}

// located returns the problems with their paths in the document: a CronWorkflow contains its
// workflow under spec.workflowSpec.
func (t *translator) located() []apperr.Field {
	for i := range t.list {
		if rest, ok := strings.CutPrefix(t.list[i].Path, "spec."); ok && t.cron != nil && i >= t.ofCron {
			t.list[i].Path = "spec.workflowSpec." + rest
		}
	}
	return t.list
}

// read decodes the document and everything that it refers to.
func (t *translator) read(doc map[string]any, in workflow.Surroundings) {
	if kind, _ := doc["kind"].(string); !slices.Contains(kinds(), kind) {
		t.add("kind", "FlowForge runs %s, not %q.%s", strings.Join(kinds(), ", "), shorten(kind), elsewhere(kind))
		return
	}
	d := decoder{t.problems}
	d.decode(doc, &t.doc, "")
	_, t.dagSpec = t.doc.Metadata.Annotations[dagSpecAnnotation]
	if version := t.doc.APIVersion; version != group+"v1alpha1" {
		t.add("apiVersion", "This must be %sv1alpha1, not %q.", group, shorten(version))
	}
	t.text, _ = t.types.Parse("Text(min_length=0)")
	t.file, _ = t.types.Parse(string(typeregistry.KindFile))
	rawSpec := t.doc.Spec
	if t.doc.Kind == kindCron {
		var cron cronSpec
		d.decode(rawSpec, &cron, "spec")
		rawSpec = cron.WorkflowSpec
		t.scheduled = ownMetadata{Labels: cron.WorkflowMetadata.Labels, Annotations: cron.WorkflowMetadata.Annotations}
		t.cron = &cron
		t.checkCron(&cron)
		t.ofCron = len(t.list)
		if rawSpec == nil {
			t.add("spec.workflowSpec", "Set workflowSpec.")
			return
		}
	}
	t.keepConfigMaps(t.doc.Status)
	finder := references{translator: t, find: in.Find, stored: storedOf(t.doc.Status)}
	object, ok := rawSpec.(map[string]any)
	if !ok {
		t.add("spec", "This must be a mapping.")
		return
	}
	object = finder.withTemplateRef(object)
	t.spec = t.decodeSpec(object, "spec", "")
	finder.follow(t.spec.Templates, "spec.templates")
	t.hookRefs(&finder)
	encoded, err := json.Marshal(object)
	t.results = err == nil && readsResult(string(encoded))
	for _, l := range t.libraries {
		if l == nil { // it was reported
			continue
		}
		encoded, err := json.Marshal(l.raw)
		t.results = t.results || err == nil && readsResult(string(encoded))
	}
}

// readsResult reports whether some text reads the result of a task.
func readsResult(text string) bool {
	return strings.Contains(text, "outputs.result") || strings.Contains(text, "outputs['result']") || strings.Contains(text, `outputs[\"result\"]`)
}

func (t *translator) hookRefs(finder *references) {
	for _, name := range slices.Sorted(maps.Keys(t.spec.Hooks)) {
		if h := t.spec.Hooks[name]; h != nil && h.TemplateRef != nil {
			finder.library(h.TemplateRef, "spec.hooks."+name+".templateRef.name")
		}
	}
}

// decodeSpec reads a spec and registers its templates.
func (t *translator) decodeSpec(object map[string]any, path, of string) spec {
	var s spec
	object = withDefaults(object)
	decoder{t.problems}.decode(object, &s, path)
	for i := range s.Templates {
		found := &source{template: &s.Templates[i], library: of, path: fmt.Sprintf("%s.templates[%d]", path, i)}
		switch {
		case found.Name == "":
			t.add(found.path+".name", "A template must have a name.")
		case t.templates[found.key()] != nil:
			t.add(found.path+".name", "The name %q is already in use.", found.Name)
		}
		t.templates[found.key()] = found
		t.leaves.checkTemplate(found)
	}
	return s
}

// withDefaults fills the templates of a spec from its templateDefaults.
func withDefaults(object map[string]any) map[string]any {
	defaults, _ := object["templateDefaults"].(map[string]any)
	list, _ := object["templates"].([]any)
	if len(defaults) == 0 || len(list) == 0 {
		return object
	}
	out := maps.Clone(object)
	filled := make([]any, len(list))
	for i, e := range list {
		filled[i] = e
		if of, ok := e.(map[string]any); ok {
			own := maps.Clone(defaults)
			for _, kind := range []string{"container", "script", "dag", "steps", "suspend", "http", "containerSet"} {
				if of[kind] == nil {
					delete(own, kind)
				}
			}
			graph := of["dag"] != nil || of["steps"] != nil
			for _, only := range []string{"activeDeadlineSeconds", "timeout"} {
				if graph { // these fields are for templates that run something themselves
					delete(own, only)
				}
			}
			filled[i] = overlay(own, of)
		}
	}
	out["templates"] = filled
	return out
}

// overlay merges above into below. Mappings are merged recursively.
func overlay(below, above map[string]any) map[string]any {
	out := maps.Clone(below)
	for k, v := range above {
		a, isA := v.(map[string]any)
		b, isB := out[k].(map[string]any)
		if isA && isB {
			out[k] = overlay(b, a)
			continue
		}
		out[k] = v
	}
	return out
}

// canonical returns the stored form of the document: with the templates that it refers to, and
// without the fields that a cluster adds.
func (t *translator) canonical(doc map[string]any) (json.RawMessage, error) {
	kept := map[string]any{"apiVersion": t.doc.APIVersion, "kind": t.doc.Kind, "spec": t.doc.Spec}
	meta := map[string]any{}
	given, _ := doc["metadata"].(map[string]any)
	for _, name := range []string{"name", "generateName", "namespace", "labels", "annotations"} {
		if v := given[name]; v != nil {
			meta[name] = v
		}
	}
	if t.writtenName() != t.def.Name && t.doc.Kind != kindClusterTemplate { // it was renamed; see name
		delete(meta, "generateName")
		meta["name"] = t.def.Name
	}
	kept["metadata"] = meta
	if len(t.libraries) > 0 {
		stored := map[string]any{}
		for name, l := range t.libraries {
			stored[name] = l.raw
		}
		kept["status"] = map[string]any{"storedTemplates": stored}
	}
	if len(t.configMaps) > 0 {
		status, _ := kept["status"].(map[string]any)
		if status == nil {
			status = map[string]any{}
			kept["status"] = status
		}
		status[storedConfigMaps] = t.configMaps
	}
	return json.Marshal(kept)
}
