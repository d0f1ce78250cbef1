// Package optuna gets the next values of a search from Optuna, a Python library. Each request is a
// process of its own with the whole history as its input, so nothing is lost when a server stops.
package optuna

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Version is the version of Optuna that requirements.txt pins.
const Version = "5.0.0"

//go:embed suggest.py
var program string

//go:embed requirements.txt
var requirements string

const (
	suggestLimit = 2 * time.Minute
	installLimit = 10 * time.Minute
	tailBytes    = 2000 // of an error's output
)

// Config configures a Program.
type Config struct {
	// Python is an interpreter that has Optuna. "" makes an environment below Dir when the first
	// search needs it.
	Python string
	// Base is the interpreter that makes the environment; "" is python3.
	Base string
	Dir  string
	Log  *slog.Logger
}

// Program runs the sampler. It is safe for concurrent use.
type Program struct {
	config Config
	making sync.Mutex
	found  string // the interpreter, once it was made

	installing atomic.Bool
}

// New returns a Program. Nothing runs until Suggest.
func New(c Config) *Program {
	if c.Base == "" {
		c.Base = "python3"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Program{config: c}
}

// Parameter is one dimension of a search. A value is a number: the index of a Categorical one.
type Parameter struct {
	Kind  string  `json:"kind"` // Categorical, Int or Float
	Count int     `json:"count,omitempty"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Log   bool    `json:"log"`
}

// The kinds of parameters.
const (
	Categorical = "categorical"
	Int         = "int"
	Float       = "float"
)

// Trial is a run so far. Pruned ones were stopped early at Step with Objective.
type Trial struct {
	State     string    `json:"state"` // Complete, Pruned or Running
	Values    []float64 `json:"values"`
	Objective float64   `json:"objective"`
	Step      int64     `json:"step"`
}

// The states of trials.
const (
	Complete = "complete"
	Pruned   = "pruned"
	Running  = "running"
)

// Request requests N suggestions.
type Request struct {
	Seed       uint32      `json:"seed"`
	Goal       string      `json:"goal"` // max or min
	Parameters []Parameter `json:"parameters"`
	Trials     []Trial     `json:"trials"`
	N          int         `json:"n"`
}

// UnavailableError means that the program cannot run on this server. It says what to do.
type UnavailableError struct {
	Message string
	Err     error
}

func (e *UnavailableError) Error() string { return e.Message + " " + e.Err.Error() }
func (e *UnavailableError) Unwrap() error { return e.Err }

// Suggest returns N points, each with a value for every parameter. Equal requests have equal
// results. It returns an UnavailableError if Optuna cannot be installed or started.
func (p *Program) Suggest(ctx context.Context, r Request) ([][]float64, error) {
	python, err := p.interpreter(ctx)
	if err != nil {
		return nil, err
	}
	r.Trials = append([]Trial{}, r.Trials...) // the first request has an empty list
	input, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the history of a search: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, suggestLimit)
	defer cancel()
	out, err := run(ctx, input, python, "-I", "-c", program)
	if err != nil {
		return nil, &UnavailableError{fmt.Sprintf("Optuna could not suggest values. Check that %s has optuna %s.", python, Version), err}
	}
	var points [][]float64
	if err := json.Unmarshal(out, &points); err != nil {
		return nil, &UnavailableError{fmt.Sprintf("Optuna returned an invalid response. Check that %s has optuna %s.", python, Version), err}
	}
	if len(points) != r.N {
		return nil, &UnavailableError{fmt.Sprintf("Optuna returned an incomplete response. Check that %s has optuna %s.", python, Version), fmt.Errorf("%d suggestions instead of %d", len(points), r.N)}
	}
	return points, nil
}

// Installing reports whether this process installs Optuna right now.
func (p *Program) Installing() bool { return p.installing.Load() }

// interpreter returns a Python interpreter with Optuna. It creates the environment if it is
// missing.
func (p *Program) interpreter(ctx context.Context) (string, error) {
	if p.config.Python != "" {
		return p.config.Python, nil
	}
	p.making.Lock()
	defer p.making.Unlock()
	if p.found != "" {
		return p.found, nil
	}
	dir := filepath.Join(p.config.Dir, "optuna-"+Version)
	python := filepath.Join(dir, "bin", "python3")
	if !complete(dir) {
		p.installing.Store(true)
		err := p.install(ctx, dir)
		p.installing.Store(false)
		if err != nil {
			return "", &UnavailableError{fmt.Sprintf(
				"Sweeps with tpe need Optuna %s, which this server could not install. Give the server access to a Python package index, or set FLOWFORGE_SWEEP_PYTHON to an interpreter that has it (pip install optuna==%s).", Version, Version), err}
		}
	}
	p.found = python
	return python, nil
}

// complete reports whether an environment was created completely and from the same requirements.
func complete(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "complete"))
	return err == nil && string(text) == requirements
}

// install creates an environment in a temporary place and then moves it, so that other processes
// never see an incomplete one. The scripts of an environment contain its path, but the
// interpreter does not.
func (p *Program) install(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, installLimit)
	defer cancel()
	if err := os.MkdirAll(p.config.Dir, 0o700); err != nil {
		return fmt.Errorf("create the folder of the environment: %w", err)
	}
	scratch, err := os.MkdirTemp(p.config.Dir, "optuna-*.part")
	if err != nil {
		return fmt.Errorf("create the folder of the environment: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	started := time.Now()
	p.config.Log.Info("Installing Optuna for sweeps with tpe.", "version", Version, "folder", dir)
	list := filepath.Join(scratch, "requirements.txt")
	if err := os.WriteFile(list, []byte(requirements), 0o600); err != nil {
		return fmt.Errorf("write the requirements: %w", err)
	}
	own := filepath.Join(scratch, "bin", "python3")
	for _, step := range [][]string{
		{p.config.Base, "-m", "venv", scratch},
		{own, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--quiet", "--only-binary=:all:", "-r", list},
	} {
		if _, err := run(ctx, nil, step...); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(scratch, "complete"), []byte(requirements), 0o600); err != nil {
		return fmt.Errorf("complete the environment: %w", err)
	}
	if !complete(dir) { // unless another process was faster
		if err := errors.Join(os.RemoveAll(dir), os.Rename(scratch, dir)); err != nil && !complete(dir) {
			return fmt.Errorf("place the environment: %w", err)
		}
	}
	p.config.Log.Info("Optuna is installed.", "took", time.Since(started).Round(time.Second))
	return nil
}

// run runs a program to its end and returns its output. An error contains the end of the output.
func run(ctx context.Context, input []byte, command ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin = bytes.NewReader(input)
	cmd.Env = environment(cmd.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ends the processes of pip, too
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(stderr.String() + "\n" + out.String())
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(command[0]), err, text[max(0, len(text)-tailBytes):])
	}
	return out.Bytes(), nil
}
