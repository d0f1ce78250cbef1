package execution

import (
	"maps"
	"slices"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/workflow"
)

// CacheMode is how a launch uses cached results.
type CacheMode string

// The modes of the cache.
const (
	CacheOn      CacheMode = ""        // reuses results and stores new ones
	CacheOff     CacheMode = "off"     // does neither
	CacheRefresh CacheMode = "refresh" // reuses none, and replaces them by new ones
)

// CacheUse contains the cache options of a launch: Mode for all operators, and Nodes for
// single ones by name.
type CacheUse struct {
	Mode  CacheMode            `json:"mode,omitempty"`
	Nodes map[string]CacheMode `json:"nodes,omitempty"`
}

func (c CacheUse) isZero() bool { return c.Mode == CacheOn && len(c.Nodes) == 0 }

// of returns the mode of an operator.
func (c CacheUse) of(operator string) CacheMode {
	if mode, ok := c.Nodes[operator]; ok {
		return mode
	}
	return c.Mode
}

// ParseCacheMode parses on, off or refresh; "" is on.
func ParseCacheMode(text string) (CacheMode, error) {
	switch mode := CacheMode(text); mode {
	case CacheOff, CacheRefresh, CacheOn:
		return mode, nil
	case "on":
		return CacheOn, nil
	}
	return "", apperr.New(apperr.Invalid, "The cache mode must be on, off or refresh, not %q.", text)
}

// problems returns the invalid options for a version.
func (c CacheUse) problems(v workflow.Version) []apperr.Field {
	var fields []apperr.Field
	known := map[string]bool{}
	for _, op := range v.Definition.EveryOperator() {
		known[op.Name] = known[op.Name] || op.Cache != nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.Nodes)) {
		if caches, ok := known[name]; !ok || !caches {
			fields = append(fields, apperr.Field{Path: "cache.nodes." + name, Message: "There is no operator with this name and a cache."})
		}
	}
	return fields
}

// ParseCacheUse parses the mode of a launch and those of single operators, by name. Invalid
// names each unknown mode, as cache.mode or cache.nodes.NAME.
func ParseCacheUse(mode string, nodes map[string]string) (CacheUse, error) {
	var use CacheUse
	var fields []apperr.Field
	var err error
	if use.Mode, err = ParseCacheMode(mode); err != nil {
		fields = append(fields, apperr.Field{Path: "cache.mode", Message: apperr.MessageOf(err)})
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		mode, err := ParseCacheMode(nodes[name])
		if err != nil {
			fields = append(fields, apperr.Field{Path: "cache.nodes." + name, Message: apperr.MessageOf(err)})
			continue
		}
		if use.Nodes == nil {
			use.Nodes = map[string]CacheMode{}
		}
		use.Nodes[name] = mode
	}
	return use, apperr.InvalidFields("The cache options are not valid.", fields)
}
