package source

import (
	"encoding/json"

	"github.com/goccy/go-yaml"

	"github.com/flowforge/flowforge/engine/workflow"
)

// DefinitionText is the canonical definition as YAML, or as JSON if it has no YAML form.
func DefinitionText(d *workflow.Definition) (text, format string) {
	raw, err := json.Marshal(d)
	if err != nil {
		return "", "JSON"
	}
	if out, err := yaml.JSONToYAML(raw); err == nil {
		return string(out), "YAML"
	}
	return string(raw), "JSON"
}
