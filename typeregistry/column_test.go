package typeregistry

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestColumnsAreReturnedAsTheyWereAccepted: attributes stay, also those of the earlier form,
// and never replace a field of the column.
func TestColumnsAreReturnedAsTheyWereAccepted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, out, wrong string }{
		"beside":   {in: `{"name": "a", "dtype": "Float", "statistics": {"mean": 1.50}, "unit": "m"}`, out: `{"name": "a", "dtype": "Float", "statistics": {"mean": 1.50}, "unit": "m"}`},
		"within":   {in: `{"name": "a", "dtype": "Float", "attributes": {"unit": "m", "dimensions": "x", "name": "b"}}`, out: `{"name": "a", "dtype": "Float", "unit": "m"}`},
		"null":     {in: `{"name": "a", "dtype": "Float", "attributes": {"description": null, "default_value": null}}`, out: `{"name": "a", "dtype": "Float", "default_value": null}`},
		"mistyped": {in: `{"name": "a", "dtype": "Float", "attributes": {"statistics": 3}}`, out: `{"name": "a", "dtype": "Float", "statistics": 3}`, wrong: "statistics must be an object."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var column Column
			require.NoError(t, json.Unmarshal([]byte(c.in), &column))
			require.Equal(t, c.wrong, column.CheckAttributes())
			out, err := json.Marshal(column)
			require.NoError(t, err)
			require.JSONEq(t, c.out, string(out))
		})
	}
}
