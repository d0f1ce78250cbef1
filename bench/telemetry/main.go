// Command telemetry measures log lines with the engine at FLOWFORGE_TEST_CLICKHOUSE_URL, and prints
// a table:
//
//	make build && scripts/environment go run ./cmd/testenv go run ./bench/telemetry
//
// -only selects parts: store (the telemetry service alone), tasks (real tasks, from their output to
// ClickHouse), watch (the time until a line is on an open page) and watchers (many open pages). The
// last three start the server of -binary. -lines 10000000 -only store reads a large log.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the flags of the command.
type options struct {
	only     string
	binary   string
	lines    int
	writers  int
	batch    int
	settle   time.Duration
	each     int
	rate     int
	time     time.Duration
	watchers int
	spread   int
}

func main() {
	var o options
	flag.StringVar(&o.only, "only", "store,tasks,watch,watchers", "comma-separated `parts` to run")
	flag.StringVar(&o.binary, "binary", "bin/flowforge", "the server")
	flag.IntVar(&o.lines, "lines", 1_000_000, "store: lines of the load")
	flag.IntVar(&o.writers, "writers", 4, "store: appends at a time")
	flag.IntVar(&o.batch, "batch", 500, "store: lines of one append")
	flag.DurationVar(&o.settle, "settle", 0, "store: time between the load and the reads, in which ClickHouse merges the lines")
	flag.IntVar(&o.each, "each", 250_000, "tasks: lines of each of the 8 tasks")
	flag.IntVar(&o.rate, "rate", 20_000, "watch: lines per second")
	flag.DurationVar(&o.time, "time", 20*time.Second, "watch, watchers: time of each measurement")
	flag.IntVar(&o.watchers, "watchers", 1000, "watchers: open pages of one execution")
	flag.IntVar(&o.spread, "spread", 200, "watchers: executions with one open page each")
	write := flag.String("write", "", "write lines as a task does: `lines/rate`, for the command itself")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := start(ctx, o, *write)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/telemetry:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, o options, write string) error {
	if write != "" {
		var lines, rate int
		if _, err := fmt.Sscanf(write, "%d/%d", &lines, &rate); err != nil {
			return fmt.Errorf("-write %s: %w", write, err)
		}
		return writeLines(os.Stdout, lines, rate, time.Now, time.Sleep)
	}
	parts := strings.Split(o.only, ",")
	known := []string{"store", "tasks", "watch", "watchers"}
	for _, part := range parts {
		if !slices.Contains(known, part) {
			return fmt.Errorf("-only %s: the parts are %s", part, strings.Join(known, ", "))
		}
	}
	url := os.Getenv("FLOWFORGE_TEST_CLICKHOUSE_URL")
	if url == "" {
		return errors.New("FLOWFORGE_TEST_CLICKHOUSE_URL is not set: run it with cmd/testenv")
	}
	fmt.Println("| what | figure |\n|---|---|")
	if slices.Contains(parts, "store") {
		if err := runStore(ctx, url, o.lines, o.writers, o.batch, o.settle); err != nil {
			return err
		}
	}
	if len(parts) == 1 && parts[0] == "store" {
		return nil
	}
	return runServer(ctx, url, o, parts)
}

// runServer measures the parts that need a server.
func runServer(ctx context.Context, clickHouse string, o options, parts []string) (err error) {
	dir, err := os.MkdirTemp("", "flowforge-lines-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.binary, err = filepath.Abs(o.binary); err != nil {
		return err
	}
	s, err := newInstallation(ctx, o.binary, dir, clickHouse)
	if err != nil {
		return err
	}
	defer s.stop()
	for _, part := range []struct {
		name string
		run  func() error
	}{
		{"tasks", func() error { return s.tasks(ctx, o.each) }},
		{"watch", func() error { return s.watch(ctx, o.rate, o.time) }},
		{"watchers", func() error { return s.watchers(ctx, o) }},
	} {
		if !slices.Contains(parts, part.name) {
			continue
		}
		if err := part.run(); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}
