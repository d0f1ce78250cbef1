package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/cmd/flowforge/settings"
	"github.com/flowforge/flowforge/compute/runner"
)

// garbagePercent lets the runner's small heap grow before a garbage collection, because a
// collection costs more than a short attempt.
const garbagePercent = 400

func newRunnerCommand() *cobra.Command {
	var dir, socket, build string
	command := &cobra.Command{
		Use:    "runner",
		Short:  "Supervise the tasks of a data directory (started by the server)",
		Hidden: true,
		Args:   arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" || socket == "" {
				return fmt.Errorf("--dir and --server-socket are required")
			}
			config, err := runnerConfig(dir)
			if err != nil {
				return err
			}
			config.Server, config.Version = runner.Endpoint{Socket: socket}, build
			config.MemoryDir = "/dev/shm"
			debug.SetGCPercent(garbagePercent)
			return runner.Serve(cmd.Context(), config)
		},
	}
	command.Flags().StringVar(&dir, "dir", "", "the runner's folder")
	command.Flags().StringVar(&socket, "server-socket", "", "unix socket where the server accepts reports")
	command.Flags().StringVar(&build, "build", "", "name of this build, reported to the server")
	return command
}

// runnerConfig reads the configuration of a runner from its environment.
func runnerConfig(dir string) (runner.Config, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return runner.Config{}, fmt.Errorf("runner folder: %w", err)
	}
	executable, err := os.Executable()
	if err != nil {
		return runner.Config{}, fmt.Errorf("find the flowforge binary: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	// The server has checked these settings; a pod does not have the others.
	tasks, _ := settings.Part[settings.Tasks](os.Environ())
	return runner.Config{
		Dir: dir, Host: host, PodName: os.Getenv("FLOWFORGE_POD"), Machine: cmp.Or(os.Getenv("FLOWFORGE_MACHINE"), host), Executable: executable,
		Environ: os.Environ(), Python: tasks.Python, Warm: runner.Warm{Parents: tasks.WarmParents, MemoryMiB: int64(tasks.WarmMemoryMiB)},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}, nil
}
