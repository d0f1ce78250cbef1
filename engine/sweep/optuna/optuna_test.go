package optuna_test

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/sweep/optuna"
)

// interpreter is one that has Optuna.
func interpreter(t *testing.T) string {
	t.Helper()
	python := os.Getenv("FLOWFORGE_TEST_OPTUNA")
	if python == "" {
		python = filepath.Join(os.Getenv("FLOWFORGE_CACHE_DIR"), "optuna", "bin", "python3")
	}
	if _, err := os.Stat(python); err != nil {
		t.Fatalf("this test needs Optuna: run scripts/setup sweeps, and the test with scripts/environment (%v)", err)
	}
	return python
}

func parameters() []optuna.Parameter {
	return []optuna.Parameter{
		{Kind: optuna.Float, Low: 1e-4, High: 1, Log: true}, {Kind: optuna.Categorical, Count: 3}, {Kind: optuna.Int, Low: 1, High: 9},
	}
}

// loss is least at 0.01, index 1 and 4.
func loss(x []float64) float64 {
	d := math.Log10(x[0]) + 2
	return d*d + math.Abs(x[1]-1) + (x[2]-4)*(x[2]-4)/16
}

func history(n int) []optuna.Trial {
	random := rand.New(rand.NewPCG(5, 6))
	var trials []optuna.Trial
	for range n {
		x := []float64{math.Pow(10, -4*random.Float64()), float64(random.IntN(3)), float64(1 + random.IntN(9))}
		trials = append(trials, optuna.Trial{State: optuna.Complete, Values: x, Objective: loss(x)})
	}
	return trials
}

// TestSuggestionsLearnFromTheHistory: after 60 runs, suggestions are far better than random values.
func TestSuggestionsLearnFromTheHistory(t *testing.T) {
	t.Parallel()
	p := optuna.New(optuna.Config{Python: interpreter(t)})
	trials := history(60)
	random := 0.0
	for _, trial := range trials {
		random += trial.Objective / float64(len(trials))
	}
	trials = append(trials,
		optuna.Trial{State: optuna.Pruned, Values: []float64{1, 2, 9}, Objective: 7, Step: 3},
		optuna.Trial{State: optuna.Running, Values: []float64{0.01, 1, 4}})
	for _, goal := range []string{"min", "max"} {
		r := optuna.Request{Seed: 3, Goal: goal, Parameters: parameters(), Trials: trials, N: 10}
		points, err := p.Suggest(t.Context(), r)
		require.NoError(t, err)
		again, err := p.Suggest(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, points, again, "the same request has the same answer")
		mean := 0.0
		for _, x := range points {
			require.Len(t, x, 3)
			require.GreaterOrEqual(t, x[0], 1e-4)
			require.LessOrEqual(t, x[0], 1.0)
			require.Contains(t, []float64{0, 1, 2}, x[1])
			require.Equal(t, x[2], math.Round(x[2]))
			mean += loss(x) / float64(len(points))
		}
		if goal == "min" {
			require.Less(t, mean, random/2)
		} else {
			require.Greater(t, mean, random*1.3)
		}
	}
}

// TestTheFirstSuggestionsNeedNoHistory: they are random.
func TestTheFirstSuggestionsNeedNoHistory(t *testing.T) {
	t.Parallel()
	points, err := optuna.New(optuna.Config{Python: interpreter(t)}).Suggest(t.Context(), optuna.Request{Seed: 1, Goal: "min", Parameters: parameters(), N: 2})
	require.NoError(t, err)
	require.Len(t, points, 2)
}

// TestSuggestionsAtTheSameTimeDiffer: runs that have not ended keep others away from their values.
func TestSuggestionsAtTheSameTimeDiffer(t *testing.T) {
	t.Parallel()
	p := optuna.New(optuna.Config{Python: interpreter(t)})
	points, err := p.Suggest(t.Context(), optuna.Request{Seed: 1, Goal: "min", Parameters: parameters(), Trials: history(30), N: 8})
	require.NoError(t, err)
	for i, a := range points {
		for _, b := range points[:i] {
			require.NotEqual(t, a, b)
		}
	}
}

func TestWithoutPythonTheErrorSaysWhatToDo(t *testing.T) {
	t.Parallel()
	var unavailable *optuna.UnavailableError
	p := optuna.New(optuna.Config{Base: "/does/not/exist", Dir: t.TempDir()})
	_, err := p.Suggest(context.Background(), optuna.Request{N: 1})
	require.ErrorAs(t, err, &unavailable)
	require.Contains(t, unavailable.Message, "pip install optuna=="+optuna.Version)
	require.Contains(t, unavailable.Message, "FLOWFORGE_SWEEP_PYTHON")
	p = optuna.New(optuna.Config{Python: "/does/not/exist"})
	_, err = p.Suggest(context.Background(), optuna.Request{N: 1})
	require.ErrorAs(t, err, &unavailable)
	require.Contains(t, unavailable.Message, "/does/not/exist")
}

// TestInstallingIsKnown: pages say what the first sweep waits for.
func TestInstallingIsKnown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, base := filepath.Join(dir, "pipe"), filepath.Join(dir, "python3")
	// A process of its own writes the program, so that no other test holds it open while it starts.
	script := `mkfifo "$1" && printf '#!/bin/sh\ncat "%s"\nexit 1\n' "$1" > "$2" && chmod 700 "$2"`
	require.NoError(t, exec.CommandContext(t.Context(), "sh", "-c", script, "sh", pipe, base).Run())
	p := optuna.New(optuna.Config{Base: base, Dir: dir})
	require.False(t, p.Installing())
	done := make(chan error, 1)
	go func() {
		_, err := p.Suggest(t.Context(), optuna.Request{N: 1})
		done <- err
	}()
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // opens once the installation reads
	require.NoError(t, err)
	require.True(t, p.Installing())
	require.NoError(t, writer.Close())
	require.Error(t, <-done)
	require.False(t, p.Installing())
}
