package argo

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// references resolves the templates that a document refers to: in a stored document itself, or else
// among the workflows of the project.
type references struct {
	*translator
	find   func(name string) (json.RawMessage, bool)
	stored map[string]any
}

// storedOf returns the specs that a stored document contains.
func storedOf(status any) map[string]any {
	fields, _ := status.(map[string]any)
	stored, _ := fields["storedTemplates"].(map[string]any)
	return stored
}

// registeredName is the name under which a template that a document refers to is registered.
// Those of the cluster have names of their own.
func registeredName(name string, clusterScope bool) string {
	if clusterScope && name != "" {
		return name + clusterSuffix
	}
	return name
}

func (r *templateRef) library() string { return registeredName(r.Name, r.ClusterScope) }

// templateDocument is what is read of a template that a document refers to.
type templateDocument struct {
	Kind   string         `json:"kind"`
	Spec   map[string]any `json:"spec"`
	Status map[string]any `json:"status"`
}

// look returns the registered template of a kind; nil for none.
func (r *references) look(name, kind string) *templateDocument {
	doc, ok := r.find(name)
	if !ok {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(string(doc)))
	decoder.UseNumber()
	var parsed templateDocument
	if err := decoder.Decode(&parsed); err != nil || parsed.Kind != kind {
		return nil
	}
	return &parsed
}

// spec returns the spec of a template that a document refers to.
func (r *references) spec(name string, cluster bool, path string) map[string]any {
	registered := registeredName(name, cluster)
	if r.find == nil { // a stored document contains all templates that it needs
		found, _ := r.stored[registered].(map[string]any)
		if found == nil { // it was registered when both kinds shared their names
			found, _ = r.stored[name].(map[string]any)
		}
		if found == nil {
			r.add(path, "The document does not contain the template %q.", name)
		}
		return found
	}
	kind, other := kindTemplate, kindClusterTemplate
	if cluster {
		kind, other = other, kind
	}
	found := r.look(registered, kind)
	if found == nil { // it was registered when both kinds shared their names
		found = r.look(name, kind)
	}
	switch {
	case found != nil:
		r.keepConfigMaps(found.Status)
		return found.Spec
	case cluster && r.look(name, other) != nil:
		r.add(path, "There is no %s %q in this project, but there is a %s with that name. Omit clusterScope, or apply the %s first.", kind, name, other, kind)
	case !cluster && (r.look(registeredName(name, true), other) != nil || r.look(name, other) != nil):
		r.add(path, "There is no %s %q in this project, but there is a %s with that name. Set clusterScope: true, or apply the %s first.", kind, name, other, kind)
	default:
		r.add(path, "There is no %s %q in this project; apply it first.", kind, name)
	}
	return nil
}

// library reads a template document, and those that it refers to.
func (r *references) library(ref *templateRef, path string) {
	name := ref.library()
	if _, known := r.libraries[name]; known || name == "" {
		r.refuse(name == "", path, "Set the name of the workflow template.")
		return
	}
	found := r.spec(ref.Name, ref.ClusterScope, path)
	if found == nil {
		r.libraries[name] = nil
		return
	}
	l := &library{raw: found}
	r.libraries[name] = l
	at := "status.storedTemplates." + name
	l.spec = r.decodeSpec(found, at, name)
	r.follow(l.spec.Templates, at+".templates")
}

// follow reads the documents that the tasks of templates refer to.
func (r *references) follow(templates []template, path string) {
	for i := range templates {
		r.followTemplate(&templates[i], fmt.Sprintf("%s[%d]", path, i))
	}
}

func (r *references) followTemplate(s *template, path string) {
	if s.DAG != nil {
		for i := range s.DAG.Tasks {
			r.followTask(&s.DAG.Tasks[i], fmt.Sprintf("%s.dag.tasks[%d]", path, i))
		}
	}
	for g := range s.Steps {
		for i := range s.Steps[g] {
			r.followTask(&s.Steps[g][i], fmt.Sprintf("%s.steps[%d][%d]", path, g, i))
		}
	}
}

func (r *references) followTask(t *task, path string) {
	if t.TemplateRef != nil {
		r.library(t.TemplateRef, path+".templateRef.name")
	}
	if t.Inline != nil {
		r.followTemplate(t.Inline, path+".inline")
	}
	for _, name := range slices.Sorted(maps.Keys(t.Hooks)) {
		if h := t.Hooks[name]; h != nil && h.TemplateRef != nil {
			r.library(h.TemplateRef, path+".hooks."+name+".templateRef.name")
		}
	}
}

// withTemplateRef merges a spec into that of the template that it names. Parameters are merged by
// name.
func (r *references) withTemplateRef(object map[string]any) map[string]any {
	ref, ok := object["workflowTemplateRef"].(map[string]any)
	if !ok {
		return object
	}
	var read workflowRef
	decoder{r.problems}.decode(ref, &read, "spec.workflowTemplateRef")
	base := r.spec(read.Name, read.ClusterScope, "spec.workflowTemplateRef.name")
	if base == nil {
		return object
	}
	r.libraries[registeredName(read.Name, read.ClusterScope)] = &library{raw: base}
	own := maps.Clone(object)
	delete(own, "workflowTemplateRef")
	r.refuse(own["templates"] != nil, "spec.templates", "A spec with workflowTemplateRef uses the templates of %s; omit templates.", read.Name)
	out := overlay(base, own)
	out["arguments"] = joinArguments(base["arguments"], own["arguments"])
	return out
}

func joinArguments(base, own any) any {
	below, _ := base.(map[string]any)
	above, _ := own.(map[string]any)
	out := map[string]any{}
	for _, kind := range []string{"parameters", "artifacts"} {
		list, _ := below[kind].([]any)
		list = slices.Clone(list)
		more, _ := above[kind].([]any)
		for _, e := range more {
			fields, _ := e.(map[string]any)
			i := slices.IndexFunc(list, func(b any) bool {
				of, _ := b.(map[string]any)
				return of != nil && fields != nil && of["name"] == fields["name"]
			})
			if i < 0 {
				list = append(list, e)
				continue
			}
			of, _ := list[i].(map[string]any)
			list[i] = overlay(of, fields)
		}
		if len(list) > 0 {
			out[kind] = list
		}
	}
	return out
}
