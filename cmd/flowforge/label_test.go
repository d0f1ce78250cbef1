package main

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLabelCommand(t *testing.T) {
	t.Parallel()
	requested, sent := "", map[string]any{}
	out, err := command(t, func(w http.ResponseWriter, r *http.Request) {
		requested = r.Method + " " + r.URL.Path
		_ = json.NewDecoder(r.Body).Decode(&sent)
		answer(w, http.StatusOK, `{"name": "lower rate", "tags": ["best", "candidate"], "note": "Two lines:\nthe second"}`)
	}, "label", "01a20984", "--tag", "best", "--remove-tag", "old", "--name", "lower rate", "--note", "")
	require.NoError(t, err)
	require.Equal(t, "POST /api/v1/executions/01a20984/labels", requested)
	require.Equal(t, map[string]any{"add": []any{"best"}, "remove": []any{"old"}, "name": "lower rate", "note": ""}, sent)
	require.Equal(t, "01a20984  name: lower rate  tags: best, candidate  note: Two lines:\n", out)
	_, err = command(t, nil, "label", "01a20984")
	require.ErrorContains(t, err, "set --tag, --remove-tag, --note or --name")
	_, err = command(t, nil, "label", "one", "two", "--name", "x")
	require.ErrorContains(t, err, "a single execution")
}
