// Command python measures what a node of a Python workflow costs, and compares it on the same
// machine in the same run with an interpreter (python -c pass), with a bare fork of a warm
// interpreter, and with a chain of /bin/true, whose nodes cost the durable transitions and a
// small process. The program starts the binary of `make build` on a separate data directory:
//
//	make build && scripts/environment go run ./bench/python
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

//go:embed flow.py
var flow string

//go:embed processes.py
var processes string

const (
	chainLength = 20
	mapLength   = 100
	// idle is long enough for everything about the last execution to be over.
	idle = 500 * time.Millisecond
)

func main() {
	repeat := flag.Int("repeat", 9, "runs of each workflow; the middle one counts")
	binary := flag.String("binary", "bin/flowforge", "the server")
	python := flag.String("python", "python3", "the interpreter")
	asJSON := flag.Bool("json", false, "print JSON instead of a table")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *binary, *python, *repeat, *asJSON)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/python:", err)
		os.Exit(1)
	}
}

// figures are times in milliseconds, and nodes per second.
type figures struct {
	Interpreter float64 `json:"interpreter_ms"`   // python -c pass
	SDK         float64 `json:"import_sdk_ms"`    // the same with the imports of a node
	Fork        float64 `json:"bare_fork_ms"`     // fork, _exit and waitpid of a warm interpreter
	True        float64 `json:"spawn_true_ms"`    // /bin/true from Python
	Transitions float64 `json:"transitions_ms"`   // a node of a chain of /bin/true, without the process
	Chain       float64 `json:"chain_node_ms"`    // a node of a chain of functions
	Fresh       float64 `json:"fresh_node_ms"`    // the same with fresh=True
	First       float64 `json:"first_node_ms"`    // an execution of one function
	Map         float64 `json:"map_nodes_per_s"`  // a fan-out
	Ratio       float64 `json:"chain_over_forks"` // (chain − transitions) / fork
	Cold        float64 `json:"cold_node_ms"`     // the first execution of all
	// Processor time of a node of the map. It depends less on what else the machine does.
	ServerCPU float64 `json:"map_server_cpu_ms"`
	RunnerCPU float64 `json:"map_runner_cpu_ms"`
	ForkCPU   float64 `json:"map_fork_cpu_ms"`
	// The fastest of the runs, which depends less on other programs than the middle one.
	BestChain float64 `json:"best_chain_node_ms"`
	BestFirst float64 `json:"best_first_node_ms"`
	BestMap   float64 `json:"best_map_nodes_per_s"`
}

func run(ctx context.Context, binary, python string, repeat int, asJSON bool) (err error) {
	if binary, err = filepath.Abs(binary); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "flowforge-python-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "code", "flow.py")
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(flow), 0o600)); err != nil {
		return err
	}
	interpreter, err := exec.CommandContext(ctx, python, "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return fmt.Errorf("%s: %w", python, err)
	}
	s, err := startServer(ctx, binary, dir, strings.TrimSpace(string(interpreter)))
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.deploy(ctx, binary, file); err != nil {
		return err
	}
	f, err := s.processes(ctx)
	if err != nil {
		return err
	}
	if err := s.measureAll(ctx, &f, repeat); err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(f)
	}
	fmt.Print(f)
	return nil
}

func (s *server) measureAll(ctx context.Context, f *figures, repeat int) error {
	var trueNode, bestTrue, bestFresh, bestMap float64
	cold, err := s.execute(ctx, "bench.first")
	if err != nil {
		return fmt.Errorf("bench.first: %w", err)
	}
	f.Cold = cold.Seconds() * 1000
	for _, c := range []struct {
		workflow   string
		nodes      int
		into, best *float64
	}{
		{"bench.first", 1, &f.First, &f.BestFirst},
		{"bench.chain", chainLength, &f.Chain, &f.BestChain},
		{"bench.map", mapLength, &f.Map, &bestMap},
		{"bench.true", chainLength, &trueNode, &bestTrue},
		{"bench.fresh", chainLength, &f.Fresh, &bestFresh},
	} {
		var took []time.Duration
		var before usage
		for i := range repeat + 2 { // two runs before teach the warm process its modules
			time.Sleep(idle)
			if i == 2 {
				if before, err = s.usage(); err != nil {
					return err
				}
			}
			one, err := s.execute(ctx, c.workflow)
			if err != nil {
				return fmt.Errorf("%s: %w", c.workflow, err)
			}
			if i >= 2 {
				took = append(took, one)
			}
		}
		if c.workflow == "bench.map" {
			after, err := s.usage()
			if err != nil {
				return err
			}
			nodes := float64(repeat * c.nodes)
			f.ServerCPU, f.RunnerCPU, f.ForkCPU = (after.server-before.server)/nodes, (after.runner-before.runner)/nodes, (after.forks-before.forks)/nodes
		}
		slices.Sort(took)
		*c.into = took[len(took)/2].Seconds() * 1000 / float64(c.nodes)
		*c.best = took[0].Seconds() * 1000 / float64(c.nodes)
	}
	f.Map, f.BestMap = 1000/f.Map, 1000/bestMap
	f.Transitions = trueNode - f.True
	f.Ratio = (f.Chain - f.Transitions) / f.Fork
	return nil
}

// String writes the table of bench/RESULTS.md.
func (f figures) String() string {
	var b strings.Builder
	b.WriteString("| | median | best | goal |\n|---|--:|--:|--:|\n")
	row := func(name, median, best, goal string) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, median, best, goal)
	}
	ms := func(v float64) string { return fmt.Sprintf("%.1f ms", v) }
	perSecond := func(v float64) string { return fmt.Sprintf("%.0f nodes/s", v) }
	row("`python -c pass`", ms(f.Interpreter), "", "")
	row("the same with the imports of a node", ms(f.SDK), "", "")
	row("bare fork of a warm interpreter", ms(f.Fork), "", "")
	row("durable transitions of a node", ms(f.Transitions), "", "")
	row(fmt.Sprintf("a node of a chain of %d functions", chainLength), ms(f.Chain), ms(f.BestChain), "≤ 12 ms")
	row("the same without the transitions, in bare forks", fmt.Sprintf("%.1f", f.Ratio), "", "≤ 3")
	row("the same chain with `fresh=True`", ms(f.Fresh), "", "")
	row(fmt.Sprintf("a map over %d items", mapLength), perSecond(f.Map), perSecond(f.BestMap), "≥ 150 nodes/s")
	row("first node in a warm environment", ms(f.First), ms(f.BestFirst), "≤ 30 ms")
	row("first node of all", ms(f.Cold), "", "")
	row("processor time of a node of the map: its process", ms(f.ForkCPU), "", "")
	row("… the runner", ms(f.RunnerCPU), "", "")
	row("… the server, without the databases", ms(f.ServerCPU), "", "")
	return b.String()
}
