package runner

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// command is a program with its arguments.
type command struct {
	path string
	argv []string
}

// resolveCommand finds the program of a process attempt that runs in folder; it writes a
// script first.
func resolveCommand(work *flowforgev1.Process, env environ, code *slotCode, folder, python, self string) (command, error) {
	argv := work.Command
	if work.Script != "" {
		var err error
		if argv, err = scriptCommand(work, code); err != nil {
			return command{}, err
		}
	}
	if len(argv) == 0 || argv[0] == "" {
		return command{}, errors.New("the operator has no command")
	}
	for _, arg := range argv {
		if strings.Contains(arg, "\x00") {
			return command{}, errors.New("an argument of the command contains a NUL byte")
		}
	}
	name := argv[0]
	switch name {
	case "python", "python3":
		// The interpreter finds its environment through the name by which it is called.
		path, err := findPython(env, folder, python)
		return command{path: path, argv: append([]string{path}, argv[1:]...)}, err
	case "flowforge":
		if self != "" {
			return command{path: self, argv: argv}, nil
		}
	}
	path, ok := env.lookPath(name, folder)
	if !ok {
		if strings.Contains(name, "/") {
			return command{}, notFoundError(fmt.Sprintf("the command %q does not exist", name))
		}
		return command{}, notFoundError(fmt.Sprintf("the command %q was not found on PATH (%s)", name, env["PATH"]))
	}
	return command{path: path, argv: argv}, nil
}

// Exit codes that a shell uses for a command that does not exist and for one that cannot
// be executed.
const (
	exitNotFound      = 127
	exitNotExecutable = 126
)

// notFoundError reports that the command does not exist.
type notFoundError string

func (e notFoundError) Error() string { return string(e) }

// findPython returns the interpreter of the attempt's virtual environment, the configured
// one, or the first on PATH, in this order.
func findPython(env environ, dir, python string) (string, error) {
	if venv := env["VIRTUAL_ENV"]; venv != "" {
		return filepath.Join(venv, "bin", "python3"), nil
	}
	if python != "" {
		if path, ok := env.lookPath(python, dir); ok {
			return path, nil
		}
		return "", fmt.Errorf("the interpreter %q of FLOWFORGE_PYTHON does not exist", python)
	}
	for _, name := range []string{"python3", "python"} {
		if path, ok := env.lookPath(name, dir); ok {
			return path, nil
		}
	}
	return "", errors.New("python3 was not found on PATH; install it, or set FLOWFORGE_PYTHON to an interpreter")
}

// scriptCommand writes the script to a new file in dir. A script that begins with "#!" is
// executed directly.
func scriptCommand(work *flowforgev1.Process, code *slotCode) ([]string, error) {
	path, err := code.writeScript(work)
	if err != nil {
		return nil, err
	}
	switch {
	case work.Interpreter == "":
		return append(slices.Clone(work.Command), path), nil
	case strings.HasPrefix(work.Script, "#!"):
		return append([]string{path}, work.Command...), nil
	case work.Interpreter == "python":
		return append([]string{"python3", path}, work.Command...), nil
	}
	return append([]string{"/bin/sh", "-e", path}, work.Command...), nil
}

// startFailure explains in a sentence why an existing file could not be executed.
func startFailure(c command, err error) string {
	switch {
	case errors.Is(err, syscall.EACCES):
		return fmt.Sprintf("The command %q cannot be executed: it does not have execute permission.", c.path)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Sprintf("The command %q is not an executable for this machine. A script must start with a line such as \"#!/bin/sh\".", c.path)
	case errors.Is(err, syscall.ENOENT):
		return fmt.Sprintf("The command %q names an interpreter that does not exist.", c.path)
	case errors.Is(err, syscall.E2BIG):
		return "The arguments and the environment of the command are too long."
	}
	return fmt.Sprintf("The command %q could not be started: %v.", c.path, err)
}
