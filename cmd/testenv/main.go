// Command testenv runs a command with a temporary PostgreSQL server and a temporary ClickHouse
// engine:
//
//	testenv go test ./...
//
// FLOWFORGE_TEST_DATABASE_URL (postgres:///…) and FLOWFORGE_TEST_CLICKHOUSE_URL
// (http+unix:///path/of.sock) give the command their addresses, which are the same in every run unless
// another testenv runs at the same time. Without a command, testenv
// prints the two exports and runs until it is interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/embedded/clickhouse"
	"github.com/flowforge/flowforge/platform/embedded/postgres"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == clickhouse.EngineCommand {
		exit(clickhouse.RunEngine(ctx, os.Args[2:]))
		return
	}
	exit(run(ctx, os.Args[1:]))
}

// exit ends with the exit status of the command if the command failed.
func exit(err error) {
	if err == nil {
		return
	}
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		if status := failed.ExitCode(); status > 0 {
			os.Exit(status)
		}
	}
	fmt.Fprintln(os.Stderr, "testenv:", err)
	os.Exit(1)
}

func run(ctx context.Context, command []string) (err error) {
	dir, err := openFolder(ctx, os.TempDir())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.remove()) }()
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))

	database, err := postgres.Start(ctx, postgres.Config{
		Dir: dir.postgres(), BinDirs: binDirs(), Logger: logger,
		// The data need not survive a crash.
		Settings: map[string]string{"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "500"},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	spread(filepath.Join(dir.postgres(), "data", "base"), logger)

	engine, err := startEngine(ctx, dir.clickhouse(), logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()

	variables := []string{
		"FLOWFORGE_TEST_DATABASE_URL=" + database.URL(),
		"FLOWFORGE_TEST_CLICKHOUSE_URL=" + engine.URL(),
	}
	if len(command) == 0 {
		for _, v := range variables {
			fmt.Printf("export '%s'\n", v)
		}
		<-ctx.Done()
		return nil
	}
	return runCommand(ctx, command, variables)
}

func startEngine(ctx context.Context, dir string, logger *slog.Logger) (*clickhouse.Engine, error) {
	library, err := clickhouse.FindLibrary(os.Getenv("FLOWFORGE_CHDB_LIB"), filepath.Join(cacheDir(), "chdb"))
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return clickhouse.Start(ctx, clickhouse.Config{Dir: dir, Library: library, Executable: self, Logger: logger})
}

// runCommand gives the command our terminal and forwards signals to its process group, so that
// the programs that go test started end as well.
func runCommand(ctx context.Context, command, variables []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), variables...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	err := cmd.Run()
	if ctx.Err() != nil {
		return apperr.New(apperr.Unavailable, "interrupted")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", command[0], err)
	}
	return nil
}

// cacheDir is the folder where the scripts install programs.
func cacheDir() string {
	if dir := os.Getenv("FLOWFORGE_CACHE_DIR"); dir != "" {
		return dir
	}
	return ".cache"
}

func binDirs() []string { return []string{filepath.Join(cacheDir(), "postgres", "native", "bin")} }
