// Command kube measures the launcher of pods on a real control plane and writes
// the results to bench/kube/RESULTS.md:
//
//	make bench-kube, or FLOWFORGE_TEST_KUBECONFIG=… go run ./bench/kube
//
// Simulated machines (kwok) end pods immediately or keep them running, so that the results show
// the cost of FlowForge and of the API server. The start overhead is measured on the real
// kubelet, and omitted if the cluster has no real machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
)

type options struct {
	pods, live, starts int
	qps                float64
	placing            time.Duration
	out, only          string
	host               string
}

func main() {
	var o options
	flag.IntVar(&o.pods, "pods", 1000, "pods of the throughput")
	flag.IntVar(&o.live, "live", 5000, "pods that are alive while memory is measured")
	flag.DurationVar(&o.placing, "placing", 10*time.Minute, "how long all of those may take to be placed; memory is measured then")
	flag.IntVar(&o.starts, "starts", 20, "pods on the real kubelet")
	flag.Float64Var(&o.qps, "qps", 200, "requests per second to the API, as FLOWFORGE_KUBE_QPS")
	flag.StringVar(&o.out, "out", "bench/kube/RESULTS.md", "where the table of results goes; - is standard output")
	flag.StringVar(&o.only, "only", "throughput,memory,start", "parts to measure")
	flag.StringVar(&o.host, "host", "10.244.0.1", "this machine's address for pods of the real kubelet")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/kube:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	kubeconfig := os.Getenv("FLOWFORGE_TEST_KUBECONFIG")
	if kubeconfig == "" {
		return errors.New("FLOWFORGE_TEST_KUBECONFIG is not set: start a cluster with `make cluster`")
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	before := load()
	var rows []string
	for _, part := range []struct {
		name    string
		measure func(context.Context, *bench, options) ([]string, error)
	}{{"throughput", throughput}, {"memory", memory}, {"start", startOverhead}} {
		if !strings.Contains(","+o.only+",", ","+part.name+",") {
			continue
		}
		b, err := newBench(ctx, kubeconfig, o, log)
		if err != nil {
			return err
		}
		more, err := part.measure(ctx, b, o)
		b.close()
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		for _, row := range more {
			fmt.Println(row)
		}
		rows = append(rows, more...)
	}
	text := report(rows, before, strings.Join(os.Args[1:], " "))
	if o.out == "-" {
		_, err := os.Stdout.WriteString(text)
		return err
	}
	return os.WriteFile(o.out, []byte(text), 0o644)
}

func report(rows []string, before, arguments string) string {
	return fmt.Sprintf("# Pods: measurements\n\n%s, %d CPUs, %s/%s, %s. Load of the machine before and after: %s; %s.\n"+
		"Command: `go run ./bench/kube %s` against a control plane (API server, etcd, scheduler, controller manager, kwok) on the same machine.\n\n"+
		"| what | figure | wanted |\n|---|---|---|\n%s\n",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(),
		before, load(), arguments, strings.Join(rows, "\n"))
}

// load returns the machine's load averages.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	fields := strings.Fields(string(data))
	return strings.Join(fields[:min(3, len(fields))], " ")
}
