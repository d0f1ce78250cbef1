package execution

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// containedFiles publishes the files in the value of an output, such as a List<File>. The runner
// reports them as outputs, to which the value refers: {"$output": "plots/0"}.
type containedFiles struct {
	outputs  *artifactOutputs
	node     int
	declared workflow.OperatorOutput
	reported map[string]output

	artifacts []artifact.New
}

// take returns a value of type t in which references to artifacts replace those to outputs. name
// is that of the artifact: the output and the place in its value, such as plots[0].
func (c *containedFiles) take(ctx context.Context, t *typeregistry.Type, name string, value any) (any, error) {
	for t.Kind == typeregistry.KindOptional {
		t = t.Elem
	}
	if t.IsBlob() {
		return c.publish(ctx, t, name, value)
	}
	if !holdsFile(t) {
		return value, nil
	}
	var err error
	switch value := value.(type) {
	case []any:
		for i := range value {
			if t.Elem == nil {
				break
			}
			if value[i], err = c.take(ctx, t.Elem, name+"["+strconv.Itoa(i)+"]", value[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			part := partOfType(t, key)
			if part == nil {
				continue
			}
			if value[key], err = c.take(ctx, part, name+"."+key, value[key]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// partOfType returns the type of an entry of a Map or of a field of a Struct, or nil.
func partOfType(t *typeregistry.Type, key string) *typeregistry.Type {
	for i := range t.Fields {
		if t.Fields[i].Name == key {
			return t.Fields[i].Type
		}
	}
	return t.Elem
}

func (c *containedFiles) publish(ctx context.Context, t *typeregistry.Type, name string, value any) (any, error) {
	reference, _ := value.(map[string]any)
	text, ok := reference["$output"].(string)
	if !ok {
		return value, nil
	}
	out, ok := c.reported[text]
	if !ok || out.SHA256 == "" {
		return nil, fmt.Errorf("%s is a file that did not arrive.", name)
	}
	declared := c.declared
	declared.Name = name
	published, err := c.outputs.publish(ctx, c.node, declared, t, out)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c.artifacts = append(c.artifacts, *published)
	return map[string]any{"$artifact": published.ID.String()}, nil
}
