package api

import (
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/handlers/leader"
)

// OpenAPI returns the description of the JSON API (OpenAPI 3.1, JSON). docs/openapi.json is a
// committed copy of it.
func OpenAPI() ([]byte, error) {
	h := New(Config{Executions: new(execution.Service), Leader: leader.New(nil, nil)})
	api := h.newAPI(chi.NewMux())
	b, err := api.OpenAPI().MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("describe the API: %w", err)
	}
	return b, nil
}

func get(id, path, summary, tag string) huma.Operation {
	return huma.Operation{OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Tags: []string{tag}}
}

func post(id, path, summary, tag string) huma.Operation {
	return huma.Operation{OperationID: id, Method: http.MethodPost, Path: path, Summary: summary, Tags: []string{tag}}
}
