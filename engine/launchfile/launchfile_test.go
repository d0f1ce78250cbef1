package launchfile_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/launchfile"
)

// awkward are values that YAML, Python and shells could read as something else.
func awkward(t *testing.T) map[string]any {
	t.Helper()
	var inputs map[string]any
	text := `{"a": "yes", "b": "1.0", "c": "null", "d": "it's \"5\" # $HOME", "e": "two\nlines\n", "f": "- x: y", "g": "", "h": true,
		"i": [1, 2.5, {"x": null}], "j": "2026-01-02", "k": "0x1f", "l": " padded ", "m": "@file", "n": "12", "o": "✓ — é", "p": {"on": "off"}}`
	require.NoError(t, json.Unmarshal([]byte(text), &inputs))
	return inputs
}

func TestYAMLAndBack(t *testing.T) {
	t.Parallel()
	f := launchfile.File{
		Workflow: "digits.train", Version: "1.10", Name: "yes", Priority: "70", Preset: "fast", Key: "nightly",
		Tags: []string{"baseline", "yes", "1.0"}, Note: "two lines:\n- it's # one",
		Inputs: awkward(t), Order: []string{"n", "a"}, Cache: "off", CacheOf: map[string]string{"fit": "refresh"}, TTL: map[string]string{"after_completion": "3d"},
	}
	text := f.YAML()
	read, lines, problems := launchfile.Parse(text)
	require.Empty(t, problems, text)
	require.Equal(t, 1, lines["kind"])
	want, err := f.Request()
	require.NoError(t, err)
	got, err := read.Request()
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got), text)

	for _, header := range []string{"apiVersion: flowforge.io/v1\n", "# a comment\n"} {
		read, _, problems = launchfile.Parse(header + text)
		require.Empty(t, problems)
		got, err = read.Request()
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got), header)
	}
	read, _, problems = launchfile.Parse(string(want))
	require.Empty(t, problems, "JSON is YAML")
	require.Equal(t, f.Workflow, read.Workflow)
}

// TestPythonAndShell runs what is written: Python and a shell get the values.
func TestPythonAndShell(t *testing.T) {
	t.Parallel()
	f := launchfile.File{Workflow: "w", Version: "1.0.0", Name: "it's", Priority: "HIGH", Inputs: awkward(t), TTL: map[string]string{"after_failure": "1d"}, Cache: "refresh", Tags: []string{"it's", "b c"}, Note: "first\nsecond"}
	program := "import json, types, sys\nclass Run:\n    def wait(self): pass\ndef launch(workflow, inputs, **more):\n    print(json.dumps([workflow, inputs, more]))\n    return Run()\n" +
		"sys.modules['flowforge'] = types.SimpleNamespace(launch=launch)\n" + f.Python()
	out, err := exec.CommandContext(t.Context(), "python3", "-c", program).CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, f.Python())
	inputs, err := json.Marshal(f.Inputs)
	require.NoError(t, err)
	require.JSONEq(t, `["w@1.0.0", `+string(inputs)+`, {"name": "it's", "priority": "HIGH", "tags": ["it's", "b c"], "note": "first\nsecond", "cache": {"mode": "refresh"}, "ttl": {"after_failure": "1d"}}]`, string(out))

	shell := func(script string) string {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", `flowforge() { for v in "$@"; do printf '<%s>' "$v"; done; }; curl() { for v in "$@"; do last=$v; done; printf %s "$last"; }; `+script)
		cmd.Env = append(os.Environ(), "FLOWFORGE_TOKEN=t")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	want, err := f.Request()
	require.NoError(t, err)
	require.JSONEq(t, string(want), shell(f.Curl("http://h")))
	command := shell(f.Command())
	for _, arg := range []string{`<launch><w@1.0.0><-i><a=yes>`, `<-i><n="12">`, `<-i><m="@file">`, "<-i><e=two\nlines\n>", `<-i><d=it's "5" # $HOME>`, "<--name><it's><--priority><HIGH><--tag><it's><--tag><b c><--note><first\nsecond>", `<--cache><refresh><--ttl-failure><1d>`} {
		require.Contains(t, command, arg)
	}
}

func TestProblemsHaveLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]launchfile.Problem{
		"":                                 {Message: "The document is empty."},
		"- a":                              {Line: 1, Message: "Enter a mapping with the keys workflow and inputs."},
		"workflow: w\ninputs:\n  a: [1":    {Line: 3},
		"workflow: w\ninputs:\n - 1":       {Path: "inputs", Line: 2, Message: "Enter a mapping of names to values."},
		"workflow: w\n\ncache:\n  mod: on": {Path: "cache.mod", Line: 4},
		"workflow: w\nttl:\n  later: 1d":   {Path: "ttl.later", Line: 3},
		"kind: Workflow\nworkflow: w":      {Path: "kind", Line: 1, Message: "The kind of a launch file is Execution."},
		"inputs: {}":                       {Path: "workflow", Message: "The file needs the key workflow."},
		"workflow: w\ntags: [a, {b: c}]":   {Path: "tags.1", Line: 2, Message: "Enter text."},
		"workflow: w\nname: [a]":           {Path: "name", Line: 2, Message: "Enter text."},
	} {
		_, _, problems := launchfile.Parse(text)
		require.Len(t, problems, 1, text)
		require.Equal(t, want.Path, problems[0].Path, text)
		require.Equal(t, want.Line, problems[0].Line, text)
		if want.Message != "" {
			require.Equal(t, want.Message, problems[0].Message)
		}
	}
	_, lines, _ := launchfile.Parse("workflow: w\ninputs:\n  layers:\n    - width: 1\n    - width: 2\n      act: relu\n")
	require.Equal(t, 6, lines.Of("inputs.layers.1.act"))
	require.Equal(t, 5, lines.Of("inputs.layers.1.missing"))
	require.Equal(t, 0, lines.Of("nothing"))
}

func TestSetVersion(t *testing.T) {
	t.Parallel()
	require.Equal(t, "workflow: w # mine\nversion: 2.0.0 # the best\n", launchfile.SetVersion("workflow: w # mine\nversion: 1.0.0 # the best\n", "2.0.0"))
	require.Equal(t, "workflow: w\n", launchfile.SetVersion("workflow: w\n", "2.0.0"))
	require.Equal(t, "version: [", launchfile.SetVersion("version: [", "2.0.0"))
}

func FuzzParse(f *testing.F) {
	f.Add("kind: Execution\nworkflow: w\ninputs: {a: 1}\n")
	f.Add("? [a]: b")
	f.Fuzz(func(t *testing.T, text string) {
		file, _, problems := launchfile.Parse(text)
		if len(problems) > 0 {
			return
		}
		again, _, problems := launchfile.Parse(file.YAML())
		require.Empty(t, problems)
		a, errA := file.Request()
		b, errB := again.Request()
		require.NoError(t, errA)
		require.NoError(t, errB)
		require.JSONEq(t, string(a), string(b))
	})
}
