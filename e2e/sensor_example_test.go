package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/artifact/s3test"
)

// TestTheExampleOfASensor waits for an address, then for a file in a bucket, and continues with both.
func TestTheExampleOfASensor(t *testing.T) {
	t.Parallel()
	s := shared.server
	var done atomic.Bool
	var requested atomic.Value
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requested.Store(r.URL.Path)
		_, _ = io.WriteString(w, map[bool]string{true: `{"state": "done"}`, false: `{"state": "loading"}`}[done.Load()])
	}))
	defer api.Close()
	landing := s3test.Start(t, "landing")
	s.api(t, http.MethodPut, "/connections/sales-api", map[string]any{"kind": "http", "values": map[string]any{"base_url": api.URL}}, nil)
	s.api(t, http.MethodPut, "/connections/sales-files", map[string]any{"kind": "s3", "values": map[string]any{
		"bucket": "landing", "endpoint": landing.Endpoint, "access_key_id": s3test.AccessKey, "secret_access_key": s3test.SecretKey,
	}}, nil)
	example, err := os.ReadFile("../examples/sensor/workflow.yaml")
	require.NoError(t, err)
	s.register(t, strings.NewReplacer("interval: 30s", "interval: 1s", "interval: 10s", "interval: 1s").Replace(string(example)))
	id := s.launch(t, "sales.arrival", map[string]any{"api": "sales-api", "store": "sales-files", "day": "2026-11-30"})
	page := openOn(t, s, options{})
	last := func(node, result string) {
		t.Helper()
		visit(t, page, "/executions/"+id+"/nodes/"+node)
		holds(t, page.Locator("body"), result)
	}
	last("loaded", `which does not meet the condition body.state == "done"`)
	require.Equal(t, "/loads/2026-11-30", requested.Load())
	done.Store(true)
	last("file", "The bucket landing has no object sales/2026-11-30.csv.")
	require.NoError(t, os.MkdirAll(filepath.Join(landing.Dir, "landing", "sales"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(landing.Dir, "landing", "sales", "2026-11-30.csv"), []byte("region,amount\n"), 0o600))
	require.Equal(t, "SUCCEEDED", s.wait(t, id, ended).Status)
	var found struct {
		Outputs map[string]any `json:"outputs"`
	}
	s.api(t, http.MethodGet, "/executions/"+id, nil, &found)
	require.Equal(t, "sales/2026-11-30.csv has 14 bytes.", found.Outputs["message"])
}
