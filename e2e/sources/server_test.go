package sources

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// server is the real binary with all engines embedded. Commands of images run on this
// machine.
type server struct {
	dir   string
	base  string // http://127.0.0.1:<port>
	token string

	cmd   *exec.Cmd
	ended chan struct{}
	mu    sync.Mutex
	log   bytes.Buffer

	making sync.Mutex // of projects
}

var address = regexp.MustCompile(`Sign in: (http://127\.0\.0\.1:\d+)`)

func startServer(dir string) (*server, error) {
	binary := os.Getenv("FLOWFORGE_BINARY")
	if binary == "" {
		binary = filepath.Join("..", "..", "bin", "flowforge")
	}
	s := &server{dir: dir, ended: make(chan struct{})}
	s.cmd = exec.Command(binary, "serve")
	s.cmd.Env = append(os.Environ(), "FLOWFORGE_DATA_DIR="+filepath.Join(dir, "data"), "FLOWFORGE_ADDR=127.0.0.1:0",
		"FLOWFORGE_LOCAL_IMAGES=host", "FLOWFORGE_CPU_MILLIS=4000")
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	s.cmd.Stderr = s
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: build it with `make build`", err)
	}
	found := make(chan string, 1)
	go func() {
		defer close(s.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			_, _ = s.Write(append(lines.Bytes(), '\n'))
			if m := address.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[1]
			}
		}
		_ = s.cmd.Wait()
	}()
	select {
	case s.base = <-found:
	case <-s.ended:
		return nil, fmt.Errorf("the server ended:\n%s", s.output())
	case <-time.After(2 * time.Minute):
		s.stop()
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

func (s *server) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	select {
	case <-s.ended:
	case <-time.After(30 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
}

// object is a decoded JSON object; numbers are unchanged.
type object = map[string]any

// answer is the server's response to a request.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request with a body that is verbatim from a document.
func (s *server) send(t *testing.T, method, path, body string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.base+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return answer{res.StatusCode, res.Header, string(text)}
}

func (s *server) get(t *testing.T, path string) answer {
	t.Helper()
	return s.send(t, http.MethodGet, path, "")
}

// decode decodes the body of a response that must have status.
func decode[T any](t *testing.T, a answer, status int) T {
	t.Helper()
	require.Equal(t, status, a.status, a.body)
	d := json.NewDecoder(strings.NewReader(a.body))
	d.UseNumber()
	var v T
	require.NoError(t, d.Decode(&v), a.body)
	return v
}

// finish waits for the end of a run and returns it.
func (s *server) finish(t *testing.T, id string) object {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		run := decode[object](t, s.get(t, "/api/v1/workflows/"+id), http.StatusOK)
		switch run["status"] {
		case "SUCCEEDED", "FAILED", "CANCELLED":
			return run
		}
		require.True(t, time.Now().Before(deadline), "%s is %s", id, run["status"])
		time.Sleep(50 * time.Millisecond) // polls another process
	}
}

// task returns the task of a run with a given name.
func task(t *testing.T, run object, name string) object {
	t.Helper()
	tasks, _ := run["tasks"].([]any)
	for _, e := range tasks {
		if of, _ := e.(object); of["name"] == name {
			return of
		}
	}
	t.Fatalf("the run has no task %s: %v", name, run["tasks"])
	return nil
}

// project ensures that a project with a name exists in the team of the local one, and
// returns the ids of the project and its tenant.
func (s *server) project(t *testing.T, name string) (project, tenant string) {
	t.Helper()
	s.making.Lock()
	defer s.making.Unlock()
	list := func() []any { return decode[object](t, s.get(t, "/api/v1/projects"), http.StatusOK)["items"].([]any) }
	var team any
	for _, e := range list() {
		p := e.(object)
		if p["name"] == name {
			return p["id"].(string), p["tenant_id"].(string)
		}
		team = p["parent_id"]
	}
	made := s.send(t, http.MethodPost, "/api/v1/projects", fmt.Sprintf(`{"parent_id": %q, "name": %q}`, team, name))
	p := decode[object](t, made, http.StatusCreated)
	return p["id"].(string), p["tenant_id"].(string)
}
