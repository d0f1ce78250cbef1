// Command peers runs the same workloads with FlowForge and with other workflow systems, and prints
// how long each takes. It installs the others from PyPI in the cache, each in its own virtual
// environment, and starts the binary of `make build`:
//
//	make build && scripts/environment go run ./bench/peers
//
// A turn of a peer starts it on an empty folder, runs one workload without measuring it and then
// all workloads once, and stops it, so that only one peer uses the machine at a time. In every
// round, each peer has one turn.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/flowforge/flowforge/bench/record"
)

// options are the flags of the command.
type options struct {
	only      string
	workloads string
	records   string
	binary    string
	python    string
	rounds    int
	limit     time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "comma-separated `names` of the peers to run; all by default")
	flag.StringVar(&o.workloads, "workloads", "", "comma-separated `names` of the workloads to run; all by default")
	flag.StringVar(&o.records, "records", "bench/records/peers", "`folder` of the records of runs; empty keeps none")
	flag.StringVar(&o.binary, "binary", "bin/flowforge", "the server")
	flag.StringVar(&o.python, "python", "python3", "the interpreter of FlowForge and of all peers")
	flag.IntVar(&o.rounds, "rounds", 3, "turns of each peer; the table contains the medians")
	flag.DurationVar(&o.limit, "limit", 15*time.Minute, "longest time of one workload")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	peers, err := selected(o.only, peers(), func(p adapter) string { return p.Facts().Name })
	if err != nil {
		return err
	}
	loads, err := selected(o.workloads, workloads(), func(w workload) string { return w.name })
	if err != nil {
		return err
	}
	e, closeEnvironment, err := newEnvironment(ctx, o)
	if err != nil {
		return err
	}
	defer closeEnvironment()
	this := record.Run{
		Benchmark: "peers", Command: strings.Join(append([]string{"go run ./bench/peers"}, os.Args[1:]...), " "),
		At: time.Now().UTC().Truncate(time.Second), Commit: record.Commit(ctx), Machine: record.ThisMachine(),
	}
	results := installAll(ctx, e, peers)
	this.LoadFrom = record.Load()
	for round := range o.rounds {
		for i := range results {
			// Another peer is the first one in each round.
			r := &results[(i+round)%len(results)]
			if r.failed != "" {
				continue
			}
			turn(ctx, e.in(fmt.Sprintf("%s-%d", strings.ToLower(r.Facts().Name), round)), r, loads, o.limit)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	this.LoadTo = record.Load()
	this.Cases = cases(results, loads)
	fmt.Printf("%s, load %s at the start, %s at the end, %d rounds.\n\n", this.Machine, this.LoadFrom, this.LoadTo, o.rounds)
	fmt.Print(table(results, loads))
	if o.records == "" {
		return nil
	}
	return record.Keep(os.Stdout, o.records, this)
}

// selected returns the elements that a comma-separated list names, or all.
func selected[T any](list string, all []T, name func(T) string) ([]T, error) {
	if list == "" {
		return all, nil
	}
	var found []T
	for entry := range strings.SplitSeq(list, ",") {
		before := len(found)
		for _, one := range all {
			if strings.EqualFold(name(one), entry) {
				found = append(found, one)
			}
		}
		if len(found) == before {
			return nil, fmt.Errorf("%q is not in the list", entry)
		}
	}
	return found, nil
}

// installAll installs the peers. One that cannot be installed has its error in the table.
func installAll(ctx context.Context, e environment, peers []adapter) []result {
	results := make([]result, len(peers))
	for i, p := range peers {
		results[i] = result{adapter: p, measured: map[string][]float64{}}
		fmt.Fprintf(os.Stderr, "%s: installing …\n", p.Facts().Name)
		if err := p.Install(ctx, e); err != nil {
			results[i].failed = "not installed: " + firstLine(err)
			fmt.Fprintf(os.Stderr, "%s: %v\n", p.Facts().Name, err)
		}
	}
	return results
}

// turn starts a peer, measures its workloads, and stops it.
func turn(ctx context.Context, e environment, r *result, loads []workload, limit time.Duration) {
	name := r.adapter.Facts().Name
	fail := func(what string, err error) {
		r.errors = append(r.errors, what+": "+firstLine(err))
		fmt.Fprintf(os.Stderr, "%s, %s: %v\n", name, what, err)
	}
	if err := os.MkdirAll(e.folder, 0o755); err != nil {
		fail("start", err)
		return
	}
	defer os.RemoveAll(e.folder)
	session, err := r.adapter.Start(ctx, e)
	if err != nil {
		fail("start", err)
		return
	}
	defer func() {
		if err := session.Close(); err != nil {
			fail("stop", err)
		}
	}()
	r.version = session.Version()
	for i, w := range append([]workload{warmUp()}, loads...) {
		time.Sleep(pause)
		took, err := within(ctx, limit, session, w)
		if err != nil {
			fail(w.name, err)
			if ctx.Err() != nil || session.Ended() {
				return
			}
			continue
		}
		if i == 0 {
			continue
		}
		r.measured[w.name] = append(r.measured[w.name], took.Seconds())
		fmt.Fprintf(os.Stderr, "%s, %s: %.3f s\n", name, w.name, took.Seconds())
	}
}

// pause is long enough for the end of the workload before, such as its last events.
const pause = 500 * time.Millisecond

func within(ctx context.Context, limit time.Duration, s session, w workload) (time.Duration, error) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	return s.Run(ctx, w.name)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// cacheFolder is the folder of what `scripts/setup` installs.
func cacheFolder() (string, error) {
	if dir := os.Getenv("FLOWFORGE_CACHE_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	return filepath.Abs(".cache")
}
