package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// server is a separate FlowForge server.
type server struct {
	cmd         *exec.Cmd
	python      string
	base, token string
	runner      string // the file with the process ID of the runner
}

func startServer(ctx context.Context, binary, dir, python string) (*server, error) {
	data := filepath.Join(dir, "data")
	s := &server{cmd: exec.CommandContext(ctx, binary, "serve"), python: python, runner: filepath.Join(data, "runner", "runner.pid")}
	s.cmd.Env = append(os.Environ(), "FLOWFORGE_DATA_DIR="+data, "FLOWFORGE_ADDR=127.0.0.1:0", "FLOWFORGE_EXAMPLES=off", "FLOWFORGE_PYTHON="+python)
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
			token, err := os.ReadFile(filepath.Join(data, "admin.token"))
			s.token = strings.TrimSpace(string(token))
			return s, err
		}
	}
	return nil, errors.Join(errors.New("the server did not start"), s.cmd.Wait())
}

func (s *server) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
}

// deploy registers the workflows of a Python file, and the chain of /bin/true.
func (s *server) deploy(ctx context.Context, binary, file string) error {
	for _, workflow := range []string{"first", "chain", "fresh", "numbers"} {
		deploy := exec.CommandContext(ctx, binary, "deploy", file, "--workflow", workflow)
		deploy.Env = append(os.Environ(), "FLOWFORGE_SERVER="+s.base, "FLOWFORGE_TOKEN="+s.token, "FLOWFORGE_PYTHON="+s.python)
		if out, err := deploy.CombinedOutput(); err != nil {
			return fmt.Errorf("deploy %s: %w\n%s", workflow, err, out)
		}
	}
	var document strings.Builder
	document.WriteString("name: bench.true\nversion: 1.0.0\noperators:\n")
	for i := range chainLength {
		after := ""
		if i > 0 {
			after = fmt.Sprintf("n%d", i-1)
		}
		fmt.Fprintf(&document, "  - {name: n%d, type: command, depends_on: [%s], code: {command: [/bin/true]}}\n", i, after)
	}
	return s.call(ctx, http.MethodPost, "/api/v1/workflows", "application/yaml", []byte(document.String()), &struct{}{})
}

// processes measures processes with the interpreter and the SDK of the server.
func (s *server) processes(ctx context.Context) (f figures, err error) {
	cmd := exec.CommandContext(ctx, s.python, "-c", processes)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join("sdk", "python"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return f, fmt.Errorf("processes: %w", err)
	}
	var found struct{ Interpreter, SDK, Fork, True float64 }
	if err := json.Unmarshal(out, &found); err != nil {
		return f, err
	}
	return figures{Interpreter: found.Interpreter, SDK: found.SDK, Fork: found.Fork, True: found.True}, nil
}

// execute launches a workflow and returns the time from the launch to the durable end.
func (s *server) execute(ctx context.Context, workflow string) (time.Duration, error) {
	body, err := json.Marshal(map[string]any{"workflow": workflow})
	if err != nil {
		return 0, err
	}
	var x struct {
		ID       string    `json:"execution_id"`
		Status   string    `json:"status"`
		Created  time.Time `json:"created_at"`
		Finished time.Time `json:"finished_at"`
	}
	if err := s.call(ctx, http.MethodPost, "/api/v1/executions", "application/json", body, &x); err != nil {
		return 0, err
	}
	for x.Status != "SUCCEEDED" {
		if x.Status == "FAILED" || x.Status == "CANCELLED" {
			return 0, fmt.Errorf("execution %s is %s", x.ID, x.Status)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(100 * time.Millisecond): // its times count, not this one
		}
		if err := s.call(ctx, http.MethodGet, "/api/v1/executions/"+x.ID, "", nil, &x); err != nil {
			return 0, err
		}
	}
	return x.Finished.Sub(x.Created), nil
}

// call sends body if it is not nil, and decodes the response into answer.
func (s *server) call(ctx context.Context, method, path, mediaType string, body []byte, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	if body != nil {
		req.Header.Set("Content-Type", mediaType)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return json.Unmarshal(text, answer)
}
