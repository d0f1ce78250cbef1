package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/typeregistry"
)

const (
	maxGraphs        = 1000
	maxDepthOfGraphs = 1000
	maxParallelism   = 1_000_000
	maxExpression    = 10_000
)

var embeddedVersion = formOf(`^[0-9A-Za-z.-]+$`, 100)

// isEmbeddedName reports whether this may be the name of an embedded workflow: prepare@1.2.0,
// prepare@1.2.0/tune.
func isEmbeddedName(text string) bool {
	name, version, _ := strings.Cut(text, "@")
	version, operator, inside := strings.Cut(version, "/")
	return workflowName.MatchString(name) && embeddedVersion.MatchString(version) && (!inside || operatorName.MatchString(operator))
}

// graph reads the fields that workflows and graphs share.
func (p *parser) graph(o *object) Graph {
	g := Graph{
		Inputs: p.inputs(o), Outputs: p.outputs(o), Operators: p.operators(o),
		Parallelism: o.whole(0, 0, maxParallelism, "parallelism"),
	}
	if o.path != "" {
		g.path = o.path + "."
	}
	return g
}

// graphs reads the named graphs, in the order of their names.
func (p *parser) graphs(parent *object) []Graph {
	v, at, _ := parent.get("graphs")
	o := p.object(v, at)
	if o == nil {
		return nil
	}
	if len(o.values) > maxGraphs {
		o.add(at, "There are %d graphs; at most %d are allowed.", len(o.values), maxGraphs)
		return nil
	}
	var graphs []Graph
	for _, name := range slices.Sorted(maps.Keys(o.values)) {
		path := o.at(name)
		if !operatorName.MatchString(name) && !isEmbeddedName(name) {
			p.add(path, "The name %q is not valid: use up to 63 letters, digits, _ and -.", shorten(name, 60))
		}
		inner := p.object(o.values[name], path)
		if inner == nil {
			p.add(path, "A graph must be a mapping with operators.")
			continue
		}
		g := p.graph(inner)
		g.Name, g.Description = name, inner.text(maxDescription, "description")
		inner.finish()
		graphs = append(graphs, g)
	}
	return graphs
}

// control reads the fields that control when and how often an operator runs.
func (p *parser) control(o *object, op *Operator) {
	op.When, op.condition = p.condition(o)
	op.Depends = strings.TrimSpace(o.text(maxExpression, "depends"))
	op.AllowFailure = o.boolean(false, "allow_failure")
	op.Foreach = p.foreach(o)
	op.Locks = p.locks(o)
	op.Graph, op.Workflow = o.text(500, "graph"), o.text(300, "workflow")
	op.Approval = p.approval(o)
	op.MadeOf = o.text(300, "made_of")
	if name := o.text(300, "template"); name != "" {
		o.add(o.at("template"), "Templates are not available here: %q is resolved when a definition is registered.", shorten(name, 60))
	}
	for i, text := range op.DependsOn {
		if _, err := dag.ParseRule(text, dag.HasSucceeded); err != nil {
			o.add(fmt.Sprintf("%s[%d]", o.at("depends_on"), i), "%s", err)
		}
	}
	if op.Depends == "" {
		return
	}
	if _, err := dag.ParseRule(op.Depends, dag.HasSucceeded); err != nil {
		o.add(o.at("depends"), "%s", err)
		op.Depends = ""
	}
}

// condition reads when, an expression or true and false.
func (p *parser) condition(o *object) (string, *expression.Expression) {
	v, path, _ := o.get("when")
	if b, ok := v.(bool); ok {
		v = fmt.Sprint(b)
	}
	text := strings.TrimSpace(p.textValue(v, path, maxExpression))
	if text == "" {
		return "", nil
	}
	parsed, err := expression.Parse(text)
	if err != nil {
		p.add(path, "%s", sentence(err.Error()))
		return "", nil
	}
	return text, parsed
}

// formula reads an expression for a value.
func (p *parser) formula(v any, path string) Source {
	text := strings.TrimSpace(p.textValue(v, path, maxExpression))
	if text == "" {
		return Source{}
	}
	parsed, err := expression.Parse(text)
	if err != nil {
		p.add(path, "%s", sentence(err.Error()))
		return Source{}
	}
	return Source{Kind: SourceFormula, Formula: parsed}
}

// foreach reads a reference or a list, or a mapping with more.
func (p *parser) foreach(parent *object) *Foreach {
	v, at, present := parent.get("foreach")
	switch v := v.(type) {
	case nil:
		if present {
			p.add(at, "Set the list to iterate over: foreach: inputs.<name>, <operator>.<output>, or a list.")
		}
		return nil
	case string:
		return &Foreach{Items: p.reference(v, at), Limit: DefaultItems}
	case []any:
		return &Foreach{Items: Source{Kind: SourceLiteral, Value: v}, Limit: DefaultItems}
	}
	o := p.object(v, at)
	if o == nil {
		return nil
	}
	defer o.finish()
	return &Foreach{
		Items: p.items(o), Limit: o.whole(DefaultItems, 1, MaxItems, "limit"),
		Parallelism: o.whole(0, 0, maxParallelism, "parallelism"), Partial: o.boolean(false, "allow_partial"),
	}
}

// items reads the source of the list: items, expression, or range.
func (p *parser) items(o *object) Source {
	v, at, given := o.get("items")
	formula, formulaAt, computed := o.get("expression")
	span, spanAt, ranged := o.get("range")
	switch {
	case given && (computed || ranged) || computed && ranged:
		o.add(o.path, "Set one of items, expression and range.")
	case computed:
		return p.formula(formula, formulaAt)
	case ranged:
		return p.span(span, spanAt)
	case given:
		switch v := v.(type) {
		case string:
			return p.reference(v, at)
		case []any:
			return Source{Kind: SourceLiteral, Value: v}
		}
		p.add(at, "This must be a list, inputs.<name> or <operator>.<output>, not %s.", describe(v))
	default:
		o.add(o.at("items"), "Set the list to iterate over: items, expression or range.")
	}
	return Source{}
}

// span reads a range of integers, both ends inclusive.
func (p *parser) span(v any, path string) Source {
	o := p.object(v, path)
	if o == nil {
		p.add(path, "A range must be a mapping such as {from: 1, to: 10, step: 1}.")
		return Source{}
	}
	defer o.finish()
	const far = 1_000_000_000
	from, to, step := o.whole(0, -far, far, "from"), o.whole(0, -far, far, "to"), o.whole(1, 1, far, "step")
	if _, _, ok := o.get("to"); !ok {
		o.add(o.at("to"), "Set the last number of the range; it is inclusive.")
		return Source{}
	}
	if (to-from)/step >= MaxItems {
		o.add(path, "The range has more than %d numbers.", MaxItems)
		return Source{}
	}
	items := []any{}
	for n := from; n <= to; n += step {
		items = append(items, int64(n))
	}
	return Source{Kind: SourceLiteral, Value: items}
}

func (p *parser) approval(parent *object) *Approval {
	v, at, _ := parent.get("approval")
	o := p.object(v, at)
	if o == nil {
		return nil
	}
	defer o.finish()
	a := &Approval{Message: o.text(maxDescription, "message")}
	if raw, path, _ := o.get("form"); raw != nil {
		var found []apperr.Field
		a.Form, found = p.registry.ParseSchema(raw, path)
		p.append(found...)
		p.refuseSources(a.Form, path)
	}
	answer, path, given := o.get("default")
	if !given {
		return a
	}
	values, ok := answer.(map[string]any)
	if !ok {
		p.add(path, "The default answer must be a mapping of the form's fields.")
		return a
	}
	checked, wrong := a.Form.CheckAll(values, typeregistry.Env{})
	for _, w := range wrong {
		p.add(path+"."+w.Path, "%s", w.Message)
	}
	a.Default = checked
	return a
}

// refuseSources rejects options from outside of the definition in the form of an approval, which
// another user than the launcher responds.
func (p *parser) refuseSources(form typeregistry.Schema, path string) {
	for i, f := range form.Fields {
		f.EachSource("", func(at string, part typeregistry.Field) {
			if !part.Source.Static() {
				p.add(fmt.Sprintf("%s[%d].options", path, i), "Options of %s come from %s. Only inputs of workflows have such options; list the values here.", at, part.Source.Kind())
			}
		})
	}
}

func checkGraph(c *sectionCheck) {
	c.refuseHTTP()
	c.refuseCode()
	if c.op.Graph == "" {
		c.add(c.path+".graph", "Set the graph to run: one of the graphs of this definition.")
	}
	c.refuseOutputs("its graph")
}

func checkWorkflow(c *sectionCheck) {
	c.refuseHTTP()
	c.refuseCode()
	if c.op.Workflow == "" {
		c.add(c.path+".workflow", "Set the workflow to run, such as prepare@1.2.0.")
	}
	if c.op.Graph != "" {
		c.add(c.path+".graph", "An operator of type workflow runs another workflow; a graph is run by type graph.")
	}
	c.op.Graph = c.op.Workflow // the registered graph has this name
	c.refuseOutputs("the other workflow")
}

func checkApproval(c *sectionCheck) {
	c.refuseHTTP()
	c.refuseCode()
	c.refuseOutputs("its form")
	if c.op.Approval == nil {
		c.op.Approval = &Approval{}
	}
	if c.op.Approval.Default != nil && c.op.Timeout == 0 {
		c.add(c.path+".approval.default", "A default answer requires a timeout, after which it applies.")
	}
	for _, f := range c.op.Approval.Form.Fields {
		c.op.Outputs = append(c.op.Outputs, OperatorOutput{Name: f.Name, Type: f.Type, Description: f.Description, Storage: StorageDisk})
	}
}

func (c *sectionCheck) refuseOutputs(from string) {
	if len(c.op.Outputs) > 0 {
		c.add(c.path+".outputs", "An operator of type %s has the outputs of %s; omit outputs.", c.op.Type, from)
	}
}
