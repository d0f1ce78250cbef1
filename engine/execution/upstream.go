package execution

import (
	"maps"
	"slices"
	"strings"
)

// maxFurtherUp is the number of nodes further up whose outputs an attempt gets, so that the
// inputs of a long chain do not grow with its length.
const maxFurtherUp = 100

// maxFurtherUpBytes bounds these outputs as JSON: a Kubernetes Secret holds all inputs of an
// attempt.
const maxFurtherUpBytes = 64 << 10

// furtherUp returns the nodes behind the dependencies of node i, the nearest first. A cached
// node has none: its key consists of all values that it can read, and must not change with
// every change further up.
func (as *attemptSpecs) furtherUp(i int, dependencies []int) []int {
	if op := as.loop.operator(i); op.Tags != nil || op.Cache != nil {
		return nil
	}
	seen, found := map[int]bool{}, slices.Clone(dependencies)
	for _, d := range as.loop.progress.DependenciesOf(as.loop.home(i)) {
		seen[d] = true // also those that the node reads as streams
	}
	for k := 0; k < len(found) && len(found)-len(dependencies) < maxFurtherUp; k++ {
		for _, d := range as.loop.progress.DependenciesOf(found[k]) {
			if !seen[d] {
				seen[d] = true
				found = append(found, d)
			}
		}
	}
	found = found[len(dependencies):]
	return found[:min(len(found), maxFurtherUp)]
}

// addFurtherUp adds the outputs of nodes that are not dependencies. They replace no other
// value. The outputs of a fan-out are lists of any length, which its dependents alone get.
func (as *attemptSpecs) addFurtherUp(values map[string]any, nodes []int) {
	left := maxFurtherUpBytes
	for _, d := range nodes {
		if len(as.loop.values.outputs[d]) == 0 || as.loop.operator(d).Foreach != nil {
			continue
		}
		outputs := map[string]any{}
		as.addUpstream(outputs, d)
		if left -= len(mustJSON(outputs)); left < 0 {
			return
		}
		for name, value := range outputs {
			if _, taken := values[name]; !taken {
				values[name] = value
			}
		}
	}
}

// addUpstream adds the outputs of node d. Outputs called output_assets or assets and results
// are used unchanged; without them the files of the node are its assets and its values its
// results.
func (as *attemptSpecs) addUpstream(values map[string]any, d int) {
	op, outputs := as.loop.operator(d), as.loop.values.outputs[d]
	output := map[string]any{}
	maps.Copy(output, outputs)
	assets, results := []any{}, []any{}
	for _, o := range op.Outputs {
		value, ok := outputs[o.Name]
		if !ok {
			continue
		}
		if o.Type.IsBlob() {
			assets = append(assets, map[string]any{"name": o.Name, "type": strings.ToLower(string(o.Type.Kind)), "path": value})
		} else {
			results = append(results, map[string]any{"type": o.Name, "data": value})
		}
	}
	values[op.Name+"_output"] = output
	values[op.Name+"_assets"] = firstOf(outputs, assets, "output_assets", "assets")
	values[op.Name+"_results"] = firstOf(outputs, results, "results")
}

func firstOf(outputs map[string]any, otherwise any, names ...string) any {
	for _, name := range names {
		if v, ok := outputs[name]; ok {
			return v
		}
	}
	return otherwise
}
