// Package space describes what a sweep varies: parameters, each an input of a workflow with many
// values, and the combinations of their values. Pure.
package space

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/typeregistry"
)

// Kind is how a parameter gets its values.
type Kind string

// The kinds. A range is divided into Steps or by Step when it has one of them, and otherwise any
// value between its bounds. All other distributions but Values are continuous, and a grid cannot use
// them.
const (
	Values     Kind = "values"     // a list
	Range      Kind = "range"      // From to To on a scale
	Uniform    Kind = "uniform"    // From to To, each equally likely
	LogUniform Kind = "loguniform" // From to To, with a uniform logarithm
	Normal     Kind = "normal"     // around Mean with Deviation, cut off at From and To
	Int        Kind = "int"        // whole numbers From to To, each equally likely
)

// Kinds returns all values of Kind.
func Kinds() []Kind { return []Kind{Values, Range, Uniform, LogUniform, Normal, Int} }

// Scale is how a range is divided.
type Scale string

// The scales; the zero value is Linear.
const (
	Linear Scale = "linear"
	Log    Scale = "log"
)

// Limits of spaces.
const (
	MaxParameters = 20      // Sobol's sequence has as many dimensions
	MaxValues     = 1000    // of one parameter
	MaxPath       = 200     // characters
	mostExact     = 1 << 53 // whole numbers up to it are exact
	mostNumber    = 1e100   // so that no draw overflows
)

// Parameter is one input that a sweep varies.
type Parameter struct {
	Path      string   `json:"path"` // of the input, with dots: "optimizer.lr", "layers.0.width"
	Kind      Kind     `json:"kind"`
	Values    []any    `json:"values,omitempty"` // decoded JSON
	From      *float64 `json:"from,omitempty"`
	To        *float64 `json:"to,omitempty"`
	Scale     Scale    `json:"scale,omitempty"` // of a range
	Step      *float64 `json:"step,omitempty"`  // between two values of a linear range
	Steps     int      `json:"steps,omitempty"` // number of values of a range, its ends included
	Mean      *float64 `json:"mean,omitempty"`
	Deviation *float64 `json:"deviation,omitempty"` // the standard deviation

	integer bool // the input takes whole numbers; Check sets it
}

// Space is the parameters of a sweep in the order in which users gave them.
type Space []Parameter

// Checked is a space whose parameters fit the inputs of a version. Check creates it.
type Checked struct {
	parameters []Parameter
	numbers    []map[string]int // index of each value by its key, of parameters with a list or steps
}

// Parameters returns the parameters, with canonical values.
func (c Checked) Parameters() []Parameter { return slices.Clone(c.parameters) }

// Paths returns the paths of the parameters in their order.
func (c Checked) Paths() []string {
	paths := make([]string, len(c.parameters))
	for i, p := range c.parameters {
		paths[i] = p.Path
	}
	return paths
}

// Check checks a space against the inputs of a version. The path of a problem begins with the index
// of its parameter: "0.values.2", "1.to"; "" is the space itself.
func Check(s Space, inputs typeregistry.Schema, env typeregistry.Env) (Checked, []typeregistry.Problem) {
	c := checker{env: env}
	switch {
	case len(s) == 0:
		c.problem("", "Specify at least one input to vary.")
	case len(s) > MaxParameters:
		c.problem("", fmt.Sprintf("A sweep can vary at most %d inputs; there are %d.", MaxParameters, len(s)))
		return Checked{}, c.problems
	}
	out := make([]Parameter, len(s))
	for i, p := range s {
		c.at = fmt.Sprint(i)
		out[i] = c.parameter(p, inputs)
		for j, other := range s[:i] {
			if within(p.Path, other.Path) || within(other.Path, p.Path) {
				c.problem("path", fmt.Sprintf("Parameter %d already varies %s.", j+1, other.Path))
			}
		}
	}
	if len(c.problems) > 0 {
		return Checked{parameters: out}, c.problems
	}
	return Checked{out, numbersOf(out)}, nil
}

// within reports whether path is part of the value at whole.
func within(path, whole string) bool {
	return path == whole || strings.HasPrefix(path, whole+".")
}

type checker struct {
	at       string
	env      typeregistry.Env
	problems []typeregistry.Problem
}

func (c *checker) problem(field, message string) {
	path := c.at
	if field != "" {
		path += "." + field
	}
	c.problems = append(c.problems, typeregistry.Problem{Path: path, Message: message})
}

// parameter checks one parameter, and returns it with canonical values.
func (c *checker) parameter(p Parameter, inputs typeregistry.Schema) Parameter {
	t, message := TypeAt(inputs, p.Path)
	if message != "" {
		c.problem("path", message)
		return p
	}
	c.foreign(p)
	if p.Kind == Values {
		return c.values(p, t)
	}
	if !slices.Contains(Kinds(), p.Kind) {
		c.problem("kind", fmt.Sprintf("%q is not a kind of parameter. Use values, range, uniform, loguniform, normal or int.", p.Kind))
		return p
	}
	kind := number(t)
	if kind == "" {
		c.problem("kind", fmt.Sprintf("%s is %s, so it accepts values but not %s.", p.Path, t, p.Kind))
		return p
	}
	p.integer = kind == typeregistry.KindInteger || p.Kind == Int
	return c.numbers(p, t)
}

// number returns the kind of a number type, or "".
func number(t *typeregistry.Type) typeregistry.Kind {
	if t.Kind == typeregistry.KindOptional {
		return number(t.Elem)
	}
	if t.Kind == typeregistry.KindInteger || t.Kind == typeregistry.KindFloat {
		return t.Kind
	}
	return ""
}

// fields returns which fields a kind reads besides Path and Kind.
func fields(k Kind) []string {
	switch k {
	case Values:
		return []string{"values"}
	case Range:
		return []string{"from", "to", "scale", "step", "steps"}
	case Normal:
		return []string{"from", "to", "mean", "deviation"}
	case Uniform, LogUniform, Int:
		return []string{"from", "to"}
	}
	return []string{"values", "from", "to", "scale", "step", "steps", "mean", "deviation"} // the kind is the problem
}

// foreign reports fields that the kind does not read.
func (c *checker) foreign(p Parameter) {
	given := map[string]bool{
		"values": p.Values != nil, "from": p.From != nil, "to": p.To != nil, "scale": p.Scale != "", "step": p.Step != nil, "steps": p.Steps != 0,
		"mean": p.Mean != nil, "deviation": p.Deviation != nil,
	}
	own := fields(p.Kind)
	for _, name := range []string{"values", "from", "to", "scale", "step", "steps", "mean", "deviation"} {
		if given[name] && !slices.Contains(own, name) {
			c.problem(name, fmt.Sprintf("A parameter of kind %s does not have %s. It has %s.", p.Kind, name, strings.Join(own, ", ")))
		}
	}
}

func (c *checker) values(p Parameter, t *typeregistry.Type) Parameter {
	switch n := len(p.Values); {
	case n == 0:
		c.problem("values", "Enter at least one value.")
	case n > MaxValues:
		c.problem("values", fmt.Sprintf("Enter at most %d values; there are %d.", MaxValues, n))
		return p
	}
	seen := map[string]int{}
	values := make([]any, len(p.Values))
	for i, v := range p.Values {
		out, problems := t.CheckValue(v, c.env)
		for _, problem := range problems {
			c.problem(strings.TrimSuffix(fmt.Sprintf("values.%d.%s", i, problem.Path), "."), problem.Message)
		}
		if before, ok := seen[Text(out)]; ok && len(problems) == 0 {
			c.problem(fmt.Sprintf("values.%d", i), fmt.Sprintf("%s is the same as value %d.", Text(out), before+1))
		}
		seen[Text(out)] = i
		values[i] = out
	}
	p.Values = values
	return p
}

// numbers checks a parameter with bounds.
func (c *checker) numbers(p Parameter, t *typeregistry.Type) Parameter {
	before := len(c.problems)
	if p.Kind == Normal {
		c.normal(p)
	} else {
		c.required(p.From, "from")
		c.required(p.To, "to")
	}
	c.finite(p)
	if len(c.problems) > before {
		return p
	}
	if p.From != nil && p.To != nil && *p.From >= *p.To {
		c.problem("to", fmt.Sprintf("It must be greater than %s, the value of from.", Text(*p.From)))
	}
	if p.logarithmic() && *p.From <= 0 {
		c.problem("from", "Enter a number above 0, because a logarithmic scale has no 0.")
	}
	c.bounds(p, t)
	if p.Kind == Range {
		c.division(p)
	}
	return p
}

func (p Parameter) logarithmic() bool {
	return p.Kind == LogUniform || p.Kind == Range && p.Scale == Log
}

func (c *checker) required(n *float64, name string) {
	if n == nil {
		c.problem(name, "Enter a number.")
	}
}

func (c *checker) normal(p Parameter) {
	c.required(p.Mean, "mean")
	c.required(p.Deviation, "deviation")
	if p.Deviation != nil && !(*p.Deviation > 0) {
		c.problem("deviation", "Enter a number above 0.")
	}
	if p.Mean == nil || p.Deviation == nil {
		return
	}
	if p.From != nil && *p.From > *p.Mean || p.To != nil && *p.To < *p.Mean {
		c.problem("mean", "Enter a number between from and to.")
	}
}

// finite rejects numbers that draws, JSON or whole numbers cannot hold.
func (c *checker) finite(p Parameter) {
	for _, n := range []struct {
		name  string
		value *float64
	}{{"from", p.From}, {"to", p.To}, {"step", p.Step}, {"mean", p.Mean}, {"deviation", p.Deviation}} {
		switch {
		case n.value == nil:
		case math.IsNaN(*n.value) || math.IsInf(*n.value, 0):
			c.problem(n.name, "Enter a finite number.")
		case math.Abs(*n.value) > mostNumber:
			c.problem(n.name, "Enter a number between -1e100 and 1e100.")
		case !p.integer || n.name == "mean" || n.name == "deviation":
		case *n.value != math.Trunc(*n.value):
			c.problem(n.name, fmt.Sprintf("%s accepts whole numbers, and %s is not one.", p.Path, Text(*n.value)))
		case math.Abs(*n.value) > mostExact:
			c.problem(n.name, "Enter a number of at most 9007199254740992.")
		}
	}
}

// bounds checks the ends against the type of the input.
func (c *checker) bounds(p Parameter, t *typeregistry.Type) {
	for _, end := range []struct {
		name  string
		value *float64
	}{{"from", p.From}, {"to", p.To}, {"mean", p.Mean}} {
		if end.value == nil || end.name == "mean" && p.integer {
			continue
		}
		for _, problem := range t.Check(p.number(*end.value), c.env) {
			c.problem(end.name, problem.Message)
		}
	}
}

func (c *checker) division(p Parameter) {
	switch {
	case p.Scale != "" && p.Scale != Linear && p.Scale != Log:
		c.problem("scale", fmt.Sprintf("%q is not a scale. Use linear or log.", p.Scale))
	case p.Step != nil && p.Steps != 0:
		c.problem("steps", "Enter step or steps, not both.")
	case p.Step != nil && p.Scale == Log:
		c.problem("step", "A step requires a linear scale. Enter steps, the number of values, instead.")
	case p.Step != nil && !(*p.Step > 0):
		c.problem("step", "Enter a number above 0.")
	case p.Step != nil && (*p.To-*p.From) / *p.Step >= MaxValues:
		c.problem("step", fmt.Sprintf("This range has more than %d values. Enter a larger step.", MaxValues))
	case p.Steps < 0 || p.Steps == 1:
		c.problem("steps", "Enter 2 or more.")
	case p.Steps > MaxValues:
		c.problem("steps", fmt.Sprintf("Enter at most %d.", MaxValues))
	}
}

// finiteCount returns the number of values of a parameter, 0 if it is continuous.
func (p Parameter) finiteCount() int {
	switch {
	case p.Kind == Values:
		return len(p.Values)
	case p.Kind == Int:
		return int(*p.To) - int(*p.From) + 1
	case p.Kind != Range:
		return 0
	case p.Step != nil:
		return int(math.Floor((*p.To-*p.From) / *p.Step * (1+1e-12))) + 1
	case p.Steps > 0 && p.integer:
		return len(p.integers())
	case p.Steps > 0:
		return p.Steps
	case p.integer && p.Scale != Log:
		return int(*p.To) - int(*p.From) + 1
	}
	return 0
}

// Combinations returns the size of the grid of all values. Continuous names the parameters that have
// no finite number of values; the size is then 0. A size above MaxInt32 is MaxInt32.
func (c Checked) Combinations() (size int, continuous []string) {
	size = 1
	for _, p := range c.parameters {
		n := p.finiteCount()
		if n == 0 {
			continuous = append(continuous, p.Path)
			continue
		}
		size = min(size*min(n, math.MaxInt32), math.MaxInt32) // the factors are below 2³², so this does not overflow
	}
	if len(continuous) > 0 {
		return 0, continuous
	}
	return size, nil
}
