package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/bench/processor"
	"github.com/flowforge/flowforge/data/telemetry"
)

// runStore measures the telemetry service without a server.
func runStore(ctx context.Context, url string, lines, writers, batch int, settle time.Duration) (err error) {
	dir, err := os.MkdirTemp("", "flowforge-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := telemetry.New(telemetry.Config{ClickHouseURL: url, Database: fmt.Sprintf("bench%d", os.Getpid()), SpoolDir: dir, SpoolMaxBytes: 8 << 30, Now: time.Now})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(auth.AsSystem(ctx))
	var running sync.WaitGroup
	running.Go(func() { err = errors.Join(err, s.Run(ctx)) })
	defer func() {
		stop()
		running.Wait()
		err = errors.Join(err, s.Close())
	}()
	engine, err := processor.Listener(ctx, url)
	if err != nil {
		return err
	}
	b := bench{s: s, engine: engine, execution: uuid.Must(uuid.NewV7())}
	if err := b.load(ctx, lines, writers, batch); err != nil {
		return err
	}
	time.Sleep(settle)
	if err := b.reads(ctx, lines/writers); err != nil {
		return err
	}
	return b.tail(ctx)
}

type bench struct {
	s         *telemetry.Service
	engine    int // process of ClickHouse
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
	fmt.Printf("| one append of %d lines, p50 / p95 / p99 | %s |\n", batch, percentiles(waits))
	fmt.Printf("| lines stored in ClickHouse | %.0f lines/s |\n", float64(lines)/stored.Seconds())
	return nil
}

// scrolls is how often the reads of a log are repeated.
const scrolls = 50

// reads measures pages of the loaded execution: its end, places in the middle, and searches. Each node
// has lines with the steps 1 to longest.
func (b *bench) reads(ctx context.Context, longest int) error {
	places, err := b.places(ctx)
	if err != nil {
		return err
	}
	anywhere := func() telemetry.Cursor { return places[rand.IntN(len(places))] } //nolint:gosec // any place will do
	queries := []struct {
		name  string
		query func() telemetry.LogQuery
	}{
		{"last 200 lines of the execution", func() telemetry.LogQuery { return telemetry.LogQuery{Last: true, Limit: 200} }},
		{"last 200 lines of one node", func() telemetry.LogQuery {
			return telemetry.LogQuery{Nodes: []string{"node1"}, Last: true, Limit: 200}
		}},
		{"scroll: 1,000 lines before a line anywhere", func() telemetry.LogQuery { return telemetry.LogQuery{Before: anywhere(), Limit: 1000} }},
		{"scroll: 1,000 lines after a line anywhere", func() telemetry.LogQuery { return telemetry.LogQuery{After: anywhere(), Limit: 1000} }},
		{"text search, few hits", func() telemetry.LogQuery { // another text each time: ClickHouse remembers which parts of the log have none
			return telemetry.LogQuery{Text: fmt.Sprintf("STEP=%d ", 1+rand.IntN(longest)), Limit: 200} //nolint:gosec // any step will do
		}},
		{"text search, no hit", func() telemetry.LogQuery { return telemetry.LogQuery{Text: "out of memory", Limit: 200} }},
		{"text search, last 200 of many hits", func() telemetry.LogQuery { return telemetry.LogQuery{Text: "epoch=77", Last: true, Limit: 200} }},
		{"text search, every line is a hit", func() telemetry.LogQuery { return telemetry.LogQuery{Text: "samples/s", Last: true, Limit: 200} }},
	}
	for _, q := range queries {
		err := b.measure(q.name, func() error {
			query := q.query()
			query.ExecutionID = b.execution
			_, err := b.s.Logs(ctx, query)
			return err
		})
		if err != nil {
			return err
		}
	}
	return b.measure("counts by level", func() error {
		_, err := b.s.LogCounts(ctx, telemetry.LogQuery{ExecutionID: b.execution})
		return err
	})
}

// measure prints how long a read takes, and the processor time that it costs ClickHouse. The latter
// depends less on other programs.
func (b *bench) measure(name string, read func() error) error {
	var waits []time.Duration
	before := processor.Used([]int{b.engine})
	for range scrolls {
		start := time.Now()
		if err := read(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		waits = append(waits, time.Since(start))
	}
	used := (processor.Used([]int{b.engine}) - before) / scrolls
	fmt.Printf("| %s, p50 / p95 / p99 | %s; ClickHouse %v |\n", name, percentiles(waits), used.Round(100*time.Microsecond))
	return nil
}

// places returns cursors of lines all over the log: of every hundredth part of its time.
func (b *bench) places(ctx context.Context) ([]telemetry.Cursor, error) {
	ends := [2]telemetry.LogLine{}
	for i, last := range []bool{false, true} {
		page, err := b.s.Logs(ctx, telemetry.LogQuery{ExecutionID: b.execution, Last: last, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(page.Lines) == 0 {
			return nil, errors.New("the log is empty")
		}
		ends[i] = page.Lines[0]
	}
	var cursors []telemetry.Cursor
	length := ends[1].Time.Sub(ends[0].Time)
	for part := range 100 {
		line := ends[0]
		line.Time = line.Time.Add(time.Duration(float64(length) * float64(part) / 100))
		cursors = append(cursors, telemetry.At(line))
	}
	return cursors, nil
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
	fmt.Printf("| a line from its append to a tail, p50 / p95 / p99 | %s |\n", percentiles(waits))
	return nil
}

func percentiles(d []time.Duration) string {
	slices.Sort(d)
	at := func(p float64) time.Duration {
		return d[min(len(d)-1, int(p*float64(len(d))))].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("%v / %v / %v", at(0.50), at(0.95), at(0.99))
}
