package workflow

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/flowforge/flowforge/typeregistry"
)

// Settings returns the operator in the canonical form without its name, as decoded JSON, and whether
// it runs on exit.
func (o *Operator) Settings() (map[string]any, error) {
	out, err := settings(o.wire(), "name")
	if err == nil && o.Final {
		out["runs on exit"] = true
	}
	return out, err
}

// Settings returns the inputs, outputs and settings of the graph, without its operators, as decoded
// JSON.
func (g *Graph) Settings() (map[string]any, error) {
	return settings(g.wire(), "operators", "on_exit")
}

// Settings returns what the definition says alongside its operators, inputs, outputs, graphs and
// metadata, as decoded JSON. Definitions in a foreign format have none: their document says it.
func (d *Definition) Settings() (map[string]any, error) {
	if d.document != nil {
		return nil, nil
	}
	return settings(d, "name", "version", "inputs", "outputs", "operators", "on_exit", "graphs", "metadata")
}

// settings decodes the JSON of v and removes keys.
func settings(v any, without ...string) (map[string]any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	decoded, err := typeregistry.DecodeJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	out, _ := decoded.(map[string]any)
	for _, key := range without {
		delete(out, key)
	}
	return out, nil
}

// EveryGraph returns the workflow and its graphs; the workflow has no name.
func (d *Definition) EveryGraph() []*Graph { return d.all() }

// Packages returns the code packages of the operators, "sha256:<hex>", each once.
func (d *Definition) Packages() []string {
	var packages []string
	for _, o := range d.EveryOperator() {
		if p := o.Code.Package; p != "" && !slices.Contains(packages, p) {
			packages = append(packages, p)
		}
	}
	return packages
}
