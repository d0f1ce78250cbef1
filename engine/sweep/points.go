package sweep

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/typeregistry"
)

// inputsAt are the inputs of a run for its launch. A rule that reads a varied input can hide others at
// its values: they have no effect there and are left out.
func inputsAt(schema typeregistry.Schema, inputs map[string]any, varied []string, now time.Time) map[string]any {
	following := schema.Following(varied)
	if len(following) == 0 {
		return inputs
	}
	states := schema.States(inputs, typeregistry.Env{Now: now})
	out := maps.Clone(inputs)
	maps.DeleteFunc(out, func(path string, _ any) bool {
		name, _, _ := strings.Cut(path, ".")
		return following[name] && states[name].Hidden
	})
	return out
}

// sampled is the number of values of a sweep that a check tries.
const sampled = 200

// sample returns the inputs of a run that the rules accept, or those in the middle of the space if
// they accept none of a sample.
func (p *plan) sample(now time.Time) (map[string]any, []typeregistry.Problem) {
	schema, paths := p.version.Definition.Inputs, p.space.Paths()
	varied := make([]string, len(paths))
	for i, path := range paths {
		varied[i], _, _ = strings.Cut(path, ".")
	}
	middle, problems := space.Apply(p.inputs, p.space.At(slices.Repeat([]float64{0.5}, len(paths))))
	if len(problems) > 0 {
		return middle, problems
	}
	middle = inputsAt(schema, middle, varied, now)
	following := schema.Following(varied)
	src := source{method: Sobol, space: p.space}
	if p.spec.Method == Grid {
		src.method = Grid
	}
	inputs := middle
	for i := range sampled {
		if p.accepted(inputs, following, now) {
			return inputs, nil
		}
		values, ok := src.at(i)
		if !ok {
			break
		}
		if inputs, problems = space.Apply(p.inputs, values); len(problems) > 0 {
			return inputs, problems
		}
		inputs = inputsAt(schema, inputs, varied, now)
	}
	return middle, nil
}

// accepted reports whether the rules that read varied inputs accept the inputs of a run.
func (p *plan) accepted(inputs map[string]any, following map[string]bool, now time.Time) bool {
	if len(following) == 0 {
		return true
	}
	_, problems := p.version.Definition.Inputs.CheckAll(inputs, typeregistry.Env{Now: now})
	return !slices.ContainsFunc(problems, func(problem typeregistry.Problem) bool {
		name, _, _ := strings.Cut(problem.Path, ".")
		return following[name]
	})
}
