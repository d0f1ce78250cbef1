package argo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// maxDepth is how deep templates may run templates, as in Argo.
const maxDepth = 100

// source is a template with its path in the document.
type source struct {
	*template
	library string // "" for the document's own
	path    string // in the document
}

// key names a template among all of a definition.
func (s *source) key() string {
	if s.library == "" {
		return s.Name
	}
	return s.library + "/" + s.Name
}

// isGraph reports whether the template runs other templates.
func (s *source) isGraph() bool { return s.DAG != nil || s.Steps != nil }

// library is a document that another one refers to.
type library struct {
	raw  any // its spec
	spec spec
}

func (t *translation) optional(of *typeregistry.Type) *typeregistry.Type {
	return typeregistry.OptionalOf(of)
}

// translate builds the definition from the decoded document.
func (t *translator) translate() {
	t.def = &workflow.Definition{
		Name: t.name(), MaxDepth: maxDepth, Constants: t.constants(), Description: string(t.doc.Metadata.Annotations[descriptionAnnotation]),
	}
	if t.spec.Parallelism != nil {
		t.def.Parallelism = int(max(*t.spec.Parallelism, 0))
	}
	t.def.Timeout = seconds(t.spec.ActiveDeadline)
	t.def.Locks = t.policies.locks(t.spec.Synchronization, "spec.synchronization")
	for _, l := range t.def.Locks {
		t.refuse(strings.Contains(l.Name, "{{"), "spec.synchronization", "A lock of the workflow as a whole needs a name without tags; those of templates may have them.")
	}
	t.def.TTL, t.def.Priority, t.def.Labels = t.policies.ttl(), t.spec.priority(), t.computedLabels()
	t.def.Metrics = t.metrics.metricList(t.spec.Metrics, nil, "spec.metrics.prometheus")
	t.declareEntryInputs()
	t.def.Inputs, t.def.InputTags = t.launchForm(), true
	t.checkArguments()
	t.root()
	for _, key := range slices.Sorted(maps.Keys(t.templates)) { // unused templates are checked, too
		s := t.templates[key]
		if s.library == "" {
			t.metrics.metricsOf(s)
		}
		if s.isGraph() {
			t.tasks.graph(s)
		} else if s.library == "" {
			t.leaves.leaf(&task{Name: s.Name}, s, scope{own: s, unused: true}, s.path)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(t.tasks.graphs)) {
		t.def.Graphs = append(t.def.Graphs, t.tasks.graphs[key])
	}
}

// constants returns the tags that have the same value in every operator.
func (t *translation) constants() map[string]string {
	c := map[string]string{
		"workflow.serviceAccountName": cmp.Or(t.spec.ServiceAccountName, "default"), "workflow.mainEntrypoint": t.spec.Entrypoint,
	}
	if t.spec.Priority != nil {
		c["workflow.priority"] = strconv.FormatInt(*t.spec.Priority, 10)
	}
	if t.doc.Metadata.Namespace != "" {
		c["workflow.namespace"] = t.doc.Metadata.Namespace
	}
	for _, m := range []ownMetadata{{Labels: t.doc.Metadata.Labels, Annotations: t.doc.Metadata.Annotations}, t.spec.WorkflowMetadata, t.scheduled} {
		for k, v := range m.Labels {
			c["workflow.labels."+k] = string(v)
		}
		for k, v := range m.Annotations {
			c["workflow.annotations."+k] = string(v)
		}
	}
	for _, all := range []string{"workflow.labels", "workflow.annotations"} {
		values := map[string]string{}
		for k, v := range c {
			if name, ok := strings.CutPrefix(k, all+"."); ok {
				values[name] = v
			}
		}
		text, _ := json.Marshal(values) //nolint:errchkjson // texts always encode
		c[all], c[all+".json"] = string(text), cmp.Or(c[all+".json"], string(text))
	}
	return c
}

// declareEntryInputs adds the required inputs of the entry point that spec.arguments lacks to the
// launch form: a template can be launched directly.
func (t *translator) declareEntryInputs() {
	entry := t.templates[t.spec.Entrypoint]
	if entry == nil {
		return
	}
	for _, p := range entry.Inputs.Parameters {
		given := slices.ContainsFunc(t.spec.Arguments.Parameters, func(a parameter) bool { return a.Name == p.Name })
		if p.Name != "" && !given && p.Value == nil && p.Default == nil && p.ValueFrom == nil {
			t.spec.Arguments.Parameters = append(t.spec.Arguments.Parameters, parameter{Name: p.Name, Enum: p.Enum, Description: p.Description})
		}
	}
}

// declareParameter adds a parameter that a template reads without declaring it to the launch form.
func (t *translation) declareParameter(name string) bool {
	schema, found := t.types.ParseSchema([]any{formField(parameter{Name: name}, nil)}, "spec.arguments.parameters")
	if len(found) > 0 {
		return false
	}
	t.spec.Arguments.Parameters = append(t.spec.Arguments.Parameters, parameter{Name: name})
	t.def.Inputs.Fields = append(t.def.Inputs.Fields, schema.Fields...)
	return true
}

// launchForm returns the parameters and files that a launch provides.
func (t *translator) launchForm() typeregistry.Schema {
	fields := []any{}
	for i, p := range t.spec.Arguments.Parameters {
		path := fmt.Sprintf("spec.arguments.parameters[%d]", i)
		if p.ValueFrom != nil && (p.ValueFrom.Path != "" || p.ValueFrom.Parameter != "" || p.ValueFrom.Expression != "" || p.ValueFrom.Supplied != nil) {
			t.add(path+".valueFrom", "This value is set at launch; use value.")
		}
		if p.Value == nil && p.readsConfigMap() {
			fields = append(fields, t.values.fromConfigMap(p, path))
			continue
		}
		value, _ := p.launchValue()
		fields = append(fields, formField(p, value))
	}
	for i, a := range t.spec.Arguments.Artifacts {
		if !a.fetched() {
			t.refuse(a.From != "" || a.FromExpression != "", fmt.Sprintf("spec.arguments.artifacts[%d].from", i), "This file is provided at launch; omit it.")
			t.refuse(a.S3 != nil, fmt.Sprintf("spec.arguments.artifacts[%d].s3", i), "A key refers to a file of the same execution, which has no files yet. This file is provided at launch.")
			fields = append(fields, map[string]any{"name": a.Name, "type": "File", "required": !a.Optional})
		}
	}
	schema, found := t.types.ParseSchema(fields, "spec.arguments.parameters")
	t.append(found)
	names := map[string]bool{}
	for _, p := range t.spec.Arguments.Parameters {
		names[p.Name] = true
	}
	for i := range schema.Fields { // the prefix separates artifacts from parameters of the same name
		if f := &schema.Fields[i]; f.Type != nil && f.Type.IsBlob() && !names[f.Name] {
			f.Name, f.Hints.Label = artifactPort+f.Name, cmp.Or(f.Hints.Label, f.Name)
		}
	}
	return schema
}

func (t *translation) append(found []apperr.Field) { t.list = append(t.list, found...) }

func (t *translation) refuse(given bool, path, format string, args ...any) {
	if given {
		t.add(path, format, args...)
	}
}

// formField is a parameter in the object form of a schema.
func formField(p parameter, value *Text) map[string]any {
	f := map[string]any{"name": p.Name, "type": "String"} // required: without a default, the form needs a value
	if value != nil {
		f["default"], f["type"] = string(*value), "String(min_length=0)"
		if strings.Contains(string(*value), "\n") {
			f["type"] = "Text(min_length=0)"
		}
	}
	if p.Description != "" {
		f["description"] = string(p.Description)
	}
	if options := optionsOf(p.Enum); len(options) > 0 && (value == nil || slices.Contains(p.Enum, *value)) {
		f["type"] = "Enum(" + strings.Join(options, ", ") + ")"
	}
	return f
}

// optionsOf returns the choices of a parameter; none if a form cannot show them.
func optionsOf(enum []Text) []string {
	var options []string
	for _, e := range enum {
		quoted, err := json.Marshal(string(e))
		if e == "" || err != nil || slices.Contains(options, string(quoted)) {
			return nil
		}
		options = append(options, string(quoted))
	}
	return options
}

// root builds the graph of the workflow: its entry point, exit handler and hooks.
func (t *translator) root() {
	if t.spec.Entrypoint == "" {
		if t.doc.Kind == kindWorkflow || t.doc.Kind == kindCron {
			t.add("spec.entrypoint", "Set the entrypoint.")
		}
		return
	}
	entry := t.templates[t.spec.Entrypoint]
	if entry == nil {
		t.add("spec.entrypoint", "There is no template %q.%s", t.spec.Entrypoint, suggestion(t.spec.Entrypoint, slices.Sorted(maps.Keys(t.templates))))
		return
	}
	main := &task{Name: entry.Name, Template: entry.Name, Arguments: t.tasks.entryArguments(entry)}
	var operators []workflow.Operator
	if t.replacesRoot(entry) {
		g := t.tasks.body(entry, scope{own: entry, root: true})
		operators, t.def.Outputs, t.def.Errs = g.Operators, g.Outputs, entry.errs()
		t.addMissingInputs(entry)
	} else {
		operators = t.tasks.operators(main, scope{tasks: map[string]*source{main.Name: entry}, list: []*task{main}, root: true}, "spec.entrypoint")
		t.def.Outputs, t.def.Errs = t.rootOutputs(entry), workflow.ErrsFirst
	}
	t.def.Operators = slices.Concat(operators, t.exits())
}

// replacesRoot reports whether the graph of the entry point can be that of the workflow: no
// setting applies to the entry point as a whole.
func (t *translator) replacesRoot(s *source) bool {
	return s.isGraph() && s.RetryStrategy == nil && len(t.spec.Arguments.Artifacts) == 0 && len(s.Inputs.Artifacts) == 0 && s.Parallelism == nil && s.Synchronization == nil && s.Metrics == nil && s.Memoize == nil &&
		!slices.ContainsFunc(s.Inputs.Parameters, func(p parameter) bool {
			v := cmp.Or(p.Value, p.Default)
			return v != nil && strings.Contains(string(*v), "{{")
		})
}

// entryArguments returns the arguments of the entry point: the parameters and files of the workflow
// with the same names.
func (t *tasks) entryArguments(entry *source) arguments {
	var args arguments
	for _, p := range entry.Inputs.Parameters {
		given := slices.ContainsFunc(t.spec.Arguments.Parameters, func(a parameter) bool { return a.Name == p.Name })
		if given {
			value := Text("{{workflow.parameters." + p.Name + "}}")
			args.Parameters = append(args.Parameters, parameter{Name: p.Name, Value: &value})
		}
	}
	for _, a := range t.spec.Arguments.Artifacts {
		if slices.ContainsFunc(entry.Inputs.Artifacts, func(in artifact) bool { return in.Name == a.Name }) {
			if !a.fetched() {
				a.From = "{{inputs.artifacts." + a.Name + "}}"
			}
			args.Artifacts = append(args.Artifacts, a)
		}
	}
	return args
}

// addMissingInputs adds to the launch form the inputs of the entry point that have a default.
func (t *translator) addMissingInputs(entry *source) {
	var fields []any
	for i, p := range entry.Inputs.Parameters {
		if slices.ContainsFunc(t.def.Inputs.Fields, func(f typeregistry.Field) bool { return f.Name == p.Name }) {
			continue
		}
		if p.readsConfigMap() {
			fields = append(fields, t.values.fromConfigMap(p, fmt.Sprintf("%s.inputs.parameters[%d]", entry.path, i)))
			continue
		}
		value := cmp.Or(p.Value, p.Default)
		fields = append(fields, formField(p, value))
	}
	schema, found := t.types.ParseSchema(fields, entry.path+".inputs.parameters")
	t.append(found)
	t.def.Inputs.Fields = append(t.def.Inputs.Fields, schema.Fields...)
}

// rootOutputs are the outputs of the entry point as those of the workflow.
func (t *translator) rootOutputs(entry *source) []workflow.Output {
	var outputs []workflow.Output
	for _, o := range t.values.outputs(entry) {
		if o.Name != resultPort {
			outputs = append(outputs, workflow.Output{
				Name: o.Name, Type: o.Type, Description: o.Description, From: workflow.Reference{Operator: entry.Name, Output: o.Name},
			})
		}
	}
	return outputs
}

// exits returns the exit handler and the hooks of the workflow.
func (t *translator) exits() []workflow.Operator {
	var operators []workflow.Operator
	in := scope{root: true, exit: true}
	if t.spec.OnExit != "" {
		t.refuse(t.spec.Hooks["exit"] != nil, "spec.onExit", onlyOneExit)
		if t.templates[t.spec.OnExit] == nil {
			known := slices.Sorted(maps.Keys(t.templates))
			t.add("spec.onExit", "There is no template %q.%s Add it to templates, or omit onExit; the templates are %s.",
				t.spec.OnExit, suggestion(t.spec.OnExit, known), strings.Join(known, ", "))
			return nil
		}
		run := &task{Name: "onExit", Template: t.spec.OnExit, Arguments: t.tasks.exitArguments(arguments{}, t.templates[t.spec.OnExit])}
		operators = append(operators, t.final(run, in, "spec.onExit")...)
	}
	for _, name := range slices.Sorted(maps.Keys(t.spec.Hooks)) {
		h, path := t.spec.Hooks[name], "spec.hooks."+name
		if h == nil {
			continue
		}
		run := &task{Name: "hooks-" + name, Template: h.Template, TemplateRef: h.TemplateRef, Arguments: h.Arguments}
		if h.Expression != "" {
			run.When = "{{=" + h.Expression + "}}"
		}
		switch {
		case name == "exit":
			run.Arguments = t.tasks.exitArguments(run.Arguments, t.templates[h.key()])
			operators = append(operators, t.final(run, in, path)...)
		case !strings.Contains(h.Expression, "Running"):
			t.refuse(h.Expression == "", path+".expression", "Set the condition of the hook.")
			operators = append(operators, mayFail(t.final(run, in, path))...)
		default:
			operators = append(mayFail(t.tasks.operators(run, in, path)), operators...)
		}
	}
	return operators
}

// mayFail allows operators to fail: of the hooks of the workflow, only the exit handler can fail it.
func mayFail(operators []workflow.Operator) []workflow.Operator {
	for i := range operators {
		operators[i].AllowFailure = true
	}
	return operators
}

// final builds operators that run after all others have ended.
func (t *translator) final(run *task, in scope, path string) []workflow.Operator {
	ops := t.tasks.operators(run, in, path)
	for i := range ops {
		t.refuse(ops[i].Serves, path, "An exit handler cannot be a daemon. Omit daemon.")
		ops[i].Final = true
	}
	return ops
}
