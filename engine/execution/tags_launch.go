package execution

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/engine/workflow"
)

// identity contains the fields of an execution that tags in the inputs of its launch can read.
type identity struct {
	id uuid.UUID
	at time.Time
}

func (s *LaunchService) newIdentity() (identity, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return identity{}, fmt.Errorf("make execution id: %w", err)
	}
	return identity{id: id, at: s.now()}, nil
}

// replaceInputTags replaces the tags in the inputs of a launch, and returns the problems of those
// that have no value. Inputs that come from ConfigMaps must have their values.
func (s *LaunchService) replaceInputTags(ctx context.Context, r LaunchRequest, v workflow.Version, inputs map[string]any) []apperr.Field {
	tagged := func(value any) bool { text, ok := value.(string); return ok && strings.Contains(text, "{{") }
	if !v.Definition.InputTags || !slices.ContainsFunc(slices.Collect(maps.Values(inputs)), tagged) || s.configMaps.awaits(v.Definition, inputs) {
		return nil
	}
	row := db.Execution{
		ID: r.identity.id, WorkflowID: v.WorkflowID, WorkflowName: v.Name, Priority: int32(r.Priority), //nolint:gosec // 0 to 100
		CreatedAt: r.identity.at, ScheduledAt: r.ScheduledAt, Status: string(query.Pending),
		Labels: []byte("{}"), // labels are computed from the inputs
	}
	l := newLoop(s.driver, row, v)
	l.inputs = inputs
	return l.values.replaceInputTags(ctx)
}

// awaits reports whether the process that drives the execution sets some of its inputs.
func (s *configMaps) awaits(d *workflow.Definition, inputs map[string]any) bool {
	return !s.atLaunch() && slices.ContainsFunc(slices.Collect(maps.Keys(d.FromConfigMaps)), func(name string) bool { return inputs[name] == nil })
}

// replaceInputTags replaces the tags in the execution's inputs in place.
func (vs *nodeValues) replaceInputTags(ctx context.Context) []apperr.Field {
	t := inputTags{scope: &tagScope{ctx: ctx, loop: vs.loop, node: dag.NoNode}, state: map[string]replacement{}}
	var problems []apperr.Field
	for _, name := range sortedKeys(vs.loop.inputs) {
		if err := t.replace(name); err != nil {
			problems = append(problems, apperr.Field{Path: "inputs." + name, Message: apperr.MessageOf(err)})
		}
	}
	return problems
}

// inputTags replaces the tags in inputs. An input that another one reads comes first.
type inputTags struct {
	scope  *tagScope
	state  map[string]replacement
	broken error // why an input that the current text reads has no value
}

// replacement is the state of one input.
type replacement struct {
	ended bool
	err   error
}

// replace replaces the tags in one input.
func (t *inputTags) replace(name string) error {
	if state, visited := t.state[name]; visited {
		if !state.ended {
			return apperr.New(apperr.Invalid, "The tags of this value read the value itself.")
		}
		return state.err
	}
	t.state[name] = replacement{}
	text, ok := t.scope.loop.inputs[name].(string)
	var err error
	if ok && strings.Contains(text, "{{") {
		if text, err = t.text(text); err == nil {
			t.scope.loop.inputs[name] = text
		}
	}
	t.state[name] = replacement{ended: true, err: err}
	return err
}

func (t *inputTags) text(text string) (string, error) {
	tags, err := workflow.ReadLaunchTags(text)
	if err != nil {
		return "", err
	}
	inputs := tags.Inputs
	if tags.All {
		inputs = sortedKeys(t.scope.loop.inputs)
	}
	for _, name := range inputs {
		if err := t.replace(name); err != nil {
			return "", err
		}
	}
	t.broken = nil
	out, err := expression.Scope{Lookup: t.lookup, Env: t.scope.launchEnv(), Foreign: workflow.ForeignTag}.RenderString(text)
	if t.broken != nil {
		return "", t.broken
	}
	if unknown, ok := errors.AsType[*expression.UnknownError](err); ok {
		return "", apperr.New(apperr.Invalid, "{{%s}} has no value at launch.", unknown.Name)
	}
	return out, err
}

// lookup returns the value of a simple tag. A tag inside another one can build any name.
func (t *inputTags) lookup(name string) (string, bool) {
	if workflow.ForeignTag(name) {
		return "", false
	}
	tags, err := workflow.ReadLaunchTags("{{" + name + "}}")
	for _, input := range tags.Inputs {
		if err == nil {
			err = t.replace(input)
		}
	}
	if err != nil {
		t.broken = err
		return "", false
	}
	return t.scope.lookup(name)
}
