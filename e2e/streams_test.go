package e2e

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// streamed is a workflow whose writer continues only after its reader has seen the
// written rows: a reader that waits for the end of the writer blocks both.
const streamed = `
name: NAME
version: 1.0.0
outputs: [{name: total, type: Integer, from: read.total}]
inputs: [{name: dir, type: String}]
operators:
  - name: make
    type: python
    RETRY
    inputs: [{name: dir, from: inputs.dir}]
    outputs: [{name: rows, type: File, storage: streaming}]
    code:
      script: |
        import os, time
        from flowforge import client
        dir = client.inputs["dir"]
        attempt = int(os.environ["FLOWFORGE_ATTEMPT"])
        def seen(name):
            while not os.path.exists(os.path.join(dir, name)):
                time.sleep(0.01)
        with client.writer("rows") as rows:
            for n in range(5):
                rows.write({"attempt": attempt, "n": n})
                seen(f"{attempt}.{n}")
                WRITER
  - name: read
    type: python
    inputs: [{name: dir, from: inputs.dir}, {name: rows, from: make.rows}]
    outputs: [{name: total, type: Integer}]
    code:
      script: |
        import os, time
        from flowforge import client
        total = 0
        for row in client.items("rows"):
            READER
            open(os.path.join(client.inputs["dir"], f"{row['attempt']}.{row['n']}"), "w").close()
            total += row["n"]
        client.output("total", total)
`

// launchStreamed registers and launches a variant of streamed.
func (s *server) launchStreamed(t *testing.T, name, retry, writer, reader string) (id, dir string) {
	t.Helper()
	or := func(text, otherwise string) string {
		if text == "" {
			return otherwise
		}
		return text
	}
	doc := strings.NewReplacer("NAME", name, "RETRY", or(retry, "description: x"), "WRITER", or(writer, "pass"), "READER", or(reader, "pass")).Replace(streamed)
	s.register(t, doc)
	dir = t.TempDir()
	return s.launch(t, name, map[string]any{"dir": dir}), dir
}

// register registers a definition.
func (s *server) register(t *testing.T, doc string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/api/v1/workflows", strings.NewReader(doc))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/yaml")
	res, err := s.client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Less(t, res.StatusCode, 300, "%s", answer)
}

// channelOf returns how the rows were transferred to the reader.
func (s *server) channelOf(t *testing.T, id string) string {
	t.Helper()
	var edges struct {
		Inputs []struct {
			Input string `json:"input"`
			Text  string `json:"text"`
		} `json:"inputs"`
	}
	s.api(t, http.MethodGet, "/executions/"+id+"/nodes/read/inputs", nil, &edges)
	for _, in := range edges.Inputs {
		if in.Input == "rows" {
			return in.Text
		}
	}
	return ""
}

func (e executionView) attempts(t *testing.T, operator string) int {
	t.Helper()
	for _, n := range e.Nodes {
		if n.Operator == operator {
			return n.Attempt
		}
	}
	t.Fatalf("the execution has no node %s", operator)
	return 0
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestStreamIsReadWhileItIsWritten: the writer writes an item only after its reader has
// seen the previous one. Both end, because the reader reads concurrently.
func TestStreamIsReadWhileItIsWritten(t *testing.T) {
	t.Parallel()
	s := shared.server
	id, _ := s.launchStreamed(t, "streams.overlap", "", "", "")
	e := s.wait(t, id, ended)
	require.Equal(t, "SUCCEEDED", e.Status)
	require.Equal(t, 10.0, e.Outputs["total"])
	require.Equal(t, 1, e.attempts(t, "read"))
	require.Equal(t, "from make.rows, stream: it is read while it is being written, 115 B, through a pipe", s.channelOf(t, id))
}

// TestStreamWhoseWriterFails: a failing writer cancels its reader, or restarts it.
func TestStreamWhoseWriterFails(t *testing.T) {
	t.Parallel()
	s := shared.server
	t.Run("permanently", func(t *testing.T) {
		t.Parallel()
		id, dir := s.launchStreamed(t, "streams.fails", "", `if n == 2: raise SystemExit("no more rows")`, "")
		e := s.wait(t, id, ended)
		require.Equal(t, "FAILED", e.Status)
		require.True(t, exists(dir+"/1.2"), "the reader had read it")
		var tries struct {
			Attempts []struct {
				Outcome string `json:"outcome"`
				Message string `json:"message"`
			} `json:"attempts"`
		}
		s.api(t, http.MethodGet, "/executions/"+id+"/nodes/read/attempts", nil, &tries)
		require.Len(t, tries.Attempts, 1)
		require.Equal(t, "CANCELLED", tries.Attempts[0].Outcome)
		require.Contains(t, tries.Attempts[0].Message, "It read the output of make, which failed:")
		require.Contains(t, tries.Attempts[0].Message, "no more rows")
	})
	t.Run("once", func(t *testing.T) {
		t.Parallel()
		id, dir := s.launchStreamed(t, "streams.again", "retry: {limit: 1, initial_delay: 50ms}", `if n == 2 and attempt == 1: raise SystemExit("once")`, "")
		e := s.wait(t, id, ended)
		require.Equal(t, "SUCCEEDED", e.Status)
		require.Equal(t, 10.0, e.Outputs["total"], "each row of the second attempt, and none of the first")
		require.True(t, exists(dir+"/1.2") && exists(dir+"/2.4"))
		require.Equal(t, 2, e.attempts(t, "make"))
		require.Equal(t, 2, e.attempts(t, "read"))
	})
}

// TestStreamWithASlowReader: a slow reader does not block the writer; the rows wait.
func TestStreamWithASlowReader(t *testing.T) {
	t.Parallel()
	s := shared.server
	id, dir := s.launchStreamed(t, "streams.slow", "", `[rows.write({"attempt": attempt, "n": 0, "more": "x" * 1000}) for k in range(3000)]`, `
            while row["n"] == 4 and not os.path.exists(os.path.join(client.inputs["dir"], "go")): time.sleep(0.01)`)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "1.4"), nil, 0o600)) // the writer does not wait for the last one
	s.wait(t, id, func(e executionView) bool {
		require.False(t, ended(e), "%s", e.Status)
		for _, n := range e.Nodes {
			if n.Operator == "make" && n.Status == "SUCCEEDED" {
				return true
			}
		}
		return false
	})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	require.Equal(t, "SUCCEEDED", s.wait(t, id, ended).Status)
}

// TestServerKilledInMidStream: the server is killed while a reader reads, and restarted.
// Both attempts have continued without it.
func TestServerKilledInMidStream(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	id, dir := s.launchStreamed(t, "streams.kill", "", "seen(\"go\") if n == 1 else None", "")
	eventually(t, "the second row", func() (string, bool) { return "not seen", exists(dir + "/1.1") })
	s.kill()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	eventually(t, "the last row", func() (string, bool) { return "not seen without the server", exists(dir + "/1.4") })
	s.restart(t)
	e := s.wait(t, id, ended)
	require.Equal(t, "SUCCEEDED", e.Status)
	require.Equal(t, 10.0, e.Outputs["total"])
	require.Equal(t, 1, e.attempts(t, "make"))
	require.Equal(t, 1, e.attempts(t, "read"))
}
