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
	"github.com/flowforge/flowforge/data/outgoing"
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
	problemsOf := func(value string) []typeregistry.Problem {
		ctx := auth.WithSubject(context.Background(), auth.Local())
		_, found := schema.CheckAll(map[string]any{"model": value}, typeregistry.Env{Offers: e.service.Offers(ctx)})
		return found
	}
	require.Empty(t, problemsOf("model-77"))
	require.Equal(t, []typeregistry.Problem{{Path: "model", Message: "“model-100” is not an option. Choose one from the list."}}, problemsOf("model-100"))
	e.Close()
	require.Contains(t, problemsOf("other")[0].Message, "so the value cannot be checked")

	nobody, _ := schema.CheckAll(map[string]any{"model": "other"}, typeregistry.Env{Offers: e.service.Offers(context.Background())})
	require.Equal(t, "other", nobody["model"], "the server requests nothing for callers who cannot launch")
}

// TestLaunchesAskOnce: a long list of values asks a source for each different value once, for at most
// a hundred, and for nothing more after it failed.
func TestLaunchesAskOnce(t *testing.T) {
	t.Parallel()
	ctx := auth.WithSubject(context.Background(), auth.Local())
	fail := false
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if fail {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		found := []string{"a", "b"}
		if q := r.URL.Query().Get("q"); q != "" && !strings.HasPrefix(q, "no") {
			found = []string{q}
		}
		_ = json.NewEncoder(w).Encode(found)
	})
	check := func(query string, value func(i int) string) ([]typeregistry.Problem, int64) {
		schema, problems := typeregistry.Builtin().ParseSchema([]any{
			map[string]any{"name": "models", "type": "List<String>", "options": map[string]any{"http": e.URL + query}},
		}, "inputs")
		require.Empty(t, problems)
		values := make([]any, 5000)
		for i := range values {
			values[i] = value(i)
		}
		before := e.requested.Load()
		_, found := schema.CheckAll(map[string]any{"models": values}, typeregistry.Env{Offers: e.allow([]string{e.host()}, outgoing.Dialer{OwnHosts: true}).Offers(ctx)})
		return found, e.requested.Load() - before
	}
	found, requested := check("/list", func(i int) string { return []string{"a", "b", "a"}[i%3] })
	require.Empty(t, found)
	require.EqualValues(t, 1, requested)
	found, requested = check("/?q={{query}}", func(i int) string { return fmt.Sprintf("model-%d", i%100) })
	require.Empty(t, found)
	require.EqualValues(t, 100, requested)
	found, requested = check("/?q={{query}}", func(i int) string { return fmt.Sprintf("no-%d", i%101) })
	require.Contains(t, found[0].Message, "is not an option")
	require.EqualValues(t, 101, requested, "each value, and all options once")
	found, requested = check("/?q={{query}}", func(i int) string { return fmt.Sprintf("model-%d", i) })
	require.Len(t, found, 100)
	require.Equal(t, "models.100", found[0].Path)
	require.Contains(t, found[0].Message, "at most 100 different values")
	require.EqualValues(t, 100, requested)
	fail = true
	found, requested = check("/down?q={{query}}", func(i int) string { return fmt.Sprintf("model-%d", i) })
	require.Len(t, found, 100)
	require.Contains(t, found[0].Message, "502")
	require.EqualValues(t, 1, requested)
}
