package argo

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/expression"
)

// checkText reports tags in a text that can never have a value.
func (c *checks) checkText(text string, in scope, path string) {
	if !strings.Contains(text, "{{") {
		return
	}
	parsed, err := expression.ParseTemplate(text)
	if err != nil {
		c.add(path, "%s", err)
		return
	}
	for _, tag := range parsed.Tags() {
		switch {
		case tag.Err != nil:
			c.add(path, "%s", tag.Err)
		case tag.Expression != nil:
			for _, r := range tag.Expression.References() {
				c.checkReference(r.Path, in, path)
			}
		case strings.Contains(tag.Name, "{{"):
			// the name is known only when the inner tag is replaced
		default:
			c.checkName(tag.Name, in, path)
		}
	}
}

func (c *checks) checkTexts(list []string, in scope, path string) {
	for i, text := range list {
		c.checkText(text, in, fmt.Sprintf("%s[%d]", path, i))
	}
}

// checkValue checks every text of a value.
func (c *checks) checkValue(v any, in scope, path string) {
	switch v := v.(type) {
	case string:
		c.checkText(v, in, path)
	case []any:
		for i, e := range v {
			c.checkValue(e, in, fmt.Sprintf("%s[%d]", path, i))
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			c.checkValue(v[k], in, path+"."+k)
		}
	}
}

// checkCondition checks the tags of a condition, and the syntax of one without tags.
func (c *checks) checkCondition(text string, in scope, path string) {
	c.checkText(text, in, path)
	if strings.Contains(text, "{{") {
		return
	}
	if _, err := expression.When(text); err != nil {
		c.add(path, "%s", err)
	}
}

// readsItem reports whether a text reads the item of a loop.
func readsItem(text string) bool {
	parsed, err := expression.ParseTemplate(text)
	if err != nil {
		return false
	}
	for _, tag := range parsed.Tags() {
		if tag.Name == "item" || strings.HasPrefix(tag.Name, "item.") {
			return true
		}
		if tag.Expression == nil {
			continue
		}
		if slices.ContainsFunc(tag.Expression.References(), func(r expression.Reference) bool { return r.Path[0] == "item" }) {
			return true
		}
	}
	return false
}

// checkReference is checkName for a path that an expression reads. It does not see names that
// the expression builds when it runs.
func (c *checks) checkReference(path []string, in scope, at string) {
	switch path[0] {
	case "inputs", "tasks", "steps":
		if len(path) == 2 && path[0] != "inputs" && path[1] == "name" && in.tasks["name"] == nil { // its own name
			return
		}
		if len(path) < 3 || path[0] == "inputs" && path[1] != "parameters" && path[1] != "artifacts" {
			if len(path) == 2 && path[0] != "inputs" {
				c.checkName(path[0]+"."+path[1]+".status", in, at)
			}
			return
		}
		in.before = nil // an expression can test whether the value exists
		c.checkName(strings.Join(path, "."), in, at)
	case "workflow":
		if len(path) > 2 && path[1] == "parameters" {
			c.checkName(strings.Join(path[:3], "."), in, at)
		}
	case "item":
		c.checkName("item", in, at)
	case "retries", "pod", "node", "outputs", "lastRetry", "response", "env", "execution":
	default:
		c.add(at, "%q is not available here; expressions can read inputs, tasks, steps, workflow and item.", strings.Join(path, "."))
	}
}

// checkName reports a tag that can never have a value.
func (c *checks) checkName(name string, in scope, at string) {
	first, rest, _ := strings.Cut(name, ".")
	switch first {
	case "inputs":
		c.checkInput(rest, in, at)
	case "tasks", "steps":
		c.checkTask(name, rest, in, at)
	case "item":
		c.refuse(!in.item, at, "Items are available only in the arguments and condition of a task with withItems, withParam or withSequence; pass the item as a parameter.")
	case "workflow":
		c.checkWorkflow(name, rest, at)
	case "outputs":
		c.refuse(!in.leaf || !hasOutputPath(in.own, name), at, "There is no %s here.", name)
	case "pod", "node", "retries", "lastRetry":
		c.refuse(!in.leaf, at, "%s is available only in a container or script.", name)
		c.refuse(name == "lastRetry.duration", at, "The duration of the last attempt is available only in retryStrategy.expression.")
	default: // braces of another language, such as Go's or Jinja's, stay as they are, as in Argo
		near := apperr.Nearest(first, []string{"inputs", "outputs", "tasks", "steps", "workflow", "item", "pod", "node", "retries"})
		c.refuse(near != "" && rest != "", at, "There is no {{%s}}. Did you mean %q?", shorten(name), near)
		c.refuse(in.number, at, "The tag {{%s}} is not an Argo tag.", shorten(name))
	}
}

func (c *checks) checkInput(rest string, in scope, at string) {
	if in.own == nil {
		c.add(at, "The workflow itself has no inputs; use workflow.parameters.<name>.")
		return
	}
	kind, name, _ := strings.Cut(rest, ".")
	var known []string
	switch kind {
	case "parameters":
		for _, p := range in.own.Inputs.Parameters {
			known = append(known, p.Name)
		}
		if name == "" || in.root && slices.ContainsFunc(c.spec.Arguments.Parameters, func(p parameter) bool { return p.Name == name }) {
			return
		}
	case "artifacts":
		for _, a := range in.own.Inputs.Artifacts {
			known = append(known, a.Name)
		}
		name = strings.TrimSuffix(name, ".path")
	default:
		c.add(at, "Inputs are parameters or artifacts, not %q.", kind)
		return
	}
	if !slices.Contains(known, name) {
		c.add(at, "The template %q has no input %s.%s.%s", in.own.Name, kind, name, suggestion(name, known))
	}
}

var taskFields = regexp.MustCompile(`^(status|id|ip|name|startedAt|finishedAt|exitCode|hostNodeName|outputs\.(result|exitCode|parameters|parameters\.[A-Za-z0-9_-]+|artifacts\.[A-Za-z0-9_-]+))$`)

// checkTask checks tasks.<name>.<field> and steps.<name>.<field>.
func (c *checks) checkTask(tag, rest string, in scope, at string) {
	name, field, _ := strings.Cut(rest, ".")
	if tag == "tasks.name" || tag == "steps.name" { // what Argo has for it is the node's own name
		return
	}
	s, ok := in.tasks[name]
	switch {
	case in.leaf:
		c.add(at, "A template can read only its own inputs; pass %s as an argument.", tag)
	case !ok:
		c.add(at, "There is no task %q in this template.%s", name, suggestion(name, slices.Sorted(maps.Keys(in.tasks))))
	case in.before != nil && !in.before[name]:
		c.add(at, "The task %q may not have ended by then, because this task does not depend on it.", name)
	case c.dagSpec && s != nil && outputByName.MatchString(field) && (c.keepsAll(s) || c.declares(s, field)):
		// it is known when the task has ended
	case !taskFields.MatchString(field):
		c.add(at, "A task has status, id, ip, exitCode, startedAt, finishedAt, outputs.result, outputs.parameters.<name> and outputs.artifacts.<name>, not %q.", field)
	case field == "hostNodeName":
		c.add(at, "FlowForge does not report the machine that a task runs on.")
	case s != nil && field == "ip" && !s.serves():
		c.add(at, "Only daemon tasks have an address.")
	case s != nil && s.serves() && strings.HasPrefix(field, "outputs."):
		c.add(at, "The outputs of the daemon %q are collected when it stops, after all other tasks have ended. Other tasks can read only its ip.", name)
	case s != nil:
		c.checkOutput(s, field, at)
	}
}

func (c *checks) checkOutput(s *source, field, at string) {
	if name, ok := strings.CutPrefix(field, "outputs.parameters."); ok {
		if !slices.ContainsFunc(s.Outputs.Parameters, func(p parameter) bool { return p.Name == name }) {
			c.add(at, "The template %q has no output parameter %q.", s.Name, name)
		}
	}
	if name, ok := strings.CutPrefix(field, "outputs.artifacts."); ok {
		if !slices.ContainsFunc(s.Outputs.Artifacts, func(a artifact) bool { return a.Name == name }) {
			c.add(at, "The template %q has no output artifact %q.", s.Name, name)
		}
	}
}

// hasOutputPath reports whether name is outputs.parameters.<name>.path or the like of
// an output that the template writes.
func hasOutputPath(s *source, name string) bool {
	return slices.ContainsFunc(s.Outputs.Parameters, func(p parameter) bool { return name == "outputs.parameters."+p.Name+".path" }) ||
		slices.ContainsFunc(s.Outputs.Artifacts, func(a artifact) bool { return name == "outputs.artifacts."+a.Name+".path" })
}

var workflowFields = regexp.MustCompile(`^(name|namespace|uid|status|failures|priority|duration|serviceAccountName|mainEntrypoint|parameters|labels|annotations|scheduledTime|creationTimestamp|creationTimestamp\.(RFC3339|[YmdHMSyBbAaIpZjLs])|outputs\.(parameters|artifacts)\.[A-Za-z0-9_-]+)$`)

func (c *checks) checkWorkflow(name, rest, at string) {
	if parameterName, ok := strings.CutPrefix(rest, "parameters."); ok {
		var known []string
		for _, p := range c.spec.Arguments.Parameters {
			known = append(known, p.Name)
		}
		if parameterName == "json" && !slices.Contains(known, parameterName) { // all of them
			return
		}
		if !slices.Contains(known, parameterName) && c.isTemplate() && c.declareParameter(parameterName) {
			return
		}
		if !slices.Contains(known, parameterName) && c.spec.Entrypoint != "" {
			c.add(at, "spec.arguments has no parameter %q.%s", parameterName, suggestion(parameterName, known))
		}
		return
	}
	for _, kind := range []string{"labels.", "annotations."} {
		if strings.HasPrefix(rest, kind) {
			_, ok := c.def.Constants[name]
			_, computed := c.spec.WorkflowMetadata.LabelsFrom[strings.TrimPrefix(rest, "labels.")]
			c.refuse(!ok && !computed, at, "The workflow has no such label or annotation.")
			return
		}
	}
	c.refuse(!workflowFields.MatchString(rest), at, "There is no %s.", name)
}
