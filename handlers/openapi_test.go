package handlers_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/handlers/api"
)

var update = flag.Bool("update", false, "rewrite the committed files")

const openapiFile = "../docs/openapi.json"

// TestOpenAPIIsCommitted: docs/openapi.json is what the server describes. With
// -update it is written.
func TestOpenAPIIsCommitted(t *testing.T) {
	t.Parallel()
	compact, err := api.OpenAPI()
	require.NoError(t, err)
	var want bytes.Buffer
	require.NoError(t, json.Indent(&want, compact, "", "  "))
	want.WriteByte('\n')
	if *update {
		require.NoError(t, os.WriteFile(openapiFile, want.Bytes(), 0o644))
	}
	got, err := os.ReadFile(openapiFile)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want.Bytes(), got), "docs/openapi.json is not what the API is: run make generate and commit the result")
}

// operation contains the checked parts of each operation.
type operation struct {
	OperationID string   `json:"operationId"`
	Summary     string   `json:"summary"`
	Tags        []string `json:"tags"`
	Parameters  []struct {
		Name, In, Description string
	} `json:"parameters"`
	Responses map[string]response `json:"responses"`
}

// response is an answer, or a reference to one of the components.
type response struct {
	Ref         string                     `json:"$ref"`
	Description string                     `json:"description"`
	Content     map[string]json.RawMessage `json:"content"`
}

func TestOpenAPIDescribesEveryRoute(t *testing.T) {
	t.Parallel()
	compact, err := api.OpenAPI()
	require.NoError(t, err)
	var doc struct {
		OpenAPI string                          `json:"openapi"`
		Tags    []struct{ Name string }         `json:"tags"`
		Paths   map[string]map[string]operation `json:"paths"`

		Components struct {
			Responses map[string]response `json:"responses"`
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal(compact, &doc))
	require.True(t, strings.HasPrefix(doc.OpenAPI, "3.1."), doc.OpenAPI)
	tags := map[string]bool{}
	for _, tag := range doc.Tags {
		tags[tag.Name] = true
	}
	ids := map[string]bool{}
	for path, item := range doc.Paths {
		for method, op := range item {
			place := method + " " + path
			for status, r := range op.Responses {
				if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
					op.Responses[status] = doc.Components.Responses[name]
				}
			}
			assert.False(t, ids[op.OperationID], "%s: its id %q is another's", place, op.OperationID)
			ids[op.OperationID] = true
			assert.NotEmpty(t, op.Summary, place)
			assert.Len(t, op.Tags, 1, place)
			for _, tag := range op.Tags {
				assert.True(t, tags[tag], "%s: the tag %q is not described", place, tag)
			}
			assert.Contains(t, op.Responses["401"].Content, "application/problem+json", place)
			if strings.Contains(path, "{") {
				assert.Contains(t, op.Responses["404"].Content, "application/problem+json", place)
			}
			for _, name := range pathNames(path) {
				described := false
				for _, p := range op.Parameters {
					described = described || p.Name == name && p.In == "path"
				}
				assert.True(t, described, "%s: the parameter %s is not described", place, name)
			}
			success := 0
			for status, response := range op.Responses {
				assert.NotEmpty(t, response.Description, "%s %s", place, status)
				if status[0] == '2' {
					success++
				}
			}
			assert.Positive(t, success, place)
		}
	}
	b := setup(t)
	require.NoError(t, chi.Walk(b.routes.(chi.Routes), func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		switch {
		case method == http.MethodHead, !strings.HasPrefix(route, "/api/v1/"), strings.HasPrefix(route, "/api/v1/task/"),
			strings.HasPrefix(route, "/api/v1/openapi"), strings.HasPrefix(route, "/api/v1/schemas/"):
			return nil
		}
		_, described := doc.Paths[route][strings.ToLower(method)]
		assert.True(t, described, "%s %s is not described", method, route)
		return nil
	}))
}

// pathNames are the names in braces of a path.
func pathNames(path string) []string {
	var names []string
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// TestOpenAPIRefersToWhatThereIs: every reference has a target.
func TestOpenAPIRefersToWhatThereIs(t *testing.T) {
	t.Parallel()
	compact, err := api.OpenAPI()
	require.NoError(t, err)
	var doc map[string]any
	require.NoError(t, json.Unmarshal(compact, &doc))
	seen := 0
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				seen++
				var target any = doc
				for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
					object, _ := target.(map[string]any)
					target = object[part]
				}
				assert.NotNil(t, target, "%s leads nowhere", ref)
			}
			for _, item := range v {
				walk(item)
			}
		}
	}
	walk(doc)
	for name := range doc["components"].(map[string]any)["schemas"].(map[string]any) {
		assert.Regexp(t, `^[A-Za-z0-9._-]+$`, name)
	}
	require.Positive(t, seen)
}
