package api

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

// server is the real binary with everything embedded. Commands of images run on this machine.
type server struct {
	dir   string
	base  string // http://127.0.0.1:<port>
	token string

	cmd   *exec.Cmd
	ended chan struct{}
	mu    sync.Mutex
	log   bytes.Buffer
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
		"FLOWFORGE_LOCAL_IMAGES=host", "FLOWFORGE_CPU_MILLIS=4000", "FLOWFORGE_EXAMPLES=off", "FLOWFORGE_RATE_LIMIT=0",
		"FLOWFORGE_RATE_LIMIT_TENANT=0", "FLOWFORGE_RATE_LIMIT_ADDRESS=0", "FLOWFORGE_RATE_LIMIT_LOGIN=0")
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

// Write keeps what the server prints.
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

// object is a decoded JSON object; numbers stay as they were written.
type object = map[string]any

// send sends a request and returns the decoded answer, which must have status.
func (s *server) send(t *testing.T, method, path, body string, status int) object {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.base+"/api/v1"+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, status, res.StatusCode, "%s %s: %s", method, path, text)
	var v object
	if status != http.StatusNoContent {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		require.NoError(t, d.Decode(&v), string(text))
	}
	return v
}

func (s *server) post(t *testing.T, path, body string) object {
	t.Helper()
	return s.send(t, http.MethodPost, path, body, http.StatusCreated)
}

func (s *server) get(t *testing.T, path string) object {
	t.Helper()
	return s.send(t, http.MethodGet, path, "", http.StatusOK)
}

// finish waits for the end of an execution, and returns it.
func (s *server) finish(t *testing.T, id string) object {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		run := s.get(t, "/executions/"+id)
		switch run["status"] {
		case "SUCCEEDED", "FAILED", "CANCELLED":
			return run
		}
		require.True(t, time.Now().Before(deadline), "%s is %s", id, run["status"])
		time.Sleep(50 * time.Millisecond) // another process is watched
	}
}
