package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ownServer starts a server that a test may kill.
func ownServer(t *testing.T, environ ...string) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "flowforge-e2e-own-")
	require.NoError(t, err)
	s, err := startServer(dir, environ...)
	require.NoError(t, err)
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			_ = os.WriteFile(filepath.Join("out", strings.ReplaceAll(t.Name(), "/", "_")+".log"), []byte(s.output()), 0o600)
		}
		_ = os.RemoveAll(dir)
	})
	return s
}

// restart restarts a killed server at the same address.
func (s *server) restart(t *testing.T) {
	t.Helper()
	next, err := startServer(s.dir, append(s.environ, "FLOWFORGE_ADDR="+strings.TrimPrefix(s.base, "http://"))...)
	require.NoError(t, err)
	s.cmd, s.ended, s.login = next.cmd, next.ended, next.login
}

// TestServerKilledInMidRun: the server is killed during a training and restarted. The
// task has continued, it counts once, its log is complete, and the open page updates by
// itself.
func TestServerKilledInMidRun(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	page := openOn(t, s, options{tolerates: whileUnreachable()})
	id := s.launch(t, "digits.train", map[string]any{"epochs": 30})
	visit(t, page, "/executions/"+id)
	holds(t, page.Locator("#logs .log"), "epoch 3/30")

	s.kill()
	holds(t, page.Locator("#toasts"), "Live updates interrupted")
	s.restart(t)

	e := s.wait(t, id, ended)
	require.Equal(t, "SUCCEEDED", e.Status)
	for _, n := range e.Nodes {
		require.Equal(t, 1, n.Attempt, "%s was retried", n.Operator)
	}
	visible(t, headState(page, "SUCCEEDED"))
	visible(t, graphNode(page, "report", "SUCCEEDED"))
	require.Equal(t, 1, navigations(t, page))
	wholeLog(t, s.logOf(t, page, id), 30)
	eventually(t, "the page's log", func() (string, bool) {
		lines, err := page.Locator("#logs .log-msg").AllTextContents()
		require.NoError(t, err)
		seen, problem := epochs(lines)
		return problem, problem == "" && seen == 30
	})
}

// whileUnreachable returns the console errors of an unreachable server.
func whileUnreachable() []string {
	return []string{"net::ERR_", "network error", "Failed to fetch", "SSE reconnect failed", "status of 500", "status of 503"}
}

var epochLine = regexp.MustCompile(`epoch (\d+)/\d+ `)

// wholeLog fails unless the log contains every epoch once and in order.
func wholeLog(t *testing.T, lines []string, n int) {
	t.Helper()
	seen, problem := epochs(lines)
	require.Empty(t, problem, strings.Join(lines, "\n"))
	require.Equal(t, n, seen, strings.Join(lines, "\n"))
}

// epochs returns the last epoch in the lines, or the first one that is out of order.
func epochs(lines []string) (int, string) {
	seen := 0
	for _, line := range lines {
		m := epochLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if n, _ := strconv.Atoi(m[1]); n != seen+1 {
			return seen, fmt.Sprintf("epoch %d follows epoch %d", n, seen)
		}
		seen++
	}
	return seen, ""
}

// eventually polls a condition outside the browser until it is true.
func eventually(t *testing.T, what string, ok func() (string, bool)) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		state, done := ok()
		if done {
			return
		}
		require.True(t, time.Now().Before(deadline), "%s: %s", what, state)
		time.Sleep(100 * time.Millisecond) // polls another process
	}
}

// childOf finds a process of the server's data directory by a part of its command line.
func childOf(t *testing.T, s *server, part string) int {
	t.Helper()
	processes, err := processesOf(filepath.Join(s.dir, "data"))
	require.NoError(t, err)
	for _, p := range processes {
		if strings.Contains(p, part) {
			pid, err := strconv.Atoi(strings.Fields(p)[0])
			require.NoError(t, err)
			return pid
		}
	}
	t.Fatalf("no process with %q among %v", part, processes)
	return 0
}

// TestEngineKilledInMidRun: an engine is killed during a training. It is restarted, the
// execution succeeds, and every line and point is stored in the end.
func TestEngineKilledInMidRun(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]string{"ClickHouse": "clickhouse-engine", "PostgreSQL": "postgres -D"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ownServer(t)
			page := openOn(t, s, options{tolerates: whileUnreachable()})
			id := s.launch(t, "digits.train", map[string]any{"epochs": 12})
			visit(t, page, "/executions/"+id)
			holds(t, page.Locator("#logs .log"), "epoch 3/12")
			require.NoError(t, syscall.Kill(childOf(t, s, part), syscall.SIGKILL))

			eventually(t, "the execution", func() (string, bool) {
				status, body := s.call(t, "GET", "/executions/"+id, nil)
				return string(body), status == 200 && strings.Contains(string(body), `"status":"SUCCEEDED","priority"`)
			})
			visible(t, headState(page, "SUCCEEDED"))
			eventually(t, "the log", func() (string, bool) {
				seen, problem := epochs(s.logOf(t, page, id))
				return problem, problem == "" && seen == 12
			})
		})
	}
}

// TestCtrlCLeavesNothing: Ctrl-C shuts down the server, its engines and every task
// cleanly and completely.
func TestCtrlCLeavesNothing(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	id := s.launch(t, "tour.fanout", map[string]any{"seconds": 60})
	s.wait(t, id, func(e executionView) bool {
		for _, n := range e.Nodes {
			if n.Status == "RUNNING" {
				return true
			}
		}
		return false
	})
	s.stop()
	require.True(t, s.cmd.ProcessState.Success(), s.output())
	left, err := processesOf(filepath.Join(s.dir, "data"))
	require.NoError(t, err)
	require.Empty(t, left)
}
