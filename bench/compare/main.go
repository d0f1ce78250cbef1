// Command compare measures a comparison of the metrics of 50 executions of 100,000 points each
// with the engine at FLOWFORGE_TEST_CLICKHOUSE_URL, and prints a table:
//
//	go run ./cmd/testenv go run ./bench/compare
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/bench/processor"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/comparison"
)

func main() {
	runs := flag.Int("runs", 50, "executions")
	points := flag.Int64("points", 100_000, "points of each")
	flag.Parse()
	if err := run(*runs, *points); err != nil {
		fmt.Fprintln(os.Stderr, "bench/compare:", err)
		os.Exit(1)
	}
}

func run(runs int, points int64) (err error) {
	url := os.Getenv("FLOWFORGE_TEST_CLICKHOUSE_URL")
	if url == "" {
		return errors.New("FLOWFORGE_TEST_CLICKHOUSE_URL is not set: run it with cmd/testenv")
	}
	dir, err := os.MkdirTemp("", "flowforge-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := telemetry.New(telemetry.Config{ClickHouseURL: url, Database: fmt.Sprintf("bench%d", os.Getpid()), SpoolDir: dir, SpoolMaxBytes: 4 << 30, Now: time.Now})
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
	places, err := load(ctx, s, runs, points)
	if err != nil {
		return err
	}
	return measure(ctx, s, places)
}

// load appends a noisy falling loss for each execution and waits until all points are stored.
func load(ctx context.Context, s *telemetry.Service, runs int, points int64) ([]telemetry.Place, error) {
	var places []telemetry.Place
	begin := time.Now().Add(-time.Duration(points) * 100 * time.Millisecond)
	for r := range runs {
		p := telemetry.Place{ExecutionID: uuid.Must(uuid.NewV7()), ProjectID: auth.LocalProject}
		places = append(places, p)
		for from := int64(0); from < points; from += 5000 {
			batch := make([]telemetry.Point, 0, 5000)
			for step := from; step < min(from+5000, points); step++ {
				batch = append(batch, telemetry.Point{
					TenantID: auth.LocalTenant, ProjectID: p.ProjectID, ExecutionID: p.ExecutionID, NodeIndex: 1, Node: "train", Attempt: 1, Seq: step + 1, Name: "loss",
					Kind: telemetry.Gauge, Step: &step, Value: math.Exp(-float64(step)/20000)*float64(r+1) + 0.1*math.Sin(float64(step*7919%1000)), Time: begin.Add(time.Duration(step) * 100 * time.Millisecond),
				})
			}
			if err := s.AppendMetrics(ctx, batch); err != nil {
				return nil, err
			}
		}
	}
	for s.Status().PendingRecords > 0 {
		time.Sleep(20 * time.Millisecond)
	}
	return places, nil
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
		c.Curves = append(c.Curves, comparison.Curve{Execution: one.ExecutionID, Index: i, Points: one.Points})
	}
	f := c.Frame(1000, nil)
	*size = len(f.X) * len(f.Lines)
	_, err = json.Marshal(f.X)
	return err
}
