// Command pages measures the response times of pages with many executions. It starts the binary
// of `make build` on a private database, launches a few executions, copies them in the table, and
// requests the pages:
//
//	go run ./bench/pages -executions 100000
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/platform/embedded/postgres"
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
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL may run as another account
		return err
	}
	database, err := postgres.Start(ctx, postgres.Config{
		Dir: filepath.Join(dir, "postgres"), BinDirs: []string{filepath.Join(".cache", "postgres", "native", "bin")}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer database.Close()
	s, err := startServer(ctx, binary, filepath.Join(dir, "data"), database.URL())
	if err != nil {
		return err
	}
	defer s.stop()
	id, err := s.launch(ctx, `{"workflow":"tour.fanout","inputs":{"seconds":0,"unlucky":false}}`)
	if err != nil {
		return err
	}
	wide, err := s.launchWide(ctx)
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
		if err := s.measure(ctx, path, requests); err != nil {
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

type server struct {
	cmd         *exec.Cmd
	base, token string
}

func startServer(ctx context.Context, binary, dir, databaseURL string) (*server, error) {
	s := &server{cmd: exec.CommandContext(ctx, binary, "serve")}
	s.cmd.Env = append(os.Environ(), "FLOWFORGE_DATA_DIR="+dir, "FLOWFORGE_ADDR=127.0.0.1:0", "FLOWFORGE_DATABASE_URL="+databaseURL)
	s.cmd.Stderr = os.Stderr
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(os.Interrupt) }
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if s.base = address.FindString(lines.Text()); s.base != "" {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			token, err := os.ReadFile(filepath.Join(dir, "admin.token"))
			s.token = strings.TrimSpace(string(token))
			return s, err
		}
	}
	return nil, errors.Join(errors.New("the server did not start"), s.cmd.Wait())
}

func (s *server) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
}

// launchWide runs a fan-out over 10,000 items.
func (s *server) launchWide(ctx context.Context) (string, error) {
	document := `{"name":"bench.wide","version":"1.0.0","operators":[{"name":"each","type":"noop","foreach":{"range":{"from":1,"to":10000}}}]}`
	if _, _, err := s.call(ctx, http.MethodPost, "/api/v1/workflows", document); err != nil {
		return "", err
	}
	return s.launch(ctx, `{"workflow":"bench.wide"}`)
}

// launch runs one execution to its end and returns its id.
func (s *server) launch(ctx context.Context, request string) (string, error) {
	body, _, err := s.call(ctx, http.MethodPost, "/api/v1/executions", request)
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
		body, _, err = s.call(ctx, http.MethodGet, "/api/v1/executions/"+e.ID, "")
	}
	return "", err
}

func (s *server) measure(ctx context.Context, path string, requests int) error {
	var took []time.Duration
	size := 0
	for i := range requests + 1 {
		body, d, err := s.call(ctx, http.MethodGet, path, "")
		if err != nil {
			return err
		}
		if i > 0 {
			took, size = append(took, d), len(body)
		}
	}
	slices.Sort(took)
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
	fmt.Printf("| `%s` | %s | %s | %s | %d KiB |\n", path, ms(took[len(took)/2]), ms(took[len(took)*95/100]), ms(took[len(took)-1]), size>>10)
	return nil
}

func (s *server) call(ctx context.Context, method, path, body string) ([]byte, time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/json")
	begin := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	took := time.Since(begin)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s", method, path, res.Status)
	}
	return b, took, err
}
