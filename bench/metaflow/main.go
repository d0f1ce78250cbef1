// Command metaflow measures the metadata service with a foreach of Metaflow: it sends to a running
// server what the client sends for each task, and measures other requests and the page of the run
// in the meantime. FLOWFORGE_SERVER and FLOWFORGE_TOKEN name the server.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type client struct {
	server, token string
	http          http.Client
}

// send returns how long an answer with one of the expected statuses took.
func (c *client) send(ctx context.Context, method, path, body string) (time.Duration, error) {
	start := time.Now()
	req, err := http.NewRequestWithContext(ctx, method, c.server+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	res, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK && res.StatusCode != http.StatusConflict {
		err = fmt.Errorf("%s %s: %s: %.200s", method, path, res.Status, answer)
	}
	return time.Since(start), err
}

// task sends what the client sends for one task.
func (c *client) task(ctx context.Context, run string, i int) error {
	const fact = `{"field_name": %q, "value": %q, "type": %q, "user_name": "bench", "tags": ["attempt_id:0"]}`
	facts := func(names ...string) string {
		var all []string
		for _, n := range names {
			name, value, _ := strings.Cut(n, "=")
			all = append(all, fmt.Sprintf(fact, name, value, name))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	var artifacts []string
	for _, name := range []string{"name", "_task_ok", "_success", "_exception", "_transition", "_current_step", "_foreach_stack", "_graph_info", "numbers", "squared"} {
		artifacts = append(artifacts, fmt.Sprintf(`{"name": %q, "attempt_id": 0, "sha": "%040x", "ds_type": "local", "location": ":root:/x", "type": "metaflow.artifact", "content_type": "pickle-v4", "user_name": "bench"}`, name, i))
	}
	step := run + "/steps/each"
	task := fmt.Sprintf("%s/tasks/t-%d", step, i)
	for _, call := range [][3]string{
		{http.MethodGet, step, ""},
		{http.MethodPost, step + "/task", fmt.Sprintf(`{"task_id": "t-%d", "user_name": "bench"}`, i)},
		{http.MethodPost, task + "/metadata", facts("script-name=x", "runtime=dev", "python_version=3.11", "user=bench", "metaflow_version=2.19")},
		{http.MethodGet, step, ""}, {http.MethodGet, task, ""}, {http.MethodPost, task + "/heartbeat", "{}"},
		{http.MethodPost, task + "/metadata", facts("attempt=0", "origin-run-id=None", "ds-type=local", "ds-root=/x")},
		{http.MethodPost, task + "/metadata", facts("foreach-stack=[]", fmt.Sprintf("foreach-execution-path=each:%d", i))},
		{http.MethodPost, task + "/heartbeat", "{}"},
		{http.MethodPost, task + "/artifact", "[" + strings.Join(artifacts, ",") + "]"},
		{http.MethodPost, task + "/metadata", facts("attempt_ok=True")},
		{http.MethodPost, task + "/metadata", facts("attempt-done=0")},
	} {
		if _, err := c.send(ctx, call[0], "/metaflow"+call[1], call[2]); err != nil {
			return err
		}
	}
	return nil
}

// sampled sends a request every interval until ctx ends, and returns the median and the 95th
// percentile.
func (c *client) sampled(ctx context.Context, path string, interval time.Duration) (median, p95 time.Duration) {
	var took []time.Duration
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return percentiles(took)
		case <-tick.C:
			if d, err := c.send(ctx, http.MethodGet, path, ""); err == nil {
				took = append(took, d)
			}
		}
	}
}

func percentiles(took []time.Duration) (median, p95 time.Duration) {
	if len(took) == 0 {
		return 0, 0
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*95/100]
}

func main() {
	tasks := flag.Int("tasks", 10_000, "tasks of the foreach")
	width := flag.Int("width", 32, "concurrent tasks")
	flag.Parse()
	if err := run(context.Background(), *tasks, *width); err != nil {
		fmt.Fprintln(os.Stderr, "bench/metaflow:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, tasks, width int) error {
	c := &client{server: os.Getenv("FLOWFORGE_SERVER"), token: os.Getenv("FLOWFORGE_TOKEN")}
	c.http.Transport = &http.Transport{MaxIdleConnsPerHost: width + 4}
	id := fmt.Sprintf("bench-%d", time.Now().Unix())
	const flow = "/flows/BenchFlow"
	for _, call := range [][2]string{{flow, "{}"}, {flow + "/run", `{"run_number": "` + id + `", "user_name": "bench", "system_tags": ["user:bench", "metaflow_version:2.19.0"]}`}, {flow + "/runs/" + id + "/steps/each/step", `{"user_name": "bench"}`}} {
		if _, err := c.send(ctx, http.MethodPost, "/metaflow"+call[0], call[1]); err != nil {
			return err
		}
	}
	const other, interval = "/api/v1/executions", 100 * time.Millisecond
	page := "/executions/metaflow/BenchFlow/" + id
	quiet, stop := context.WithTimeout(ctx, 5*time.Second)
	before, before95 := c.sampled(quiet, other, interval)
	stop()
	busy, end := context.WithCancel(ctx)
	var meanwhile sync.WaitGroup
	var other50, other95, page50, page95 time.Duration
	meanwhile.Go(func() { other50, other95 = c.sampled(busy, other, interval) })
	meanwhile.Go(func() { page50, page95 = c.sampled(busy, page, 2*time.Second) })
	start := time.Now()
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var writers sync.WaitGroup
	for range width {
		writers.Go(func() {
			for i := next.Add(1); int(i) <= tasks && failed.Load() == nil; i = next.Add(1) {
				if err := c.task(ctx, flow+"/runs/"+id, int(i)); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	writers.Wait()
	took := time.Since(start)
	end()
	meanwhile.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	var pages []time.Duration
	for range 10 {
		d, err := c.send(ctx, http.MethodGet, page, "")
		if err != nil {
			return err
		}
		pages = append(pages, d)
	}
	done, done95 := percentiles(pages)
	fmt.Printf("| | measured |\n|---|--:|\n| %d tasks with 12 requests each, %d at a time | %.0f s, %.0f requests/s |\n", tasks, width, took.Seconds(), float64(tasks*12)/took.Seconds())
	fmt.Printf("| other requests before: median, p95 | %.1f ms, %.1f ms |\n| the same meanwhile | %.1f ms, %.1f ms |\n", ms(before), ms(before95), ms(other50), ms(other95))
	fmt.Printf("| page of the run meanwhile: median, p95 | %.0f ms, %.0f ms |\n| page of the run afterwards | %.0f ms, %.0f ms |\n", ms(page50), ms(page95), ms(done), ms(done95))
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
