// Command bench measures the engine with its real parts (PostgreSQL, the runner as a separate
// process). It writes the table of bench/RESULTS.md, a record and a profile of the run, and a page
// with the history of the records, and compares the run with the record before it.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/flowforge/flowforge/bench/record"
	"github.com/flowforge/flowforge/platform/embedded/postgres"
)

// options are the flags of the command.
type options struct {
	only     string
	out      string
	records  string
	profiles string
	program  string
	rounds   int
}

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "comma-separated `names` of the cases to run; all by default")
	flag.StringVar(&o.out, "out", "bench/RESULTS.md", "`file` of the table of results; - is standard output")
	flag.StringVar(&o.records, "records", "bench/records/engine", "`folder` of the records of runs; a page with their history is written next to it")
	flag.StringVar(&o.profiles, "profiles", ".cache/bench", "`folder` of the CPU profiles, for go tool pprof")
	flag.StringVar(&o.program, "program", "", "the flowforge `program` whose runner starts the processes; built by default")
	flag.IntVar(&o.rounds, "rounds", 5, "runs of each case; the table contains their medians")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// selected returns the cases that -only names, in their order.
func selected(only string) ([]benchCase, error) {
	all := cases()
	if only == "" {
		return all, nil
	}
	names := strings.Split(only, ",")
	for _, name := range names {
		if !slices.ContainsFunc(all, func(c benchCase) bool { return c.name == name }) {
			return nil, fmt.Errorf("there is no case %q", name)
		}
	}
	return slices.DeleteFunc(all, func(c benchCase) bool { return !slices.Contains(names, c.name) }), nil
}

func run(ctx context.Context, o options) error {
	list, err := selected(o.only)
	if err != nil {
		return err
	}
	if o.rounds < 1 {
		return fmt.Errorf("-rounds %d: at least one round is needed", o.rounds)
	}
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
	this := record.Run{
		Benchmark: "engine", Command: strings.Join(append([]string{"go run ./bench"}, os.Args[1:]...), " "),
		At: time.Now().UTC().Truncate(time.Second), Commit: record.Commit(ctx), Machine: record.ThisMachine(), LoadFrom: record.Load(),
	}
	engine, err := start(ctx, url, dir, o.program, log)
	if err != nil {
		return err
	}
	defer engine.close()
	all, spawns, err := engine.measureAll(ctx, list, o.rounds)
	if err != nil {
		return err
	}
	this.LoadTo = record.Load()
	for i := range all {
		if all[i].profile, err = engine.profile(ctx, all[i].c, o.profiles); err != nil {
			return fmt.Errorf("profile of %s: %w", all[i].c.name, err)
		}
	}
	this.Cases = caseRecords(all, spawns)
	if err := writeReport(o.out, report(all, this)); err != nil {
		return err
	}
	return record.Keep(os.Stdout, o.records, this)
}

// writeReport replaces the section of the engine in the results file.
func writeReport(path, text string) error {
	if path == "-" {
		_, err := os.Stdout.WriteString(text)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text+others(path)), 0o644)
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
