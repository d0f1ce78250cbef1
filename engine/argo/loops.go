package argo

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/workflow"
)

// foreach returns the fan-out of a task; nil if it has none.
func (t *tasks) foreach(run *task, in scope, path string) *workflow.Foreach {
	given := 0
	f := &workflow.Foreach{Limit: workflow.DefaultItems}
	outer := in
	outer.item = false
	tagged := func(value any, as workflow.TaggedAs) {
		given++
		f.Items = workflow.Source{Kind: workflow.SourceTags, Tagged: workflow.Tagged{Value: value, As: as}}
	}
	if run.WithItems != nil {
		t.checks.checkValue(run.WithItems, outer, path+".withItems")
		tagged(run.WithItems, workflow.TaggedList)
	}
	if run.WithParam != "" {
		t.checks.checkText(run.WithParam, outer, path+".withParam")
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
		t.add(path, "Set one of withItems, withParam and withSequence.")
	}
	return f
}

func (t *tasks) checkSequence(s *sequence, in scope, path string) {
	t.refuse(s.Count == nil && s.End == nil, path, "Set count or end.")
	t.refuse(s.Count != nil && s.End != nil, path, "Set either count or end.")
	for name, v := range map[string]*Text{"count": s.Count, "start": s.Start, "end": s.End} {
		if v == nil {
			continue
		}
		if !strings.Contains(string(*v), "{{") {
			if _, err := strconv.Atoi(string(*v)); err != nil {
				t.add(path+"."+name, "This must be a whole number.")
			}
		}
		t.checks.checkText(string(*v), in, path+"."+name)
	}
	if s.Format != "" && !sequenceFormat.MatchString(s.Format) {
		t.add(path+".format", "A format must have exactly one placeholder for a number, such as %%02d or testuser%%02X.")
	}
}

// hooks builds the operators of the hooks of a task.
func (t *tasks) hooks(run *task, in scope, path string) []workflow.Operator {
	hooks := maps.Clone(run.Hooks)
	if hooks == nil {
		hooks = map[string]*hook{}
	}
	if run.OnExit != "" {
		t.refuse(hooks["exit"] != nil, path+".onExit", onlyOneExit)
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
		ended := name == "exit" || !strings.Contains(h.Expression, "Running")
		ofItem := name == "exit" && run.loops()
		switch {
		case ofItem:
			of.WithItems, of.WithParam, of.WithSequence = run.WithItems, run.WithParam, run.WithSequence
		case !ended && run.When != "" && !(run.loops() && readsItem(run.When)):
			of.When = "(" + run.When + ") && " + of.When // it starts with its task
		}
		t.refuse(h.Expression == "" && name != "exit", at+".expression", "Set the condition of the hook.")
		s := t.resolve(of, in.own, at)
		if s == nil {
			continue
		}
		if name == "exit" {
			of.Arguments = t.exitArguments(of.Arguments, s)
		}
		inner := in
		inner.tasks = maps.Clone(in.tasks)
		inner.tasks[of.Name], inner.item = s, false
		for _, op := range t.operators(of, inner, at) {
			t.attachHook(&op, run, ended)
			op.Exit = name == "exit"
			if ofItem {
				op.Tags.ItemOf, op.Tags.WhenOfItem = run.Name, of.When != ""
			}
			operators = append(operators, op)
		}
	}
	return operators
}

// key is the key of the template that a hook of the workflow runs.
func (h *hook) key() string {
	if h.TemplateRef != nil {
		return h.TemplateRef.library() + "/" + h.TemplateRef.Template
	}
	return h.Template
}

const onlyOneExit = "Set either onExit or hooks.exit; Argo runs onExit alone."

// exitArguments returns the arguments of an exit handler that runs s: its own, or else the
// parameters of the workflow.
func (t *tasks) exitArguments(given arguments, s *source) arguments {
	if s == nil || len(given.Parameters) > 0 || len(given.Artifacts) > 0 {
		return given
	}
	return arguments{Parameters: t.entryArguments(s).Parameters}
}

// attachHook makes the operator of a hook begin when its task has ended, or else when it
// begins, which it then sees as running.
func (t *tasks) attachHook(op *workflow.Operator, run *task, ended bool) {
	op.Watches, op.AllowFailure = true, true
	if ended {
		op.Late = true
		op.Depends = fmt.Sprintf("(%s.Succeeded || %s.Failed || %s.Errored)", run.Name, run.Name, run.Name)
		return
	}
	names := map[string]string{"tasks." + run.Name + ".status": "Running", "steps." + run.Name + ".status": "Running"}
	maps.Copy(names, op.Tags.Names)
	op.Tags.Names = names
}

// restrictToTarget makes a dag run only the tasks of its target and their dependencies.
func (t *tasks) restrictToTarget(s *source, operators []workflow.Operator) {
	target := strings.TrimSpace(s.DAG.Target)
	if target == "" {
		return
	}
	t.checks.checkText(target, scope{own: s}, s.path+".dag.target")
	names := map[string]bool{}
	for _, op := range operators {
		names[op.Name] = true
	}
	if !strings.Contains(target, "{{") {
		for word := range strings.FieldsSeq(target) {
			t.refuse(!names[word], s.path+".dag.target", "There is no task %q.", word)
		}
	}
	var of string // hooks come after their task
	for i := range operators {
		op := &operators[i]
		if !op.Watches {
			of = op.Name
		}
		if !op.Late { // what begins when that has ended says by itself whether it did
			op.Tags.Target, op.Tags.For = target, append(neededBy(of, operators), of)
		}
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
