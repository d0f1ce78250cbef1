package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/web/contract"
)

// site is a running server with the binary that serves it.
type site struct {
	binary string
	data   string // data directory of the server
	url    string
}

// result is how a command ended.
type result struct {
	code     int
	out, err string
}

// serve builds the binary and starts a server on a database of its own, without
// ClickHouse, until the test ends.
func serve(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{binary: filepath.Join(dir, "flowforge"), data: filepath.Join(dir, "data")}
	build, err := exec.CommandContext(t.Context(), "go", "build", "-o", s.binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", build)

	server := exec.Command(s.binary, "serve")
	server.Dir = dir
	server.Env = append(os.Environ(), "FLOWFORGE_ADDR=127.0.0.1:0", "FLOWFORGE_DATA_DIR="+s.data, "FLOWFORGE_DATABASE_URL="+dbtest.NewURL(t),
		"FLOWFORGE_CLICKHOUSE_URL=", "FLOWFORGE_CHDB_LIB=", "FLOWFORGE_EXAMPLES=off", "FLOWFORGE_LOG_LEVEL=WARN")
	var log bytes.Buffer
	server.Stderr = &log
	out, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(20*time.Second, func() { _ = server.Process.Kill() })
		defer kill.Stop()
		if err := server.Wait(); err != nil {
			t.Errorf("the server did not shut down cleanly: %v\n%s", err, log.String())
		}
	})
	address := regexp.MustCompile(`FlowForge is at (http://\S+)`)
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		if found := address.FindStringSubmatch(scanner.Text()); found != nil {
			s.url = found[1]
			go func() { // the server must never wait for a reader of its output
				for scanner.Scan() {
				}
			}()
			return s
		}
	}
	t.Fatal("the server did not start")
	return nil
}

// run runs the binary with the server's address and token; env is added to that.
func (s *site) run(t *testing.T, env []string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.binary, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "FLOWFORGE_SERVER=" + s.url, "FLOWFORGE_DATA_DIR=" + s.data}, env...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return result{exit.ExitCode(), out.String(), stderr.String()}
	}
	require.NoError(t, err)
	return result{0, out.String(), stderr.String()}
}

// ok runs a command that must succeed and returns what it prints.
func (s *site) ok(t *testing.T, args ...string) string {
	t.Helper()
	r := s.run(t, nil, args...)
	require.Equal(t, 0, r.code, "%v: %s", args, r.err)
	require.Empty(t, r.err)
	return r.out
}

// fails runs a command that must end with status 1 and returns its message.
func (s *site) fails(t *testing.T, args ...string) string {
	t.Helper()
	r := s.run(t, nil, args...)
	require.Equal(t, 1, r.code, "%v: %s", args, r.out)
	require.True(t, strings.HasPrefix(r.err, "flowforge: "), r.err)
	return r.err
}

func write(t *testing.T, path, content string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

const cliDocument = `
name: cli.flow
version: 1.0.0
owner_team: tools
description: Counts what it is given
inputs:
  - {name: count, type: "Integer(min=1, max=9)", default: 2}
  - {name: rows, type: "File?"}
  - {name: word, type: String, default: hello}
operators:
  - name: count
    type: python
    inputs:
      - {name: count, type: Integer, from: inputs.count}
      - {name: word, type: String, from: inputs.word}
    code: {package: code, file: count.py}
`

const failingDocument = `
name: cli.fails
version: 1.0.0
operators:
  - {name: broken, type: shell, code: {script: "echo about to fail; exit 3"}}
`

const waitingDocument = `
name: cli.waits
version: 1.0.0
operators:
  - {name: wait, type: shell, code: {script: "echo waiting; sleep 60"}}
`

func TestCommandLine(t *testing.T) {
	t.Parallel()
	s := serve(t)
	dir := t.TempDir()
	flow := write(t, filepath.Join(dir, "flow.yaml"), cliDocument)
	write(t, filepath.Join(dir, "code", "count.py"), "import os\nfor i in range(int(os.environ['FLOWFORGE_PARAM_COUNT'])):\n    print(os.environ['FLOWFORGE_PARAM_WORD'], i, flush=True)\n")
	s.testApply(t, dir, flow)
	id := s.testLaunch(t, dir)
	s.testGet(t, id)
	s.testLogs(t, id)
	s.testCancel(t)
	s.testConsumers(t, id)
	s.testFailures(t)
	s.testNotifications(t)
	s.testReports(t, dir)
	s.testInbox(t)
	s.testLogin(t)
	s.testTrouble(t)
}

func (s *site) testApply(t *testing.T, dir, flow string) {
	t.Helper()
	out := s.ok(t, "apply", "-f", flow)
	require.Equal(t, "cli.flow@1.0.0 registered: "+s.url+"/workflows/cli.flow/launch\n", out)
	require.Contains(t, s.ok(t, "apply", "-f", flow), "cli.flow@1.0.0 is already registered: ")
	require.Contains(t, s.ok(t, "apply", flow), "cli.flow@1.0.0 is already registered: ")
	changed := write(t, filepath.Join(dir, "changed.yaml"), strings.Replace(cliDocument, "Counts", "Numbers", 1))
	require.Contains(t, s.fails(t, "apply", "-f", changed), "1.0.0")
	wrong := write(t, filepath.Join(dir, "wrong.yaml"), "name: wrong\nversion: 1\ninputs: [{name: a, type: Nothing}]\noperators: [{name: a, type: noop, depends_on: [b]}]\n")
	message := s.fails(t, "apply", "-f", wrong)
	for _, path := range []string{"\n  version: ", "\n  inputs[0].type: ", "\n  operators[0].depends_on[0]: "} {
		require.Contains(t, message, path)
	}
	require.Contains(t, s.fails(t, "apply", "-f", filepath.Join(dir, "absent.yaml")), "absent.yaml")
	lost := write(t, filepath.Join(dir, "lost.yaml"), strings.Replace(cliDocument, "package: code", "package: nowhere", 1))
	require.Contains(t, s.fails(t, "apply", "-f", lost), `code.package "nowhere"`)
	out = s.ok(t, "apply", "-f", write(t, filepath.Join(dir, "fails.yaml"), failingDocument), "-f", write(t, filepath.Join(dir, "waits.yaml"), waitingDocument))
	require.Equal(t, 2, strings.Count(out, " registered: "))
}

func (s *site) testOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "offered.yaml")
	require.NoError(t, os.WriteFile(file, []byte("name: cli.offered\nversion: 1.0.0\ninputs:\n  - {name: kernel, type: String, options: [{value: rbf, label: Radial, description: Usual}, linear]}\noperators: [{name: a, type: noop}]\n"), 0o600))
	s.ok(t, "apply", file)
	require.Regexp(t, `rbf +Radial +Usual\nlinear`, s.ok(t, "options", "cli.offered", "kernel"))
	require.NotContains(t, s.ok(t, "options", "cli.offered@1.0.0", "kernel", "--search", "radial"), "linear")
	require.Regexp(t, `More: --after \S+`, s.ok(t, "options", "cli.offered", "kernel", "--limit", "1"))
	require.Contains(t, s.fails(t, "options", "cli.offered", "absent"), "has no option source")
	require.Contains(t, s.fails(t, "launch", "cli.offered", "-i", "kernel=poly"), "inputs.kernel: “poly” is not an option. Choose rbf or linear.")
}

func (s *site) testPresets(t *testing.T) {
	t.Helper()
	require.Contains(t, s.fails(t, "preset", "save", "cli.flow", "quick", "-i", "count=many"), "inputs.count: ")
	require.Contains(t, s.ok(t, "preset", "save", "cli.flow", "quick", "-i", "count=2", "--share", "project"), "quick saved for version 1.0.0: "+s.url+"/workflows/cli.flow/launch?preset=")
	require.Contains(t, s.fails(t, "preset", "save", "cli.flow", "quick", "--share", "project"), "already exists")
	s.ok(t, "preset", "save", "cli.flow", "quick", "-i", "count=4", "--replace")
	require.Regexp(t, `quick +project +admin +1\.0\.0 +0 +\{"count":4\}`, s.ok(t, "preset", "list", "cli.flow"))
	id := strings.Fields(s.ok(t, "launch", "cli.flow", "--preset", "quick", "-i", "word=short"))[0]
	var e contract.ExecutionBody
	require.NoError(t, json.Unmarshal([]byte(s.ok(t, "get", id, "--json")), &e))
	require.Equal(t, map[string]any{"count": 4.0, "word": "short", "rows": nil}, e.Inputs)
	require.Contains(t, s.fails(t, "launch", "cli.flow", "--preset", "slow"), `There is no preset "slow"`)
	require.Equal(t, "quick deleted\n", s.ok(t, "preset", "delete", "cli.flow", "quick"))
}

// testLaunchFile launches a file; flags override it.
func (s *site) testLaunchFile(t *testing.T, dir string) {
	t.Helper()
	file := write(t, filepath.Join(dir, "launch.yaml"), "kind: Execution\nworkflow: cli.flow\nname: from a file\npriority: LOW\ninputs:\n  count: 4\n  word: yes please\n")
	id := strings.Fields(s.ok(t, "launch", "--file", file, "-i", "count=6"))[0]
	shown := s.ok(t, "get", id, "--json")
	require.Contains(t, shown, "from a file")
	require.Contains(t, shown, "yes please")
	require.Contains(t, s.fails(t, "apply", file), "use flowforge launch --file "+file)
	wrong := write(t, filepath.Join(dir, "wrong.yaml"), "workflow: cli.flow\ninput: {}\n")
	require.Contains(t, s.fails(t, "launch", "-f", wrong), wrong+":2: There is no key \"input\".")
	require.Contains(t, s.fails(t, "launch"), "missing argument WORKFLOW")
}

// testLaunch returns the id of an execution that succeeded.
func (s *site) testLaunch(t *testing.T, dir string) string {
	t.Helper()
	rows := write(t, filepath.Join(dir, "rows.csv"), "a,b\n1,2\n")
	out := s.ok(t, "launch", "cli.flow@1.0.0", "-i", "count=3", "-i", "word=good day", "-i", "rows=@"+rows, "--name", "by hand", "--wait")
	require.Regexp(t, `(?m)LAUNCHED +NAME$`, s.ok(t, "list"))
	require.Regexp(t, `(?m) by hand$`, s.ok(t, "list"))
	lines := strings.Split(strings.TrimSpace(out), "\n")
	id := lines[0]
	require.Regexp(t, `^[0-9a-f-]{36}$`, id)
	require.Equal(t, s.url+"/executions/"+id, lines[1])
	require.Regexp(t, `^SUCCEEDED \[#{24}\] 1 of 1 nodes`, lines[len(lines)-1])

	inputs := write(t, filepath.Join(dir, "inputs.json"), `{"count": 5}`)
	once := s.ok(t, "launch", "cli.flow", "--inputs", inputs, "--idempotency-key", "nightly")
	require.Equal(t, once, s.ok(t, "launch", "cli.flow", "--inputs", inputs, "--idempotency-key", "nightly"))

	s.testPresets(t)
	s.testOptions(t)
	s.testLaunchFile(t, dir)
	message := s.fails(t, "launch", "cli.flow", "-i", "count=many", "-i", "colour=red")
	require.Contains(t, message, "\n  inputs.count: ")
	require.Contains(t, message, "\n  inputs.colour: ")
	require.Contains(t, s.fails(t, "launch", "cli.flow", "-i", "count"), "write name=value")
	require.Contains(t, s.fails(t, "launch", "cli.flow", "-i", "rows=@"+filepath.Join(dir, "absent")), "-i rows: ")
	require.Contains(t, s.fails(t, "launch", "cli.flow", "--inputs", rows), "is not a JSON object")
	require.Contains(t, s.fails(t, "launch", "nowhere"), `"nowhere"`)
	r := s.run(t, nil, "launch", "cli.fails", "--wait")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "execution FAILED: ")
	require.Contains(t, r.out, "FAILED")
	return id
}

func (s *site) testGet(t *testing.T, id string) {
	t.Helper()
	out := s.ok(t, "get", "workflows")
	require.Regexp(t, `(?m)^cli\.flow +1\.0\.0 +tools +Counts what it is given$`, out)
	require.Regexp(t, `(?m)^`+id+` +cli\.flow@1\.0\.0 +SUCCEEDED +1/1 `, s.ok(t, "get", "executions"))
	require.Len(t, strings.Split(strings.TrimSpace(s.ok(t, "get", "executions", "--limit", "1")), "\n"), 2)
	out = s.ok(t, "get", id)
	require.Contains(t, out, "cli.flow@1.0.0  SUCCEEDED  1 of 1 nodes")
	require.Regexp(t, `(?m)^count +SUCCEEDED +1 `, out)
	require.Contains(t, s.ok(t, "get", id, "--json"), `"name": "by hand"`)
	require.Contains(t, s.ok(t, "get", "cli.flow"), `"latest_version": "1.0.0"`)
	require.Contains(t, s.fails(t, "get", "nowhere"), `"nowhere"`)
	require.Contains(t, s.fails(t, "get", "01900000-0000-7000-8000-00000000ffff"), "There is no execution")
}

func (s *site) testLogs(t *testing.T, id string) {
	t.Helper()
	out := s.ok(t, "logs", id)
	require.Regexp(t, `(?s)INFO  count#1  good day 0\n.*good day 1\n.*good day 2\n`, out)
	require.Equal(t, 1, strings.Count(s.ok(t, "logs", id, "--grep", "DAY 1"), "\n"))
	require.Empty(t, s.ok(t, "logs", id, "--node", "nobody"))
	searched := s.run(t, nil, "logs", "--search", "DAY 1", "--where", "workflow:cli.flow")
	require.Equal(t, 0, searched.code, searched.err)
	require.Contains(t, searched.err, "ClickHouse is not responding", "the answer is partial")
	found := searched.out
	require.Regexp(t, `(?m)^`+id+` .* count attempt 1 `, found)
	require.Regexp(t, `(?m)^> +good day 1$`, found)
	require.Contains(t, s.fails(t, "logs", "--search", "d"), "at least 3 characters")
	require.Contains(t, s.fails(t, "logs", id, "--search", "day"), "unexpected argument")
	followed := s.ok(t, "logs", "-f", id)
	require.Regexp(t, `(?s)INFO  count \| good day 0\n.*good day 2\n`, followed, "an execution that has ended is followed to its end")
	require.Contains(t, s.fails(t, "logs", "-f", "01900000-0000-7000-8000-00000000ffff"), "There is no execution")
}

func (s *site) testCancel(t *testing.T) {
	t.Helper()
	id, _, _ := strings.Cut(s.ok(t, "launch", "cli.waits"), "\n")
	out := s.ok(t, "cancel", id, "--reason", "not needed", "--wait")
	require.Contains(t, out, "CANCELLED")
	require.Contains(t, s.ok(t, "get", id), "not needed")
	require.Contains(t, s.fails(t, "cancel", "nothing"), "There is no execution")
}

func (s *site) testLogin(t *testing.T) {
	t.Helper()
	link, err := url.Parse(strings.TrimSpace(s.ok(t, "login")))
	require.NoError(t, err)
	require.Equal(t, s.url, link.Scheme+"://"+link.Host)
	for _, want := range []int{http.StatusSeeOther, http.StatusUnauthorized} { // it works once
		browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		res, err := browser.PostForm(s.url+"/login", link.Query())
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, want, res.StatusCode)
	}
}

func (s *site) testTrouble(t *testing.T) {
	t.Helper()
	fails := func(env []string, want string, args ...string) {
		t.Helper()
		r := s.run(t, env, args...)
		require.Equal(t, 1, r.code, r.out)
		require.Contains(t, r.err, want)
		require.Less(t, strings.Count(r.err, "\n"), 6, "a message, no heap of lines: %s", r.err)
	}
	unreachable := "FLOWFORGE_SERVER=http://127.0.0.1:1"
	for _, args := range [][]string{{"get", "executions"}, {"logs", "-f", "01900000-0000-7000-8000-00000000ffff"}, {"launch", "x"}} {
		fails([]string{unreachable}, "cannot reach a server at http://127.0.0.1:1", args...)
	}
	fails([]string{"FLOWFORGE_DATA_DIR=" + t.TempDir()}, "no API key: run `flowforge login", "get", "workflows")
	fails([]string{"FLOWFORGE_SERVER=http://192.0.2.1:8080"}, "no API key for http://192.0.2.1:8080", "get", "workflows") // not the token of this machine
	fails([]string{"FLOWFORGE_TOKEN=wrong"}, "The API token is not valid.", "get", "workflows")
	fails([]string{"FLOWFORGE_SERVER=nonsense"}, `--server "nonsense" is not an address`, "get", "workflows")
	fails(nil, "missing argument FILE; usage: flowforge apply FILE|FOLDER…", "apply")
	fails(nil, "unknown command", "dance")
	fails(nil, "missing argument EXECUTION", "cancel")

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	id, _, _ := strings.Cut(s.ok(t, "launch", "cli.waits"), "\n")
	follow := exec.CommandContext(ctx, s.binary, "logs", "-f", id)
	follow.Env = []string{"FLOWFORGE_SERVER=" + s.url, "FLOWFORGE_DATA_DIR=" + s.data}
	out, err := follow.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, follow.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "wait")
	require.NoError(t, follow.Process.Signal(os.Interrupt))
	exit, ok := errors.AsType[*exec.ExitError](follow.Wait())
	require.True(t, ok)
	require.Equal(t, interrupted, exit.ExitCode(), "a reader who stops early did not see the end")
	s.ok(t, "cancel", id)
}

// TestHelpGroupsTheCommands: the help lists every command under a title.
func TestHelpGroupsTheCommands(t *testing.T) {
	t.Parallel()
	root := newRootCommand()
	require.NotEmpty(t, root.Version)
	for _, c := range root.Commands() {
		require.True(t, c.Hidden || c.GroupID != "", "%s is in no group", c.Name())
	}
}

// testConsumers processes events with commands that fail, and settles what they could not process.
func (s *site) testConsumers(t *testing.T, id string) {
	require.Contains(t, s.ok(t, "events", "consumers", "create", "mirror", "--type", "execution.*", "--start", "oldest", "--max-tries", "1"), "consumer mirror created, after event 0")
	require.Contains(t, s.fails(t, "events", "consumers", "create", "mirror"), "already exists")
	require.Eventually(t, func() bool {
		return strings.Contains(s.ok(t, "events", "--type", "execution.succeeded"), id)
	}, time.Minute, time.Millisecond, "it is in the feed")
	r := s.run(t, nil, "events", "consume", "mirror", "--once", "--create", "--", "sh", "-c", `case $FLOWFORGE_EVENT_TYPE in *launched) echo cannot read it >&2; exit 65;; *) echo "$FLOWFORGE_EVENT_TYPE $(head -c 14)";; esac`)
	require.Equal(t, 0, r.code, r.err)
	require.Contains(t, r.out, `execution.succeeded {"specversion"`)
	require.NotContains(t, r.out, "launched")
	require.Contains(t, r.err, "cannot read it")
	list := s.ok(t, "events", "consumers")
	require.Regexp(t, `mirror +this +0 +- +[1-9]\d* +20\d\d-`, list)
	dead := s.ok(t, "events", "dead-letters", "mirror")
	require.Contains(t, dead, id+".1  execution.launched  cli.flow  1 try: exit status 65: cannot read it")
	require.Contains(t, s.fails(t, "events", "dead-letters", "mirror", id+".1"), "--redeliver or --discard")
	require.Contains(t, s.ok(t, "events", "dead-letters", "mirror", id+".1", "--redeliver"), "1 event will be delivered again")
	require.Contains(t, s.ok(t, "events", "consume", "mirror", "--once"), `"id":"`+id+`.1"`)
	require.Contains(t, s.ok(t, "events", "dead-letters", "mirror", "--discard"), "discarded")
	require.Empty(t, s.ok(t, "events", "dead-letters", "mirror"))
	require.Contains(t, s.ok(t, "events", "consumers", "delete", "mirror"), "consumer mirror deleted")
	require.Contains(t, s.fails(t, "events", "consume", "mirror", "--once"), `no consumer called "mirror"`)
}
