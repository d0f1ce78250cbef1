// Command bench measures the engine on the real parts (PostgreSQL, the runner as
// a process of its own) and writes what it finds to bench/RESULTS.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	only := flag.String("only", "", "comma-separated names of the cases to run; all without it")
	out := flag.String("out", "bench/RESULTS.md", "where the table of results goes; - is standard output")
	repeat := flag.Int("repeat", 5, "runs of a case; the middle one counts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, *only, *out, *repeat)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only, out string, repeat int) error {
	url := os.Getenv("FLOWFORGE_TEST_DATABASE_URL")
	if url == "" {
		url = os.Getenv("FLOWFORGE_DATABASE_URL")
	}
	if url == "" {
		return errors.New("set FLOWFORGE_TEST_DATABASE_URL to a PostgreSQL server on which a database may be created")
	}
	dir, err := os.MkdirTemp("", "ffbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	engine, err := start(ctx, url, dir, log)
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
	return os.WriteFile(out, []byte(text), 0o644)
}
