package options

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/typeregistry"
)

// TestLaunchesSearchTheirValues: a launch finds a value behind the first answer of an endpoint that
// searches.
func TestLaunchesSearchTheirValues(t *testing.T) {
	t.Parallel()
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var found []string
		for i := range 100 {
			if id := fmt.Sprintf("model-%d", i); strings.Contains(id, r.URL.Query().Get("q")) && len(found) < 10 {
				found = append(found, id)
			}
		}
		_ = json.NewEncoder(w).Encode(found)
	})
	schema, problems := typeregistry.Builtin().ParseSchema([]any{
		map[string]any{"name": "model", "type": "String", "options": map[string]any{"http": e.URL + "/?q={{query}}"}},
	}, "inputs")
	require.Empty(t, problems)
	said := func(value string) []typeregistry.Problem {
		ctx := auth.WithSubject(context.Background(), auth.Local())
		_, found := schema.CheckAll(map[string]any{"model": value}, typeregistry.Env{Offers: e.service.Offers(ctx)})
		return found
	}
	require.Empty(t, said("model-77"))
	require.Equal(t, []typeregistry.Problem{{Path: "model", Message: "“model-100” is not an option. Choose one from the list."}}, said("model-100"))
	e.Close()
	require.Contains(t, said("other")[0].Message, "so the value cannot be checked")

	nobody, _ := schema.CheckAll(map[string]any{"model": "other"}, typeregistry.Env{Offers: e.service.Offers(context.Background())})
	require.Equal(t, "other", nobody["model"], "the server requests nothing for callers who cannot launch")
}
