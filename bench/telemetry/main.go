// Command telemetry measures how fast log lines are accepted, stored and read with the engine
// at FLOWFORGE_TEST_CLICKHOUSE_URL, and prints a table:
//
//	go run ./cmd/testenv go run ./bench/telemetry
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/telemetry"
)

func main() {
	lines := flag.Int("lines", 1_000_000, "lines of the load")
	writers := flag.Int("writers", 4, "appends at a time")
	batch := flag.Int("batch", 500, "lines of one append")
	flag.Parse()
	if err := run(*lines, *writers, *batch); err != nil {
		fmt.Fprintln(os.Stderr, "bench/telemetry:", err)
		os.Exit(1)
	}
}

func run(lines, writers, batch int) (err error) {
	url := os.Getenv("FLOWFORGE_TEST_CLICKHOUSE_URL")
	if url == "" {
		return errors.New("FLOWFORGE_TEST_CLICKHOUSE_URL is not set: run it with cmd/testenv")
	}
	dir, err := os.MkdirTemp("", "flowforge-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := telemetry.New(telemetry.Config{ClickHouseURL: url, Database: fmt.Sprintf("bench%d", os.Getpid()), SpoolDir: dir, Now: time.Now})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(auth.AsSystem(context.Background()))
	var running sync.WaitGroup
	running.Go(func() { err = errors.Join(err, s.Run(ctx)) })
	defer func() {
		stop()
		running.Wait()
		err = errors.Join(err, s.Close())
	}()
	b := bench{s: s, execution: uuid.Must(uuid.NewV7())}
	fmt.Println("| what | figure |\n|---|---|")
	if err := b.load(ctx, lines, writers, batch); err != nil {
		return err
	}
	if err := b.reads(ctx); err != nil {
		return err
	}
	return b.tail(ctx)
}

type bench struct {
	s         *telemetry.Service
	execution uuid.UUID
}

func (b *bench) line(node int, seq int64) telemetry.LogLine {
	return telemetry.LogLine{TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, ExecutionID: b.execution, NodeIndex: node, Node: fmt.Sprintf("node%d", node),
		Attempt: 1, Stream: "stdout", Seq: seq, Time: time.Now(), Level: "INFO",
		Message: fmt.Sprintf("epoch=%d step=%d loss=%.5f lr=0.0003 throughput=1234.5 samples/s data_time=0.012s eta=0:12:33", seq/100, seq, 1/float64(seq+1))}
}

// load appends lines from several writers and waits until they are stored.
func (b *bench) load(ctx context.Context, lines, writers, batch int) error {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		first error
		waits []time.Duration
	)
	start := time.Now()
	for w := range writers {
		wg.Go(func() {
			for seq := int64(1); seq <= int64(lines/writers); seq += int64(batch) {
				some := make([]telemetry.LogLine, batch)
				for i := range some {
					some[i] = b.line(w, seq+int64(i))
				}
				began := time.Now()
				err := b.s.AppendLogs(ctx, some)
				mu.Lock()
				waits = append(waits, time.Since(began))
				first = errors.Join(first, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if first != nil {
		return first
	}
	durable := time.Since(start)
	for b.s.Status().PendingRecords > 0 {
		time.Sleep(5 * time.Millisecond)
	}
	stored := time.Since(start)
	fmt.Printf("| lines taken, durable on disk (%d writers × %d lines) | %.0f lines/s |\n", writers, batch, float64(lines)/durable.Seconds())
	fmt.Printf("| one append of %d lines, p50 / p99 | %s |\n", batch, percentiles(waits))
	fmt.Printf("| lines stored in ClickHouse | %.0f lines/s |\n", float64(lines)/stored.Seconds())
	return nil
}

// reads measures pages of the loaded execution.
func (b *bench) reads(ctx context.Context) error {
	queries := []struct {
		name string
		run  func() error
	}{
		{"last 200 lines of the execution", b.page(ctx, telemetry.LogQuery{Last: true, Limit: 200})},
		{"last 200 lines of one node", b.page(ctx, telemetry.LogQuery{Nodes: []string{"node1"}, Last: true, Limit: 200})},
		{"text search, few hits", b.page(ctx, telemetry.LogQuery{Text: "STEP=123456 ", Limit: 200})},
		{"counts by level", func() error { _, err := b.s.LogCounts(ctx, telemetry.LogQuery{ExecutionID: b.execution}); return err }},
	}
	for _, q := range queries {
		var waits []time.Duration
		for range 30 {
			start := time.Now()
			if err := q.run(); err != nil {
				return err
			}
			waits = append(waits, time.Since(start))
		}
		fmt.Printf("| %s, p50 / p99 | %s |\n", q.name, percentiles(waits))
	}
	return nil
}

func (b *bench) page(ctx context.Context, q telemetry.LogQuery) func() error {
	q.ExecutionID = b.execution
	return func() error {
		_, err := b.s.Logs(ctx, q)
		return err
	}
}

// tail measures the time from an append until a following reader receives the line.
func (b *bench) tail(ctx context.Context) error {
	const n = 1000
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b.execution = uuid.Must(uuid.NewV7())
	arrived := make(chan time.Time, n)
	failed := make(chan error, 1)
	go func() {
		for lines, err := range b.s.Tail(ctx, telemetry.LogQuery{ExecutionID: b.execution}, "") {
			if err != nil {
				failed <- err
				return
			}
			for range lines {
				arrived <- time.Now()
			}
		}
	}()
	var waits []time.Duration
	for seq := range int64(n) {
		start := time.Now()
		if err := b.s.AppendLogs(ctx, []telemetry.LogLine{b.line(0, seq+1)}); err != nil {
			return err
		}
		select {
		case at := <-arrived:
			waits = append(waits, at.Sub(start))
		case err := <-failed:
			return err
		}
	}
	fmt.Printf("| a line from its append to a tail, p50 / p99 | %s |\n", percentiles(waits))
	return nil
}

func percentiles(d []time.Duration) string {
	slices.Sort(d)
	at := func(p float64) time.Duration {
		return d[min(len(d)-1, int(p*float64(len(d))))].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("%v / %v", at(0.50), at(0.99))
}
