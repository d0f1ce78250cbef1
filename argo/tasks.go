package argo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/dag"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/workflow"
)

// scope is where tasks stand: in a template, or beside the entry point.
type scope struct {
	own    *source            // the template whose inputs they read; nil for the workflow itself
	tasks  map[string]*source // what the tasks beside run, by their names
	list   []*task
	root   bool // of the workflow itself
	exit   bool // they run at the exit
	item   bool // of a fan-out
	unused bool // nothing calls the template that is checked
	leaf   bool // texts of the template itself
}

// graph makes the graph of a template once.
func (t *translator) graph(s *source) {
	if t.begun[s.key()] {
		return
	}
	t.begun[s.key()] = true
	g := t.body(s, scope{own: s})
	g.Name = s.key()
	t.graphs[g.Name] = g
}

// body makes the operators and outputs of a template of steps or tasks.
func (t *translator) body(s *source, in scope) workflow.Graph {
	g := workflow.Graph{Inputs: t.inputFields(s)}
	if s.Parallelism != nil {
		g.Parallelism = int(max(*s.Parallelism, 0))
	}
	t.refuse(s.ActiveDeadline != nil, s.path+".activeDeadlineSeconds", "A template of steps or tasks has none; set it in the templates that it runs, or in spec.")
	t.refuse(s.Timeout != "", s.path+".timeout", "A template of steps or tasks has none; set it in the templates that it runs.")
	t.refuse(s.Memoize != nil, s.path+".memoize", "Only a container or a script is remembered; leave it out.")
	in.tasks = map[string]*source{}
	if s.DAG != nil {
		g.Operators = t.dag(s, in)
	} else {
		g.Operators = t.steps(s, in)
	}
	g.Outputs = t.graphOutputs(s, in)
	return g
}

// dag makes the operators of a template's tasks.
func (t *translator) dag(s *source, in scope) []workflow.Operator {
	path := s.path + ".dag.tasks"
	if len(s.DAG.Tasks) == 0 {
		t.add(path, "A dag needs at least one task.")
	}
	for i := range s.DAG.Tasks {
		t.meet(&s.DAG.Tasks[i], s, &in, fmt.Sprintf("%s[%d]", path, i))
	}
	failFast := s.DAG.FailFast == nil || *s.DAG.FailFast
	var operators []workflow.Operator
	for i := range s.DAG.Tasks {
		run, at := &s.DAG.Tasks[i], fmt.Sprintf("%s[%d]", path, i)
		rule := t.rule(run, in, at)
		ops := t.operators(run, in, at)
		for k := range ops {
			if ops[k].Name == run.Name || ops[k].Depends == "" {
				ops[k].Depends = rule
			}
			ops[k].Drain = failFast && ops[k].Name == run.Name
		}
		operators = append(operators, ops...)
	}
	t.aim(s, operators)
	return operators
}

// steps makes the operators of a template's groups of steps, each of which waits for
// the group before.
func (t *translator) steps(s *source, in scope) []workflow.Operator {
	for g, group := range s.Steps {
		for i := range group {
			run, at := &group[i], fmt.Sprintf("%s.steps[%d][%d]", s.path, g, i)
			t.meet(run, s, &in, at)
			t.refuse(run.Depends != "", at+".depends", "Steps run in the order of their groups; use a dag.")
			t.refuse(len(run.Dependencies) > 0, at+".dependencies", "Steps run in the order of their groups; use a dag.")
		}
	}
	var operators []workflow.Operator
	var before []string
	for g, group := range s.Steps {
		rule := strings.Join(before, " && ")
		var now []string
		for i := range group {
			run := &group[i]
			ops := t.operators(run, in, fmt.Sprintf("%s.steps[%d][%d]", s.path, g, i))
			for k := range ops {
				if ops[k].Name == run.Name || ops[k].Depends == "" {
					ops[k].Depends = rule
				}
			}
			operators = append(operators, ops...)
			now = append(now, wellEnded(run))
		}
		if len(now) > 0 {
			before = now
		}
	}
	if len(operators) == 0 {
		t.add(s.path+".steps", "A template of steps needs at least one.")
	}
	return operators
}

// meet notes what a task runs, and under which name.
func (t *translator) meet(run *task, s *source, in *scope, path string) {
	if !taskName.MatchString(run.Name) {
		t.add(path+".name", "A name has letters, digits, _ and -, at most 128, beginning with a letter or digit.")
	}
	if _, taken := in.tasks[run.Name]; taken {
		t.add(path+".name", "The name %q is taken.", run.Name)
	}
	in.tasks[run.Name] = t.resolve(run, s, path)
	in.list = append(in.list, run)
}

// resolve finds the template that a task runs; nil, with a problem, when there is none.
func (t *translator) resolve(run *task, s *source, path string) *source {
	given := 0
	for _, is := range []bool{run.Template != "", run.TemplateRef != nil, run.Inline != nil} {
		if is {
			given++
		}
	}
	library := ""
	if s != nil {
		library = s.library
	}
	switch {
	case given != 1:
		t.add(path, "Say what runs: one of template, templateRef and inline.")
	case run.Inline != nil:
		inline := *run.Inline
		name := run.Name
		if s != nil {
			name = s.Name + "." + run.Name
		}
		inline.Name = name
		found := &source{template: &inline, library: library, path: path + ".inline"}
		t.checkTemplate(found)
		return found
	case run.TemplateRef != nil:
		key := run.TemplateRef.Name + "/" + run.TemplateRef.Template
		if found := t.templates[key]; found != nil {
			return found
		}
		if t.libraries[run.TemplateRef.Name] != nil { // who is not there was reported
			t.add(path+".templateRef.template", "%s has no template %q.", run.TemplateRef.Name, run.TemplateRef.Template)
		}
	default:
		key := run.Template
		if library != "" {
			key = library + "/" + key
		}
		if found := t.templates[key]; found != nil {
			return found
		}
		t.add(path+".template", "There is no template %q.%s", run.Template, suggestion(run.Template, slices.Sorted(maps.Keys(t.templates))))
	}
	return nil
}

// wellEnded is the rule that what follows a task goes on.
func wellEnded(run *task) string {
	rule := fmt.Sprintf("%s.Succeeded || %s.Skipped || %s.Daemoned", run.Name, run.Name, run.Name)
	if run.ContinueOn != nil && run.ContinueOn.Failed {
		rule += fmt.Sprintf(" || %s.Failed", run.Name)
	}
	if run.ContinueOn != nil && run.ContinueOn.Error {
		rule += fmt.Sprintf(" || %s.Errored", run.Name)
	}
	return "(" + rule + ")"
}

// rule says when a task of a dag may begin; "" for at once.
func (t *translator) rule(run *task, in scope, path string) string {
	depends := strings.TrimSpace(run.Depends)
	if depends == "" {
		rules := make([]string, len(run.Dependencies))
		for i, name := range run.Dependencies {
			k := slices.IndexFunc(in.list, func(other *task) bool { return other.Name == name })
			if k < 0 {
				t.add(fmt.Sprintf("%s.dependencies[%d]", path, i), "There is no task %q.%s", name, suggestion(name, slices.Sorted(maps.Keys(in.tasks))))
				return ""
			}
			rules[i] = wellEnded(in.list[k])
		}
		return strings.Join(rules, " && ")
	}
	t.refuse(len(run.Dependencies) > 0, path+".dependencies", "Give either depends or dependencies.")
	t.refuse(run.ContinueOn != nil, path+".continueOn", "With depends say there what may fail: %s.Failed.", run.Name)
	parsed, err := dag.ParseRule(depends, dag.HasSucceeded)
	if err != nil {
		t.add(path+".depends", "%s", err)
		return ""
	}
	for _, name := range parsed.Names() {
		if _, ok := in.tasks[name]; !ok {
			t.add(path+".depends", "There is no task %q.%s", name, suggestion(name, slices.Sorted(maps.Keys(in.tasks))))
			return ""
		}
	}
	return spellOut(depends)
}

// spellOut writes names without a status in full: such a task succeeded, was skipped,
// or serves.
func spellOut(rule string) string {
	return ruleTerm.ReplaceAllStringFunc(rule, func(term string) string {
		if strings.Contains(term, ".") {
			return term
		}
		return fmt.Sprintf("(%s.Succeeded || %s.Skipped || %s.Daemoned)", term, term, term)
	})
}

// operators makes the operator of a task, and those of its hooks.
func (t *translator) operators(run *task, in scope, path string) []workflow.Operator {
	s := in.tasks[run.Name]
	if s == nil {
		if in.tasks != nil {
			return nil // it was reported
		}
		if s = t.resolve(run, in.own, path); s == nil {
			return nil
		}
	}
	in.item = run.WithItems != nil || run.WithParam != "" || run.WithSequence != nil
	var op workflow.Operator
	if s.isGraph() {
		t.graph(s)
		op = workflow.Operator{Type: workflow.TypeGraph, Graph: s.key(), Retry: t.retry(s), Outputs: t.outputs(s), Locks: t.locks(s.Synchronization, s.path+".synchronization")}
	} else {
		op = t.leaf(run, s, in, path)
	}
	op.Name, op.At = run.Name, path
	if op.Tags == nil {
		op.Tags = &workflow.Tags{}
	}
	op.Tags.Template = s.Name
	op.Inputs = t.given(run, s, in, path)
	op.AllowFailure = run.ContinueOn != nil && (run.ContinueOn.Failed || run.ContinueOn.Error)
	op.Foreach = t.foreach(run, in, path)
	if run.When != "" {
		t.checkCondition(run.When, in, path+".when")
		op.Tags.When, op.Tags.WhenOfItem = run.When, in.item && readsItem(run.When)
	}
	return append([]workflow.Operator{op}, t.hooks(run, in, path)...)
}

// foreach makes the fan-out of a task.
func (t *translator) foreach(run *task, in scope, path string) *workflow.Foreach {
	given := 0
	f := &workflow.Foreach{Limit: workflow.DefaultItems}
	outer := in
	outer.item = false
	tagged := func(value any, as workflow.TaggedAs) {
		given++
		f.Items = workflow.Source{Kind: workflow.SourceTags, Tagged: workflow.Tagged{Value: value, As: as}}
	}
	if run.WithItems != nil {
		t.checkValue(run.WithItems, outer, path+".withItems")
		tagged(plainNumbers(run.WithItems), workflow.TaggedList)
	}
	if run.WithParam != "" {
		t.checkText(run.WithParam, outer, path+".withParam")
		tagged(run.WithParam, workflow.TaggedList)
	}
	if s := run.WithSequence; s != nil {
		t.checkSequence(s, outer, path+".withSequence")
		fields := map[string]any{}
		for name, v := range map[string]*Text{"count": s.Count, "start": s.Start, "end": s.End} {
			if v != nil {
				fields[name] = string(*v)
			}
		}
		if s.Format != "" {
			fields["format"] = s.Format
		}
		tagged(fields, workflow.TaggedSequence)
	}
	switch {
	case given == 0:
		return nil
	case given > 1:
		t.add(path, "Give one of withItems, withParam and withSequence.")
	}
	if in.own != nil && in.own.Parallelism != nil {
		f.Parallelism = int(max(*in.own.Parallelism, 0))
	}
	return f
}

func plainNumbers(list []raw) any {
	items := make([]any, len(list))
	copy(items, list)
	return items
}

func (t *translator) checkSequence(s *sequence, in scope, path string) {
	t.refuse(s.Count == nil && s.End == nil, path, "Say how far it goes: count or end.")
	t.refuse(s.Count != nil && s.End != nil, path, "Give either count or end.")
	for name, v := range map[string]*Text{"count": s.Count, "start": s.Start, "end": s.End} {
		if v == nil {
			continue
		}
		if !strings.Contains(string(*v), "{{") {
			if _, err := strconv.Atoi(string(*v)); err != nil {
				t.add(path+"."+name, "This has to be a whole number.")
			}
		}
		t.checkText(string(*v), in, path+"."+name)
	}
	if s.Format != "" && !sequenceFormat.MatchString(s.Format) {
		t.add(path+".format", "A format has one place for a number, such as %%02d or testuser%%02X.")
	}
}

// hooks makes the operators that follow how a task goes.
func (t *translator) hooks(run *task, in scope, path string) []workflow.Operator {
	hooks := maps.Clone(run.Hooks)
	if hooks == nil {
		hooks = map[string]*hook{}
	}
	if run.OnExit != "" {
		hooks["exit"] = &hook{Template: run.OnExit}
	}
	var operators []workflow.Operator
	for _, name := range slices.Sorted(maps.Keys(hooks)) {
		h, at := hooks[name], path+".hooks."+name
		if h == nil {
			continue
		}
		if run.OnExit != "" && name == "exit" && run.Hooks["exit"] == nil {
			at = path + ".onExit"
		}
		of := &task{Name: run.Name + "-" + name, Template: h.Template, TemplateRef: h.TemplateRef, Arguments: h.Arguments}
		if h.Expression != "" {
			of.When = "{{=" + h.Expression + "}}"
		}
		t.refuse(h.Expression == "" && name != "exit", at+".expression", "Say when the hook runs.")
		s := t.resolve(of, in.own, at)
		if s == nil {
			continue
		}
		inner := in
		inner.tasks = maps.Clone(in.tasks)
		inner.tasks[of.Name], inner.item = s, false
		for _, op := range t.operators(of, inner, at) {
			t.follow(&op, run, name == "exit" || !strings.Contains(h.Expression, "Running"))
			operators = append(operators, op)
		}
	}
	return operators
}

// follow lets the operator of a hook begin when its task has ended, or else when it
// begins, which it then sees as running.
func (t *translator) follow(op *workflow.Operator, run *task, ended bool) {
	op.Watches = true
	if ended {
		op.Depends = fmt.Sprintf("(%s.Succeeded || %s.Failed || %s.Errored)", run.Name, run.Name, run.Name)
		return
	}
	names := map[string]string{"tasks." + run.Name + ".status": "Running", "steps." + run.Name + ".status": "Running"}
	maps.Copy(names, op.Tags.Names)
	op.Tags.Names = names
}

// aim lets only what the target of a dag needs run.
func (t *translator) aim(s *source, operators []workflow.Operator) {
	target := strings.TrimSpace(s.DAG.Target)
	if target == "" {
		return
	}
	t.checkText(target, scope{own: s}, s.path+".dag.target")
	names := map[string]bool{}
	for _, op := range operators {
		names[op.Name] = true
	}
	if !strings.Contains(target, "{{") {
		for _, word := range strings.Fields(target) {
			t.refuse(!names[word], s.path+".dag.target", "There is no task %q.", word)
		}
	}
	for i := range operators {
		op := &operators[i]
		op.Tags.Target, op.Tags.For = target, append(neededBy(op.Name, operators), op.Name)
	}
}

// neededBy are the operators that depend on the one called name, directly or not.
func neededBy(name string, operators []workflow.Operator) []string {
	var found []string
	for queue := []string{name}; len(queue) > 0; queue = queue[1:] {
		for _, op := range operators {
			if op.Depends == "" || slices.Contains(found, op.Name) {
				continue
			}
			if rule, err := dag.ParseRule(op.Depends, dag.HasSucceeded); err == nil && slices.Contains(rule.Names(), queue[0]) {
				found, queue = append(found, op.Name), append(queue, op.Name)
			}
		}
	}
	return found
}

// inputFields are the inputs of a template.
func (t *translator) inputFields(s *source) typeregistry.Schema {
	var schema typeregistry.Schema
	for _, p := range s.Inputs.Parameters {
		schema.Fields = append(schema.Fields, typeregistry.Field{Name: p.Name, Type: t.text, Description: string(p.Description)})
	}
	for _, a := range s.Inputs.Artifacts {
		schema.Fields = append(schema.Fields, typeregistry.Field{Name: artifactPort + a.Name, Hints: typeregistry.Hints{Label: a.Name}, Type: t.file})
	}
	return schema
}

// graphOutputs are the outputs of a template of steps or tasks.
func (t *translator) graphOutputs(s *source, in scope) []workflow.Output {
	var outputs []workflow.Output
	for i, p := range s.Outputs.Parameters {
		path := fmt.Sprintf("%s.outputs.parameters[%d]", s.path, i)
		tagged, ok := t.outputValue(p, in, path)
		if !ok {
			continue
		}
		t.refuse(p.ValueFrom != nil && p.ValueFrom.Path != "", path+".valueFrom.path", "Only a container or a script writes files; use parameter or expression.")
		outputs = append(outputs, workflow.Output{
			Name: p.Name, Type: t.optional(t.text), Description: string(p.Description), Source: workflow.Source{Kind: workflow.SourceTags, Tagged: tagged},
		})
	}
	for i, a := range s.Outputs.Artifacts {
		path := fmt.Sprintf("%s.outputs.artifacts[%d]", s.path, i)
		if a.From == "" && a.FromExpression == "" {
			t.add(path+".from", "Say which artifact this is: from, or fromExpression.")
			continue
		}
		tagged := t.fileSource(a, in, path)
		tagged.Optional = true
		outputs = append(outputs, workflow.Output{
			Name: artifactPort + a.Name, Type: t.optional(t.file), Source: workflow.Source{Kind: workflow.SourceTags, Tagged: tagged},
		})
	}
	return outputs
}

// outputValue is where the value of an output parameter comes from that no file holds.
func (t *translator) outputValue(p parameter, in scope, path string) (workflow.Tagged, bool) {
	v := workflow.Tagged{As: workflow.TaggedText, Optional: true}
	from := p.ValueFrom
	switch {
	case p.Value != nil:
		t.checkText(string(*p.Value), in, path+".value")
		v.Value = string(*p.Value)
	case from == nil:
		t.add(path+".valueFrom", "Say where the value comes from.")
		return v, false
	case from.Parameter != "":
		t.checkText(from.Parameter, in, path+".valueFrom.parameter")
		v.Value = from.Parameter
	case from.Expression != "":
		v.Value = "{{=" + from.Expression + "}}"
		t.checkText("{{="+from.Expression+"}}", in, path+".valueFrom.expression")
	default:
		t.refuse(from.Path == "", path+".valueFrom", "Say where the value comes from.")
		return v, false
	}
	if from != nil && from.Default != nil {
		text := string(*from.Default)
		v.Default = &text
	}
	return v, true
}

// outputs are what the operator of a template gives to others.
func (t *translator) outputs(s *source) []workflow.OperatorOutput {
	var outputs []workflow.OperatorOutput
	for _, p := range s.Outputs.Parameters {
		o := workflow.OperatorOutput{Name: p.Name, Type: t.optional(t.text), Description: string(p.Description), Storage: workflow.StorageDisk}
		if p.GlobalName != "" {
			o.Global = "parameters." + p.GlobalName
		}
		outputs = append(outputs, o)
	}
	for _, a := range s.Outputs.Artifacts {
		o := workflow.OperatorOutput{Name: artifactPort + a.Name, Type: t.optional(t.file), Storage: workflow.StorageDisk}
		if a.GlobalName != "" {
			o.Global = "artifacts." + a.GlobalName
		}
		outputs = append(outputs, o)
	}
	return outputs
}

// given are the values that a task gives to the inputs of its template.
func (t *translator) given(run *task, s *source, in scope, path string) []workflow.Input {
	var list []workflow.Input
	for i, p := range s.Inputs.Parameters {
		tagged, ok := t.argument(run, p, in, path)
		if !ok {
			if !in.unused {
				t.add(path+".arguments.parameters", "The template %q needs the parameter %q (%s.inputs.parameters[%d]).", s.Name, p.Name, s.path, i)
			}
			continue
		}
		list = append(list, workflow.Input{
			Name: p.Name, Type: t.text, Description: string(p.Description), Source: workflow.Source{Kind: workflow.SourceTags, Tagged: tagged},
		})
	}
	for i, a := range run.Arguments.Parameters {
		known := slices.ContainsFunc(s.Inputs.Parameters, func(p parameter) bool { return p.Name == a.Name })
		if !known { // as Argo, which passes it on to nobody; still its tags are checked
			t.argument(run, a, in, fmt.Sprintf("%s.arguments.parameters[%d]", path, i))
		}
	}
	return append(list, t.givenFiles(run, s, in, path)...)
}

// argument is the value of one parameter: the task's, or the template's own.
func (t *translator) argument(run *task, p parameter, in scope, path string) (workflow.Tagged, bool) {
	v := workflow.Tagged{As: workflow.TaggedText}
	for i, a := range run.Arguments.Parameters {
		if a.Name != p.Name {
			continue
		}
		at := fmt.Sprintf("%s.arguments.parameters[%d]", path, i)
		switch {
		case a.Value != nil:
			t.checkText(string(*a.Value), in, at+".value")
			v.Value = string(*a.Value)
		case a.ValueFrom != nil && a.ValueFrom.Expression != "":
			v.Value = "{{=" + a.ValueFrom.Expression + "}}"
			t.checkText("{{="+a.ValueFrom.Expression+"}}", in, at+".valueFrom.expression")
		case a.ValueFrom != nil && a.ValueFrom.Parameter != "":
			t.checkText(a.ValueFrom.Parameter, in, at+".valueFrom.parameter")
			v.Value = a.ValueFrom.Parameter
		case a.ValueFrom != nil:
			t.add(at+".valueFrom", "An argument has a value, valueFrom.expression or valueFrom.parameter.")
			return v, true
		default:
			continue
		}
		if p.Default != nil {
			text := string(*p.Default)
			v.Default = &text
		}
		return v, true
	}
	own := cmp.Or(p.Value, p.Default)
	if own == nil && p.ValueFrom != nil {
		own = p.ValueFrom.Default
	}
	if own == nil {
		return v, false
	}
	v.Value = string(*own)
	return v, true
}
