package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/flowforge/flowforge/bench/record"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// result is one run of a case.
type result struct {
	total time.Duration // from the call of Launch to the durable end
	first time.Duration // from the call of Launch to its answer
	wal   int64         // bytes that PostgreSQL wrote ahead in the meantime
}

// results are the runs of a case, one of each round.
type results struct {
	c       benchCase
	runs    []result
	profile *record.Profile
}

// median returns the run whose time is in the middle.
func (r results) median() result {
	sorted := slices.SortedFunc(slices.Values(r.runs), func(a, b result) int { return int(a.total - b.total) })
	return sorted[len(sorted)/2]
}

func (r results) perNode(one result) time.Duration { return one.total / time.Duration(r.c.nodes) }

// bounds returns the smallest and the largest time per node.
func (r results) bounds() (least, most time.Duration) {
	totals := make([]time.Duration, len(r.runs))
	for i, one := range r.runs {
		totals[i] = r.perNode(one)
	}
	return slices.Min(totals), slices.Max(totals)
}

// largeCase is the number of nodes from which a case is large.
const largeCase = 2000

// measureAll measures the small cases before the large ones, after which PostgreSQL vacuums and
// writes checkpoints for minutes. Large cases have at most three rounds.
func (e *engine) measureAll(ctx context.Context, list []benchCase, rounds int) ([]results, []float64, error) {
	var small, large []benchCase
	for _, c := range list {
		if c.nodes < largeCase {
			small = append(small, c)
		} else {
			large = append(large, c)
		}
	}
	all, spawns, err := e.measure(ctx, small, rounds)
	if err != nil {
		return nil, nil, err
	}
	more, _, err := e.measure(ctx, large, min(rounds, 3))
	return append(all, more...), spawns, err
}

// measure runs every case once to warm up, and then once in each round. So a program that
// disturbs the machine for a while does not disturb one case alone.
// The second result is the time of a process in each round, in microseconds.
func (e *engine) measure(ctx context.Context, list []benchCase, rounds int) (all []results, spawns []float64, err error) {
	all = make([]results, len(list))
	for i, c := range list {
		if _, _, err := e.workflows.Register(e.ctx, []byte(c.document)); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", c.name, err)
		}
		all[i].c = c
	}
	for round := range rounds + 1 {
		for i, c := range list {
			r, err := e.once(ctx, c)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", c.name, err)
			}
			if round > 0 {
				all[i].runs = append(all[i].runs, r)
				fmt.Printf("round %d of %d  %s\n", round, rounds, line(c, r))
			}
		}
		spawn, err := spawnTime()
		if err != nil {
			return nil, nil, err
		}
		if round > 0 {
			spawns = append(spawns, micros(spawn))
		}
	}
	return all, spawns, nil
}

// spawnTime returns the mean time of a fork and exec of /bin/true with the wait for its end: what
// a process costs at least on this machine.
func spawnTime() (time.Duration, error) {
	const processes = 200
	begin := time.Now()
	for range processes {
		pid, err := syscall.ForkExec("/bin/true", []string{"true"}, nil)
		if err != nil {
			return 0, fmt.Errorf("fork and exec /bin/true: %w", err)
		}
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
			return 0, fmt.Errorf("wait for /bin/true: %w", err)
		}
	}
	return time.Since(begin) / processes, nil
}

// micros returns a duration in microseconds with one decimal.
func micros(d time.Duration) float64 { return math.Round(float64(d.Nanoseconds())/100) / 10 }

// line describes a run for the terminal.
func line(c benchCase, r result) string {
	nodes := time.Duration(c.nodes)
	return fmt.Sprintf("%-18s %10s  launch %9s  %9s/node  %6d B/node", c.name,
		r.total.Round(100*time.Microsecond), r.first.Round(100*time.Microsecond), (r.total / nodes).Round(time.Microsecond), r.wal/int64(c.nodes))
}

func (e *engine) once(ctx context.Context, c benchCase) (result, error) {
	from, err := e.written()
	if err != nil {
		return result{}, err
	}
	begin := time.Now()
	x, _, err := e.executions.Launches.Launch(e.ctx, execution.LaunchRequest{Workflow: c.workflow(), Priority: query.Normal})
	if err != nil {
		return result{}, err
	}
	r := result{first: time.Since(begin)}
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

// spawnCase is the case of a record that contains the times of processes without FlowForge.
const spawnCase = "spawn"

// caseRecords returns what the record of a run contains: the time per node in each round.
func caseRecords(all []results, spawns []float64) []record.Case {
	cases := make([]record.Case, 0, len(all)+1)
	for _, r := range all {
		one := record.Case{Name: r.c.name, Summary: r.c.summary, Unit: "µs per node", Profile: r.profile}
		for _, run := range r.runs {
			one.Values = append(one.Values, micros(r.perNode(run)))
		}
		cases = append(cases, one)
	}
	return append(cases, record.Case{Name: spawnCase, Summary: "fork and exec of /bin/true, without FlowForge", Unit: "µs per process", Values: spawns})
}

// report writes the section of the results file.
func report(all []results, run record.Run) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Engine benchmarks\n\nThis page contains the measurements of the engine. For other parts, see `bench/pages/RESULTS.md`\n(pages), `bench/kube/RESULTS.md` (pods), `bench/telemetry/RESULTS.md` (log lines) and\n`bench/channels/RESULTS.md` (data channels). `bench/records/engine` has the values of each round and\na profile of each case; `make bench` draws them in `bench/records/engine.html`.\n\nWritten on %s at commit %s, on %s.\nLoad of the machine: %s at the start, %s at the end.\n\n```sh\n%s\n```\n\n",
		run.At.UTC().Format("2006-01-02 15:04 UTC"), run.Commit, run.Machine, run.LoadFrom, run.LoadTo, run.Command)
	b.WriteString("Each value is the median of several runs on a warm server, from the call of Launch to the durable\n" +
		"end of the execution; the rounds alternate between the cases. `noop` nodes end inside the drive\n" +
		"loop. `true` nodes run `/bin/true` as child processes of the runner, which is a separate process.\n" +
		"Every state is durable (`synchronous_commit=on`, `fsync=on`) before its successor starts. The last\n" +
		"column is the amount of write-ahead log (WAL) that PostgreSQL wrote for the whole life of a node:\n" +
		"its rows, indexes and full pages.\n\n")
	b.WriteString("| case | graph | total | Launch returns after | per node (range) | nodes/s | bytes written per node |\n|---|---|--:|--:|--:|--:|--:|\n")
	for _, r := range all {
		m := r.median()
		least, most := r.bounds()
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s (%s to %s) | %.0f | %d |\n", r.c.name, r.c.summary,
			m.total.Round(100*time.Microsecond), m.first.Round(100*time.Microsecond), r.perNode(m).Round(time.Microsecond),
			least.Round(time.Microsecond), most.Round(time.Microsecond), float64(r.c.nodes)/m.total.Seconds(), m.wal/int64(r.c.nodes))
	}
	spawn, _ := run.Case(spawnCase)
	b.WriteString("\n" + ratios(all, spawn.Median()))
	return b.String()
}

// ratios compares the long chains with the short ones, and the nodes that are processes with a
// process without FlowForge.
func ratios(all []results, spawn float64) string {
	perNode := map[string]time.Duration{}
	for _, r := range all {
		perNode[r.c.name] = r.perNode(r.median())
	}
	var b strings.Builder
	for _, kind := range []string{"noop", "true"} {
		base := perNode["C40-"+kind]
		for _, shape := range []string{"C400", "C10k"} {
			if long := perNode[shape+"-"+kind]; base > 0 && long > 0 {
				fmt.Fprintf(&b, "- Cost per node of %s over C40, %s: %.2f.\n", shape, kind, float64(long)/float64(base))
			}
		}
	}
	fmt.Fprintf(&b, "- A fork and exec of `/bin/true` with the wait for its end, in the same rounds: %.0f µs (median).\n", spawn)
	for _, r := range all {
		if r.c.process && spawn > 0 {
			fmt.Fprintf(&b, "- %s, per node: %.1f of these.\n", r.c.name, micros(r.perNode(r.median()))/spawn)
		}
	}
	return b.String()
}
