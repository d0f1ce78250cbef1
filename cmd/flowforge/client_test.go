package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "flowforge-cli-")
	if err != nil {
		panic(err)
	}
	for name, value := range map[string]string{"FLOWFORGE_TOKEN": "secret", "XDG_CONFIG_HOME": home} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
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

func TestLaunchWaitsForAnUnreachableServer(t *testing.T) {
	t.Parallel()
	answers := []struct {
		status int
		body   string
	}{
		{200, `{"execution_id":"019aa5c8-7f3e-7c11-9a40-3f0c2d1b5e77","status":"RUNNING","progress":{"total_operators":2,"completed":1},"nodes":[{"operator":"train","status":"RUNNING"}]}`},
		{429, `{"status":429,"detail":"One API key may send at most 600 requests per minute. Try again in a minute."}`},
		{503, `{"status":503,"detail":"A service that FlowForge depends on is not responding."}`},
		{502, `not ours`},
		{200, `{"execution_id":"019aa5c8-7f3e-7c11-9a40-3f0c2d1b5e77","status":"FAILED","progress":{"total_operators":2,"completed":1},"error":{"message":"It broke."}}`},
	}
	seen := 0
	out, err := command(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			answer(w, http.StatusCreated, `{"execution_id":"019aa5c8-7f3e-7c11-9a40-3f0c2d1b5e77"}`)
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

// TestARedirectedCommandIsAnError: HTTP clients follow it with a GET, which changes nothing.
func TestARedirectedCommandIsAnError(t *testing.T) {
	t.Parallel()
	_, err := command(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			answer(w, http.StatusOK, `{"execution_id":"019aa5c8-7f3e-7c11-9a40-3f0c2d1b5e77"}`)
			return
		}
		http.Redirect(w, r, "/elsewhere", http.StatusMovedPermanently)
	}, "pause", "019aa5c8-7f3e-7c11-9a40-3f0c2d1b5e77")
	require.ErrorContains(t, err, "the server redirected the request to http://")
	require.ErrorContains(t, err, "/elsewhere: set --server to the final address")
}

// TestInputsOfALaunch: what is not JSON is a text, and null holds no inputs.
func TestInputsOfALaunch(t *testing.T) {
	t.Parallel()
	sent := ""
	serve := func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		sent = string(b)
		answer(w, http.StatusCreated, `{"execution_id":"019aa5c8-7f3e-7c11-9a40-3f0c2d1b5e77"}`)
	}
	_, err := command(t, serve, "launch", "w", "-i", "a=5}", "-i", "b=[1] ]", "-i", "c=[1]", "-i", "d=1 2")
	require.NoError(t, err)
	require.Contains(t, sent, `"inputs":{"a":"5}","b":"[1] ]","c":[1],"d":"1 2"}`)

	file := filepath.Join(t.TempDir(), "inputs.json")
	require.NoError(t, os.WriteFile(file, []byte("null"), 0o600))
	_, err = command(t, serve, "launch", "w", "--inputs", file, "-i", "a=1")
	require.EqualError(t, err, "--inputs "+file+" is not a JSON object: it is null")
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
	requested := []string{}
	out, err := command(t, func(w http.ResponseWriter, r *http.Request) {
		requested = append(requested, r.URL.Query().Get("last-event-id"))
		if len(requested) == 1 {
			answer(w, http.StatusOK, ":\n\n"+line("c1", "first")+line("c2", long)) // and the connection ends
			return
		}
		answer(w, http.StatusOK, line("c3", "last")+"event: end\ndata: {}\n\n")
	}, "logs", "-f", "e1")
	require.NoError(t, err)
	require.Equal(t, []string{"", "c2"}, requested)
	require.Equal(t, 3, strings.Count(out, "INFO  train | "))
	require.Contains(t, out, long)
}

// TestGetTakesAShortID: the short ID of an execution, as pages show it, names the execution; a
// workflow whose name looks like a short ID is found too.
func TestGetTakesAShortID(t *testing.T) {
	t.Parallel()
	serve := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/executions/#8c6804", "/api/v1/executions/8c6804":
			answer(w, http.StatusOK, `{"execution_id":"01900000-0000-7000-8000-0000008c6804","workflow_name":"digits.train","status":"SUCCEEDED"}`)
		case "/api/v1/executions/bead":
			answer(w, http.StatusOK, `{"execution_id":"01900000-0000-7000-8000-00000000bead","workflow_name":"wrong","status":"SUCCEEDED"}`)
		case "/api/v1/executions/8c":
			answer(w, http.StatusConflict, `{"status":409,"detail":"Several executions have an ID that ends with \"8c\": one, two."}`)
		case "/api/v1/workflows/facade", "/api/v1/workflows/bead":
			answer(w, http.StatusOK, `{"name":"`+path.Base(r.URL.Path)+`"}`)
		default:
			answer(w, http.StatusNotFound, `{"status":404,"detail":"There is nothing."}`)
		}
	}
	for arg, shown := range map[string]string{"#8c6804": "digits.train", "8c6804": "digits.train", "facade": "facade", "bead": `"name": "bead"`} {
		out, err := command(t, serve, "get", arg)
		require.NoError(t, err, arg)
		require.Contains(t, out, shown)
	}
	_, err := command(t, serve, "get", "bad1dea")
	require.ErrorContains(t, err, `there is no workflow "bad1dea", and no execution whose ID ends with it`)
	_, err = command(t, serve, "get", "8c")
	require.ErrorContains(t, err, "one, two", "the server names the executions")
}

// TestGetTakesTheWordsOfKubectl: a resource can be singular, plural or short, and stand before a name.
func TestGetTakesTheWordsOfKubectl(t *testing.T) {
	t.Parallel()
	var path string
	serve := func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.RequestURI()
		switch {
		case strings.HasSuffix(path, "/workflows/nowhere") || strings.HasSuffix(path, "s/schedules"):
			answer(w, http.StatusNotFound, `{"status":404,"detail":"There is no workflow."}`)
		case strings.Contains(path, "/executions?") && strings.Contains(path, "sweeps=grouped"):
			answer(w, http.StatusOK, `{"executions":[{"workflow_name":"digits","version":"1.0.0","status":"FAILED","sweep":{"id":"01900000-0000-7000-8000-00000000bead","name":"rates","state":"SUCCEEDED","runs":1000}}]}`)
		default:
			answer(w, http.StatusOK, `{}`)
		}
	}
	for args, want := range map[string]string{
		"get executions": "/api/v1/executions?limit=20", "get execution": "/api/v1/executions?limit=20", "get exec": "/api/v1/executions?limit=20", "describe ex": "/api/v1/executions?limit=20",
		"get workflows": "/api/v1/workflows?limit=20", "get workflow": "/api/v1/workflows?limit=20", "get wf": "/api/v1/workflows?limit=20",
		"get workflow facade": "/api/v1/workflows/facade", "get workflows facade": "/api/v1/workflows/facade", "describe wf/facade": "/api/v1/workflows/facade", "get Workflow workflow": "/api/v1/workflows/workflow",
		"get execution 8c6804": "/api/v1/executions/8c6804", "get exec/8c": "/api/v1/executions/8c",
	} {
		_, err := command(t, serve, strings.Fields(args)...)
		require.NoError(t, err, args)
		require.Equal(t, want, path, args)
	}
	_, err := command(t, serve, "get", "pods", "one")
	require.ErrorContains(t, err, `"pods" is not a resource. The resources are executions (execution, exec, ex) and workflows (workflow, wf)`)
	_, err = command(t, serve, "get", "schedules")
	require.ErrorContains(t, err, "To list schedules, run: flowforge schedule list")
	_, err = command(t, serve, "get", "nowhere")
	require.ErrorContains(t, err, "There is no workflow.")
	require.ErrorContains(t, err, "The resources are executions")

	out, err := command(t, serve, "get", "executions", "--group-sweeps")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^sweep 01900000-0000-7000-8000-00000000bead +digits@1\.0\.0 +SUCCEEDED +1000 runs `, out)
}

// TestLineageTakesAShortID: the API names executions by their full ID.
func TestLineageTakesAShortID(t *testing.T) {
	t.Parallel()
	const id = "01900000-0000-7000-8000-0000008c6804"
	var requested []string
	serve := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/executions/#8c6804") {
			answer(w, http.StatusOK, `{"execution_id":"`+id+`"}`)
			return
		}
		requested = append(requested, r.URL.Query().Get("of"))
		answer(w, http.StatusOK, `{"focus":"execution:`+id+`","items":[],"edges":[],"production":{"models":[],"complete":true}}`)
	}
	for _, key := range []string{"execution:#8c6804", "execution:" + id, "model:digits@1"} {
		_, err := command(t, serve, "lineage", key)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"execution:" + id, "execution:" + id, "model:digits@1"}, requested)
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

// TestEventsFollowAcrossFailures: a request that fails is repeated, and no event is lost.
func TestEventsFollowAcrossFailures(t *testing.T) {
	t.Parallel()
	var requested []string
	out, err := command(t, func(w http.ResponseWriter, r *http.Request) {
		requested = append(requested, r.URL.Query().Get("after"))
		switch len(requested) {
		case 1:
			answer(w, http.StatusOK, `{"events":[],"next":"5"}`)
		case 2:
			answer(w, http.StatusServiceUnavailable, `{"status":503,"detail":"The database is not responding."}`)
		case 3:
			answer(w, http.StatusOK, `{"events":[{"id":"6","type":"execution.succeeded","time":"2026-11-30T12:00:00Z"}],"next":"6"}`)
		default:
			answer(w, http.StatusUnauthorized, `{"status":401,"detail":"The API key has expired."}`)
		}
	}, "events", "--follow")
	require.EqualError(t, err, "The API key has expired.")
	require.Contains(t, out, "execution.succeeded")
	require.Equal(t, []string{"latest", "5", "5", "6"}, requested)
}

// TestLoginStoresTheKey: a key that the server takes is kept, for this server and
// for its owner alone.
func TestLoginStoresTheKey(t *testing.T) {
	t.Parallel()
	var requested []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requested = append(requested, r.Header.Get("Authorization"))
		if r.Header.Get("Authorization") != "Bearer ffk_good" {
			answer(w, http.StatusUnauthorized, `{"status":401,"detail":"The API key is not valid."}`)
			return
		}
		answer(w, http.StatusOK, `{"name":"Ada"}`)
	}))
	t.Cleanup(server.Close)
	login := func(key string) (string, error) {
		var out bytes.Buffer
		root := newRootCommand()
		root.SetOut(&out)
		root.SetIn(strings.NewReader(key))
		root.SetArgs([]string{"login", "--token", "--server", server.URL + "/"})
		err := root.ExecuteContext(t.Context())
		return out.String(), err
	}
	_, err := login("ffk_bad\n")
	require.EqualError(t, err, "The API key is not valid.")
	_, err = login("\n")
	require.ErrorContains(t, err, "no API key given")
	stored, err := loadCredentials()
	require.NoError(t, err)
	require.Empty(t, stored.Servers[server.URL].Token)

	out, err := login("ffk_good\n")
	require.NoError(t, err)
	require.Contains(t, out, "as Ada")
	require.NotContains(t, out, "ffk_good")
	require.Equal(t, []string{"Bearer ffk_bad", "Bearer ffk_good"}, requested)
	stored, err = loadCredentials()
	require.NoError(t, err)
	require.Equal(t, credential{Token: "ffk_good", User: "Ada"}, stored.Servers[server.URL])

	selected, err := lastServer("http://other", "")
	require.NoError(t, err)
	require.Equal(t, server.URL, selected, "commands use the server of the last login")
	selected, err = lastServer("http://other", "key of another server")
	require.NoError(t, err)
	require.Equal(t, "http://other", selected)
	path, err := credentialsPath()
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}
