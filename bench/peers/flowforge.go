package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/flowforge/flowforge/bench/site"
	"github.com/flowforge/flowforge/platform/release"
)

//go:embed adapters/run_flowforge.py
var flowforgeSource string

// flowforge is FlowForge's own adapter: a server with its embedded engines and its runner.
type flowforge struct{}

func (flowforge) Facts() facts {
	return facts{Name: "FlowForge", Durability: "state and result of the node: " + inPostgres, Durable: true}
}

func (flowforge) Install(_ context.Context, e environment) error {
	if _, err := os.Stat(e.binary); err != nil {
		return fmt.Errorf("run `make build` first: %w", err)
	}
	return nil
}

func (flowforge) Start(ctx context.Context, e environment) (session, error) {
	server, err := site.Start(ctx, e.binary, filepath.Join(e.folder, "data"), "FLOWFORGE_EXAMPLES=off", "FLOWFORGE_PYTHON="+e.python)
	if err != nil {
		return nil, err
	}
	s := &flowforgeSession{server: server}
	if err := s.register(ctx, e); err != nil {
		server.Stop()
		return nil, err
	}
	return s, nil
}

// flowforgeSession is a running server.
type flowforgeSession struct {
	server *site.Server
}

// register adds the workflows of all workloads.
func (s *flowforgeSession) register(ctx context.Context, e environment) error {
	for _, document := range []string{shellDocument("chain-40", 40, true), shellDocument("wide-200", 200, false)} {
		if _, _, err := s.server.Call(ctx, http.MethodPost, "/api/v1/workflows", document); err != nil {
			return err
		}
	}
	// The code of a workflow is the folder of its file.
	file := filepath.Join(e.folder, "code", "run_flowforge.py")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(flowforgeSource), 0o600); err != nil {
		return err
	}
	for _, workflow := range []string{"functions", "items"} {
		deploy := exec.CommandContext(ctx, e.binary, "deploy", file, "--workflow", workflow)
		deploy.Env = append(os.Environ(), "FLOWFORGE_SERVER="+s.server.URL(), "FLOWFORGE_TOKEN="+s.server.Token(), "FLOWFORGE_PYTHON="+e.python)
		if out, err := deploy.CombinedOutput(); err != nil {
			return fmt.Errorf("deploy %s: %w\n%s", workflow, err, out)
		}
	}
	return nil
}

// shellDocument is a definition of nodes that run /bin/true, one after the other or side by side.
func shellDocument(name string, nodes int, chain bool) string {
	operators := make([]map[string]any, nodes)
	for i := range operators {
		operators[i] = map[string]any{"name": fmt.Sprintf("n%d", i), "type": "command", "code": map[string]any{"command": []string{"/bin/true"}}}
		if chain && i > 0 {
			operators[i]["depends_on"] = []string{fmt.Sprintf("n%d", i-1)}
		}
	}
	document, _ := json.Marshal(map[string]any{"name": workflowOf(name), "version": "1.0.0", "operators": operators}) //nolint:errchkjson // texts and lists of texts
	return string(document)
}

func workflowOf(workload string) string { return "bench." + workload }

func (s *flowforgeSession) Version() string { return release.Version }

func (s *flowforgeSession) Ended() bool { return false }

// executionState is what the API says about an execution.
type executionState struct {
	ID       string    `json:"execution_id"`
	Status   string    `json:"status"`
	Finished time.Time `json:"finished_at"`
	Outputs  struct {
		Result json.RawMessage `json:"result"`
	} `json:"outputs"`
}

// check returns an error unless a Python workload has the result that it must have.
func (x executionState) check(workload string) error {
	var expected any
	switch workload {
	case "functions-20":
		expected = 20
	case "map-100":
		numbers := make([]int, 100)
		for i := range numbers {
			numbers[i] = i + 1
		}
		expected = numbers
	default:
		return nil
	}
	text, err := json.Marshal(expected)
	if err != nil {
		return err
	}
	var found bytes.Buffer
	if err := json.Compact(&found, x.Outputs.Result); err != nil || found.String() != string(text) {
		return fmt.Errorf("the result is %.200s instead of %s", x.Outputs.Result, text)
	}
	return nil
}

// Run measures the time from the request to the end that the server records.
func (s *flowforgeSession) Run(ctx context.Context, workload string) (time.Duration, error) {
	var x executionState
	begin := time.Now()
	if err := s.call(ctx, http.MethodPost, "/api/v1/executions", fmt.Sprintf(`{"workflow": %q}`, workflowOf(workload)), &x); err != nil {
		return 0, err
	}
	for x.Status != "SUCCEEDED" {
		if x.Status == "FAILED" || x.Status == "CANCELLED" {
			return 0, fmt.Errorf("execution %s is %s", x.ID, x.Status)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(100 * time.Millisecond): // the recorded end counts
		}
		if err := s.call(ctx, http.MethodGet, "/api/v1/executions/"+x.ID, "", &x); err != nil {
			return 0, err
		}
	}
	return x.Finished.Sub(begin), x.check(workload)
}

func (s *flowforgeSession) call(ctx context.Context, method, path, body string, answer any) error {
	text, _, err := s.server.Call(ctx, method, path, body)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

func (s *flowforgeSession) Close() error {
	s.server.Stop()
	return nil
}
