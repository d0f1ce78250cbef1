// Command pages measures the response times of pages with many executions. It starts the binary
// of `make build` on a private database, launches a few executions, copies them in the table, and
// requests the pages:
//
//	go run ./bench/pages -executions 100000
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/flowforge/flowforge/bench/site"
	"github.com/flowforge/flowforge/db"
)

func main() {
	executions := flag.Int("executions", 100_000, "executions that the server holds")
	requests := flag.Int("requests", 50, "requests of each page, after one that warms up")
	binary := flag.String("binary", "bin/flowforge", "the server")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *binary, *executions, *requests)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/pages:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, binary string, executions, requests int) (err error) {
	dir, err := os.MkdirTemp("", "flowforge-pages-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	database, err := site.StartDatabase(ctx, dir, ".cache", nil)
	if err != nil {
		return err
	}
	defer database.Close()
	s, err := site.Start(ctx, binary, filepath.Join(dir, "data"), "FLOWFORGE_DATABASE_URL="+database.URL())
	if err != nil {
		return err
	}
	defer s.Stop()
	id, err := launch(ctx, s, `{"workflow":"tour.fanout","inputs":{"seconds":0,"unlucky":false}}`)
	if err != nil {
		return err
	}
	wide, err := launchWide(ctx, s)
	if err != nil {
		return err
	}
	if err := fill(ctx, database.URL(), id, executions); err != nil {
		return err
	}
	fmt.Printf("%d executions, %d requests a page\n\n| page | p50 | p95 | most | size |\n|---|--:|--:|--:|--:|\n", executions, requests)
	for _, path := range []string{
		"/", "/executions", "/executions?state=FAILED", "/executions?state=SUCCEEDED&workflow=tour.fanout", "/executions?q=nothing-is-called-so",
		"/executions/" + id, "/executions/" + wide, "/executions/" + wide + "/nodes/each", "/executions/" + wide + "/nodes/each?state=FAILED", "/executions/" + wide + "/nodes/each?q=77",
		"/executions/" + wide + "/nodes/each%5B5000%5D", "/workflows", "/workflows/tour.fanout", "/workflows/digits.train/launch", "/artifacts", "/types", "/admin/quotas", "/teams/mine", "/waiting", "/admin", "/admin/audit",
	} {
		if err := measure(ctx, s, path, requests); err != nil {
			return err
		}
	}
	return nil
}

// fill copies the execution id until there are n executions, each one second older than the
// previous one.
func fill(ctx context.Context, url, id string, n int) error {
	pool, err := db.Open(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	_, err = pool.Exec(ctx, `SELECT ensure_partitions(now() - make_interval(secs => $1), 2)`, float64(n))
	if err != nil {
		return err
	}
	_, err = pool.Exec(ctx, `
		INSERT INTO executions
		SELECT (jsonb_populate_record(e, jsonb_build_object('id',
			(lpad(to_hex((extract(epoch FROM c.at) * 1000)::bigint), 12, '0') || '7' || substr(c.noise, 1, 3) || '8' || substr(c.noise, 4, 15))::uuid,
			'created_at', c.at, 'started_at', c.at, 'finished_at', c.at + interval '3 s', 'submitted_by_name', 'person' || c.i % 50))).*
		FROM executions e,
			(SELECT i, now() - make_interval(secs => i) AS at, md5(i::text) AS noise FROM generate_series(1, $2) i) c
		WHERE e.id = $1`, id, n)
	if err != nil {
		return fmt.Errorf("copy executions: %w", err)
	}
	_, err = pool.Exec(ctx, "ANALYZE")
	return err
}

// launchWide runs a fan-out over 10,000 items.
func launchWide(ctx context.Context, s *site.Server) (string, error) {
	document := `{"name":"bench.wide","version":"1.0.0","operators":[{"name":"each","type":"noop","foreach":{"range":{"from":1,"to":10000}}}]}`
	if _, _, err := s.Call(ctx, http.MethodPost, "/api/v1/workflows", document); err != nil {
		return "", err
	}
	return launch(ctx, s, `{"workflow":"bench.wide"}`)
}

// launch runs one execution to its end and returns its id.
func launch(ctx context.Context, s *site.Server, request string) (string, error) {
	body, _, err := s.Call(ctx, http.MethodPost, "/api/v1/executions", request)
	if err != nil {
		return "", err
	}
	var e struct {
		ID     string `json:"execution_id"`
		Status string `json:"status"`
	}
	for err == nil {
		if err = json.Unmarshal(body, &e); err != nil || e.Status == "SUCCEEDED" {
			return e.ID, err
		}
		if e.Status == "FAILED" {
			return "", fmt.Errorf("the execution failed: %s", body)
		}
		time.Sleep(100 * time.Millisecond)
		body, _, err = s.Call(ctx, http.MethodGet, "/api/v1/executions/"+e.ID, "")
	}
	return "", err
}

func measure(ctx context.Context, s *site.Server, path string, requests int) error {
	t, err := s.Measure(ctx, path, requests)
	if err != nil {
		return err
	}
	fmt.Printf("| `%s` | %.1f ms | %.1f ms | %.1f ms | %d KiB |\n", path, t.At(50), t.At(95), t.At(100), t.Size>>10)
	return nil
}
