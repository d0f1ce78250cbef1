package ha_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

const chain = `
name: chain
version: 1.0.0
operators:
  - {name: a, type: shell, code: {script: 'true'}}
  - {name: b, type: shell, code: {script: 'true'}, depends_on: [a]}
  - {name: c, type: shell, code: {script: 'true'}, depends_on: [b]}
  - {name: d, type: shell, code: {script: 'true'}, depends_on: [a]}
  - {name: e, type: noop, depends_on: [c, d]}
`

const holding = `
name: holding
version: 1.0.0
operators:
  - {name: hold, type: shell, code: {script: 'true'}}
  - {name: after, type: shell, code: {script: 'true'}, depends_on: [hold]}
`

// TestRolesApart: two page servers, one scheduler and one job worker. An execution that
// is launched through one page server is watched and cancelled through the other.
func TestRolesApart(t *testing.T) {
	t.Parallel()
	in := setup(t)
	first, second := in.start("web"), in.start("web")
	in.start("worker")
	status, err := in.try(first, http.MethodGet, "/waiting", nil, new(string))
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status, "no server leads")
	require.Equal(t, http.StatusOK, in.call(first, http.MethodGet, "/executions", nil, new(string)), "everything else works")

	scheduler := in.start("scheduler,launcher")
	in.register(first, chain)
	in.register(second, holding)
	id := in.launch(first, "chain")
	in.until("the chain has succeeded", func() bool { return in.status(second, id) == "SUCCEEDED" })

	held := in.launch(second, "holding")
	watching := in.watch(first, held)
	in.until("it runs", func() bool { return in.tasks.running() == 1 })
	var waiting, queue string
	require.Equal(t, http.StatusOK, in.call(first, http.MethodGet, "/waiting", nil, &waiting))
	require.Contains(t, waiting, "<title>")
	require.Equal(t, http.StatusOK, in.call(second, http.MethodGet, "/api/v1/queue", nil, &queue))
	require.Equal(t, http.StatusOK, in.call(second, http.MethodGet, "/admin/quotas", nil, new(string)))
	require.Equal(t, http.StatusOK, in.call(second, http.MethodGet, "/workflows/chain/launch", nil, new(string)))
	require.Equal(t, http.StatusNotFound, in.call(scheduler, http.MethodGet, "/waiting", nil, new(string)), "it serves no pages")

	require.Equal(t, http.StatusOK, in.call(second, http.MethodPost, "/api/v1/executions/"+held.String()+"/cancel", map[string]any{"reason": "no more"}, new(string)))
	in.until("it is cancelled", func() bool { return in.status(first, held) == "CANCELLED" })
	in.until("the page of the other server says so", func() bool { return strings.Contains(watching(), "Cancelled") })
}

// status returns the state of an execution as s shows it.
func (in *installation) status(s *server, id uuid.UUID) string {
	in.t.Helper()
	var e struct {
		Status string `json:"status"`
	}
	require.Equal(in.t, http.StatusOK, in.call(s, http.MethodGet, "/api/v1/executions/"+id.String(), nil, &e))
	return e.Status
}

// watch follows the page of an execution through s, and returns a function that returns
// everything received so far.
func (in *installation) watch(s *server, id uuid.UUID) func() string {
	in.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+"/executions/"+id.String()+"/stream", nil)
	require.NoError(in.t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(in.t, err)
	require.Equal(in.t, http.StatusOK, answer.StatusCode)
	lines, done := make(chan string, 1<<16), make(chan struct{})
	go func() {
		defer close(done)
		scanner := bufio.NewScanner(answer.Body)
		scanner.Buffer(nil, 1<<22)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	}()
	in.t.Cleanup(func() {
		cancel()
		_ = answer.Body.Close()
		<-done
	})
	var all strings.Builder
	return func() string {
		for {
			select {
			case line := <-lines:
				all.WriteString(line)
			default:
				return all.String()
			}
		}
	}
}
