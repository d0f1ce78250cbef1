// Command compare measures a comparison of the metrics of 50 executions of 100,000 points each
// with the engine at FLOWFORGE_TEST_CLICKHOUSE_URL, and prints a table:
//
//	go run ./cmd/testenv go run ./bench/compare
//
// With a server, it measures in a browser how long a page takes to draw the curves:
//
//	go build -o bin/flowforge ./cmd/flowforge
//	scripts/environment go run ./cmd/testenv go run ./bench/compare -binary bin/flowforge
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/bench/processor"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/comparison"
	"github.com/flowforge/flowforge/engine/execution/query"
)

type options struct {
	runs   int
	points int64
	binary string
	visits int
}

func main() {
	var o options
	flag.IntVar(&o.runs, "runs", 50, "executions")
	flag.Int64Var(&o.points, "points", 100_000, "points of each")
	flag.StringVar(&o.binary, "binary", "", "a server: measure the pages of this one in a browser, not the queries alone")
	flag.IntVar(&o.visits, "visits", 9, "visits of each page, after one that warms up")
	flag.Parse()
	do := run
	if o.binary != "" {
		do = browse
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := do(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	engine := os.Getenv("FLOWFORGE_TEST_CLICKHOUSE_URL")
	if engine == "" {
		return errors.New("FLOWFORGE_TEST_CLICKHOUSE_URL is not set: run it with cmd/testenv")
	}
	dir, err := os.MkdirTemp("", "flowforge-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	places := make([]telemetry.Place, o.runs)
	for i := range places {
		places[i] = telemetry.Place{ExecutionID: uuid.Must(uuid.NewV7()), ProjectID: auth.LocalProject}
	}
	config := telemetry.Config{ClickHouseURL: engine, Database: fmt.Sprintf("bench%d", os.Getpid()), SpoolDir: dir, SpoolMaxBytes: 4 << 30, Now: time.Now}
	return withTelemetry(ctx, config, func(ctx context.Context, s *telemetry.Service) error {
		if err := load(ctx, s, places, 1, o.points); err != nil {
			return err
		}
		return measure(ctx, s, places)
	})
}

// withTelemetry runs a function with a service that moves points to ClickHouse.
func withTelemetry(ctx context.Context, config telemetry.Config, f func(context.Context, *telemetry.Service) error) (err error) {
	s, err := telemetry.New(config)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(auth.AsSystem(ctx))
	var running sync.WaitGroup
	var moved error
	running.Go(func() { moved = s.Run(ctx) })
	defer func() {
		stop()
		running.Wait()
		err = errors.Join(err, moved, s.Close())
	}()
	return f(ctx, s)
}

// load appends a noisy falling loss to a node of each execution and waits until all points are stored.
func load(ctx context.Context, s *telemetry.Service, places []telemetry.Place, node int, points int64) error {
	begin := time.Now().Add(-time.Duration(points) * 100 * time.Millisecond)
	for r, p := range places {
		for from := int64(0); from < points; from += 5000 {
			batch := make([]telemetry.Point, 0, 5000)
			for step := from; step < min(from+5000, points); step++ {
				batch = append(batch, telemetry.Point{
					TenantID: auth.LocalTenant, ProjectID: p.ProjectID, ExecutionID: p.ExecutionID, NodeIndex: node, Node: "train", Attempt: 1, Seq: step + 1, Name: "loss",
					Kind: telemetry.Gauge, Step: &step, Value: math.Exp(-float64(step)/20000)*float64(r+1) + 0.1*math.Sin(float64(step*7919%1000)), Time: begin.Add(time.Duration(step) * 100 * time.Millisecond),
				})
			}
			if err := s.AppendMetrics(ctx, batch); err != nil {
				return err
			}
		}
	}
	for s.Status().PendingRecords > 0 {
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

// requests of each kind are measured.
const requests = 9

func measure(ctx context.Context, s *telemetry.Service, places []telemetry.Place) error {
	engine, err := processor.Listener(ctx, os.Getenv("FLOWFORGE_TEST_CLICKHOUSE_URL"))
	if err != nil {
		return err
	}
	fmt.Println("| what | median | highest | processor time of ClickHouse |\n|---|--:|--:|--:|")
	refs := make([]telemetry.SeriesRef, len(places))
	for i, p := range places {
		refs[i] = telemetry.SeriesRef{ExecutionID: p.ExecutionID, NodeIndex: 1, Attempt: 1}
	}
	size := 0
	for _, m := range []struct {
		name string
		f    func() error
	}{
		{"last, lowest and highest values", func() error { _, err := s.Totals(ctx, telemetry.TotalsQuery{Places: places, Limit: 200}); return err }},
		{"curves, 1,000 points each", func() error { return curves(ctx, s, places, refs, telemetry.AxisStep, &size) }},
		{"curves over relative time", func() error { return curves(ctx, s, places, refs, telemetry.AxisRelative, &size) }},
	} {
		var took []time.Duration
		before := processor.Used([]int{engine})
		for range requests {
			start := time.Now()
			if err := m.f(); err != nil {
				return err
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		used := (processor.Used([]int{engine}) - before) / requests
		fmt.Printf("| %s | %d ms | %d ms | %d ms |\n", m.name, took[len(took)/2].Milliseconds(), took[len(took)-1].Milliseconds(), used.Milliseconds())
	}
	fmt.Printf("\nValues in a chart: %d.\n", size)
	return nil
}

// curves reads curves and lays them on one axis, as the page does.
func curves(ctx context.Context, s *telemetry.Service, places []telemetry.Place, refs []telemetry.SeriesRef, axis telemetry.Axis, size *int) error {
	read, _, err := s.Curves(ctx, telemetry.CurveQuery{Places: places, Origins: make([]time.Time, len(places)), Name: "loss", Axis: axis, Buckets: 500, Series: refs})
	if err != nil {
		return err
	}
	c := comparison.Curves{}
	for i, one := range read {
		c.Executions = append(c.Executions, query.Execution{ID: one.ExecutionID})
		c.Curves = append(c.Curves, comparison.Curve{Execution: one.ExecutionID, Index: i, Points: one.Points})
	}
	f := c.Frame(1000, nil)
	*size = len(f.X) * len(f.Lines)
	_, err = json.Marshal(f.X)
	return err
}
