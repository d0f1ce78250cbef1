// Command idle measures a server without executions: the time of its start, the processor time of its
// processes, how often they wake up, their memory, the statements that PostgreSQL executes, and the
// first search after ClickHouse has stopped (make build first).
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/bench/processor"
	"github.com/flowforge/flowforge/bench/site"
)

func main() {
	binary := flag.String("binary", "bin/flowforge", "the program")
	settle := flag.Duration("settle", 7*time.Minute, "time after the start before the measurement; ClickHouse stops after FLOWFORGE_CLICKHOUSE_IDLE")
	length := flag.Duration("time", time.Minute, "time of each measurement")
	listed := flag.Int("statements", 0, "how many of the most frequent statements to print")
	flag.Parse()
	if err := run(context.Background(), *binary, *settle, *length, *listed); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, binary string, settle, length time.Duration, listed int) error {
	dir, err := os.MkdirTemp("", "idle")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, what := range []string{"a new data directory", "data"} {
		begin := time.Now()
		server, err := site.Start(ctx, binary, dir)
		if err != nil {
			return err
		}
		fmt.Printf("start with %s: %.2f s\n", what, time.Since(begin).Seconds())
		if what != "data" {
			server.Stop()
			continue
		}
		defer server.Stop()
		time.Sleep(settle)
		if err := measure(ctx, server.PID(), dir, length, listed); err != nil {
			return err
		}
		for _, name := range []string{"first", "next"} {
			_, took, err := server.Call(ctx, http.MethodGet, "/api/v1/executions?where=inputs.epochs%3D3", "")
			if err != nil {
				return err
			}
			fmt.Printf("%s search: %.0f ms\n", name, took.Seconds()*1000)
		}
		return nil
	}
	return nil
}

// measure prints what the processes of a server use.
func measure(ctx context.Context, server int, dir string, length time.Duration, listed int) error {
	before, err := processesOf(server, dir)
	if err != nil {
		return err
	}
	time.Sleep(length)
	after, err := processesOf(server, dir)
	if err != nil {
		return err
	}
	fmt.Printf("\nin %s:\n\n| | processor time, %% of a core | wakeups/s | memory (PSS), MiB | processes |\n|---|--:|--:|--:|--:|\n", length)
	var used time.Duration
	var memory, wakeups int
	for i, g := range after {
		spent, woke := g.used-before[i].used, g.wakeups-before[i].wakeups
		used, memory, wakeups = used+spent, memory+g.memory, wakeups+woke
		fmt.Printf("| %s | %.2f | %.1f | %d | %d |\n", g.name, percent(spent, length), float64(woke)/length.Seconds(), g.memory>>10, g.processes)
	}
	fmt.Printf("| all | %.2f | %.1f | %d |  |\n", percent(used, length), float64(wakeups)/length.Seconds(), memory>>10)

	log, err := logged(ctx, dir, length)
	if err != nil {
		return err
	}
	total := 0
	for _, n := range log {
		total += n
	}
	fmt.Printf("\nstatements per second: %.1f\n", float64(total)/length.Seconds())
	order := slices.SortedFunc(maps.Keys(log), func(a, b string) int { return log[b] - log[a] })
	for _, text := range order[:min(listed, len(order))] {
		fmt.Printf("%6.2f/s %.110s\n", float64(log[text])/length.Seconds(), text)
	}
	return nil
}

func percent(used, of time.Duration) float64 { return 100 * used.Seconds() / of.Seconds() }

// group is what the processes of one program use.
type group struct {
	name      string
	used      time.Duration
	wakeups   int // voluntary context switches of the threads that run
	memory    int // KiB
	processes int
}

// processesOf returns the groups of a server: itself, its engines and its runner.
func processesOf(server int, dir string) ([]group, error) {
	roots := map[string]int{}
	own := processor.Family(server)
	for _, pid := range own {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		command := strings.ReplaceAll(string(line), "\x00", " ")
		switch {
		case strings.Contains(command, " clickhouse-engine "):
			roots["ClickHouse"] = pid
		case strings.Contains(command, "/postgres -D "):
			roots["PostgreSQL"] = pid
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "runner", "runner.pid"))
	if err != nil {
		return nil, err
	}
	if roots["runner"], err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
		return nil, err
	}
	list := []group{{name: "server", used: processor.Used([]int{server})}}
	for _, name := range []string{"PostgreSQL", "ClickHouse", "runner"} {
		if roots[name] == 0 {
			list = append(list, group{name: name})
			continue
		}
		members := processor.Family(roots[name])
		g := group{name: name, used: processor.Used([]int{roots[name]}), processes: len(members)}
		for _, pid := range members {
			g.memory += proportional(pid)
			g.wakeups += switches(pid)
		}
		if slices.Contains(own, roots[name]) {
			list[0].used -= g.used
			own = slices.DeleteFunc(own, func(pid int) bool { return slices.Contains(members, pid) })
		}
		list = append(list, g)
	}
	for _, pid := range own {
		list[0].memory += proportional(pid)
		list[0].wakeups += switches(pid)
	}
	list[0].processes = len(own)
	return list, nil
}

// switches counts how often the threads of a process have given up the processor.
func switches(pid int) (n int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(line, "voluntary_ctxt_switches:"); ok {
				more, _ := strconv.Atoi(strings.TrimSpace(value))
				n += more
			}
		}
	}
	return n
}

// proportional is the proportional set size of a process in KiB.
func proportional(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "Pss:"); ok {
			n, _ := strconv.Atoi(strings.Fields(value)[0])
			return n
		}
	}
	return 0
}
