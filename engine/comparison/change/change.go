// Package change describes how one version of a workflow differs from another: its inputs and outputs
// with what breaks callers, its operators and settings, and texts line by line. It is pure.
package change

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/engine/comparison/sheet"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/platform/units"
)

// Section is what a change is about.
type Section string

// The sections, in their order on pages.
const (
	Inputs    Section = "inputs"
	Outputs   Section = "outputs"
	Operators Section = "operators"
	Settings  Section = "settings"
)

// Sections returns all sections in order.
func Sections() []Section { return []Section{Inputs, Outputs, Operators, Settings} }

// Kind is what happened.
type Kind string

// The kinds of changes.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
)

// Change is one difference between two versions.
type Change struct {
	Section Section
	Name    string // of the input, the output, the operator ("graph/operator" in graphs) or the setting
	Kind    Kind
	Details []Detail
	Breaks  string // why callers of the earlier version fail, a sentence; "": they do not
}

// Detail is a property that changed. A missing value is "".
type Detail struct {
	Path          string // such as code.image
	Before, After string
	Patch         *Patch // of a value with several lines
}

// Between returns the changes from one definition to another, ordered by section and name.
func Between(before, after *workflow.Definition) ([]Change, error) {
	changes := slices.Concat(inputs(before.Inputs, after.Inputs), outputs(before.Outputs, after.Outputs))
	operators, err := operatorChanges(before, after)
	if err != nil {
		return nil, err
	}
	changes = append(changes, operators...)
	was, err := before.Settings()
	if err != nil {
		return nil, fmt.Errorf("version %s: %w", before.Version, err)
	}
	is, err := after.Settings()
	if err != nil {
		return nil, fmt.Errorf("version %s: %w", after.Version, err)
	}
	settings, err := settingChanges(was, is)
	if err != nil {
		return nil, err
	}
	graphs, err := graphChanges(before, after)
	if err != nil {
		return nil, err
	}
	settings = append(graphs, settings...)
	slices.SortFunc(settings, func(a, b Change) int { return cmp.Compare(a.Name, b.Name) })
	return append(changes, settings...), nil
}

// graphChanges compares the graphs of a workflow without their operators, as "graph/NAME".
func graphChanges(before, after *workflow.Definition) ([]Change, error) {
	was, is := graphsOf(before), graphsOf(after)
	var changes []Change
	for _, name := range names(was, is) {
		old, existed := was[name]
		now, exists := is[name]
		c := Change{Section: Settings, Name: "graph/" + name, Kind: kindOf(existed, exists)}
		if c.Kind == Changed {
			oldSettings, err := old.Settings()
			if err != nil {
				return nil, fmt.Errorf("graph %s: %w", name, err)
			}
			newSettings, err := now.Settings()
			if err != nil {
				return nil, fmt.Errorf("graph %s: %w", name, err)
			}
			if c.Details, err = differences(oldSettings, newSettings); err != nil {
				return nil, fmt.Errorf("graph %s: %w", name, err)
			}
			if len(c.Details) == 0 {
				continue
			}
		}
		changes = append(changes, c)
	}
	return changes, nil
}

func graphsOf(d *workflow.Definition) map[string]*workflow.Graph {
	out := make(map[string]*workflow.Graph, len(d.Graphs))
	for i := range d.Graphs {
		out[d.Graphs[i].Name] = &d.Graphs[i]
	}
	return out
}

// settingChanges has one change for each top-level setting that differs.
func settingChanges(was, is map[string]any) ([]Change, error) {
	var changes []Change
	for _, name := range names(was, is) {
		details, err := differences(map[string]any{name: was[name]}, map[string]any{name: is[name]})
		if err != nil {
			return nil, err
		}
		if len(details) > 0 {
			changes = append(changes, Change{Section: Settings, Name: name, Kind: Changed, Details: details})
		}
	}
	return changes, nil
}

// operatorChanges compares operators by name, within graphs by name. The hash of a code package is
// no change of the operator: all operators share it, and its files are compared.
func operatorChanges(before, after *workflow.Definition) ([]Change, error) {
	was, is := OperatorsOf(before), OperatorsOf(after)
	var changes []Change
	for _, name := range names(was, is) {
		old, existed := was[name]
		now, exists := is[name]
		c := Change{Section: Operators, Name: name, Kind: kindOf(existed, exists)}
		if c.Kind == Changed {
			oldSettings, err := old.Settings()
			if err != nil {
				return nil, fmt.Errorf("operator %s: %w", name, err)
			}
			newSettings, err := now.Settings()
			if err != nil {
				return nil, fmt.Errorf("operator %s: %w", name, err)
			}
			if c.Details, err = differences(oldSettings, newSettings); err != nil {
				return nil, fmt.Errorf("operator %s: %w", name, err)
			}
			if len(c.Details) == 0 {
				continue
			}
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// OperatorsOf returns the operators of a definition by name, those of graphs as "graph/operator".
func OperatorsOf(d *workflow.Definition) map[string]*workflow.Operator {
	out := map[string]*workflow.Operator{}
	for _, g := range d.EveryGraph() {
		for i := range g.Operators {
			name := g.Operators[i].Name
			if g.Name != "" {
				name = g.Name + "/" + name
			}
			out[name] = &g.Operators[i]
		}
	}
	return out
}

// differences compares the parts of two objects.
func differences(was, is map[string]any) ([]Detail, error) {
	old, now := texts(was), texts(is)
	var details []Detail
	for _, path := range names(old, now) {
		if path == "code.package" {
			continue
		}
		d := Detail{Path: path, Before: old[path], After: now[path]}
		if d.Before == d.After {
			continue
		}
		if strings.Contains(d.Before+d.After, "\n") {
			patch, err := Texts(d.Before, d.After)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			d.Patch = &patch
		}
		details = append(details, d)
	}
	return details, nil
}

// texts are the parts of an object by path. Lists of named objects, such as ports, are compared by
// name, so that a new entry does not change the ones after it.
func texts(object map[string]any) map[string]string {
	out := map[string]string{}
	for name, value := range object {
		if value == nil {
			continue
		}
		for _, fact := range sheet.Flatten("", name, byName(value)) {
			out[fact.Path] = sheet.Text(fact.Value)
		}
	}
	return out
}

// byName turns lists of objects that all have different names into an object.
func byName(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = byName(x)
		}
		return out
	case []any:
		named := make(map[string]any, len(v))
		for _, x := range v {
			object, _ := x.(map[string]any)
			name, _ := object["name"].(string)
			if _, twice := named[name]; name == "" || twice {
				return value
			}
			rest := maps.Clone(object)
			delete(rest, "name")
			named[name] = byName(rest)
		}
		if len(named) > 0 {
			return named
		}
	}
	return value
}

// WithCode adds a change of the code of operators: the patch of each by the name of its operator. The
// detail describes how many lines differ.
func WithCode(changes []Change, path string, patches map[string]Patch) []Change {
	out := slices.Clone(changes)
	for name, patch := range patches {
		detail := Detail{Path: path, After: units.Plural(patch.Added, "line", "lines") + " added, " + units.Number(int64(patch.Removed)) + " removed", Patch: &patch}
		at := slices.IndexFunc(out, func(c Change) bool { return c.Section == Operators && c.Name == name })
		if at < 0 {
			out = append(out, Change{Section: Operators, Name: name, Kind: Changed, Details: []Detail{detail}})
		} else if out[at].Kind == Changed {
			out[at].Details = append(slices.Clone(out[at].Details), detail)
		}
	}
	order := Sections()
	slices.SortFunc(out, func(a, b Change) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Section), slices.Index(order, b.Section)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func kindOf(existed, exists bool) Kind {
	switch {
	case !existed:
		return Added
	case !exists:
		return Removed
	}
	return Changed
}

// names are the keys of two maps, sorted, each once.
func names[V any](a, b map[string]V) []string {
	return slices.Compact(slices.SortedFunc(func(yield func(string) bool) {
		for _, m := range []map[string]V{a, b} {
			for k := range m {
				if !yield(k) {
					return
				}
			}
		}
	}, cmp.Compare))
}
