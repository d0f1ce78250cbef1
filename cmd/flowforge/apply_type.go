package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// applyType registers a document that defines a custom type: one with type_name. The file of its
// ui_renderer is relative to the document.
func (c *client) applyType(cmd *cobra.Command, doc []byte, from string) (bool, error) {
	var definition map[string]any
	err := yaml.Unmarshal(doc, &definition)
	name, ok := definition["type_name"].(string)
	if err != nil || !ok {
		return false, nil //nolint:nilerr // the server reports the error
	}
	if renderer, ok := definition["ui_renderer"].(map[string]any); ok {
		if path, ok := renderer["file"].(string); ok {
			html, err := os.ReadFile(filepath.Join(filepath.Dir(from), path))
			if err != nil {
				return true, fmt.Errorf("ui_renderer: %w", err)
			}
			delete(renderer, "file")
			renderer["html"] = string(html)
		}
	}
	raw, err := json.Marshal(definition)
	if err != nil {
		return true, fmt.Errorf("type %s: %w", name, err)
	}
	if err := c.call(cmd.Context(), http.MethodPost, "/api/v1/types", json.RawMessage(raw), nil); err != nil {
		return true, err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "type %s: registered: %s/types/%s\n", name, c.base, name)
	return true, nil
}
