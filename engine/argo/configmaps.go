package argo

import (
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/engine/workflow"
)

// configMapValue is what a ConfigMap gives to a parameter when a node begins.
func (t *translator) configMapValue(p parameter, in scope, at string) workflow.Tagged {
	ref := p.ValueFrom.ConfigMapKeyRef
	at += ".valueFrom.configMapKeyRef"
	t.checkConfigMap(ref, at)
	t.checkText(ref.Name, in, at+".name")
	t.checkText(ref.Key, in, at+".key")
	return workflow.Tagged{
		Value:   map[string]any{"name": ref.Name, "key": ref.Key, "at": at},
		As:      workflow.TaggedConfigMap,
		Default: p.withoutConfigMap(),
	}
}

// withoutConfigMap is the value of a parameter whose ConfigMap or key is not there; nil
// when that is a fault.
func (p parameter) withoutConfigMap() *string {
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

func (t *translator) checkConfigMap(ref *configMapKey, at string) {
	t.refuse(ref.Name == "", at+".name", "Name the ConfigMap.")
	t.refuse(ref.Key == "", at+".key", "Say which key of the ConfigMap.")
}

// fromConfigMap notes that a value of the launch form is that of a ConfigMap unless the
// launch gives another, and returns its field.
func (t *translator) fromConfigMap(p parameter, at string) map[string]any {
	ref := p.ValueFrom.ConfigMapKeyRef
	at += ".valueFrom.configMapKeyRef"
	t.checkConfigMap(ref, at)
	t.refuse(strings.Contains(ref.Name+ref.Key, "{{"), at, "The launch reads this ConfigMap, when no tag is known yet.")
	if t.def.FromConfigMaps == nil {
		t.def.FromConfigMaps = map[string]workflow.ConfigMapKey{}
	}
	t.def.FromConfigMaps[p.Name] = workflow.ConfigMapKey{Name: ref.Name, Key: ref.Key, Default: p.withoutConfigMap(), At: at}
	field := formField(p, nil)
	field["type"], field["required"] = "String(min_length=0)", false
	about := fmt.Sprintf("Without a value it is %s of the ConfigMap %s.", ref.Key, ref.Name)
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
