package argo

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/flowforge/flowforge/engine/workflow"
)

// name is the name of the workflow. In Argo objects of different kinds may have the same
// one: references find a template by its name, so other kinds use another one.
func (t *translator) name() string {
	name := t.writtenName()
	if name == "" {
		t.add("metadata.name", "The workflow needs a name: metadata.name, or metadata.generateName.")
		return ""
	}
	if t.doc.Kind == kindClusterTemplate {
		name += clusterSuffix
	}
	switch taken := t.kindOf(name); {
	case taken == "" || taken == t.doc.Kind || isTemplate(taken) && t.doc.Kind == kindTemplate: // once both kinds shared their names
	case t.isTemplate():
		t.add("metadata.name", "A %s has the name %q; a template is found by its name, so one of them needs another.", taken, name)
	case t.doc.Kind == kindCron:
		name += "-cron"
	default:
		name += "-run"
	}
	if !workflow.ValidName(name) {
		t.add("metadata.name", "A name has lower-case letters, digits, . _ and -, at most 128, beginning with a letter or digit.")
	}
	return name
}

// clusterSuffix follows the names of cluster templates, so that a WorkflowTemplate may have the
// same name: without clusterScope a reference never means a template of the cluster.
const clusterSuffix = "-cluster"

// writtenName is the name that the document says.
func (t *translator) writtenName() string {
	return strings.TrimRight(cmp.Or(t.doc.Metadata.Name, t.doc.Metadata.GenerateName), "-.")
}

// kindOf is the kind of the document that has a name in the project; "" for none.
func (t *translator) kindOf(name string) string {
	if t.find == nil { // what is kept has its own name
		return ""
	}
	doc, ok := t.find(name)
	if !ok {
		return ""
	}
	var of struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(doc, &of); err != nil {
		return ""
	}
	return of.Kind
}

// isTemplate reports whether the document is a template for workflows, which give it
// their arguments.
func (t *translator) isTemplate() bool { return isTemplate(t.doc.Kind) }

func isTemplate(kind string) bool { return kind == kindTemplate || kind == kindClusterTemplate }

// elsewhere says how an object that FlowForge does not run is made.
func elsewhere(kind string) string {
	switch kind {
	case "ConfigMap", "PersistentVolumeClaim", "ResourceQuota", "Secret":
		return " Create it in the project's namespace with kubectl."
	}
	return ""
}
