// Command sweep measures the page, the live update, the data of the charts and the API of a sweep with
// many finished runs, against a running server:
//
//	go run ./bench/sweep -url http://127.0.0.1:8080 -token "$(cat .flowforge/admin.token)"
//
// The runs are nodes without a task, and their result is an output.
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
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:8080", "the server")
	token := flag.String("token", "", "of an administrator")
	runs := flag.Int("runs", 1000, "finished runs")
	requests := flag.Int("requests", 50, "requests of each address, after one that warms up")
	id := flag.String("sweep", "", "measure this sweep instead of a new one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, &client{*url, *token}, *runs, *requests, *id)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/sweep:", err)
		os.Exit(1)
	}
}

const definition = `name: bench.sweep
version: 1.0.0
inputs: [{name: lr, type: Float}, {name: width, type: Integer}, {name: optimizer, type: "Enum(adam, sgd)"}]
outputs: [{name: accuracy, type: Float, expression: "1.0 - (inputs.lr - 0.03) * (inputs.lr - 0.03)"}]
operators: [{name: train, type: noop}]
`

type client struct{ base, token string }

func run(ctx context.Context, c *client, runs, requests int, id string) error {
	if id == "" {
		var err error
		if id, err = c.fill(ctx, runs); err != nil {
			return err
		}
	}
	fmt.Printf("Sweep %s, %d requests of each address\n\n| what | p50 | p95 | highest | size |\n|---|--:|--:|--:|--:|\n", id, requests)
	for _, m := range []struct {
		name, path string
		first      bool // only until the first event
	}{
		{"page", "/sweeps/" + id, false},
		{"page by a parameter, rows 900 to 1,000", "/sweeps/" + id + "?sort=-lr&after=900", false},
		{"live update", "/sweeps/" + id + "/stream", true},
		{"data of the charts", "/sweeps/" + id + "/runs.json", false},
		{"API, 100 runs", "/api/v1/sweeps/" + id, false},
		{"API, 1,000 runs", "/api/v1/sweeps/" + id + "?limit=1000", false},
		{"list of sweeps", "/sweeps", false},
	} {
		if err := c.measure(ctx, m.name, m.path, m.first, requests); err != nil {
			return err
		}
	}
	return nil
}

// fill runs a sweep until enough runs have ended, and pauses it, so that its page stays live.
func (c *client) fill(ctx context.Context, runs int) (string, error) {
	if err := c.call(ctx, http.MethodPost, "/workflows", definition, nil); err != nil {
		return "", err
	}
	var sweep struct {
		ID     string `json:"id"`
		Counts struct {
			Succeeded int `json:"succeeded"`
			Running   int `json:"running"`
			Proposed  int `json:"proposed"`
		} `json:"counts"`
	}
	err := c.call(ctx, http.MethodPost, "/sweeps", map[string]any{
		"workflow": "bench.sweep", "name": "Bench", "method": "random", "runs": 10_000, "parallelism": 100, "objective": map[string]any{"output": "accuracy"},
		"space": []any{
			map[string]any{"path": "lr", "kind": "loguniform", "from": 0.0001, "to": 0.3}, map[string]any{"path": "width", "kind": "int", "from": 8, "to": 512},
			map[string]any{"path": "optimizer", "kind": "values", "values": []any{"adam", "sgd"}},
		},
	}, &sweep)
	if err != nil {
		return "", err
	}
	began, paused := time.Now(), false
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(time.Second):
		}
		if err := c.call(ctx, http.MethodGet, "/sweeps/"+sweep.ID+"?limit=1", nil, &sweep); err != nil {
			return "", err
		}
		if sweep.Counts.Succeeded >= runs-100 && !paused {
			if err := c.call(ctx, http.MethodPost, "/sweeps/"+sweep.ID+"/pause", nil, nil); err != nil {
				return "", err
			}
			paused = true
		}
		if paused && sweep.Counts.Running == 0 {
			fmt.Printf("%d runs in %.0f s\n", sweep.Counts.Succeeded, time.Since(began).Seconds())
			return sweep.ID, nil
		}
	}
}

func (c *client) measure(ctx context.Context, name, path string, first bool, requests int) error {
	var took []time.Duration
	size := 0
	for i := range requests + 1 {
		start := time.Now()
		n, err := c.read(ctx, path, first)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if size = n; i > 0 {
			took = append(took, time.Since(start))
		}
	}
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	fmt.Printf("| %s | %.1f ms | %.1f ms | %.1f ms | %d KB |\n", name, ms(took[len(took)/2]), ms(took[len(took)*95/100]), ms(took[len(took)-1]), size/1024)
	return nil
}

// read returns the size of a response, or of the first event of a stream.
func (c *client) read(ctx context.Context, path string, first bool) (int, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	body, err := c.open(ctx, http.MethodGet, path, nil)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	if !first {
		n, err := io.Copy(io.Discard, body)
		return int(n), err
	}
	size, data := 0, false
	for lines := bufio.NewReaderSize(body, 1<<20); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return 0, fmt.Errorf("the stream ended without an event: %w", err)
		}
		size += len(line)
		data = data || strings.HasPrefix(line, "data:")
		if data && line == "\n" {
			return size, nil
		}
	}
}

func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	body, err := c.open(ctx, method, "/api/v1"+path, in)
	if err != nil {
		return err
	}
	defer body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, body)
		return err
	}
	return json.NewDecoder(body).Decode(out)
}

func (c *client) open(ctx context.Context, method, path string, in any) (io.ReadCloser, error) {
	var body io.Reader
	kind := "application/json"
	if text, ok := in.(string); ok {
		body, kind = strings.NewReader(text), "application/yaml"
	} else if in != nil {
		body = bytes.NewReader(mustJSON(in))
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if in != nil {
		req.Header.Set("Content-Type", kind)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= 300 {
		text, err := io.ReadAll(io.LimitReader(res.Body, 2000))
		return nil, errors.Join(fmt.Errorf("%s %s: %s %s", method, path, res.Status, text), err, res.Body.Close())
	}
	return res.Body, nil
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
