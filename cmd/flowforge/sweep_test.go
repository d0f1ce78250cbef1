package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/web/contract"
)

func TestSweepFlags(t *testing.T) {
	t.Parallel()
	parse := func(args ...string) (string, error) {
		cmd := newSweepCreateCommand()
		require.NoError(t, cmd.ParseFlags(args))
		parameters, err := spaceOf(cmd)
		raw, _ := json.Marshal(parameters)
		return string(raw), err
	}
	for flag, want := range map[string]string{
		"--values=lr=0.1,0.01":                  `[{"path":"lr","kind":"values","values":[0.1,0.01]}]`,
		"--values=opt=adam, sgd":                `[{"path":"opt","kind":"values","values":["adam","sgd"]}]`,
		"--values=net.layers=[[8],[8,8]]":       `[{"path":"net.layers","kind":"values","values":[[8],[8,8]]}]`,
		"--range=lr=1e-4:0.1:log":               `[{"path":"lr","kind":"range","from":0.0001,"to":0.1,"scale":"log"}]`,
		"--range=n=1:9:step=2":                  `[{"path":"n","kind":"range","from":1,"to":9,"step":2}]`,
		"--range=n=1:9:linear:steps=3":          `[{"path":"n","kind":"range","from":1,"to":9,"scale":"linear","steps":3}]`,
		"--distribution=x=normal:0:1":           `[{"path":"x","kind":"normal","mean":0,"deviation":1}]`,
		"--distribution=x=normal:0:1:-2:2":      `[{"path":"x","kind":"normal","from":-2,"to":2,"mean":0,"deviation":1}]`,
		"--distribution=x=loguniform:0.001:0.1": `[{"path":"x","kind":"loguniform","from":0.001,"to":0.1}]`,
		"--distribution=n=int:1:9":              `[{"path":"n","kind":"int","from":1,"to":9}]`,
	} {
		got, err := parse(flag)
		require.NoError(t, err, flag)
		require.JSONEq(t, want, got, flag)
	}
	for flag, want := range map[string]string{
		"--values=lr":                "write INPUT=VALUES",
		"--values=lr=[1,":            "not a JSON list",
		"--range=lr=1":               "write FROM:TO",
		"--range=lr=1:x":             `"x" is not a number`,
		"--range=lr=1:2:cubic":       "unknown range option",
		"--range=lr=1:2:steps=many":  "whole number",
		"--distribution=x=beta:1:2":  "unknown distribution",
		"--distribution=x=normal:1":  "normal:MEAN:DEVIATION",
		"--distribution=x=uniform:1": "write uniform:FROM:TO",
	} {
		_, err := parse(flag)
		require.ErrorContains(t, err, want, flag)
	}
}

// TestFlagsReplaceWhatTheFileHas: flags change single values of a sweep file, and nothing that a file or a
// flag says is ignored.
func TestFlagsReplaceWhatTheFileHas(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sweep.yaml")
	read := func(text string, args ...string) (string, error) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		cmd := newSweepCreateCommand()
		require.NoError(t, cmd.ParseFlags(args))
		in, err := (&client{}).sweepOf(cmd, file)
		raw, _ := json.Marshal(in)
		return string(raw), err
	}
	const text = `{workflow: w, inputs: {data: a, epochs: 3}, space: [{path: lr, kind: values, values: [1]}, {path: n, kind: int, from: 1, to: 2}], early_stopping: {rule: median, min_runs: 3}}`
	got, err := read(text, "-i", "epochs=5", "--values=lr=2", "--min-step=4")
	require.NoError(t, err)
	require.JSONEq(t, `{"workflow": "w", "inputs": {"data": "a", "epochs": 5}, "space": [{"path": "n", "kind": "int", "from": 1, "to": 2}, {"path": "lr", "kind": "values", "values": [2]}],
		"early_stopping": {"rule": "median", "min_runs": 3, "min_step": 4}}`, got)
	_, err = read(`{workflow: w, paralelism: 2}`)
	require.ErrorContains(t, err, `unknown field "paralelism"`)
	_, err = read(`{workflow: w}`, "--min-step=4")
	require.EqualError(t, err, "--min-step needs --early-stopping")
	_, err = read(`{workflow: w}`, "--goal=min")
	require.EqualError(t, err, "--goal and --value need --metric or --output")
}

// TestTableOfRuns: runs have the numbers that the page and the names of the executions have.
func TestTableOfRuns(t *testing.T) {
	t.Parallel()
	sw := contract.SweepDetail{SweepBody: contract.SweepBody{Space: []contract.SweepParameter{{Path: "n"}, {Path: "net"}}}}
	sw.RunList = []contract.SweepRun{{Index: 0, State: "SUCCEEDED", Values: map[string]any{"n": 1000000.0}}, {Index: 1, State: "RUNNING", Values: map[string]any{"n": 2.0, "net": []any{8.0, 8.0}}}}
	var out strings.Builder
	require.NoError(t, writeSweep(&out, sw))
	require.Contains(t, out.String(), "1    SUCCEEDED             1000000")
	require.NotContains(t, out.String(), "nil")
	require.Contains(t, out.String(), "[8,8]")
}
