package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// concurrent is the number of tasks that write lines.
const concurrent = 8

// stalled is the time without a new line after which the missing lines are lost.
const stalled = 30 * time.Second

// tasks measures the whole path of lines: from real tasks over the runner, the server and its spool
// into ClickHouse.
func (s *installation) tasks(ctx context.Context, each int) error {
	workflow, err := s.register(ctx, concurrent, each, 0)
	if err != nil {
		return err
	}
	before, err := s.usage()
	if err != nil {
		return err
	}
	id, err := s.launch(ctx, workflow)
	if err != nil {
		return err
	}
	total := concurrent * each
	if err := s.stored(ctx, id, total); err != nil {
		return err
	}
	end := time.Now()
	after, err := s.usage()
	if err != nil {
		return err
	}
	row, err := s.query(ctx, fmt.Sprintf("SELECT count(), toUnixTimestamp64Micro(min(timestamp)), toUnixTimestamp64Micro(max(timestamp)) FROM logs FINAL WHERE execution_id = '%s'", id))
	if err != nil {
		return err
	}
	if len(row) != 3 {
		return fmt.Errorf("ClickHouse returned %d numbers", len(row))
	}
	first, last := time.UnixMicro(int64(row[1])), time.UnixMicro(int64(row[2]))
	used, million := after.since(before), float64(total)/1e6
	fmt.Printf("| %d tasks, %d lines each: written by the tasks | %.0f lines/s |\n", concurrent, each, row[0]/last.Sub(first).Seconds())
	fmt.Printf("| … until all are in ClickHouse | %.0f lines/s |\n", row[0]/end.Sub(first).Seconds())
	fmt.Printf("| … lost | %d of %d |\n", total-int(row[0]), total)
	fmt.Printf("| … processor time of a million lines | server %.1f s, runner with its tasks %.1f s, ClickHouse %.1f s |\n",
		used.server.Seconds()/million, used.runner.Seconds()/million, used.clickHouse.Seconds()/million)
	return s.ended(ctx, id)
}

// stored waits until the lines are in ClickHouse, or until no further ones arrive.
func (s *installation) stored(ctx context.Context, id string, total int) error {
	count, changed := 0.0, time.Now()
	for count < float64(total) && time.Since(changed) < stalled {
		if err := rest(ctx, 200*time.Millisecond); err != nil {
			return err
		}
		row, err := s.query(ctx, fmt.Sprintf("SELECT count() FROM logs WHERE execution_id = '%s'", id))
		if err != nil {
			return err
		}
		if row[0] > count {
			count, changed = row[0], time.Now()
		}
	}
	if count == 0 {
		return errors.New("no line arrived")
	}
	return nil
}

// ended waits for the end of an execution.
func (s *installation) ended(ctx context.Context, id string) error {
	for {
		var x struct {
			Status string `json:"status"`
		}
		if err := s.call(ctx, http.MethodGet, "/api/v1/executions/"+id, "", &x); err != nil {
			return err
		}
		switch x.Status {
		case "SUCCEEDED", "CANCELLED":
			return nil
		case "FAILED":
			return fmt.Errorf("execution %s failed", id)
		}
		if err := rest(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
