package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/sdk"
)

// newPythonCommands returns the commands that work on a workflow in a Python file. The Python
// package does the work: only Python can read the file.
func newPythonCommands() []*cobra.Command {
	texts := [][2]string{
		{"run", "Register the workflow in a Python file, launch it and follow it: run flow.py --lr 0.1"},
		{"dev", "Register a development version of a Python file each time you save it"},
		{"deploy", "Register an immutable version of the workflow in a Python file"},
		{"export", "Write the definition of the workflow in a Python file as YAML"},
	}
	commands := make([]*cobra.Command, len(texts))
	for i, text := range texts {
		commands[i] = &cobra.Command{
			Use: text[0] + " FILE", Short: text[1],
			DisableFlagParsing: true, // the options are the inputs of the workflow
			RunE: func(cmd *cobra.Command, args []string) error {
				return runPython(cmd, append([]string{cmd.Name()}, args...))
			},
		}
	}
	return commands
}

// runPython runs the command line of the embedded Python package with the python3 on PATH.
func runPython(cmd *cobra.Command, args []string) error {
	python, err := exec.LookPath("python3")
	if err != nil {
		return errors.New("python3 was not found on PATH: install Python 3.9 or later")
	}
	folder, err := os.MkdirTemp("", "flowforge-sdk-")
	if err != nil {
		return fmt.Errorf("extract the Python package: %w", err)
	}
	defer os.RemoveAll(folder)
	source, err := fs.Sub(sdk.Python, "python")
	if err == nil {
		err = os.CopyFS(folder, source)
	}
	if err != nil {
		return fmt.Errorf("extract the Python package: %w", err)
	}
	// Ctrl-C reaches the child directly, which then ends by itself.
	child := exec.CommandContext(context.WithoutCancel(cmd.Context()), python, append([]string{"-m", "flowforge"}, args...)...)
	child.Stdin, child.Stdout, child.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	path := folder
	if own := os.Getenv("PYTHONPATH"); own != "" {
		path += string(filepath.ListSeparator) + own
	}
	child.Env = append(os.Environ(), "PYTHONPATH="+path, "PYTHONDONTWRITEBYTECODE=1")
	err = child.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &exitError{code: max(1, exit.ExitCode())} // the child printed the reason
	}
	return err
}
