package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/flowforge/flowforge/bench/record"
)

const (
	profileShares = 12 // entries of each list of a profile
	waitInterval  = 5 * time.Millisecond
	profileTime   = 2 * time.Second // of a case that takes less, several runs are profiled
)

// profile runs a case again, and returns where its time goes. The profile of the server's
// process goes to a file in dir, for `go tool pprof`.
func (e *engine) profile(ctx context.Context, c benchCase, dir string) (*record.Profile, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	done, waits := make(chan struct{}), make(chan map[string]float64, 1)
	go func() { waits <- e.sampleWaits(ctx, done) }()
	var data bytes.Buffer
	if err := pprof.StartCPUProfile(&data); err != nil {
		close(done)
		return nil, err
	}
	var err error
	for begin := time.Now(); err == nil && time.Since(begin) < profileTime; {
		_, err = e.once(ctx, c)
	}
	pprof.StopCPUProfile()
	close(done)
	sampled := <-waits
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, c.name+".pprof"), data.Bytes(), 0o644); err != nil {
		return nil, err
	}
	functions, err := flatTimes(&data)
	if err != nil {
		return nil, err
	}
	return &record.Profile{Functions: shares(functions), Waits: shares(sampled)}, nil
}

// sampleWaits counts what the sessions of PostgreSQL that execute a statement do, until done is
// closed. "CPU" is a session that does not wait.
func (e *engine) sampleWaits(ctx context.Context, done <-chan struct{}) map[string]float64 {
	counts := map[string]float64{}
	ticker := time.NewTicker(waitInterval)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return counts
		case <-ticker.C:
		}
		rows, err := e.admin.Query(ctx, `SELECT coalesce(wait_event_type || ': ' || wait_event, 'CPU') FROM pg_stat_activity
			WHERE state = 'active' AND pid <> pg_backend_pid() AND datname = $1`, e.database)
		if err != nil {
			return counts
		}
		var event string
		for rows.Next() {
			if rows.Scan(&event) == nil {
				counts[event]++
			}
		}
		rows.Close()
	}
}

// flatTimes returns the processor time of each function in a profile, without what it calls.
func flatTimes(data *bytes.Buffer) (map[string]float64, error) {
	p, err := profile.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("parse the profile: %w", err)
	}
	times := map[string]float64{}
	for _, s := range p.Sample {
		if len(s.Location) > 0 && len(s.Location[0].Line) > 0 {
			times[s.Location[0].Line[0].Function.Name] += float64(s.Value[len(s.Value)-1])
		}
	}
	return times, nil
}

// shares returns the largest parts of a total, largest first.
func shares(parts map[string]float64) []record.Share {
	total := 0.0
	for _, part := range parts {
		total += part
	}
	var list []record.Share
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		list = append(list, record.Share{Name: name, Part: parts[name] / total})
	}
	slices.SortStableFunc(list, func(a, b record.Share) int { return cmp.Compare(b.Part, a.Part) })
	return list[:min(len(list), profileShares)]
}
