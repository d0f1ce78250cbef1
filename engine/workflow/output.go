package workflow

import "github.com/flowforge/flowforge/typeregistry"

// Output is a result of the whole workflow or of a graph: the output of one operator, or an
// expression.
type Output struct {
	Name        string
	Type        *typeregistry.Type
	Description string
	From        Reference
	Source      Source // instead of From, when its Kind is not "": a formula, or tags
}

// Origin is where the value comes from: "operator.output", or an expression.
func (o Output) Origin() string {
	if o.Source.Kind == SourceFormula {
		return o.Source.Formula.String()
	}
	return o.From.String()
}

// Reference names an output of an operator.
type Reference struct {
	Operator string
	Output   string
}

// String writes "operator.output".
func (r Reference) String() string { return r.Operator + "." + r.Output }
