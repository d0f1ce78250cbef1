package workflow

import (
	"maps"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/expression"
)

// ForeignTag reports whether a simple tag is not one of Argo's, which leaves such tags
// unchanged.
func ForeignTag(name string) bool {
	first, _, _ := strings.Cut(name, ".")
	switch first {
	case "inputs", "outputs", "steps", "tasks", "workflow", "item", "pod", "node", "retries", "lastRetry":
		return false
	}
	return true
}

// LaunchTags are the tags in the value of an input. The launch replaces them.
type LaunchTags struct {
	Names  []string // what the tags read, such as workflow.name; without tags of other languages
	Inputs []string // the inputs that the tags read
	All    bool     // they read all inputs
}

// ReadLaunchTags returns the tags in the value of an input. An Invalid error names a tag
// that has no value at launch. Only tags of the workflow do, except those about its course.
func ReadLaunchTags(text string) (LaunchTags, error) {
	var tags LaunchTags
	if !strings.Contains(text, "{{") {
		return tags, nil
	}
	parsed, err := expression.ParseTemplate(text)
	if err != nil {
		return tags, err
	}
	for _, tag := range parsed.Tags() {
		switch {
		case tag.Err != nil:
			return tags, tag.Err
		case tag.Expression != nil:
			for _, r := range tag.Expression.References() {
				if err := tags.add(r.Path, tag.Text); err != nil {
					return tags, err
				}
			}
		case ForeignTag(tag.Name):
		default:
			if err := tags.add(strings.SplitN(tag.Name, ".", 3), tag.Text); err != nil {
				return tags, err
			}
		}
	}
	return tags, nil
}

// add adds what a tag reads.
func (t *LaunchTags) add(path []string, tag string) error {
	t.Names = append(t.Names, strings.Join(path, "."))
	switch {
	case path[0] != "workflow":
		return apperr.New(apperr.Invalid, "%s has no value at launch. Values of spec.arguments can read only the workflow, as {{workflow.name}} does. Write this tag where the parameter is used.", shorten(tag, 100))
	case len(path) > 1 && slices.Contains(unknownAtLaunch(), path[1]):
		return apperr.New(apperr.Invalid, "%s has no value at launch. Write this tag where the parameter is used.", shorten(tag, 100))
	case len(path) < 2 || path[1] != "parameters":
	case len(path) == 2, path[2] == "json":
		t.All = true
	default:
		t.Inputs = append(t.Inputs, path[2])
	}
	return nil
}

// unknownAtLaunch are the fields of a workflow that have no value when it is launched.
func unknownAtLaunch() []string { return []string{"status", "duration", "failures", "outputs"} }

// InputCycle returns the first cycle of inputs whose tags read each other, in the order of
// names; nil for none. values are their texts by name.
func InputCycle(values map[string]string) []string {
	c := cycleSearch{values: values, names: slices.Sorted(maps.Keys(values)), acyclic: map[string]bool{}}
	for _, name := range c.names {
		if cycle := c.from(name, nil); cycle != nil {
			return cycle
		}
	}
	return nil
}

// cycleSearch searches a graph of inputs depth first.
type cycleSearch struct {
	values  map[string]string
	names   []string // sorted
	acyclic map[string]bool
}

// from returns a cycle that can be reached from an input, to which path leads.
func (c *cycleSearch) from(name string, path []string) []string {
	if at := slices.Index(path, name); at >= 0 {
		return append(slices.Clone(path[at:]), name)
	}
	if c.acyclic[name] {
		return nil
	}
	tags, err := ReadLaunchTags(c.values[name])
	if err != nil { // it is reported on its own
		return nil
	}
	read := tags.Inputs
	if tags.All {
		read = c.names
	}
	path = append(path, name)
	for _, other := range read {
		if cycle := c.from(other, path); cycle != nil {
			return cycle
		}
	}
	c.acyclic[name] = true
	return nil
}
