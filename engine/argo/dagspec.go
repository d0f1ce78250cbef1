package argo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/engine/workflow"
)

// A request of the design document's API has a dag_spec, which is a workflow's spec
// with its templates by name, alongside a name and labels:
//
//	{"name": …, "labels": {…}, "parameters": {…}, "dag_spec": {"entrypoint": …, "templates": {"main": {…}}}}
//
// Parameters of the request that the spec does not declare are declared by it.
const dagSpecField = "dag_spec"

// dagSpecAnnotation marks a document that was built from a dag_spec, whose rules differ from
// Argo's: tasks keep outputs that they do not declare, and {{tasks.<name>.outputs.<output>}}
// reads an output by its name.
const dagSpecAnnotation = "flowforge.io/dag-spec"

// descriptionAnnotation is where Argo's documents have the description of the workflow.
const descriptionAnnotation = "workflows.argoproj.io/description"

func textIn(object map[string]any, name string) string {
	text, _ := object[name].(string)
	return text
}

// fromDagSpec builds a Workflow from such a request, and returns the names of its templates in order.
func fromDagSpec(request map[string]any) (map[string]any, []string, []apperr.Field) {
	p := &problems{}
	given, ok := request[dagSpecField].(map[string]any)
	if !ok {
		p.add(dagSpecField, "This must be a mapping, not %s.", describe(request[dagSpecField]))
		return nil, nil, p.list
	}
	spec := maps.Clone(given)
	if v, ok := spec["version"]; ok {
		if version := fmt.Sprint(v); version != "1.0" && version != "1" {
			p.add(dagSpecField+".version", "The format version must be \"1.0\", not %s.", describe(v))
		}
	}
	description := cmp.Or(textIn(request, "description"), textIn(spec, "description"))
	delete(spec, "version")
	delete(spec, "description")
	var names []string
	if templates, isMapping := spec["templates"].(map[string]any); isMapping {
		list := []any{}
		for _, name := range slices.Sorted(maps.Keys(templates)) {
			of, isTemplate := templates[name].(map[string]any)
			if !isTemplate {
				p.add(dagSpecField+".templates."+name, "A template must be a mapping, not %s.", describe(templates[name]))
				continue
			}
			of = maps.Clone(of)
			of["name"] = name
			list, names = append(list, of), append(names, name)
		}
		spec["templates"] = list
	}
	declare(spec, request["parameters"])
	annotations := map[string]any{dagSpecAnnotation: "1.0"}
	if description != "" {
		annotations[descriptionAnnotation] = description
	}
	meta := map[string]any{"name": request["name"], "annotations": annotations}
	if labels := request["labels"]; labels != nil {
		meta["labels"] = labels
	}
	return map[string]any{"apiVersion": group + "v1alpha1", "kind": kindWorkflow, "metadata": meta, "spec": spec}, names, p.list
}

// declare adds the parameters that the spec lacks to its arguments.
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

// asRequested replaces paths in a Workflow by those in the request from which it was built.
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

// DagSpec returns the dag_spec from which a document was built, with its templates by name; false
// for other documents.
func DagSpec(document json.RawMessage) (map[string]any, bool) {
	var doc struct {
		Metadata struct {
			Annotations map[string]any `json:"annotations"`
		} `json:"metadata"`
		Spec map[string]any `json:"spec"`
	}
	if json.Unmarshal(document, &doc) != nil || doc.Spec == nil || doc.Metadata.Annotations[dagSpecAnnotation] == nil {
		return nil, false
	}
	doc.Spec["version"] = doc.Metadata.Annotations[dagSpecAnnotation]
	if text := textIn(doc.Metadata.Annotations, descriptionAnnotation); text != "" {
		doc.Spec["description"] = text
	}
	if list, ok := doc.Spec["templates"].([]any); ok {
		templates := map[string]any{}
		for _, e := range list {
			if of, ok := e.(map[string]any); ok {
				name := textIn(of, "name")
				delete(of, "name")
				templates[name] = of
			}
		}
		doc.Spec["templates"] = templates
	}
	return doc.Spec, true
}

// keepsAll reports whether tasks that run s keep outputs that it does not declare.
func (t *translation) keepsAll(s *source) bool {
	return t.dagSpec && (s.Container != nil || s.Script != nil) && !s.serves()
}

// outputByName matches the output of a task in a dag_spec.
var outputByName = regexp.MustCompile(`^outputs\.(parameters\.)?[A-Za-z_][A-Za-z0-9_-]*$`)

// declares reports whether s has the output that field names.
func (t *translation) declares(s *source, field string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(field, "outputs."), "parameters.")
	return slices.ContainsFunc(s.Outputs.Parameters, func(p parameter) bool { return p.Name == name })
}

// dagSpecPolicy reads a retry policy of a dag_spec, where OnError means any exit code except 0.
func (p *policies) dagSpecPolicy(out *workflow.Retry, name string) bool {
	switch name {
	case "OnError":
		out.Policy = protect.OnError
	case "OnTransient":
		out.Policy = protect.OnTransient
	case "Never":
		out.Policy, out.Limit = protect.Never, 0
	default:
		return false
	}
	return true
}

// dependencyRule returns the condition of a dependency on its task.
func (t *tasks) dependencyRule(d dependency, on *task, path string) string {
	t.refuse(!t.dagSpec && d != dependency{Task: d.Task}, path, "A dependency must be the name of a task; to require a result, use depends.")
	switch d.Type {
	case "", "success":
		return successRule(on)
	case "completion":
		return fmt.Sprintf("(%[1]s.Succeeded || %[1]s.Skipped || %[1]s.Daemoned || %[1]s.Failed || %[1]s.Errored)", on.Name)
	case "failure":
		return fmt.Sprintf("(%[1]s.Failed || %[1]s.Errored)", on.Name)
	}
	t.add(path+".type", "A dependency is of type success, completion or failure, not %q.%s", shorten(d.Type), suggestion(d.Type, []string{"success", "completion", "failure"}))
	return ""
}
