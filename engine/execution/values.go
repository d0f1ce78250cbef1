package execution

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// home is the node of the plan that represents node i: for an item its fan-out.
func (l *loop) home(i int) int {
	if l.nodes[i].index >= 0 {
		return l.progress.Parent(i)
	}
	return i
}

// nodeValues computes the values that inputs, conditions and outputs of nodes read.
type nodeValues struct {
	loop *loop

	outputs    map[int]map[string]any   // of nodes, as far as they are loaded
	constants  map[string]string        // tags of the execution; see tagScope.constants
	configMaps map[configMapRead]string // values for inputs of attempts
	naming     bool                     // a global name is being resolved
}

// inputsOf returns the inputs of the graph, or of the workflow, that contains node i.
func (vs *nodeValues) inputsOf(i int) map[string]any {
	if parent := vs.loop.progress.Parent(vs.loop.home(i)); parent != dag.NoNode {
		return vs.loop.nodes[parent].inputs
	}
	return vs.loop.inputs
}

// sibling returns the node called name in the same scope as node i.
func (vs *nodeValues) sibling(i int, name string) (int, bool) {
	return vs.loop.progress.Sibling(vs.loop.progress.ScopeOf(vs.loop.home(i)), name)
}

// of returns the value of a source for node i; false when it has none.
func (vs *nodeValues) of(ctx context.Context, i int, s workflow.Source) (any, bool, error) {
	switch s.Kind {
	case workflow.SourceLiteral:
		return s.Value, true, nil
	case workflow.SourceInput:
		v, ok := vs.inputsOf(i)[s.Input]
		return v, ok, nil
	case workflow.SourceFuture:
		d, ok := vs.sibling(i, s.Future.Operator)
		if !ok {
			return nil, false, nil
		}
		if err := vs.loadOutputs(ctx, []int{d}); err != nil {
			return nil, false, err
		}
		v, ok := vs.outputs[d][s.Future.Output]
		return v, ok, nil
	case workflow.SourceIndex:
		return int64(vs.loop.nodes[i].index), true, nil
	case workflow.SourceItem:
		return fieldOf(vs.loop.nodes[i].item, s.Field)
	case workflow.SourceFormula:
		env, err := vs.env(ctx, i, s.Formula)
		if err != nil {
			return nil, false, err
		}
		v, err := s.Formula.Value(env)
		return v, err == nil, err
	case workflow.SourceTags:
		return vs.at(ctx, i).tagged(s.Tagged)
	}
	return nil, false, nil
}

// condition evaluates whether node i runs, and returns the evaluated text.
func (vs *nodeValues) condition(ctx context.Context, i int) (bool, string, error) {
	n := &vs.loop.nodes[i]
	if n.op.Tags != nil {
		return vs.at(ctx, i).condition()
	}
	env, err := vs.env(ctx, i, n.op.Condition())
	if err != nil {
		return false, n.op.When, err
	}
	holds, err := n.op.Condition().Bool(env)
	return holds, n.op.When, err
}

// fieldOf returns a field of an item, or with "" the item itself.
func fieldOf(item any, field string) (any, bool, error) {
	if field == "" {
		return item, true, nil
	}
	object, ok := item.(map[string]any)
	if !ok {
		return nil, false, fmt.Errorf("the item is not an object, so it has no field %q", field)
	}
	v, ok := object[field]
	return v, ok, nil
}

// typedWith is typed for an input whose tags may read earlier inputs.
func (vs *nodeValues) typedWith(ctx context.Context, i int, in workflow.Input, before map[string]any) (any, error) {
	if in.Source.Kind != workflow.SourceTags || !in.Source.Tagged.Own {
		return vs.typed(ctx, i, in)
	}
	value, _, err := vs.within(ctx, i, before).tagged(in.Source.Tagged)
	return value, err
}

// typed computes the value of an input of node i and checks it if its type was unknown
// before: items and formulas.
func (vs *nodeValues) typed(ctx context.Context, i int, in workflow.Input) (any, error) {
	value, ok, err := vs.of(ctx, i, in.Source)
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", in.Name, err)
	}
	if !ok || value == nil {
		if in.Type.Kind != typeregistry.KindOptional {
			return nil, fmt.Errorf("input %s has no value", in.Name)
		}
		return nil, nil //nolint:nilnil // an optional input may have no value
	}
	switch in.Source.Kind {
	case workflow.SourceItem, workflow.SourceIndex, workflow.SourceFormula:
		checked, problems := in.Type.CheckValue(value, typeregistry.Env{Produced: true})
		if len(problems) > 0 {
			return nil, fmt.Errorf("input %s: %w", in.Name, problemError(problems))
		}
		return checked, nil
	case workflow.SourceLiteral, workflow.SourceInput, workflow.SourceFuture, workflow.SourceTags:
	}
	return value, nil
}

// ofTags returns the parameters and the inputs of the operator of node i, which the tags of its texts read.
func (vs *nodeValues) ofTags(ctx context.Context, i int) (map[string]any, error) {
	op := vs.loop.operator(i)
	given := map[string]any{}
	maps.Copy(given, op.Parameters)
	for _, in := range op.Inputs {
		value, err := vs.typedWith(ctx, i, in, given)
		if err != nil {
			return nil, err
		}
		given[in.Name] = value
	}
	return given, nil
}

// graphInputs returns the inputs of the graph g that node i runs.
func (vs *nodeValues) graphInputs(ctx context.Context, i int, g *workflow.Graph) (map[string]any, error) {
	given := map[string]any{}
	for _, in := range vs.loop.nodes[i].op.Inputs {
		value, err := vs.typedWith(ctx, i, in, given)
		if err != nil {
			return nil, err
		}
		if value != nil {
			given[in.Name] = value
		}
	}
	for _, f := range g.Inputs.Fields {
		if _, ok := given[f.Name]; ok {
			continue
		}
		if v, ok := f.DefaultValue(typeregistry.Env{Now: vs.loop.driver.now()}); ok {
			given[f.Name] = v
		}
	}
	return given, nil
}

// env returns the environment of an expression of node i: it contains the nodes that the
// expression names.
func (vs *nodeValues) env(ctx context.Context, i int, e *expression.Expression) (map[string]any, error) {
	var required []int
	nodes := map[string]any{}
	names := map[string]int{}
	for _, r := range e.References() {
		if r.Path[0] != workflow.NameNodes || len(r.Path) < 2 {
			continue
		}
		if d, ok := vs.sibling(i, r.Path[1]); ok {
			names[r.Path[1]] = d
			required = append(required, d)
		}
	}
	if err := vs.loadOutputs(ctx, required); err != nil {
		return nil, err
	}
	for name, d := range names {
		nodes[name] = vs.nodeEnv(d)
	}
	env := map[string]any{workflow.NameInputs: orEmpty(vs.inputsOf(i)), workflow.NameNodes: nodes}
	if slices.ContainsFunc(e.References(), func(r expression.Reference) bool { return r.Path[0] == workflow.NameExecution }) {
		env[workflow.NameExecution] = vs.executionEnv(i)
	}
	if n := &vs.loop.nodes[i]; n.index >= 0 {
		env[workflow.LoopItem], env[workflow.LoopIndex] = n.item, n.index
	}
	return env, nil
}

func orEmpty(values map[string]any) map[string]any {
	if values == nil {
		return map[string]any{}
	}
	return values
}

// nodeEnv returns the environment of node d.
func (vs *nodeValues) nodeEnv(d int) map[string]any {
	env := map[string]any{"status": string(vs.loop.progress.State(d)), "outputs": orEmpty(vs.outputs[d]), "error": nil}
	if f := vs.loop.nodes[d].failure; f != nil && vs.loop.progress.State(d) == dag.Failed {
		env["error"] = map[string]any{"code": f.Code, "message": f.Message, "node": f.Node}
	}
	return env
}

// executionEnv returns the environment of the execution. status is its current result, for
// exit handlers; in a graph, the graph's result.
func (vs *nodeValues) executionEnv(i int) map[string]any {
	scope := vs.loop.progress.ScopeOf(vs.loop.home(i))
	status := string(vs.loop.progress.Outcome(scope))
	if scope == dag.Root {
		status = string(vs.loop.conclusion.state())
	}
	env := map[string]any{
		"id": vs.loop.id.String(), "name": vs.loop.row.Name, "workflow": vs.loop.row.WorkflowName, "version": vs.loop.row.Version,
		"status": status, "submitted_by": vs.loop.row.SubmittedByName, "failures": vs.failuresOf(scope), "error": nil,
	}
	if vs.loop.conclusion.failure != nil {
		env["error"] = map[string]any{"code": vs.loop.conclusion.failure.Code, "message": vs.loop.conclusion.failure.Message, "node": vs.loop.conclusion.failure.Node}
	}
	return env
}

// maxFailures limits the failures in an environment.
const maxFailures = 100

// failuresOf returns the failures of a scope, for exit handlers.
func (vs *nodeValues) failuresOf(scope int) []any {
	base, size := vs.loop.progress.Members(scope)
	list := []any{}
	for i := base; i < base+size && len(list) < maxFailures; i++ {
		if f := vs.loop.nodes[i].failure; f != nil && vs.loop.progress.State(i) == dag.Failed {
			list = append(list, map[string]any{"node": vs.loop.nodes[i].name, "code": f.Code, "message": f.Message})
		}
	}
	return list
}

// loadOutputs loads the outputs of nodes.
func (vs *nodeValues) loadOutputs(ctx context.Context, nodes []int) error {
	var missing []int32
	for _, i := range nodes {
		if _, ok := vs.outputs[i]; !ok {
			missing = append(missing, int32(i)) //nolint:gosec // fewer nodes than maxNodes
		}
	}
	if len(missing) == 0 {
		return nil
	}
	rows, err := vs.loop.driver.queries.NodeOutputs(ctx, vs.loop.id, missing)
	if err != nil {
		return &readError{fmt.Errorf("load outputs: %w", err)}
	}
	for _, r := range rows {
		vs.outputs[int(r.NodeIndex)] = stored.Object(r.Outputs)
	}
	return nil
}

// readError means that data of a node is temporarily unreadable.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

// unlessRefused returns err as a readError unless it has a code that says what is wrong with the
// request, such as NotFound: the database or a service failed, and the same read may succeed later.
func unlessRefused(err error) error {
	if apperr.Is(err, apperr.Unavailable) || apperr.Is(err, apperr.Internal) {
		return &readError{err}
	}
	return err
}

func isUnreadable(err error) bool {
	_, is := errors.AsType[*readError](err)
	return is
}

// cannotRead reports whether the database caused err, and not the request: then the loop
// ends, and the next one retries.
func (l *loop) cannotRead(err error) bool {
	if !isUnreadable(err) {
		return false
	}
	l.readFailure = err
	return true
}

// workflowOutputs collects the outputs of the definition.
func (vs *nodeValues) workflowOutputs(ctx context.Context) (json.RawMessage, error) {
	values, err := vs.scopeOutputs(ctx, dag.Root, vs.loop.version.Definition.Outputs)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("encode outputs: %w", err)
	}
	return raw, nil
}

// sentence formats an error as a sentence for users.
func sentence(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*apperr.Error](err); ok {
		text = e.Message
	}
	first, size := utf8.DecodeRuneInString(text)
	if size > 0 {
		text = string(unicode.ToUpper(first)) + text[size:]
	}
	return strings.TrimSuffix(text, ".") + "."
}
