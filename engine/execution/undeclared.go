package execution

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// maxUndeclared limits the outputs of a task that its operator does not declare.
const maxUndeclared = 1000

var undeclaredName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,127}$`)

// undeclared adds to values the undeclared outputs of a task whose operator keeps all
// outputs, and returns the artifacts among them.
func (ao *artifactOutputs) undeclared(ctx context.Context, i int, reported map[string]output, values map[string]any) (artifacts []artifact.New, problems []string) {
	known := map[string]bool{}
	for _, o := range ao.loop.operator(i).Outputs {
		known[o.Name] = true
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(reported)), func(name string) bool {
		output, _, _ := strings.Cut(name, "/") // the files in its value
		return known[output]
	})
	if len(names) > maxUndeclared {
		return nil, []string{fmt.Sprintf("The task has %d outputs; %d are allowed.", len(names), maxUndeclared)}
	}
	for _, name := range names {
		if !undeclaredName.MatchString(name) || strings.HasPrefix(name, ArtifactPort) || name == ResultPort {
			problems = append(problems, fmt.Sprintf("%q is not the name of an output: use letters, digits, _, . and -.", name))
			continue
		}
		value, published, err := ao.takeOne(ctx, i, workflow.OperatorOutput{Name: name, Type: undeclaredType(reported[name])}, reported[name], nil)
		if ao.loop.cannotRead(err) {
			return nil, nil
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("Output %s: %s", name, err))
			continue
		}
		values[name] = value
		artifacts = append(artifacts, published...)
	}
	return artifacts, problems
}

func undeclaredType(o output) *typeregistry.Type {
	kind := typeregistry.KindJSON
	switch {
	case o.SHA256 != "" && o.MediaType == artifact.DirectoryMediaType:
		kind = typeregistry.KindDirectory
	case o.SHA256 != "":
		kind = typeregistry.KindFile
	}
	return typeregistry.Plainly(kind)
}

// outputNames returns the outputs of the items of op: the declared ones, and where op keeps
// all outputs those of any item.
func (vs *nodeValues) outputNames(op *workflow.Operator, items []int) []string {
	names := map[string]bool{}
	for _, o := range op.Outputs {
		names[o.Name] = true
	}
	for _, i := range items {
		for name := range vs.outputs[i] {
			if op.KeepsAll() {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
