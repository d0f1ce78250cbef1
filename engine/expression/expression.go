package expression

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
	"github.com/expr-lang/expr/vm/runtime"
	"github.com/flowforge/flowforge/apperr"
)

// Expression is a checked expression. Concurrent evaluations are safe.
type Expression struct {
	text    string
	dialect *dialect
	program *vm.Program
	refs    []reading // one per position
}

// Reference is a value that an expression reads from its environment.
type Reference struct {
	Path     []string // its names from the outside in: nodes, my-op, status
	Optional bool     // every use provides for its absence (??, ?., == nil)
}

// String is the path with dots between the names.
func (r Reference) String() string { return strings.Join(r.Path, ".") }

// Parse reads an expression of FlowForge's own: the language of expr-lang.org with
// asInt, asFloat, toJson and jsonpath, without now(). An error is [apperr.Invalid] and
// gives the position of the mistake.
func Parse(text string) (*Expression, error) { return parse(text, native()) }

// ParseArgo parses an expression of Argo, as in {{=…}}, in valueFrom.expression and in
// retryStrategy.expression: with sprig's functions besides, and now(). Functions that
// read the environment or the network, or make or use keys, are excluded: env,
// expandenv, getHostByName, genPrivateKey, genCA, genCAWithKey, genSelfSignedCert,
// genSelfSignedCertWithKey, genSignedCert, genSignedCertWithKey, buildCustomCert,
// derivePassword, htpasswd, bcrypt, encryptAES, decryptAES; nor is randBytes. Argo
// removes only the first two. As in Argo, an undefined name is nil alongside ==, != and
// in; elsewhere it is an error, with a better message than Argo's.
func ParseArgo(text string) (*Expression, error) { return parse(text, argo()) }

func parse(text string, d *dialect) (e *Expression, err error) {
	if len(text) > MaxLength {
		return nil, apperr.New(apperr.Invalid, "The expression is %d bytes long; at most %d are allowed.", len(text), MaxLength)
	}
	if strings.TrimSpace(text) == "" {
		return nil, apperr.New(apperr.Invalid, "The expression is empty.")
	}
	if strings.Contains(text, helper) {
		return nil, apperr.New(apperr.Invalid, "The expression contains a NUL byte.")
	}
	defer func() {
		if p := recover(); p != nil {
			e, err = nil, invalid(text, fmt.Errorf("%v", p))
		}
	}()
	config := conf.CreateNew()
	config.MaxNodes = MaxParts
	config.Optimize = false
	config.WithEnv((&run{}).env())
	tree, err := parser.ParseWithConfig(text, config)
	if err != nil {
		return nil, invalid(text, err)
	}
	r := &rewriter{dialect: d}
	tree.Node = r.node(tree.Node, demanded)
	if r.err != nil {
		return nil, invalid(text, r.err.Bind(tree.Source))
	}
	if _, err := checker.Check(tree, config); err != nil {
		return nil, invalid(text, err)
	}
	program, err := compiler.Compile(tree, config)
	if err != nil {
		return nil, invalid(text, err)
	}
	return &Expression{text: text, dialect: d, program: program, refs: r.refs}, nil
}

// String is the text.
func (e *Expression) String() string { return e.text }

// References returns what the expression reads, each once, in the order of their text.
// A path ends before the first part that is only known at run time: nodes[item].status
// reads nodes.
func (e *Expression) References() []Reference {
	all := slices.Clone(e.refs)
	slices.SortStableFunc(all, func(a, b reading) int { return slices.Compare(a.path, b.path) })
	var out []Reference
	for _, r := range all {
		if n := len(out); n > 0 && slices.Equal(out[n-1].Path, r.path) {
			out[n-1].Optional = out[n-1].Optional && r.need == dispensed
			continue
		}
		out = append(out, Reference{Path: slices.Clone(r.path), Optional: r.need == dispensed})
	}
	return out
}

// Names returns the references as dotted paths.
func (e *Expression) Names() []string {
	var names []string
	for _, r := range e.References() {
		names = append(names, r.String())
	}
	return names
}

// Bool evaluates the expression over env, which holds plain values as JSON has them
// (numbers of any type), nested. A result that is not a boolean is [apperr.Invalid], as
// are all other errors.
func (e *Expression) Bool(env map[string]any) (bool, error) {
	v, err := e.Value(env)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, apperr.New(apperr.Invalid, "The expression %s must be true or false, but is %s.", quoted(e.text), kindOf(v))
	}
	return b, nil
}

// Value evaluates the expression over env and returns a plain value: nil, bool,
// int64, float64, string, []any or map[string]any.
func (e *Expression) Value(env map[string]any) (any, error) {
	return e.evaluate(env, false, newMeter())
}

// evaluate runs the program. With pending, an undefined name is always an
// [UnknownError], because it may be defined later.
func (e *Expression) evaluate(env map[string]any, pending bool, m *meter) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, invalid(e.text, asError(p))
		}
	}()
	r := &run{meter: m, expression: e, values: env, pending: pending, read: make([]*any, len(e.refs))}
	machine := vm.VM{MemoryBudget: maxItems}
	v, err = machine.Run(e.program, r.env())
	if err != nil {
		return nil, invalid(e.text, err)
	}
	return m.result(v), nil
}

// asError converts a recovered panic to an error.
func asError(p any) error {
	if err, ok := p.(error); ok {
		return err
	}
	return fmt.Errorf("%v", p)
}

// run is one evaluation. Its methods are the helpers of the rewritten program.
type run struct {
	meter      *meter
	expression *Expression
	values     map[string]any
	pending    bool
	read       []*any // cached values of references
}

func (r *run) env() map[string]any {
	return map[string]any{
		helperPath: r.path, helperField: r.field, helperTick: r.tick,
		helperWeigh: r.weigh, helperLength: r.length, helperCall: r.call, helperMethod: r.method,
	}
}

// path(index) returns the value of a reference.
func (r *run) path(args ...any) any {
	i := args[0].(int)
	if v := r.read[i]; v != nil {
		r.meter.spend(1)
		return *v
	}
	ref := r.expression.refs[i]
	var v any = r.values
	for k, name := range ref.path {
		v = r.step(ref.path[:k], v, name, ref.need != demanded)
	}
	v = r.meter.normal(v, 0)
	r.read[i] = &v
	return v
}

// step returns the field name of v, the value at path.
func (r *run) step(path []string, v any, name string, lenient bool) any {
	switch of := v.(type) {
	case map[string]any:
		if v, ok := of[name]; ok {
			return v
		}
		if lenient && !r.pending {
			return nil
		}
		panic(unknown(strings.Join(path, "."), name, of))
	case nil:
		if lenient {
			return nil
		}
	}
	prefix := "the value"
	if len(path) > 0 {
		prefix = strings.Join(path, ".")
	}
	panic(fmt.Errorf("%s is %s, which has no %s", prefix, kindOf(v), quoted(name)))
}

// field(value, key, lenient) is an element of a list or a field of an object.
func (r *run) field(args ...any) any {
	r.meter.spend(1)
	of, key, lenient := args[0], args[1], args[2].(bool)
	switch of := of.(type) {
	case nil, map[string]any:
		if name, ok := key.(string); ok {
			if key, ok := of.(map[string]any); ok && lenient && r.pending {
				if _, there := key[name]; !there {
					return nil // a computed value has no such field
				}
			}
			return r.step(nil, of, name, lenient)
		}
		if of == nil && lenient {
			return nil
		}
	case []any:
		if i, ok := key.(int); ok {
			if i < 0 {
				i += len(of)
			}
			if i >= 0 && i < len(of) {
				return of[i]
			}
			if lenient {
				return nil
			}
			panic(fmt.Errorf("index %[2]d is out of range: the list has %[1]d elements", len(of), key))
		}
		panic(fmt.Errorf("a list index must be a number, not %s", kindOf(key)))
	}
	return r.meter.normal(runtime.Fetch(of, key), 0)
}

// tick(parts, value) ends an iteration of a loop whose body has that many parts.
func (r *run) tick(args ...any) any {
	r.meter.spend(args[0].(int))
	r.meter.weigh(args[1])
	return args[1]
}

// weigh(value) charges the cost of reading all of value.
func (r *run) weigh(args ...any) any {
	r.meter.weigh(args[0])
	return args[0]
}

// length(value) charges the cost of counting the characters of a text.
func (r *run) length(args ...any) any {
	r.meter.spend(1)
	if s, ok := args[0].(string); ok {
		r.meter.text(len(s))
	}
	return args[0]
}

// call(name, arguments…) calls a function of the dialect.
func (r *run) call(args ...any) any {
	const base = 5
	name := args[0].(string)
	r.meter.spend(base)
	for _, a := range args[1:] {
		r.meter.weigh(a)
	}
	v, err := r.expression.dialect.functions()[name](r.meter, args[1:])
	if err != nil {
		if _, ok := errors.AsType[*UnknownError](err); ok || errors.Is(err, errTooMuch) || errors.Is(err, errTooDeep) {
			panic(err)
		}
		panic(fmt.Errorf("%s: %w", name, err))
	}
	r.meter.weigh(v)
	return v
}

// method(value, name, arguments…) calls a method of a date, a duration or a version.
func (r *run) method(args ...any) any {
	of, name := args[0], args[1].(string)
	r.meter.spend(5)
	for _, a := range args[2:] {
		r.meter.weigh(a)
	}
	switch of.(type) {
	case time.Time, time.Duration, time.Month, time.Weekday, *semver.Version:
		if m := reflect.ValueOf(of).MethodByName(name); m.IsValid() {
			v, err := callGo(m, args[2:])
			if err != nil {
				panic(fmt.Errorf("%s: %w", name, err))
			}
			return v
		}
	}
	panic(&UnknownError{Name: "method " + name + " of " + kindOf(of)})
}
