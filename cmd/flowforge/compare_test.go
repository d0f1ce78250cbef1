package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompareCommand(t *testing.T) {
	t.Parallel()
	const body = `{"baseline": "019aa5c8-7f3e-7c11-9a40-3f0c2d1b5e77", "executions": [{"execution_id": "019aa5c8-7f3e-7c11-9a40-3f0c2d1b5e77"}, {"execution_id": "019aa5c8-7f3e-7c11-9a40-3f0c2d8c6804"}],
		"metrics": ["loss"], "same": 3, "notes": ["Something was left out."], "rows": [
		{"section": "inputs", "path": "model.lr", "differs": true, "values": [{"present": true, "value": 0.1}, {"present": false, "changed": true}]},
		{"section": "inputs", "path": "seed", "differs": true, "values": [{"present": true, "value": 1234567}, {"present": true, "value": 1234568, "changed": true}]},
		{"section": "inputs", "path": "layers", "differs": true, "values": [{"present": true, "value": ["a b"]}, {"present": true, "value": null, "changed": true}]},
		{"section": "metrics", "path": "loss", "statistic": "last", "differs": true, "values": [{"present": true, "value": 0.25}, {"present": true, "value": "NaN", "changed": true}]},
		{"section": "summary", "path": "duration", "unit": "seconds", "differs": true, "values": [{"present": true, "value": 62}, {"present": true, "value": 3, "changed": true}]},
		{"section": "artifacts", "path": "train.model", "differs": true, "values": [{"present": true, "value": {"sha256": "0123456789abcdef", "size_bytes": 2048}}, {"present": true, "value": {"sha256": "fedcba9876543210", "size_bytes": 1}, "changed": true}]}]}`
	requested := ""
	out, err := command(t, func(w http.ResponseWriter, r *http.Request) {
		requested = r.URL.RequestURI()
		answer(w, http.StatusOK, body)
	}, "compare", "#1b5e77", "8c6804", "--baseline", "#8c6804", "--all")
	require.NoError(t, err)
	require.Equal(t, "/api/v1/compare?all=true&baseline=8c6804&executions=1b5e77%2C8c6804", requested)
	for _, want := range []string{"#1b5e77 (baseline)", "#8c6804", "INPUTS", "model.lr", "0.1", "- *", "1234567", "1234568 *", `["a b"]`, "null *", "loss last", "NaN *", "1 min 02 s", "2 KiB 01234567", "Something was left out."} {
		require.Contains(t, out, want)
	}
	_, err = command(t, nil, "compare", "8c6804")
	require.EqualError(t, err, "missing argument; usage: flowforge compare EXECUTION EXECUTION...")
	require.Contains(t, newRootCommand().Short, "compare")
}
