package argo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/workflow"
)

// scope is what the texts of a template, or of the workflow itself, can read.
type scope struct {
	own    *source            // the template whose inputs can be read; nil: the workflow itself
	tasks  map[string]*source // the templates of the tasks that can be read, by the names of the tasks
	list   []*task
	root   bool // of the workflow itself
	exit   bool // of an exit handler
	item   bool // {{item}} can be read
	unused bool // no task runs the template
	leaf   bool // texts of the template itself
	number bool // the texts become numbers

	before map[string]bool // the tasks that have ended when this one starts; nil: all
}

// graph builds the graph of a template once.
func (t *tasks) graph(s *source) {
	if t.visited[s.key()] {
		return
	}
	t.visited[s.key()] = true
	g := t.body(s, scope{own: s})
	g.Name = s.key()
	t.graphs[g.Name] = g
}

// body builds the operators and outputs of a template of steps or tasks.
func (t *tasks) body(s *source, in scope) workflow.Graph {
	g := workflow.Graph{Inputs: t.values.inputFields(s)}
	if s.Parallelism != nil {
		g.Parallelism = int(max(*s.Parallelism, 0))
	}
	t.refuse(s.ActiveDeadline != nil, s.path+".activeDeadlineSeconds", "A template of steps or tasks does not support this field; set it in the templates that it runs, or in spec.")
	t.refuse(s.Timeout != "", s.path+".timeout", "A template of steps or tasks does not support this field; set it in the templates that it runs.")
	in.tasks = map[string]*source{}
	if s.DAG != nil {
		g.Operators = t.dag(s, in)
	} else {
		g.Operators = t.steps(s, in)
	}
	g.Outputs = t.values.graphOutputs(s, in)
	return g
}

// dag builds the operators of the tasks of a template.
func (t *tasks) dag(s *source, in scope) []workflow.Operator {
	path := s.path + ".dag.tasks"
	if len(s.DAG.Tasks) == 0 {
		t.add(path, "A dag must have at least one task.")
	}
	for i := range s.DAG.Tasks {
		t.addTask(&s.DAG.Tasks[i], s, &in, fmt.Sprintf("%s[%d]", path, i))
	}
	var operators []workflow.Operator
	rules := make([]string, len(s.DAG.Tasks))
	waits := map[string][]string{}
	for i := range s.DAG.Tasks {
		run := &s.DAG.Tasks[i]
		rules[i] = t.rule(run, in, fmt.Sprintf("%s[%d]", path, i))
		waits[run.Name] = namesIn(rules[i])
	}
	for i := range s.DAG.Tasks {
		run, at, rule := &s.DAG.Tasks[i], fmt.Sprintf("%s[%d]", path, i), rules[i]
		in.before = map[string]bool{}
		addDependencies(run.Name, waits, in.before)
		ops := t.operators(run, in, at)
		for k := range ops {
			if ops[k].Name == run.Name || ops[k].Depends == "" {
				ops[k].Depends = rule
			}
			ops[k].Drain = s.failsFast() && ops[k].Name == run.Name
			ops[k].Tags.ItemErrs = workflow.ErrsLast
		}
		operators = append(operators, ops...)
	}
	t.restrictToTarget(s, operators)
	return operators
}

// namesIn returns the tasks in a rule. An invalid rule was reported before.
func namesIn(rule string) []string {
	parsed, err := dag.ParseRule(rule, dag.HasSucceeded)
	if rule == "" || err != nil {
		return nil
	}
	return parsed.Names()
}

// addDependencies adds all direct and indirect dependencies of a task to found.
func addDependencies(name string, waits map[string][]string, found map[string]bool) {
	for _, other := range waits[name] {
		if !found[other] {
			found[other] = true
			addDependencies(other, waits, found)
		}
	}
}

// steps builds the operators of the steps of a template. Each group waits for the group before
// it.
func (t *tasks) steps(s *source, in scope) []workflow.Operator {
	for g, group := range s.Steps {
		for i := range group {
			run, at := &group[i], fmt.Sprintf("%s.steps[%d][%d]", s.path, g, i)
			t.addTask(run, s, &in, at)
			t.refuse(run.Depends != "", at+".depends", "Steps run in the order of their groups; use a dag.")
			t.refuse(len(run.Dependencies) > 0, at+".dependencies", "Steps run in the order of their groups; use a dag.")
		}
	}
	var operators []workflow.Operator
	var before []string
	in.before = map[string]bool{}
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
				ops[k].Drain = s.failsFast() && ops[k].Name == run.Name
				ops[k].Tags.ItemErrs = workflow.ErrsAll
			}
			operators = append(operators, ops...)
			now = append(now, successRule(run))
		}
		if len(now) > 0 {
			before = now
		}
		in.before = maps.Clone(in.before)
		for i := range group {
			in.before[group[i].Name] = true
		}
	}
	if len(operators) == 0 {
		t.add(s.path+".steps", "A template of steps must have at least one step.")
	}
	return operators
}

// failsFast reports whether a failure keeps all further tasks of a template from starting,
// regardless of continueOn.
func (s *source) failsFast() bool { return s != nil && s.FailFast != nil && *s.FailFast }

// errs returns when the failure of a template is an error. A dag has the state of the first
// failure among its last tasks, or of the last one with failFast: false. A template of steps
// is always Failed.
func (s *source) errs() workflow.Errs {
	switch {
	case s.DAG == nil:
		return workflow.ErrsNever
	case s.DAG.FailFast == nil || *s.DAG.FailFast:
		return workflow.ErrsFirst
	}
	return workflow.ErrsLast
}

// addTask adds a task to the scope, with the template that it runs.
func (t *tasks) addTask(run *task, s *source, in *scope, path string) {
	if !taskName.MatchString(run.Name) {
		t.add(path+".name", "A name can have up to 128 letters, digits, _ and -, and must begin with a letter or digit.")
	}
	if _, taken := in.tasks[run.Name]; taken {
		t.add(path+".name", "The name %q is already in use.", run.Name)
	}
	if s.failsFast() {
		run.ContinueOn = nil // as in Argo, regardless of continueOn
	}
	in.tasks[run.Name] = t.resolve(run, s, path)
	in.list = append(in.list, run)
}

// resolve returns the template that a task runs; nil, with a problem, if there is none.
func (t *tasks) resolve(run *task, s *source, path string) *source {
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
		t.add(path, "Set one of template, templateRef and inline.")
	case run.Inline != nil:
		inline := *run.Inline
		name := run.Name
		if s != nil {
			name = s.Name + "." + run.Name
		}
		inline.Name = name
		found := &source{template: &inline, library: library, path: path + ".inline"}
		t.leaves.checkTemplate(found)
		return found
	case run.TemplateRef != nil:
		key := run.TemplateRef.library() + "/" + run.TemplateRef.Template
		if found := t.templates[key]; found != nil {
			return found
		}
		if t.libraries[run.TemplateRef.library()] != nil { // one that is missing was reported
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

// allows returns the failures that continueOn tolerates.
func (c *continueOn) allows() dag.Failures {
	allowed := dag.NoFailure
	if c != nil && c.Failed {
		allowed |= dag.OfTask
	}
	if c != nil && c.Error {
		allowed |= dag.OfSystem
	}
	return allowed
}

// successRule is the condition on a task for the steps after it.
func successRule(run *task) string {
	rule := fmt.Sprintf("%s.Succeeded || %s.Skipped || %s.Daemoned", run.Name, run.Name, run.Name)
	if run.ContinueOn != nil && run.ContinueOn.Failed {
		rule += fmt.Sprintf(" || %s.Failed", run.Name)
	}
	if run.ContinueOn != nil && run.ContinueOn.Error {
		rule += fmt.Sprintf(" || %s.Errored", run.Name)
	}
	return "(" + rule + ")"
}

// rule returns the condition for a task of a dag to start; "" for no condition.
func (t *tasks) rule(run *task, in scope, path string) string {
	depends := strings.TrimSpace(run.Depends)
	if depends == "" {
		rules := make([]string, len(run.Dependencies))
		for i, dependency := range run.Dependencies {
			name := dependency.task()
			k := slices.IndexFunc(in.list, func(other *task) bool { return other.Name == name })
			if k < 0 {
				t.add(fmt.Sprintf("%s.dependencies[%d]", path, i), "There is no task %q.%s", name, suggestion(name, slices.Sorted(maps.Keys(in.tasks))))
				return ""
			}
			rules[i] = t.dependencyRule(dependency, in.list[k], fmt.Sprintf("%s.dependencies[%d]", path, i))
		}
		return strings.Join(rules, " && ")
	}
	t.refuse(len(run.Dependencies) > 0, path+".dependencies", "Set either depends or dependencies.")
	t.refuse(run.ContinueOn != nil, path+".continueOn", "With depends, name the tolerated result there: %s.Failed.", run.Name)
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
	t.refuse(in.own.failsFast() && parsed.OfFailure(), path+".depends", "With the template's failFast, nothing starts after a failure; remove one of the two.")
	return expandRule(depends)
}

// expandRule adds the statuses to names without one: a task that succeeded, was skipped or
// is a daemon satisfies such a name.
func expandRule(rule string) string {
	return ruleTerm.ReplaceAllStringFunc(rule, func(term string) string {
		if strings.Contains(term, ".") {
			return term
		}
		return fmt.Sprintf("(%s.Succeeded || %s.Skipped || %s.Daemoned)", term, term, term)
	})
}

// operators builds the operator of a task, and those of its hooks.
func (t *tasks) operators(run *task, in scope, path string) []workflow.Operator {
	s := in.tasks[run.Name]
	if s == nil {
		if in.tasks != nil {
			return nil // it was reported
		}
		if s = t.resolve(run, in.own, path); s == nil {
			return nil
		}
	}
	in.item = run.loops()
	t.checkServes(run, s, path)
	var op workflow.Operator
	if s.isGraph() {
		t.graph(s)
		op = workflow.Operator{Type: workflow.TypeGraph, Graph: s.key(), Outputs: t.values.outputs(s), Tags: &workflow.Tags{Errs: s.errs()}}
		t.policies.set(&op, s)
		op.Cache = t.policies.memo(s)
	} else {
		op = t.leaves.leaf(run, s, in, path)
	}
	op.Name, op.At = run.Name, path
	op.Tags.Template = s.Name
	op.Metrics = t.metrics.metricsOf(s)
	op.Inputs = t.values.taskInputs(run, s, in, path)
	op.Tags.Allows = run.ContinueOn.allows()
	op.Foreach = t.foreach(run, in, path)
	if run.When != "" {
		t.checks.checkCondition(run.When, in, path+".when")
		op.Tags.When, op.Tags.WhenOfItem = run.When, in.item && readsItem(run.When)
	}
	in.before = nil // hooks can read their task
	return append([]workflow.Operator{op}, t.hooks(run, in, path)...)
}
