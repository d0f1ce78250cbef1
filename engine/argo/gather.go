package argo

import (
	"maps"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/workflow"
)

const (
	kindConfigMap    = "ConfigMap"
	storedConfigMaps = "storedConfigMaps"
)

// Gather stores ConfigMaps in the documents alongside them whose parameters and semaphores name
// them, under status.storedConfigMaps; see workflow.Gathers. A ConfigMap that no document
// names is not read.
func (Format) Gather(docs []map[string]any) (read []bool) {
	read = make([]bool, len(docs))
	given := map[string]int{}
	for i, doc := range docs {
		meta, _ := doc["metadata"].(map[string]any)
		if name, _ := meta["name"].(string); doc["kind"] == kindConfigMap && name != "" {
			given[name] = i
		}
	}
	for _, doc := range docs {
		stored := map[string]any{}
		for _, name := range configMapsNamed(doc["spec"], nil) {
			if i, ok := given[name]; ok {
				data, _ := docs[i]["data"].(map[string]any)
				stored[name], read[i] = data, true
			}
		}
		if len(stored) == 0 {
			continue
		}
		status, _ := doc["status"].(map[string]any)
		if status == nil {
			status = map[string]any{}
			doc["status"] = status
		}
		all, _ := status[storedConfigMaps].(map[string]any)
		if all == nil {
			all = map[string]any{}
			status[storedConfigMaps] = all
		}
		maps.Copy(all, stored)
	}
	return read
}

// configMapsNamed collects the ConfigMaps that parameters and semaphores in v name. It leaves out
// those in the environment of a container, which the cluster reads.
func configMapsNamed(v any, found []string) []string {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			found = configMapsNamed(e, found)
		}
	case map[string]any:
		for key, e := range v {
			ref, isObject := e.(map[string]any)
			switch name, named := ref["name"].(string); {
			case key == "env" || key == "envFrom":
			case key == "configMapKeyRef" && isObject && named:
				found = append(found, name)
			default:
				found = configMapsNamed(e, found)
			}
		}
	}
	return found
}

// keepConfigMaps adds the ConfigMaps in the status of a document. The first document takes
// precedence: the workflow is read before the templates that it refers to.
func (t *translation) keepConfigMaps(status any) {
	fields, _ := status.(map[string]any)
	stored, _ := fields[storedConfigMaps].(map[string]any)
	if t.configMaps == nil && len(stored) > 0 {
		t.configMaps = map[string]any{}
	}
	for name, data := range stored {
		if _, known := t.configMaps[name]; !known {
			t.configMaps[name] = data
		}
	}
}

// storedValue is the value of a key of a ConfigMap that was registered with the document; nil
// for none.
func (t *translation) storedValue(ref *configMapKey) *string {
	data, _ := t.configMaps[ref.Name].(map[string]any)
	if text, ok := data[ref.Key].(string); ok {
		return &text
	}
	return nil
}

// storedPermits is how many may hold a semaphore that reads the ConfigMap ref; 1 when it was
// not registered with the document.
func (t *translation) storedPermits(ref workflow.ConfigMapKey) int {
	text := t.storedValue(&configMapKey{Name: ref.Name, Key: ref.Key})
	if text == nil {
		return 1
	}
	n, err := strconv.Atoi(strings.TrimSpace(*text))
	if err != nil || n < 1 || n > workflow.MaxPermits {
		t.add(ref.At, "The key %s of the ConfigMap %s must be a number of permits from 1 to %d, not %q.", ref.Key, ref.Name, workflow.MaxPermits, shorten(*text))
		return 1
	}
	return n
}
