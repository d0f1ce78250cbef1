package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/bench/processor"
	"github.com/flowforge/flowforge/bench/site"
)

// installation is a server with its PostgreSQL and runner, and the ClickHouse that it uses.
type installation struct {
	server     *site.Server
	dir        string
	self       string // this program, which the tasks run
	clickHouse *http.Client
	engine     int          // process of ClickHouse
	streams    *http.Client // a connection for each open page
}

func newInstallation(ctx context.Context, binary, dir, clickHouse string) (*installation, error) {
	s := &installation{dir: filepath.Join(dir, "data"), streams: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	var err error
	if s.self, err = os.Executable(); err != nil {
		return nil, err
	}
	u, err := url.Parse(clickHouse)
	if err != nil {
		return nil, err
	}
	s.clickHouse = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", u.Path)
	}}}
	if s.engine, err = processor.Listener(ctx, clickHouse); err != nil {
		return nil, err
	}
	// Hundreds of waiting tasks fit, because most of them do nothing.
	s.server, err = site.Start(ctx, binary, s.dir, "FLOWFORGE_CLICKHOUSE_URL="+clickHouse, "FLOWFORGE_EXAMPLES=off",
		"FLOWFORGE_SLOTS=500", "FLOWFORGE_CPU_MILLIS=1000000", "FLOWFORGE_MEMORY_MIB=1000000")
	return s, err
}

func (s *installation) stop() { s.server.Stop() }

// register adds a workflow whose tasks write lines, and returns its name.
func (s *installation) register(ctx context.Context, tasks, lines, rate int) (string, error) {
	name := fmt.Sprintf("bench.lines-%d-%d-%d", tasks, lines, rate)
	operators := make([]map[string]any, tasks)
	for i := range operators {
		operators[i] = map[string]any{
			"name": fmt.Sprintf("task%d", i), "type": "command", "resources": map[string]any{"cpu": "10m", "memory": "16Mi"},
			"code": map[string]any{"command": []string{s.self, "-write", fmt.Sprintf("%d/%d", lines, rate)}},
		}
	}
	document, err := json.Marshal(map[string]any{"name": name, "version": "1.0.0", "operators": operators})
	if err != nil {
		return "", err
	}
	return name, s.call(ctx, http.MethodPost, "/api/v1/workflows", string(document), &struct{}{})
}

// launch starts a workflow and returns the ID of the execution.
func (s *installation) launch(ctx context.Context, workflow string) (string, error) {
	var x struct {
		ID string `json:"execution_id"`
	}
	err := s.call(ctx, http.MethodPost, "/api/v1/executions", fmt.Sprintf(`{"workflow": %q}`, workflow), &x)
	return x.ID, err
}

func (s *installation) cancel(ctx context.Context, ids ...string) {
	for _, id := range ids {
		_, _, _ = s.server.Call(ctx, http.MethodPost, "/api/v1/executions/"+id+"/cancel", "{}")
	}
}

func (s *installation) call(ctx context.Context, method, path, body string, answer any) error {
	text, _, err := s.server.Call(ctx, method, path, body)
	if err != nil {
		return fmt.Errorf("%w: %.300s", err, text)
	}
	return json.Unmarshal(text, answer)
}

// query returns the numbers of one row from ClickHouse.
func (s *installation) query(ctx context.Context, statement string) ([]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/?database=flowforge&default_format=TSV", strings.NewReader(statement))
	if err != nil {
		return nil, err
	}
	res, err := s.clickHouse.Do(req) //nolint:gosec // the installation that this command started
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, errors.New(strings.TrimSpace(string(text)))
	}
	var numbers []float64
	for field := range strings.FieldsSeq(string(text)) {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// usage is the processor time of the parts of an installation.
type usage struct{ server, postgres, clickHouse, runner time.Duration }

func (s *installation) usage() (u usage, err error) {
	u.clickHouse = processor.Used([]int{s.engine})
	pid := func(path ...string) int {
		text, failed := os.ReadFile(filepath.Join(append([]string{s.dir}, path...)...))
		first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		n, wrong := strconv.Atoi(first)
		err = errors.Join(err, failed, wrong)
		return n
	}
	u.postgres = processor.Used([]int{pid("postgres", "data", "postmaster.pid")})
	u.runner = processor.Used([]int{pid("runner", "runner.pid")})
	u.server = processor.Used([]int{s.server.PID()})
	for _, own := range processor.Family(s.server.PID()) {
		switch own {
		case pid("postgres", "data", "postmaster.pid"):
			u.server -= u.postgres
		case pid("runner", "runner.pid"):
			u.server -= u.runner
		}
	}
	return u, err
}

// since returns what was used after an earlier measurement.
func (u usage) since(before usage) usage {
	return usage{u.server - before.server, u.postgres - before.postgres, u.clickHouse - before.clickHouse, u.runner - before.runner}
}

// percent describes the usage in percent of one core.
func (u usage) percent(of time.Duration) string {
	p := func(d time.Duration) float64 { return 100 * d.Seconds() / of.Seconds() }
	return fmt.Sprintf("server %.0f %%, runner with its tasks %.0f %%, PostgreSQL %.0f %%, ClickHouse %.0f %%", p(u.server), p(u.runner), p(u.postgres), p(u.clickHouse))
}
