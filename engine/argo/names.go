package argo

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/flowforge/flowforge/engine/workflow"
)

// name returns the name of the workflow. In Argo, objects of different kinds can have the same name.
// Here, references find a template by its name, so other kinds get a suffix.
func (t *translator) name() string {
	name := t.writtenName()
	if name == "" {
		t.add("metadata.name", "The workflow must have a name: set metadata.name or metadata.generateName.")
		return ""
	}
	if t.doc.Kind == kindClusterTemplate {
		name += clusterSuffix
	}
	switch taken := t.kindOf(name); {
	case taken == "" || taken == t.doc.Kind || isTemplate(taken) && t.doc.Kind == kindTemplate: // earlier versions stored both kinds under one name
	case t.isTemplate():
		t.add("metadata.name", "A %s has the name %q; references find a template by its name, so rename one of them.", taken, name)
	case t.doc.Kind == kindCron:
		name += "-cron"
	default:
		name += "-run"
	}
	if !workflow.ValidName(name) {
		t.add("metadata.name", "A name can have up to 128 lower-case letters, digits, . _ and -, and must begin with a letter or digit.")
	}
	return name
}

// clusterSuffix ends the names of cluster templates, so that a WorkflowTemplate can have the same
// name: a reference without clusterScope never selects a template of the cluster.
const clusterSuffix = "-cluster"

// writtenName is the name in the document.
func (t *translator) writtenName() string {
	return strings.TrimRight(cmp.Or(t.doc.Metadata.Name, t.doc.Metadata.GenerateName), "-.")
}

// kindOf is the kind of the document that has a name in the project; "" for none.
func (t *translation) kindOf(name string) string {
	if t.find == nil { // a stored document has its final name
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

// isTemplate reports whether the document is a template, whose arguments come from the workflows
// that use it.
func (t *translation) isTemplate() bool { return isTemplate(t.doc.Kind) }

func isTemplate(kind string) bool { return kind == kindTemplate || kind == kindClusterTemplate }

// elsewhere is the advice for an object that FlowForge does not run.
func elsewhere(kind string) string {
	switch kind {
	case kindConfigMap:
		return " Register it together with the workflow whose parameters read it, or create it in the project's namespace with kubectl."
	case "PersistentVolumeClaim", "ResourceQuota", "Secret":
		return " Create it in the project's namespace with kubectl."
	case "WorkflowEventBinding", "Sensor", "EventSource", "EventBus":
		return " Let the source of the events launch the workflow through the API: POST /api/v1/executions."
	case "WorkflowArtifactGCTask", "WorkflowTaskSet", "WorkflowTaskResult":
		return " Omit it: Argo's controller creates it."
	}
	return " Apply it with kubectl."
}
