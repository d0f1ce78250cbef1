package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// result is the median of several runs of a case.
type result struct {
	c     benchCase
	total time.Duration // from the call of Launch to the durable end
	first time.Duration // from the call of Launch to its answer
	wal   int64         // bytes that PostgreSQL wrote ahead in the meantime
}

func (r result) perNode() time.Duration { return r.total / time.Duration(r.c.nodes) }

func (r result) rate() float64 { return float64(r.c.nodes) / r.total.Seconds() }

func (r result) walPerNode() int64 { return r.wal / int64(r.c.nodes) }

// String returns one line for the terminal.
func (r result) String() string {
	return fmt.Sprintf("%-10s %10s  launch %9s  %9s/node  %8.0f nodes/s  %6d B/node", r.c.name,
		r.total.Round(100*time.Microsecond), r.first.Round(100*time.Microsecond), r.perNode().Round(time.Microsecond), r.rate(), r.walPerNode())
}

// measure runs a case several times after a warm-up run.
func (e *engine) measure(ctx context.Context, c benchCase, repeat int) (result, error) {
	v, _, err := e.workflows.Register(e.ctx, []byte(c.document))
	if err != nil {
		return result{}, err
	}
	if c.nodes > 2000 {
		repeat = min(repeat, 3)
	}
	var runs []result
	for i := range repeat + 1 {
		r, err := e.once(ctx, c, v.Name)
		if err != nil {
			return result{}, err
		}
		if i > 0 {
			runs = append(runs, r)
		}
	}
	slices.SortFunc(runs, func(a, b result) int { return int(a.total - b.total) })
	return runs[len(runs)/2], nil
}

func (e *engine) once(ctx context.Context, c benchCase, name string) (result, error) {
	from, err := e.written()
	if err != nil {
		return result{}, err
	}
	begin := time.Now()
	x, _, err := e.executions.Launches.Launch(e.ctx, execution.LaunchRequest{Workflow: name, Priority: query.Normal})
	if err != nil {
		return result{}, err
	}
	r := result{c: c, first: time.Since(begin)}
	watching, stop := context.WithCancel(e.ctx)
	defer stop()
	hints, err := e.executions.Watches.Watch(watching, x.ID)
	if err != nil {
		return r, err
	}
	for !x.Status.Ended() {
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-hints:
		}
		// Read only the status. Get also calculates estimates, which only pages need.
		if err := e.pool.QueryRow(e.ctx, "SELECT status FROM executions WHERE id = $1", x.ID).Scan(&x.Status); err != nil {
			return r, err
		}
	}
	r.total = time.Since(begin)
	to, err := e.written()
	if err != nil {
		return r, err
	}
	r.wal = to - from
	if x.Status != query.Succeeded {
		return r, fmt.Errorf("execution %s is %s", x.ID, x.Status)
	}
	return r, nil
}

// written returns the number of bytes that the server has written to its write-ahead log.
func (e *engine) written() (n int64, err error) {
	err = e.pool.QueryRow(e.ctx, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").Scan(&n)
	return n, err
}

// report writes the results file.
func report(results []result, at time.Time, load string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Engine benchmarks\n\nThis page contains the measurements of the engine. For other parts, see `bench/pages/RESULTS.md` (pages),\n`bench/kube/RESULTS.md` (pods), `bench/telemetry/RESULTS.md` (log lines) and `bench/channels/RESULTS.md` (data channels).\n\nWritten by `make bench` (`go run ./bench`) on %s: %s, %d cores, %s, %s.\nLoad of the machine at the start: %s.\n\n",
		at.UTC().Format("2006-01-02 15:04 UTC"), machine(), runtime.NumCPU(), memory(), runtime.Version(), load)
	b.WriteString("Each value is the median of several runs on a warm server, from the call of Launch to the durable end of the execution. `noop`\n" +
		"nodes end inside the drive loop. `true` nodes run `/bin/true` as child processes of the runner, which is a separate process. Every\n" +
		"state is durable (`synchronous_commit=on`, `fsync=on`) before its successor starts. The last column is the amount of write-ahead\n" +
		"log (WAL) that PostgreSQL wrote for the whole life of a node: its rows, indexes and full pages.\n\n")
	b.WriteString("| case | graph | total | Launch returns after | per node | nodes/s | bytes written per node |\n|---|---|--:|--:|--:|--:|--:|\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %.0f | %d |\n", r.c.name, r.c.summary,
			r.total.Round(100*time.Microsecond), r.first.Round(100*time.Microsecond), r.perNode().Round(time.Microsecond), r.rate(), r.walPerNode())
	}
	b.WriteString("\n" + ratios(results))
	return b.String()
}

// ratios compares the long chains with the short ones.
func ratios(results []result) string {
	byName := map[string]result{}
	for _, r := range results {
		byName[r.c.name] = r
	}
	var b strings.Builder
	for _, kind := range []string{"noop", "true"} {
		base := byName["C40-"+kind]
		for _, shape := range []string{"C400", "C10k"} {
			if long := byName[shape+"-"+kind]; base.total > 0 && long.total > 0 {
				fmt.Fprintf(&b, "Cost per node of %s over C40, %s: %.2f.\n", shape, kind, float64(long.perNode())/float64(base.perNode()))
			}
		}
	}
	return b.String()
}

// machine returns the name of the CPU.
func machine() string { return find("/proc/cpuinfo", "model name") }

func memory() string {
	fields := strings.Fields(find("/proc/meminfo", "MemTotal"))
	if len(fields) == 0 {
		return "memory unknown"
	}
	var kib int
	if _, err := fmt.Sscan(fields[0], &kib); err != nil {
		return "memory unknown"
	}
	return fmt.Sprintf("%d GiB", kib>>20)
}

// load returns the recent load averages of the machine.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(data))
	if err != nil || len(fields) < 3 {
		return "unknown"
	}
	return strings.Join(fields[:3], ", ")
}

func find(path, key string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
