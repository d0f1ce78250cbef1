package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestASensorOutlivesItsServer: a sensor polls an API. The server is killed while it waits; the next
// one continues the wait, and the page shows the polls.
func TestASensorOutlivesItsServer(t *testing.T) {
	t.Parallel()
	var polls atomic.Int32
	var ready atomic.Bool
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		polls.Add(1)
		_, _ = io.WriteString(w, map[bool]string{true: `{"state": "done", "rows": 42}`, false: `{"state": "loading"}`}[ready.Load()])
	}))
	defer api.Close()
	s := ownServer(t)
	s.register(t, `
name: stories.sensor
version: 1.0.0
operators:
  - name: wait
    type: sensor
    outputs: [{name: body, type: JSON}, {name: polls, type: Integer}]
    sensor:
      http: {url: "`+api.URL+`/load", condition: body.state == "done"}
      interval: 1s
outputs:
  - {name: body, type: JSON, from: wait.body}
  - {name: polls, type: Integer, from: wait.polls}
`)
	id := s.launch(t, "stories.sensor", map[string]any{})
	page := openOn(t, s, options{tolerates: whileUnreachable()})
	visit(t, page, "/executions/"+id+"/nodes/wait")
	holds(t, page.Locator("body"), "Last result")
	holds(t, page.Locator("body"), `which does not meet the condition body.state == "done"`)
	audit(t, page)

	s.kill()
	before := polls.Load()
	require.GreaterOrEqual(t, before, int32(1))
	ready.Store(true)
	s.restart(t)
	e := s.wait(t, id, ended)
	require.Equal(t, "SUCCEEDED", e.Status)
	var found struct {
		Outputs map[string]any `json:"outputs"`
	}
	s.api(t, http.MethodGet, "/executions/"+id, nil, &found)
	require.Equal(t, map[string]any{"state": "done", "rows": 42.0}, found.Outputs["body"])
	require.EqualValues(t, polls.Load(), found.Outputs["polls"], "no poll is lost or doubled")
}
