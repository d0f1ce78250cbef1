package argo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
)

// A request of the design document's API has a dag_spec, which is a workflow's spec
// with its templates by name, beside a name and labels:
//
//	{"name": …, "labels": {…}, "parameters": {…}, "dag_spec": {"entrypoint": …, "templates": {"main": {…}}}}
//
// Parameters of the request that the spec does not declare are declared by it.
const dagSpecField = "dag_spec"

// fromDagSpec makes a Workflow of such a request, and returns the names of its templates in their order.
func fromDagSpec(request map[string]any) (map[string]any, []string, []apperr.Field) {
	p := &problems{}
	given, ok := request[dagSpecField].(map[string]any)
	if !ok {
		p.add(dagSpecField, "This has to be a mapping, not %s.", describe(request[dagSpecField]))
		return nil, nil, p.list
	}
	spec := maps.Clone(given)
	delete(spec, "version") // of the format, which has one
	var names []string
	if templates, isMapping := spec["templates"].(map[string]any); isMapping {
		list := []any{}
		for _, name := range slices.Sorted(maps.Keys(templates)) {
			of, isTemplate := templates[name].(map[string]any)
			if !isTemplate {
				p.add(dagSpecField+".templates."+name, "A template is a mapping, not %s.", describe(templates[name]))
				continue
			}
			of = maps.Clone(of)
			of["name"] = name
			list, names = append(list, of), append(names, name)
		}
		spec["templates"] = list
	}
	declare(spec, request["parameters"])
	meta := map[string]any{"name": request["name"]}
	if labels := request["labels"]; labels != nil {
		meta["labels"] = labels
	}
	return map[string]any{"apiVersion": group + "v1alpha1", "kind": kindWorkflow, "metadata": meta, "spec": spec}, names, p.list
}

// declare adds parameters that the spec does not have to its arguments.
func declare(spec map[string]any, parameters any) {
	values, _ := parameters.(map[string]any)
	if len(values) == 0 {
		return
	}
	arguments, _ := spec["arguments"].(map[string]any)
	arguments = maps.Clone(arguments)
	if arguments == nil {
		arguments = map[string]any{}
	}
	list, _ := arguments["parameters"].([]any)
	list = slices.Clone(list)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		known := slices.ContainsFunc(list, func(e any) bool {
			of, _ := e.(map[string]any)
			return of != nil && of["name"] == name
		})
		if !known {
			list = append(list, map[string]any{"name": name})
		}
	}
	arguments["parameters"] = list
	spec["arguments"] = arguments
}

// asRequested turns the paths of a Workflow into those of the request that it was made of.
func asRequested(found []apperr.Field, names []string) []apperr.Field {
	out := slices.Clone(found)
	for i := range out {
		path := out[i].Path
		for k, name := range names {
			at := fmt.Sprintf("spec.templates[%d]", k)
			if rest, ok := strings.CutPrefix(path, at); ok && (rest == "" || rest[0] == '.') {
				path = "spec.templates." + name + rest
			}
		}
		if rest, ok := strings.CutPrefix(path, "spec"); ok {
			path = dagSpecField + rest
		}
		out[i].Path = strings.TrimPrefix(path, "metadata.")
	}
	return out
}
