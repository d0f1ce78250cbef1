package runner

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	succeeded    = flowforgev1.Outcome_OUTCOME_SUCCEEDED
	failed       = flowforgev1.Outcome_OUTCOME_FAILED
	timedOut     = flowforgev1.Outcome_OUTCOME_TIMED_OUT
	cancelled    = flowforgev1.Outcome_OUTCOME_CANCELLED
	notStarted   = flowforgev1.Outcome_OUTCOME_START_FAILED
	interrupted  = flowforgev1.Outcome_OUTCOME_INTERRUPTED
	outputFailed = flowforgev1.Outcome_OUTCOME_OUTPUT_FAILED
)

func TestOutcomes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	python := shell("python", "")
	python.Work = &flowforgev1.AttemptSpec_Process{Process: &flowforgev1.Process{
		Interpreter: "python", Script: "import os, flowforge\nprint(os.environ['FLOWFORGE_NODE'])\nraise ValueError('bad')\n",
	}}
	timeout := shell("timeout", "sleep 60")
	timeout.TimeoutMs = 50
	stubborn := shell("stubborn", `trap "" TERM; while :; do sleep 0.1; done`)
	stubborn.TimeoutMs = 50
	notExecutable := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(notExecutable, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		spec    *flowforgev1.AttemptSpec
		outcome flowforgev1.Outcome
		code    int32
		message string
	}{
		{argv("true", "true"), succeeded, 0, ""},
		{shell("exit", "echo doing; echo the reason >&2; exit 3"), failed, 3, "exited with code 3: the reason"},
		{shell("killed", "kill -9 $$"), failed, 137, "SIGKILL"},
		{shell("signal", "kill -TERM $$"), failed, 143, "signal 15"},
		{argv("missing", "no-such-program"), notStarted, 127, `"no-such-program" was not found on PATH (/`},
		{argv("nowhere", "./no/such"), notStarted, 127, `"./no/such" does not exist`},
		{argv("plain", notExecutable), notStarted, 126, "not have execute permission"},
		{argv("empty"), notStarted, -1, "no command"},
		{python, failed, 1, "ValueError: bad"},
		{timeout, timedOut, 143, "longer than 50ms"},
		{stubborn, timedOut, 137, "longer than 50ms"},
	} {
		t.Run(test.spec.TaskId, func(t *testing.T) {
			t.Parallel()
			f := b.run(t, test.spec)
			wantOutcome(t, f, test.outcome)
			if f.ExitCode != test.code || !strings.Contains(f.Message, test.message) {
				t.Errorf("exit code %d, message %q; want %d, %q", f.ExitCode, f.Message, test.code, test.message)
			}
			if f.StartedAt == 0 || f.FinishedAt < f.StartedAt {
				t.Errorf("from %d to %d", f.StartedAt, f.FinishedAt)
			}
		})
	}
}

func TestEnvironmentOfATask(t *testing.T) {
	t.Parallel()
	server := newTaskServer(t)
	s, err := New(Config{
		Dir: t.TempDir(), Server: Endpoint{Socket: server.socket}, PodName: "pod-1", Machine: "machine-1",
		Environ: []string{"PATH=/usr/bin:/bin", "FLOWFORGE_DATABASE_URL=postgres://secret", "AWS_SECRET_ACCESS_KEY=s", "PIP_INDEX_URL=u"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	spec := argv("e.1.2", "env")
	spec.Attempt, spec.Retries, spec.TenantId, spec.ProjectId, spec.ApiEndpoint = 2, 1, "t", "p", "http://api"
	spec.InputsJson = `{"learning-rate": 0.1, "name": "a b", "list": [1], "none": null, "on": true}`
	spec.Env = map[string]string{"MODE": "fast", "FLOWFORGE_TASK_ID": "forged", "LANG": "de_DE.UTF-8"}
	if err := s.Start(spec); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, server.awaitFinished(t, "e.1.2"), succeeded)
	got := map[string]string{}
	for _, line := range server.lines("e.1.2", "stdout") {
		name, value, _ := strings.Cut(line, "=")
		got[name] = value
	}
	base := filepath.Join(s.config.Dir, "attempts", "1")
	want := map[string]string{
		"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "de_DE.UTF-8", "MODE": "fast",
		"PYTHONUNBUFFERED": "1", "PYTHONPATH": filepath.Join(s.config.Dir, "cache", "sdk"),
		"FLOWFORGE_TASK_ID": "e.1.2", "FLOWFORGE_WORKFLOW_ID": "e", "FLOWFORGE_TENANT_ID": "t",
		"FLOWFORGE_PROJECT_ID": "p", "FLOWFORGE_NODE": "n", "FLOWFORGE_ATTEMPT": "2", "FLOWFORGE_RETRY": "1", "FLOWFORGE_MACHINE": "machine-1", "FLOWFORGE_POD": "pod-1",
		"FLOWFORGE_API_ENDPOINT": "http://api", "FLOWFORGE_LOG_ENDPOINT": "http://api",
		"FLOWFORGE_AUTH_TOKEN": "token-e.1.2", "FLOWFORGE_HEARTBEAT_INTERVAL": "5",
		"FLOWFORGE_INPUTS": filepath.Join(base, "inputs.json"), "FLOWFORGE_OUTPUTS": filepath.Join(base, "outputs"),
		"FLOWFORGE_CHECKPOINTS": filepath.Join(base, "checkpoints"),
		"FLOWFORGE_PREEMPTED":   filepath.Join(base, "preempted"),
		"FLOWFORGE_TRACEBACK":   filepath.Join(base, "traceback"),
		"FLOWFORGE_SPOOL":       filepath.Join(base, "spool"),
		"FLOWFORGE_PARAM_NAME":  "a b", "FLOWFORGE_PARAM_LEARNING_RATE": "0.1", "FLOWFORGE_PARAM_ON": "true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestInputsAreLocalFiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, inner := b.server.put("one"), b.server.put("two")
	folder := b.server.put(fmt.Sprintf(`{"entries":[{"path":"x/y.txt","sha256":%q,"size":3,"mode":420}]}`, inner))
	spec := shell("inputs", `cat "$FLOWFORGE_PARAM_DATA" "$FLOWFORGE_PARAM_TREE/x/y.txt"; echo; cat "$FLOWFORGE_INPUTS"; echo ruined > "$FLOWFORGE_PARAM_DATA"`)
	spec.InputsJson = `{"data": null, "tree": null, "images": [{"path": ""}], "n": 12345678901234567890}`
	spec.Files = []*flowforgev1.InputFile{
		{Input: "data", Sha256: a, Filename: "../../data.csv", Pointer: "/data"},
		{Input: "tree", Sha256: folder, MediaType: DirectoryMediaType, Filename: "tree", Pointer: "/tree"},
		{Input: "images", Sha256: a, Pointer: "/images/0/path"},
	}
	wantOutcome(t, b.run(t, spec), succeeded)
	lines := b.server.lines("inputs", "stdout")
	base := filepath.Join(b.dir, "attempts", "1", "inputs")
	want := []string{"onetwo", fmt.Sprintf(`{"data":"%[1]s/0/data.csv","images":[{"path":"%[1]s/2/data"}],"n":12345678901234567890,"tree":"%[1]s/1/tree"}`, base)}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	cached, err := os.ReadFile(b.blobs.path(a))
	if err != nil || string(cached) != "one" {
		t.Errorf("the cache holds %q, %v", cached, err)
	}
}

func TestInputThatTheServerDoesNotHave(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := argv("absent", "true")
	spec.Files = []*flowforgev1.InputFile{{Input: "data", Sha256: strings.Repeat("0", 64), Pointer: "/data"}}
	f := b.run(t, spec)
	wantOutcome(t, f, notStarted)
	if !strings.Contains(f.Message, "input data") || !strings.Contains(f.Message, "404") {
		t.Errorf("message %q", f.Message)
	}
}

func TestCheckpointsSurviveAFailure(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := shell("e.0.1", `echo 7 > "$FLOWFORGE_CHECKPOINTS/epoch"; exit 1`)
	second := shell("e.0.2", `cat "$FLOWFORGE_CHECKPOINTS/epoch"`)
	first.CheckpointKey, second.CheckpointKey = "e.0", "e.0"
	wantOutcome(t, b.run(t, first), failed)
	wantOutcome(t, b.run(t, second), succeeded)
	if diff := cmp.Diff([]string{"7"}, b.server.lines("e.0.2", "stdout")); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "checkpoints", "e.0")); !os.IsNotExist(err) {
		t.Errorf("checkpoints of a success are kept: %v", err)
	}
}

func TestCheckpointsOfAResumedExecutionAreCopied(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := shell("e.0.1", `mkdir "$FLOWFORGE_CHECKPOINTS/deep"; echo 7 > "$FLOWFORGE_CHECKPOINTS/deep/epoch"; exit 1`)
	first.CheckpointKey = "e.0"
	wantOutcome(t, b.run(t, first), failed)
	const script = `echo "$(cat "$FLOWFORGE_CHECKPOINTS/deep/epoch")"; echo more >> "$FLOWFORGE_CHECKPOINTS/deep/epoch"; exit 1`
	for _, id := range []string{"f", "g"} { // an execution can be resumed twice
		resumed := shell(id+".0.1", script)
		resumed.CheckpointKey, resumed.CheckpointFrom = id+".0", []string{"never.ran", "../e.0", "e.0"}
		wantOutcome(t, b.run(t, resumed), failed)
		if diff := cmp.Diff([]string{"7"}, b.server.lines(id+".0.1", "stdout")); diff != "" {
			t.Error(diff)
		}
	}
	again := shell("f.0.2", `cat "$FLOWFORGE_CHECKPOINTS/deep/epoch"`)
	again.CheckpointKey, again.CheckpointFrom = "f.0", []string{"e.0"}
	wantOutcome(t, b.run(t, again), succeeded)
	if diff := cmp.Diff([]string{"7", "more"}, b.server.lines("f.0.2", "stdout")); diff != "" {
		t.Errorf("its own checkpoint must win: %s", diff)
	}
}

func TestHTTPWork(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/teapot":
			http.Error(w, "short and stout", http.StatusTeapot)
		case "/slow":
			<-r.Context().Done()
		default:
			_, _ = fmt.Fprintf(w, `{"method": %q, "key": %q}`, r.Method, r.Header.Get("X-Key"))
		}
	}))
	t.Cleanup(site.Close)
	b := setup(t)
	request := func(id string, work *flowforgev1.Http) *flowforgev1.AttemptSpec {
		return &flowforgev1.AttemptSpec{
			TaskId: id, Token: "t", TimeoutMs: 2000, Work: &flowforgev1.AttemptSpec_Http{Http: work},
			Outputs: []*flowforgev1.OutputSpec{{Name: "body", Kind: "JSON", Inline: true}, {Name: "status", Kind: "Integer", Inline: true}},
		}
	}
	f := b.run(t, request("post", &flowforgev1.Http{Method: "POST", Url: site.URL + "/", Headers: map[string]string{"X-Key": "k"}}))
	wantOutcome(t, f, succeeded)
	if got := values(f); got["body"] != `{"method":"POST","key":"k"}` || got["status"] != "200" {
		t.Errorf("outputs %v", got)
	}
	f = b.run(t, request("teapot", &flowforgev1.Http{Url: site.URL + "/teapot"}))
	wantOutcome(t, f, failed)
	if !strings.Contains(f.Message, "responded with 418") {
		t.Errorf("message %q", f.Message)
	}
	f = b.run(t, request("loop", &flowforgev1.Http{Url: site.URL + "/loop"}))
	wantOutcome(t, f, failed)
	if !strings.Contains(f.Message, "redirects") {
		t.Errorf("message %q", f.Message)
	}
	slow := request("slow", &flowforgev1.Http{Url: site.URL + "/slow"})
	slow.TimeoutMs = 50
	wantOutcome(t, b.run(t, slow), timedOut)
	wantOutcome(t, b.run(t, request("scheme", &flowforgev1.Http{Url: "file:///etc/passwd"})), failed)
}

func values(f *flowforgev1.Finished) map[string]string {
	got := map[string]string{}
	for _, o := range f.Outputs {
		if blob := o.GetBlob(); blob != nil {
			got[o.Name] = o.Filename + " " + blob.MediaType
		} else {
			got[o.Name] = o.GetValue()
		}
	}
	return got
}
