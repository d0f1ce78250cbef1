// Command bench measures the engine with its real parts (PostgreSQL, the runner as a separate
// process) and writes the results to bench/RESULTS.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/flowforge/flowforge/platform/embedded/postgres"
)

func main() {
	only := flag.String("only", "", "comma-separated names of the cases to run; all without it")
	out := flag.String("out", "bench/RESULTS.md", "where the table of results goes; - is standard output")
	repeat := flag.Int("repeat", 5, "runs of a case; the middle one counts")
	program := flag.String("program", "", "the flowforge program whose runner starts the processes; it is built without it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, *only, *out, *program, *repeat)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only, out, program string, repeat int) error {
	dir, err := os.MkdirTemp("", "ffbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	url, stopDatabase, err := database(ctx, dir, log)
	if err != nil {
		return err
	}
	defer stopDatabase()
	engine, err := start(ctx, url, dir, program, log)
	if err != nil {
		return err
	}
	defer engine.close()
	before := load()
	var results []result
	for _, c := range cases() {
		if only != "" && !strings.Contains(","+only+",", ","+c.name+",") {
			continue
		}
		r, err := engine.measure(ctx, c, repeat)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Println(r)
		results = append(results, r)
	}
	text := report(results, time.Now(), before)
	if out == "-" {
		_, err = os.Stdout.WriteString(text)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, []byte(text+others(out)), 0o644)
}

// others returns the sections of the results file that other programs write.
func others(path string) string {
	before, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	if at := strings.Index(string(before), "\n## "); at >= 0 {
		return string(before[at:])
	}
	return ""
}

// database returns the server at FLOWFORGE_DATABASE_URL, or a private one with the settings and
// the durability of the embedded server.
func database(ctx context.Context, dir string, log *slog.Logger) (url string, stop func(), err error) {
	if url := os.Getenv("FLOWFORGE_DATABASE_URL"); url != "" {
		return url, func() {}, nil
	}
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL may run as another account
		return "", nil, err
	}
	server, err := postgres.Start(ctx, postgres.Config{
		Dir: filepath.Join(dir, "postgres"), BinDirs: []string{filepath.Join(".cache", "postgres", "native", "bin")}, Logger: log,
	})
	if err != nil {
		return "", nil, err
	}
	return server.URL(), func() { _ = server.Close() }, nil
}
