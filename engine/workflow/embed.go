package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
)

// An operator that names a template uses its fields; one of type workflow runs a
// version of another workflow. When a definition is registered, that version becomes a
// graph of it, called name@version, and its own graphs name@version/graph: a registered
// definition never changes, and contains all that it needs.

// embed returns the document with the workflows that its operators name embedded. A
// document without any is returned unchanged.
func (s *Service) embed(ctx context.Context, doc []byte) ([]byte, []apperr.Field, error) {
	tree, err := decodeDocument(doc)
	if err != nil {
		return doc, nil, nil //nolint:nilerr // Parse reports the problem
	}
	e := embedder{service: s, problems: &problems{}, root: asMapping(tree), graphs: map[string]any{}}
	maps.Copy(e.graphs, asMapping(e.root["graphs"]))
	sections := map[string]any{"": e.root}
	for name, graph := range asMapping(e.root["graphs"]) {
		sections["graphs."+name+"."] = graph
	}
	for _, path := range slices.Sorted(maps.Keys(sections)) {
		if err := e.section(ctx, path, sections[path]); err != nil {
			return doc, nil, err
		}
	}
	if !e.changed {
		return doc, e.fields(), nil
	}
	e.root["graphs"] = e.graphs
	doc, err = json.Marshal(tree)
	return doc, e.fields(), err
}

type embedder struct {
	*problems
	service *Service
	root    map[string]any
	graphs  map[string]any
	changed bool
}

// section embeds the workflows of the operators of the workflow or of one graph.
func (e *embedder) section(ctx context.Context, path string, section any) error {
	for _, key := range []string{"operators", "on_exit"} {
		list, _ := asMapping(section)[key].([]any)
		for i, item := range list {
			op := asMapping(item)
			at := fmt.Sprintf("%s%s[%d]", path, key, i)
			if name, _ := op["template"].(string); name != "" {
				if err := e.fill(ctx, op, name, at+".template"); err != nil {
					return err
				}
			}
			ref, _ := op["workflow"].(string)
			if ref == "" || op["type"] != string(TypeWorkflow) {
				continue
			}
			if err := e.take(ctx, op, ref, at+".workflow"); err != nil {
				return err
			}
		}
	}
	return nil
}

// take adds the version that an operator names to the document as a graph.
func (e *embedder) take(ctx context.Context, op map[string]any, ref, path string) error {
	if _, there := e.graphs[ref]; there && strings.Contains(ref, "@") {
		return nil // a registered definition that was read again, or named twice
	}
	name, number, _ := strings.Cut(ref, "@")
	v, err := e.service.Version(ctx, name, number)
	if apperr.Is(err, apperr.NotFound) || apperr.Is(err, apperr.Invalid) {
		e.add(path, "%s", apperr.MessageOf(err))
		return nil
	}
	if err != nil {
		return fmt.Errorf("workflow %s: %w", ref, err)
	}
	if v.Definition.Document() != nil {
		e.add(path, "The workflow %s is an Argo manifest; only native workflows can run inside other workflows.", v.Name)
		return nil
	}
	pinned := v.Name + "@" + v.Version
	op["workflow"], e.changed = pinned, true
	for _, g := range v.Definition.all() {
		graph, err := asDocument(g.wire())
		if err != nil {
			return err
		}
		e.graphs[embeddedGraphName(pinned, g.Name)] = renamed(graph, pinned)
	}
	return nil
}

// embeddedGraphName returns the name of a graph of an embedded workflow; graphs that were embedded
// in it keep their names.
func embeddedGraphName(pinned, graph string) string {
	switch {
	case graph == "":
		return pinned
	case strings.Contains(graph, "@"):
		return graph
	}
	return pinned + "/" + graph
}

// renamed updates the references of an embedded graph to the new names.
func renamed(graph map[string]any, pinned string) map[string]any {
	for _, key := range []string{"operators", "on_exit"} {
		list, _ := graph[key].([]any)
		for _, item := range list {
			op := asMapping(item)
			if name, _ := op["graph"].(string); name != "" {
				op["graph"] = embeddedGraphName(pinned, name)
			}
		}
	}
	return graph
}

// asDocument converts a value to its form in a document.
func asDocument(v any) (map[string]any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	tree, err := decodeJSON(data)
	return asMapping(tree), err
}
