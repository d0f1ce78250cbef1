package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
)

// TestJSONTakesWholeNumbersWithAFraction: 2.0 is an integer in JSON Schema.
func TestJSONTakesWholeNumbersWithAFraction(t *testing.T) {
	t.Parallel()
	var in struct {
		Count int64          `json:"count"`
		Limit map[string]int `json:"limit"`
	}
	read := func(text string) error { return jsonFormat().Unmarshal([]byte(text), &in) }
	require.NoError(t, read(`{"count": 1e3, "limit": {"cpu": 2.0}}`))
	require.EqualValues(t, 1000, in.Count)
	require.Equal(t, 2, in.Limit["cpu"])
	require.ErrorContains(t, read(`{"count": 2.5}`), "not a whole number")
	require.ErrorContains(t, read(`{"count": 1e300}`), "too large")
}

// TestMissingPropertyIsNamed: the path of a problem is that of the property, not of its object.
func TestMissingPropertyIsNamed(t *testing.T) {
	t.Parallel()
	missing := func(location string) string {
		return fieldsFromHuma([]error{&huma.ErrorDetail{Location: location, Message: "expected required property name to be present"}})[0].Path
	}
	require.Equal(t, "name", missing("body"))
	require.Equal(t, "features[0].name", missing("body.features[0]"))
}

func TestRenamedKeepsTheError(t *testing.T) {
	t.Parallel()
	from := &apperr.Error{Code: apperr.Invalid, Fields: []apperr.Field{{Path: "per", Message: "m"}, {Path: "burst"}}}
	got := renamed(from, "per", "period")
	require.Equal(t, apperr.Invalid, apperr.CodeOf(got))
	require.Equal(t, []apperr.Field{{Path: "period", Message: "m"}, {Path: "burst"}}, apperr.FieldsOf(got))
	require.Equal(t, "per", from.Fields[0].Path)
}

// TestDescriptionHasEveryType: types that are embedded or written by MarshalJSON are described.
func TestDescriptionHasEveryType(t *testing.T) {
	t.Parallel()
	b, err := OpenAPI()
	require.NoError(t, err)
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name, In string
				Schema   struct{ Format string }
			} `json:"parameters"`
			Responses map[string]any `json:"responses"`
		} `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(b, &doc))
	for _, name := range []string{"limit", "borrow", "weight", "limits", "utilization_percent", "node_id"} {
		require.Contains(t, doc.Components.Schemas["QuotaBody"].Properties, name)
	}
	for _, name := range []string{"WorkflowBody", "DagRun", "Registered", "WorkflowPage", "RunPage"} {
		require.NotEmpty(t, doc.Components.Schemas[name].Properties, name)
	}
	for path, item := range doc.Paths {
		for method, op := range item {
			for _, p := range op.Parameters {
				if p.In == "path" && (p.Name == "id" || p.Name == "execution_id" || p.Name == "artifact_id") {
					require.Equal(t, "uuid", p.Schema.Format, "%s %s: %s", method, path, p.Name)
				}
			}
			for _, status := range []string{"401", "403", "404", "422", "429", "500", "503"} {
				require.Contains(t, op.Responses, status, "%s %s", method, path)
			}
			if method != "get" {
				require.Contains(t, op.Responses, "409", "%s %s", method, path)
			}
		}
	}
}

// TestLoneSurrogates: Go decodes half of a character as U+FFFD, which is not in the document.
func TestLoneSurrogates(t *testing.T) {
	t.Parallel()
	decode := jsonFormat().Unmarshal
	for document, want := range map[string]string{
		`{"a": "\ud83d\ude00 é \\ud800 \" \u00e9"}`: "",
		`{"a": "\\\ud800"}`:                         `lone surrogate \ud800, at byte 9`,
		`{"a": ["x", "\ud83dx"]}`:                   `lone surrogate \ud83d`,
		`{"a": "\ud83d\ud83d\ude00"}`:               `lone surrogate \ud83d`,
		`{"\ude00": 1}`:                             `lone surrogate \ude00`,
		`{"a": "` + "\xe9" + `"}`:                   "not UTF-8",
	} {
		var v any
		err := decode([]byte(document), &v)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", document, err, want)
		}
	}
}
