package argo

import (
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/engine/workflow"
)

// configMapValue returns the value of a parameter that is read from a ConfigMap when the node starts.
func (vs *values) configMapValue(p parameter, in scope, at string) workflow.Tagged {
	ref := p.ValueFrom.ConfigMapKeyRef
	at += ".valueFrom.configMapKeyRef"
	vs.checkConfigMap(ref, at)
	vs.checks.checkText(ref.Name, in, at+".name")
	vs.checks.checkText(ref.Key, in, at+".key")
	return workflow.Tagged{
		Value:   map[string]any{"name": ref.Name, "key": ref.Key, "at": at},
		As:      workflow.TaggedConfigMap,
		Default: vs.withoutConfigMap(p),
	}
}

// withoutConfigMap is the value of a parameter whose ConfigMap or key is not in the cluster:
// that of the ConfigMap that was registered with the document, or else a default; nil when
// a missing ConfigMap is an error.
func (t *translation) withoutConfigMap(p parameter) *string {
	if own := t.storedValue(p.ValueFrom.ConfigMapKeyRef); own != nil {
		return own
	}
	for _, value := range []*Text{p.ValueFrom.Default, p.Default, p.Value} {
		if value != nil {
			return new(string(*value))
		}
	}
	if p.ValueFrom.ConfigMapKeyRef.Optional {
		return new("")
	}
	return nil
}

func (vs *values) checkConfigMap(ref *configMapKey, at string) {
	vs.refuse(ref.Name == "", at+".name", "Set the name of the ConfigMap.")
	vs.refuse(ref.Key == "", at+".key", "Set the key of the ConfigMap.")
}

// fromConfigMap returns the field of a parameter of the launch form whose default is the value of a
// ConfigMap.
func (vs *values) fromConfigMap(p parameter, at string) map[string]any {
	ref := p.ValueFrom.ConfigMapKeyRef
	at += ".valueFrom.configMapKeyRef"
	vs.checkConfigMap(ref, at)
	vs.refuse(strings.Contains(ref.Name+ref.Key, "{{"), at, "This ConfigMap is read at launch, when tags have no values yet.")
	if vs.def.FromConfigMaps == nil {
		vs.def.FromConfigMaps = map[string]workflow.ConfigMapKey{}
	}
	vs.def.FromConfigMaps[p.Name] = workflow.ConfigMapKey{Name: ref.Name, Key: ref.Key, Default: vs.withoutConfigMap(p), At: at}
	field := formField(p, nil)
	field["type"], field["required"] = "String(min_length=0)", false
	about := fmt.Sprintf("Defaults to %s in the ConfigMap %s.", ref.Key, ref.Name)
	if p.Description != "" {
		about = strings.TrimSuffix(string(p.Description), ".") + ". " + about
	}
	field["description"] = about
	return field
}

// readsConfigMap reports whether a parameter has its value from a ConfigMap.
func (p parameter) readsConfigMap() bool {
	return p.ValueFrom != nil && p.ValueFrom.ConfigMapKeyRef != nil
}
