package execution

import (
	"maps"
	"slices"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/workflow"
)

// CacheMode says what a launch does with results that are kept.
type CacheMode string

// The modes.
const (
	CacheOn      CacheMode = ""        // takes results and keeps new ones
	CacheOff     CacheMode = "off"     // neither
	CacheRefresh CacheMode = "refresh" // takes none, and keeps new ones in their place
)

// CacheUse is what a launch asks of the cache: Mode for all operators, and Nodes for
// single ones by name.
type CacheUse struct {
	Mode  CacheMode            `json:"mode,omitempty"`
	Nodes map[string]CacheMode `json:"nodes,omitempty"`
}

func (c CacheUse) isZero() bool { return c.Mode == CacheOn && len(c.Nodes) == 0 }

// of is the mode of an operator.
func (c CacheUse) of(operator string) CacheMode {
	if mode, ok := c.Nodes[operator]; ok {
		return mode
	}
	return c.Mode
}

// ParseCacheMode reads on, off or refresh; "" is on.
func ParseCacheMode(text string) (CacheMode, error) {
	switch mode := CacheMode(text); mode {
	case CacheOff, CacheRefresh, CacheOn:
		return mode, nil
	case "on":
		return CacheOn, nil
	}
	return "", apperr.New(apperr.Invalid, "The cache is on, off or refresh, not %q.", text)
}

// problems are the faults of c for a version.
func (c CacheUse) problems(v workflow.Version) []apperr.Field {
	var fields []apperr.Field
	known := map[string]bool{}
	for _, op := range v.Definition.EveryOperator() {
		known[op.Name] = known[op.Name] || op.Cache != nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.Nodes)) {
		if caches, ok := known[name]; !ok || !caches {
			fields = append(fields, apperr.Field{Path: "cache.nodes." + name, Message: "There is no operator of that name with a cache."})
		}
	}
	return fields
}

// ParseCacheUse reads the mode of a launch and those of single operators, by name.
// Invalid names each mode that does not exist, as cache.mode or cache.nodes.NAME.
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
