package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// leaky prints its secret in every way that a careless program might.
func leaky() map[string]any {
	script := `
import base64, json, os, sys, urllib.parse
from flowforge import client
inputs = json.load(open(os.environ["FLOWFORGE_INPUTS"]))
key = inputs["key"]
assert key == os.environ["FLOWFORGE_PARAM_KEY"] and len(key) == inputs["length"], "the value did not arrive"
print("plain", key)
print("Basic", base64.b64encode(("user:" + key).encode()).decode(), urllib.parse.quote(key, safe=""), key.encode().hex())
print(json.dumps(inputs), file=sys.stderr)
sys.stdout.write(key[:9]); sys.stdout.flush(); sys.stdout.write(key[9:] + "\n")
client.log("sdk " + key, level="ERROR")
client.status("RUNNING", message="with " + key)
client.metric("loss", 1.0, tags={"key": key})
client.output("text", "value " + key)
sys.exit("bad credentials " + key)
`
	return map[string]any{
		"name": "stories.leaky", "version": "1.0.0",
		"inputs": []map[string]any{{"name": "key", "type": "Secret"}, {"name": "length", "type": "Integer"}},
		"operators": []map[string]any{{
			"name": "leaks", "type": "python", "code": map[string]any{"script": script}, "outputs": []map[string]any{{"name": "text", "type": "String?"}},
			"inputs": []map[string]any{{"name": "key", "type": "Secret", "from": "inputs.key"}, {"name": "length", "type": "Integer", "from": "inputs.length"}},
		}},
	}
}

// TestASecretLeavesNoTrace: a task gets the secret. Afterwards nothing that the server
// stores or shows contains it, in any file of the data directory, except in encrypted
// form.
func TestASecretLeavesNoTrace(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	const value = "c0rrect/h0rse+battery=staple-4711"
	s.api(t, http.MethodPut, "/secrets/tracker", map[string]any{"value": value, "description": "of the story"}, nil)
	s.api(t, http.MethodPost, "/workflows", leaky(), nil)
	id := s.launch(t, "stories.leaky", map[string]any{"key": map[string]any{"$secret": "tracker"}, "length": len(value)})
	require.Equal(t, "FAILED", s.wait(t, id, ended).Status)

	reader := openOn(t, s, options{})
	pages := ""
	for _, path := range []string{"/executions/" + id, "/executions/" + id + "/nodes/leaks", "/executions/" + id + "/logs", "/secrets", "/secrets/tracker", "/workflows/stories.leaky/launch?from=" + id} {
		visit(t, reader, path)
		content, err := reader.Content()
		require.NoError(t, err)
		pages += content
	}
	for _, path := range []string{"/executions/" + id, "/executions/" + id + "/logs", "/executions/" + id + "/events", "/executions/" + id + "/metrics", "/secrets", "/secrets/tracker"} {
		_, body := s.call(t, http.MethodGet, path, nil)
		pages += string(body)
	}
	require.Contains(t, pages, "plain ***")
	require.Contains(t, pages, "sdk ***")
	require.Contains(t, pages, "bad credentials ***")
	forms := [][]byte{
		[]byte(value), []byte(fmt.Sprintf("%x", value)), []byte("c0rrect%2Fh0rse"), []byte(`h0rse+battery`),
		[]byte(base64.StdEncoding.EncodeToString([]byte("user:" + value))[8:24]), []byte(base64.StdEncoding.EncodeToString([]byte(value))[:24]),
	}
	for _, form := range forms {
		require.NotContains(t, pages, string(form))
	}
	require.NoError(t, reader.Close()) // it would lose the server
	s.stop()                           // flushes memory to disk
	looked := 0
	err := filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		looked++
		for _, form := range forms {
			if bytes.Contains(content, form) {
				t.Errorf("%s holds the secret as %q", path, form)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, looked, 100, "the database must be checked, too")
	require.NotContains(t, s.output(), value)
}
