package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// server is the real binary with all engines embedded, on its own port.
type server struct {
	dir     string
	environ []string // in addition to the data directory
	base    string
	login   string // path and query of the one-time link
	token   string
	client  *http.Client // of the API

	cmd   *exec.Cmd
	ended chan struct{}
	mu    sync.Mutex
	log   bytes.Buffer
}

var loginLink = regexp.MustCompile(`Sign in: (http://127\.0\.0\.1:\d+)(/login\?token=\S+)?`)

// startServer starts the binary in dir and returns after it has printed its link.
func startServer(dir string, environ ...string) (*server, error) {
	binary := setting("FLOWFORGE_BINARY", "bin/flowforge")
	s := &server{dir: dir, environ: environ, client: http.DefaultClient, ended: make(chan struct{})}
	s.cmd = exec.Command(binary, "serve")
	s.cmd.Env = append(os.Environ(), "FLOWFORGE_DATA_DIR="+filepath.Join(dir, "data"), "FLOWFORGE_ADDR=127.0.0.1:0")
	s.cmd.Env = append(s.cmd.Env, environ...)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	s.cmd.Stderr = s
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the kernel ties the process to the thread that started it
		defer runtime.UnlockOSThread()
		started <- s.cmd.Start()
		<-s.ended
	}()
	if err := <-started; err != nil {
		close(s.ended)
		return nil, fmt.Errorf("%w: build it with `make build`", err)
	}
	found := make(chan []string, 1)
	go func() {
		defer close(s.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			_, _ = s.Write(append(lines.Bytes(), '\n'))
			if m := loginLink.FindStringSubmatch(lines.Text()); m != nil {
				found <- m
			}
		}
		_ = s.cmd.Wait()
	}()
	select {
	case m := <-found:
		s.base, s.login = m[1], m[2]
	case <-s.ended:
		return nil, fmt.Errorf("the server ended:\n%s", s.output())
	case <-time.After(2 * time.Minute):
		s.kill()
		return nil, fmt.Errorf("the server did not start:\n%s", s.output())
	}
	token, err := os.ReadFile(filepath.Join(dir, "data", "admin.token"))
	s.token = strings.TrimSpace(string(token))
	return s, err
}

// Write records the output of the server.
func (s *server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func (s *server) output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// stop ends the server like Ctrl-C and waits for it.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	select {
	case <-s.ended:
	case <-time.After(30 * time.Second):
		s.kill()
	}
}

// kill ends the server without a warning.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.ended
}

// api calls the JSON API and decodes the response into out.
func (s *server) api(t *testing.T, method, path string, in, out any) {
	t.Helper()
	status, body := s.call(t, method, path, in)
	require.Less(t, status, 300, "%s %s: %s", method, path, body)
	if out != nil {
		require.NoError(t, json.Unmarshal(body, out))
	}
}

func (s *server) call(t *testing.T, method, path string, in any) (int, []byte) {
	t.Helper()
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		require.NoError(t, err)
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.base+"/api/v1"+path, body)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := s.client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, b
}

// rawJSON is a document that is sent unchanged.
type rawJSON string

// MarshalJSON returns the document.
func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// executionView is the part of an execution that the tests read.
type executionView struct {
	ID      string         `json:"execution_id"`
	Status  string         `json:"status"`
	Outputs map[string]any `json:"outputs"`
	Nodes   []struct {
		Operator string `json:"operator"`
		Status   string `json:"status"`
		Attempt  int    `json:"attempt"`
		Progress struct {
			Percent int `json:"percent"`
		} `json:"progress"`
	} `json:"nodes"`
}

func (s *server) launch(t *testing.T, workflow string, inputs map[string]any) string {
	t.Helper()
	var e executionView
	s.api(t, http.MethodPost, "/executions", map[string]any{"workflow": workflow, "inputs": inputs}, &e)
	return e.ID
}

// wait polls an execution until ok returns true.
func (s *server) wait(t *testing.T, id string, ok func(executionView) bool) executionView {
	t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for {
		var e executionView
		s.api(t, http.MethodGet, "/executions/"+id, nil, &e)
		if ok(e) {
			return e
		}
		require.True(t, time.Now().Before(deadline), "execution %s is %s", id, e.Status)
		time.Sleep(100 * time.Millisecond) // polls another process
	}
}

func ended(e executionView) bool {
	return e.Status == "SUCCEEDED" || e.Status == "FAILED" || e.Status == "CANCELLED"
}

// processesOf returns the processes that use dir, to find leftovers.
func processesOf(dir string) ([]string, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, entry := range entries {
		cmdline, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if errors.Is(err, os.ErrNotExist) || err != nil {
			continue
		}
		cwd, _ := os.Readlink(filepath.Join("/proc", entry.Name(), "cwd"))
		if strings.Contains(string(cmdline), dir) || strings.HasPrefix(cwd, dir) {
			out = append(out, entry.Name()+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return out, nil
}
