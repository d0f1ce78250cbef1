package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if err := os.Setenv("FLOWFORGE_TOKEN", "secret"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// command runs the command line against a server and returns what it printed.
func command(t *testing.T, handler http.HandlerFunc, args ...string) (string, error) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	var out bytes.Buffer
	root := newRootCommand()
	root.SetOut(&out)
	root.SetArgs(append(args, "--server", server.URL))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func answer(w http.ResponseWriter, status int, body string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, body)
}

func TestLaunchWaitsForAServerThatIsAway(t *testing.T) {
	t.Parallel()
	answers := []struct {
		status int
		body   string
	}{
		{200, `{"execution_id":"e1","status":"RUNNING","progress":{"total_operators":2,"completed":1},"nodes":[{"operator":"train","status":"RUNNING"}]}`},
		{503, `{"status":503,"detail":"A part of the server does not answer."}`},
		{502, `not ours`},
		{200, `{"execution_id":"e1","status":"FAILED","progress":{"total_operators":2,"completed":1},"error":{"message":"It broke."}}`},
	}
	seen := 0
	out, err := command(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			answer(w, http.StatusCreated, `{"execution_id":"e1"}`)
			return
		}
		answer(w, answers[seen].status, answers[seen].body)
		seen++
	}, "launch", "w", "-i", "epochs=5", "--wait")
	require.EqualError(t, err, "execution FAILED: It broke.")
	require.Equal(t, 1, exitCode(err))
	require.Contains(t, out, "RUNNING   [############------------] 1 of 2 nodes  train\n")
	require.Equal(t, len(answers), seen)
}

func TestLaunchNamesTheInputAtFault(t *testing.T) {
	t.Parallel()
	_, err := command(t, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusUnprocessableEntity, `{"status":422,"detail":"The execution cannot be launched.","errors":[{"path":"inputs.epochs","message":"Enter 1 to 16."}]}`)
	}, "launch", "w", "--wait")
	require.EqualError(t, err, "The execution cannot be launched.\n  inputs.epochs: Enter 1 to 16.")
}

func TestFollowedLogGoesOnAfterABreak(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	line := func(id, message string) string {
		return fmt.Sprintf("id: %s\ndata: [{\"timestamp\":\"2026-11-21T12:00:00Z\",\"node\":\"train\",\"level\":\"INFO\",\"message\":%q}]\n\n", id, message)
	}
	asked := []string{}
	out, err := command(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("last-event-id"))
		if len(asked) == 1 {
			answer(w, http.StatusOK, ":\n\n"+line("c1", "first")+line("c2", long)) // and the connection ends
			return
		}
		answer(w, http.StatusOK, line("c3", "last")+"event: end\ndata: {}\n\n")
	}, "logs", "-f", "e1")
	require.NoError(t, err)
	require.Equal(t, []string{"", "c2"}, asked)
	require.Equal(t, 3, strings.Count(out, "INFO  train | "))
	require.Contains(t, out, long)
}

func TestTheProjectIsNamedInEveryCall(t *testing.T) {
	t.Parallel()
	var named []string
	serve := func(w http.ResponseWriter, r *http.Request) {
		named = append(named, r.Header.Get("X-FlowForge-Project"))
		answer(w, http.StatusOK, `{"workflows":[]}`)
	}
	_, err := command(t, serve, "get", "workflows", "--project", "vision/digits")
	require.NoError(t, err)
	require.Equal(t, []string{"vision/digits"}, named)
}
