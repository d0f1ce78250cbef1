package typeregistry

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOtherFields: a Struct with extra=true keeps fields that it does not declare.
func TestOtherFields(t *testing.T) {
	t.Parallel()
	open, closed := mustParse(t, "Struct(extra=true){rate: Float, note?: String}"), mustParse(t, "Struct{rate: Float}")
	require.Equal(t, "Struct(extra=true){rate: Float, note?: String}", open.String())
	require.Equal(t, "Struct(extra=true)", mustParse(t, "Struct(extra=true)").String())
	_, err := Builtin().Parse("Struct(extra=false)")
	require.ErrorContains(t, err, "must have at least one field")
	fromObject, err := Builtin().ParseNode(map[string]any{"type": "Struct", "extra": true, "fields": []any{map[string]any{"name": "a", "type": "Integer"}}})
	require.NoError(t, err)
	require.Equal(t, "Struct(extra=true){a: Integer}", fromObject.String())

	value, problems := open.Normalize(map[string]any{"rate": 1, "seed": 7, "deep": map[string]any{"a": []any{nil}}})
	require.Empty(t, problems)
	require.JSONEq(t, `{"rate": 1, "note": null, "seed": 7, "deep": {"a": [null]}}`, compactJSON(value))
	require.Equal(t, `rate = 1, note = , deep = {"a":[null]}, seed = 7`, open.Render(value))
	_, problems = closed.Normalize(map[string]any{"rate": 1, "seed": 7})
	require.Contains(t, problems[0].Message, "There is no field “seed”")
	_, problems = open.Normalize(map[string]any{"rate": 1, "": 1, "$type": "x"})
	require.Len(t, problems, 2)

	require.NoError(t, Assignable(closed, open))
	require.ErrorContains(t, Assignable(open, closed), "it may have other fields (extra=true), which Struct does not keep")
	require.NoError(t, Assignable(mustParse(t, "Struct{rate: Float, more: List<Integer>}"), open))
	require.ErrorContains(t, Assignable(mustParse(t, "Struct{rate: Float, more: File}"), open), "its field more: File is not a JSON")

	options := Schema{Fields: []Field{{Name: "options", Type: open, Required: true}}}
	all, problems := options.CheckAll(map[string]any{"options": map[string]any{"rate": 1}, "options.seed": 7}, Env{})
	require.Empty(t, problems)
	require.JSONEq(t, `{"options": {"rate": 1, "note": null, "seed": 7}}`, compactJSON(all))
}
