package label

import (
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/engine/lineage"
	"github.com/flowforge/flowforge/engine/lineage/graph"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
)

// LineageItemURL is the page of an item of lineage; "" for one without a page.
func LineageItemURL(i lineage.Item) string {
	if i.Removed {
		return ""
	}
	switch i.Kind {
	case lineage.KindArtifact:
		return views.ArtifactURL(string(i.Key[len("artifact:"):]))
	case lineage.KindExecution:
		return views.ExecutionURL(i.Execution.String())
	case lineage.KindNode:
		return views.NodeURL(i.Execution.String(), i.Node)
	case lineage.KindModel:
		return views.ModelURL(i.Name, i.Version)
	case lineage.KindDataset:
		return views.DatasetURL("Dataset", i.Name, i.Version)
	case lineage.KindFeatureSet:
		return views.DatasetURL("FeatureSet", i.Name, i.Version)
	case lineage.KindFile:
	}
	return ""
}

// EntryURL is the page of the catalogue entry or artifact that an input of type t references; "" for a
// type without one.
func EntryURL(t *typeregistry.Type, ref string) string {
	for t.Kind == typeregistry.KindOptional {
		t = t.Elem
	}
	if uuid.Validate(ref) == nil {
		return views.ArtifactURL(ref)
	}
	name, version := catalogue.SplitRef(ref)
	switch t.Kind {
	case typeregistry.KindDataset, typeregistry.KindFeatureSet:
		return views.DatasetURL(string(t.Kind), name, version)
	case typeregistry.KindModel:
		return views.ModelURL(name, version)
	default:
		return ""
	}
}

// RelationWords describes how two items are connected.
func RelationWords(e graph.Edge) string {
	words := map[graph.Relation]string{
		graph.Input: "input", graph.Output: "output", graph.Value: "value", graph.After: "runs after", graph.Registered: "registered as", graph.SameBytes: "same bytes as",
	}
	text := words[e.Relation]
	if e.Label != "" {
		text += " " + e.Label
	}
	return text
}

// LineageKind is the kind of an item for users.
func LineageKind(k lineage.Kind) string {
	words := map[lineage.Kind]string{
		lineage.KindArtifact: "Artifact", lineage.KindDataset: "Dataset", lineage.KindFeatureSet: "Feature set", lineage.KindModel: "Model",
		lineage.KindFile: "Uploaded file", lineage.KindNode: "Node", lineage.KindExecution: "Execution",
	}
	return words[k]
}
