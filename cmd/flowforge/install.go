package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/compute/runner"
)

// sdkFolder is the Python package's folder beside an installed program.
const sdkFolder = "python"

func newInstallCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "install DIR",
		Short: "Copy this program and the Python SDK into a shared folder of a pod",
		Long: "Copy this program to DIR/flowforge and the Python SDK to DIR/python, as the init\n" +
			"container of a pod does. Any user can run the installed program; install writes to DIR only.",
		Hidden: true,
		Args:   arguments("DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			return install(args[0])
		},
	}
}

// install moves each part to its final name in one step. So no process runs a partial copy,
// and a repetition after a crash is harmless.
func install(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	if err := installSDK(filepath.Join(dir, sdkFolder)); err != nil {
		return fmt.Errorf("install the SDK: %w", err)
	}
	if err := installProgram(filepath.Join(dir, "flowforge")); err != nil {
		return fmt.Errorf("install the program: %w", err)
	}
	return nil
}

func installProgram(to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	source, err := os.Open(self)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.CreateTemp(filepath.Dir(to), ".flowforge-*")
	if err != nil {
		return err
	}
	defer os.Remove(target.Name())
	_, err = io.Copy(target, source)
	if err = errors.Join(err, target.Chmod(0o755), target.Close()); err != nil {
		return err
	}
	return os.Rename(target.Name(), to)
}

func installSDK(to string) error {
	if _, err := os.Stat(to); err == nil {
		return nil // only a complete copy has this name
	}
	temp, err := os.MkdirTemp(filepath.Dir(to), ".python-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	whole := filepath.Join(temp, sdkFolder)
	if _, err := runner.UnpackSDK(whole); err != nil {
		return err
	}
	return os.Rename(whole, to)
}
