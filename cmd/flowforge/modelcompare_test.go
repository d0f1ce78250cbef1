package main

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestModelCompareCommand(t *testing.T) {
	t.Parallel()
	const body = `{"model": "net", "ui_url": "/models/net", "signature_changes": ["Input x is Integer instead of Float."],
		"version": {"version": "2", "stage": "none", "test_set": "digits-test@1", "execution_id": "019aa5c8-7f3e-7c11-9a40-3f0c2d8c6804"},
		"against": {"version": "production-1", "stage": "production"},
		"metrics": [{"name": "accuracy", "against": 0.9, "version": 0.95, "difference": 0.05, "better": "higher", "verdict": "better"}, {"name": "size", "version": 3}],
		"inputs": {"rows": [{"section": "inputs", "path": "rate", "against": 0.1, "version": 0.5}, {"section": "definition", "path": "version", "against": "1.0.0"}], "same": 4},
		"sources": {"rows": [{"kind": "dataset", "name": "digits", "against": ["1"], "version": ["2", "3"]}], "same": 1, "partial": true}}`
	requested := ""
	serve := func(w http.ResponseWriter, r *http.Request) {
		requested = r.URL.RequestURI()
		answer(w, http.StatusOK, body)
	}
	out, err := command(t, serve, "model", "compare", "net", "production", "2")
	require.NoError(t, err)
	require.Equal(t, "/api/v1/model-registry/net/compare?against=production&version=2", requested)
	require.Equal(t, `                 production-1  2
stage            production    none
test set         -             digits-test@1
execution        -             #8c6804
METRICS                                       DIFFERENCE
accuracy         0.9           0.95           +0.05 better
size             -             3
INPUTS AND CODE
rate             0.1           0.5
version          1.0.0         -
LINEAGE
dataset digits   1             2, 3

Inputs and code: 4 values are the same.
Lineage: 1 source is the same. The lineage is too large to compare completely.
Signature: Input x is Integer instead of Float.
`, regexp.MustCompile(` +\n`).ReplaceAllString(out, "\n"))
	out, err = command(t, serve, "model", "compare", "net", "1", "2", "--json")
	require.NoError(t, err)
	require.Contains(t, out, `"ui_url": "/models/net"`)
	_, err = command(t, nil, "model", "compare", "net", "1")
	require.ErrorContains(t, err, "missing argument TO")
}
