package argo

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Names returns the name of a document and those of the templates that it refers to; see
// workflow.Orders.
func (Format) Names(doc map[string]any) (own string, needs []string) {
	meta, _ := doc["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	prefix, _ := meta["generateName"].(string)
	own = registeredName(strings.TrimRight(cmp.Or(name, prefix), "-."), doc["kind"] == kindClusterTemplate)
	if kind, _ := doc["kind"].(string); !isTemplate(kind) {
		own = kind + "/" + own // nothing refers to it
	}
	return own, templatesNamed(doc["spec"], nil)
}

// templatesNamed collects the registered names of the templates that references in v name.
func templatesNamed(v any, found []string) []string {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			found = templatesNamed(e, found)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			ref, isObject := v[key].(map[string]any)
			name, named := ref["name"].(string)
			if isObject && named && (key == "templateRef" || key == "workflowTemplateRef") {
				cluster, _ := ref["clusterScope"].(bool)
				found = append(found, registeredName(name, cluster))
				continue
			}
			found = templatesNamed(v[key], found)
		}
	}
	return found
}
