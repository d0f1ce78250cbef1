package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const pythonFlow = `
from flowforge import operator, workflow

@operator
def double(n: int) -> int:
    return n * 2

@workflow(name="test.double")
def flow(n: int = 2) -> int:
    return double(n)
`

func TestExportOfAPythonFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "flow.py")
	if err := os.WriteFile(file, []byte(pythonFlow), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := newRootCommand()
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"export", file})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"name: test.double", "run('flow:double')", "from: double.result"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the YAML lacks %q:\n%s", want, out.String())
		}
	}
}

func TestAPythonFileThatDoesNotExist(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	cmd := newRootCommand()
	cmd.SetErr(&stderr)
	cmd.SetArgs([]string{"deploy", "nowhere.py"})
	err := cmd.ExecuteContext(t.Context())
	exit, ok := errors.AsType[*exitError](err)
	if !ok || exit.code != 1 || exit.message != "" {
		t.Errorf("got %v, want exit code 1 without a message", err)
	}
	if want := "flowforge: the file nowhere.py does not exist\n"; stderr.String() != want {
		t.Errorf("got %q, want %q", stderr.String(), want)
	}
}

// A shim of pyenv refuses to start when the .python-version of the folder is not installed.
func TestAnInterpreterThatIsNotInstalled(t *testing.T) {
	folder := t.TempDir()
	const message = "pyenv: version `3.8.99' is not installed (set by /project/.python-version)\n"
	shim := "#!/bin/sh\ncat >&2 <<'END'\n" + message + "END\nexit 1\n"
	if err := os.WriteFile(filepath.Join(folder, "python3"), []byte(shim), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	var stderr bytes.Buffer
	cmd := newRootCommand()
	cmd.SetErr(&stderr)
	cmd.SetArgs([]string{"deploy", "flow.py"})
	err := cmd.ExecuteContext(t.Context())
	exit, ok := errors.AsType[*exitError](err)
	if !ok || exit.code != 1 || stderr.String() != message {
		t.Errorf("got %v and %q, want exit code 1 and the message of the shim", err, stderr.String())
	}
}
