package execution

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/engine/workflow"
)

// ResultPort is the output of an operator with tags that contains its standard output; the
// dot separates it from the names of parameters, as in ArtifactPort.
const ResultPort = "outputs.result"

// ArtifactPort is the prefix of inputs and outputs that are artifacts.
const ArtifactPort = "artifacts."

// tagScope is the scope of tags: a graph, and a node of it or none.
type tagScope struct {
	ctx    context.Context //nolint:containedctx // a scope lives as long as one replacement
	loop   *loop
	scope  int
	node   int            // or dag.NoNode
	inputs map[string]any // of the graph, or with own of the node itself
	own    bool           // the tags are in the node's own texts, which its attempt reads
	tags   *workflow.Tags
	ended  map[string]string // additional values for metrics: how something ended
	nested bool              // the value of a name is being replaced
	broken error             // outputs could not be read
}

// at is the scope of the inputs and conditions of node i.
func (vs *nodeValues) at(ctx context.Context, i int) *tagScope {
	return &tagScope{ctx: ctx, loop: vs.loop, scope: vs.loop.progress.ScopeOf(vs.loop.home(i)), node: i, inputs: vs.inputsOf(i), tags: vs.loop.nodes[i].op.Tags}
}

// within is the scope of the texts of node i itself, whose inputs are known.
func (vs *nodeValues) within(ctx context.Context, i int, inputs map[string]any) *tagScope {
	p := vs.at(ctx, i)
	p.inputs, p.own = inputs, true
	return p
}

// inScope is the scope of the outputs of a graph.
func (vs *nodeValues) inScope(ctx context.Context, scope int) *tagScope {
	p := &tagScope{ctx: ctx, loop: vs.loop, scope: scope, node: dag.NoNode, inputs: vs.loop.inputs}
	if base, size := vs.loop.progress.Members(scope); size > 0 {
		p.inputs = vs.inputsOf(base)
	}
	return p
}

// text replaces the tags of a text. With strict an unknown tag is an error that names it;
// otherwise it remains. Tags of other languages always remain.
func (p *tagScope) text(text string, strict bool) (string, error) {
	v, err := p.render(text, strict)
	if err != nil {
		return "", err
	}
	s, _ := v.(string)
	return s, nil
}

// render replaces the tags in all texts of a value.
func (p *tagScope) render(value any, strict bool) (any, error) {
	scope := expression.Scope{Lookup: p.lookup, Partial: !strict, Foreign: workflow.ForeignTag}
	if texts := expressionsIn(value, nil); len(texts) > 0 {
		env, err := p.env(texts)
		if err != nil {
			return nil, err
		}
		scope.Env = env
	}
	v, err := scope.RenderValue(value)
	if p.broken != nil {
		return nil, p.broken
	}
	return v, err
}

// expressionsIn collects the expressions in the tags of all texts of a value. Rendering
// reports texts that cannot be parsed.
func expressionsIn(value any, found []*expression.Expression) []*expression.Expression {
	switch v := value.(type) {
	case string:
		if !strings.Contains(v, "{{") {
			return found
		}
		t, err := expression.ParseTemplate(v)
		if err != nil {
			return found
		}
		for _, tag := range t.Tags() {
			if tag.Expression != nil {
				found = append(found, tag.Expression)
			}
		}
	case []any:
		for _, e := range v {
			found = expressionsIn(e, found)
		}
	case map[string]any:
		for k, e := range v {
			found = expressionsIn(e, expressionsIn(k, found))
		}
	}
	return found
}

// lookup returns the value of a simple tag as text.
func (p *tagScope) lookup(name string) (string, bool) {
	v, ok := p.find(name)
	if !ok {
		return "", false
	}
	return textOf(v), true
}

// textOf formats a value as Argo does: strings unchanged, other values as JSON.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// find returns the value of a simple tag; false when it is unknown in this scope.
func (p *tagScope) find(name string) (any, bool) {
	if v, ok := p.ended[name]; ok {
		return v, true
	}
	if p.tags != nil {
		if v, ok := p.tags.Names[name]; ok {
			return p.inside(v), true
		}
	}
	if v, ok := p.constants()[name]; ok {
		return v, true
	}
	first, rest, _ := strings.Cut(name, ".")
	switch first {
	case "item":
		return p.itemTag(rest)
	case "inputs":
		return parametersTag(p.inputs, rest)
	case "workflow":
		return p.workflowTag(rest)
	case "tasks", "steps":
		if rest == "name" && p.node != dag.NoNode {
			return p.loop.nodes[p.node].op.Name, true
		}
		if task, of, ok := strings.Cut(rest, "."); ok && !p.own {
			return p.taskTag(task, of)
		}
	case "pod", "node", "retries", "lastRetry":
		if p.own {
			return p.attemptTag(name)
		}
	}
	return nil, false
}

// inside replaces the tags in the value of a name, such as its own path.
func (p *tagScope) inside(text string) string {
	if p.nested || !strings.Contains(text, "{{") {
		return text
	}
	p.nested = true
	defer func() { p.nested = false }()
	if v, err := p.text(text, false); err == nil {
		return v
	}
	return text
}

func (p *tagScope) itemTag(field string) (any, bool) {
	if p.node == dag.NoNode || p.own || p.loop.nodes[p.node].index < 0 {
		return nil, false
	}
	v, ok, err := fieldOf(p.loop.nodes[p.node].item, field)
	return v, ok && err == nil
}

// parametersTag resolves "parameters", "parameters.<name>" or "artifacts.<name>" in the
// values of ports.
func parametersTag(values map[string]any, rest string) (any, bool) {
	if rest == "parameters" {
		list := []any{}
		for _, name := range sortedKeys(values) {
			if !strings.Contains(name, ".") && values[name] != nil {
				list = append(list, map[string]any{"name": name, "value": values[name]})
			}
		}
		return list, true
	}
	kind, name, _ := strings.Cut(rest, ".")
	switch kind {
	case "parameters":
	case "artifacts":
		name = ArtifactPort + name
	default:
		return nil, false
	}
	v, ok := values[name]
	return v, ok && v != nil
}

// attemptTag resolves values that are known when an attempt is created.
func (p *tagScope) attemptTag(name string) (any, bool) {
	l, n := p.loop, &p.loop.nodes[p.node]
	switch name {
	case "pod.name":
		return attemptName(l.id, p.node, n.attempt), true
	case "node.name":
		return n.name, true
	case "retries":
		return strconv.Itoa(n.retries), true
	}
	if n.failure == nil { // the first attempt
		v, ok := map[string]string{"lastRetry.exitCode": "0", "lastRetry.status": "", "lastRetry.message": ""}[name]
		return v, ok
	}
	switch name {
	case "lastRetry.exitCode":
		if code, ok := exitCodeOf(n.failure); ok {
			return code, true
		}
		return "-1", true
	case "lastRetry.message":
		return n.failure.Message, true
	case "lastRetry.status":
		return failurePhase(n.failure.IsError()), true
	}
	return nil, false
}

func exitCodeOf(f *query.Failure) (string, bool) {
	if f == nil || f.ExitCode == nil {
		return "", false
	}
	return strconv.Itoa(*f.ExitCode), true
}

// tagged computes a value with tags; false when it has none.
func (p *tagScope) tagged(t workflow.Tagged) (any, bool, error) {
	v, err := p.taggedValue(t)
	if err == nil {
		err = stored.Check(v)
	}
	if err == nil {
		return v, true, nil
	}
	if p.broken != nil {
		return nil, false, p.broken
	}
	_, unknown := errors.AsType[*expression.UnknownError](err)
	switch {
	case !unknown:
		return nil, false, err
	case t.Default != nil:
		return *t.Default, true, nil
	case t.Optional:
		return nil, false, nil
	}
	return nil, false, err
}

func (p *tagScope) taggedValue(t workflow.Tagged) (any, error) {
	name, _ := t.Value.(string)
	switch t.As {
	case workflow.TaggedName:
		v, ok := p.find(name)
		if !ok {
			return nil, fmt.Errorf("%s: %w", name, &expression.UnknownError{Name: name})
		}
		return v, nil
	case workflow.TaggedFormula:
		return p.formula(name)
	case workflow.TaggedKey:
		return p.byKey(name)
	case workflow.TaggedConfigMap:
		return p.configMap(t)
	}
	v, err := p.render(t.Value, true)
	if err != nil {
		return nil, err
	}
	switch t.As {
	case workflow.TaggedList:
		return listOf(v)
	case workflow.TaggedSequence:
		return sequenceOf(v)
	}
	return v, nil
}

// formula evaluates an Argo expression.
func (p *tagScope) formula(text string) (any, error) {
	e, err := expression.ParseArgo(text)
	if err != nil {
		return nil, err
	}
	env, err := p.env([]*expression.Expression{e})
	if err != nil {
		return nil, err
	}
	return e.Value(env)
}

// condition evaluates whether the node runs, and returns the evaluated text.
func (p *tagScope) condition() (bool, string, error) {
	l, n := p.loop, &p.loop.nodes[p.node]
	fans, item := n.op.Foreach != nil, n.index >= 0
	if target := n.op.Tags.Target; target != "" && !item {
		text, err := p.text(target, true)
		if err != nil {
			return false, target, err
		}
		selected := func(name string) bool { return slices.Contains(n.op.Tags.For, name) }
		if words := strings.Fields(text); len(words) > 0 && !slices.ContainsFunc(words, selected) {
			return false, "the target is " + text, nil
		}
	}
	if of, ok := l.groups.siblingFanOut(p.node); ok && item {
		if of = l.groups.siblingItem(of, n.index); l.progress.State(of) != dag.Succeeded && l.progress.State(of) != dag.Failed && !l.progress.Stopped(of) {
			return false, l.nodes[of].name + " did not run", nil
		}
	}
	when := n.op.Tags.Condition(fans, item)
	if when == "" {
		return true, "", nil
	}
	text, err := p.text(when, true)
	if err != nil {
		return false, when, err
	}
	holds, err := expression.When(text)
	return holds, text, err
}
