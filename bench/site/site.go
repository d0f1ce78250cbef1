// Package site starts a server for measurements and requests its pages.
package site

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Server is a running server, which the local administrator requests.
type Server struct {
	cmd         *exec.Cmd
	base, token string
}

// Start starts the binary on a data directory. Settings are variables such as "FLOWFORGE_ADDR=…".
func Start(ctx context.Context, binary, dir string, settings ...string) (*Server, error) {
	s := &Server{cmd: exec.CommandContext(ctx, binary, "serve")}
	s.cmd.Env = append(append(os.Environ(), "FLOWFORGE_DATA_DIR="+dir, "FLOWFORGE_ADDR=127.0.0.1:0"), settings...)
	s.cmd.Stderr = os.Stderr
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(os.Interrupt) }
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if s.base = address.FindString(lines.Text()); s.base != "" {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			token, err := os.ReadFile(filepath.Join(dir, "admin.token"))
			s.token = strings.TrimSpace(string(token))
			return s, err
		}
	}
	return nil, errors.Join(errors.New("the server did not start"), s.cmd.Wait())
}

// Stop ends the server.
func (s *Server) Stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
}

// PID is the process of the server.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// URL is the address of the site.
func (s *Server) URL() string { return s.base }

// Token is the token of the local administrator.
func (s *Server) Token() string { return s.token }

// Times are how long requests of one page took.
type Times struct {
	took []time.Duration // sorted
	Size int             // of the last answer, in bytes
}

// At returns the time within which the percentage of the requests was answered, in ms.
func (t Times) At(percent int) float64 {
	return float64(t.took[min(len(t.took)-1, len(t.took)*percent/100)].Microseconds()) / 1000
}

// Measure requests a page, once more than requests: the first one warms up.
func (s *Server) Measure(ctx context.Context, path string, requests int) (Times, error) {
	var t Times
	for i := range requests + 1 {
		body, d, err := s.Call(ctx, http.MethodGet, path, "")
		if err != nil {
			return t, err
		}
		if i > 0 {
			t.took, t.Size = append(t.took, d), len(body)
		}
	}
	slices.Sort(t.took)
	return t, nil
}

// Call requests a page and returns its body and the time from the request to its last byte.
func (s *Server) Call(ctx context.Context, method, path, body string) ([]byte, time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/json")
	begin := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	took := time.Since(begin)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s", method, path, res.Status)
	}
	return b, took, err
}
