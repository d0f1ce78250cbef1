package datastore

import (
	"context"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/metaflow/pickle"
)

// Limits of a graph that is drawn.
const (
	maxSteps  = 1000
	maxArrows = 5000
	maxFacts  = 64 // of one step: the steps of a hostile artifact may share a large dictionary
)

// Step is a step of the graph of a flow.
type Step struct {
	Name    string
	Next    []string
	Foreach string // the artifact over which the steps after it run, or ""
	Switch  bool   // only one of the steps after it runs
}

// Graph reads the graph of a flow from its artifact _graph_info. Errors are those of Object.
func Graph(ctx context.Context, store Store, flow, sha string) ([]Step, error) {
	v, err := Object(ctx, store, flow, sha)
	if err != nil {
		return nil, err
	}
	dict, ok := pickle.Get(v, "steps").(*pickle.Dict)
	if !ok || len(dict.Keys) == 0 || len(dict.Keys) > maxSteps {
		return nil, apperr.New(apperr.Invalid, "The artifact _graph_info has no graph.")
	}
	steps := make([]Step, 0, len(dict.Keys))
	known := map[string]bool{}
	for _, key := range dict.Keys {
		name, ok := key.(string)
		if !ok || name == "" || known[name] {
			return nil, apperr.New(apperr.Invalid, "The artifact _graph_info has no graph.")
		}
		known[name] = true
	}
	arrows := 0
	for i, key := range dict.Keys {
		info := dict.Values[i]
		if facts, ok := info.(*pickle.Dict); ok && len(facts.Keys) > maxFacts {
			return nil, apperr.New(apperr.Invalid, "A step of the graph has more than %d facts.", maxFacts)
		}
		s := Step{Name: key.(string), Switch: pickle.Get(info, "type") == any("split-switch")} //nolint:forcetypeassert // checked above
		s.Foreach, _ = pickle.Get(info, "foreach_artifact").(string)
		for _, next := range pickle.Items(pickle.Get(info, "next")) {
			if name, ok := next.(string); ok && known[name] {
				s.Next = append(s.Next, name)
			}
			if arrows++; arrows > maxArrows {
				return nil, apperr.New(apperr.Invalid, "The graph has more than %d arrows.", maxArrows)
			}
		}
		steps = append(steps, s)
	}
	return steps, nil
}
