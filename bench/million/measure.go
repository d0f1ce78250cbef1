package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/bench/processor"
	"github.com/flowforge/flowforge/bench/site"
)

// request is a page or a call of the API that is measured.
type request struct{ name, path string }

func requests() []request {
	list := func(parameters ...string) string {
		q := url.Values{}
		for pair := range slices.Chunk(parameters, 2) {
			q.Set(pair[0], pair[1])
		}
		return "?" + q.Encode()
	}
	const values = "inputs.lr > 0.01 and metrics.accuracy >= 0.9"
	return []request{
		{"Home", "/"},
		{"executions, newest first", "/executions"},
		{"executions of a state and a workflow", "/executions?state=FAILED&workflow=train-1"},
		{"executions by a text of their name", "/executions?q=ablation+4711"},
		{"executions by a text that none has", "/executions?q=nothing-is-called-so"},
		{"table: two values, sorted by a metric", "/executions" + list("where", values, "sort", "-metrics.accuracy")},
		{"table: a text", "/executions" + list("where", `error ~ "CUDA"`)},
		{"table: a word", "/executions" + list("where", "ablation")},
		{"table: a tag", "/executions" + list("where", "tag:baseline")},
		{"table: a dataset and a time", "/executions" + list("where", "dataset = dataset-7 since:30d")},
		{"table: nothing filtered, sorted by a metric", "/executions" + list("sort", "-metrics.accuracy")},
		{"table: grouped by an input", "/executions" + list("where", values, "group", "inputs.optimizer")},
		{"facets of a table", "/executions/facets" + list("where", values, "sort", "-metrics.accuracy", "facets", "1")},
		{"table: a text in logs", "/executions" + list("where", `log ~ "out of memory"`)},
		{"suggestions for a name", "/executions/complete?before=met"},
		{"suggestions for a value", "/executions/complete?before=dataset+%3D+"},
		{"workflow", "/workflows/train-1"},
		{"workflow: grid of executions and nodes", "/workflows/train-1/grid"},
		{"workflows", "/workflows"},
		{"palette", "/search?q=train"},
		{"palette: a text that nothing has", "/search?q=zebra"},
		{"API: executions", "/api/v1/executions?limit=50"},
		{"API: two values, sorted by a metric", "/api/v1/executions" + list("where", values, "sort", "-metrics.accuracy", "columns", "inputs.lr,metrics.accuracy,metrics.loss.min", "limit", "50")},
		{"API: groups", "/api/v1/executions/groups" + list("where", values, "group", "inputs.optimizer", "columns", "metrics.accuracy")},
	}
}

// measure prints how long requests take.
func (b *bench) measure(ctx context.Context, s *site.Server) error {
	roots, err := b.roots(ctx, s)
	if err != nil {
		return fmt.Errorf("processes: %w", err)
	}
	before := load()
	fmt.Printf("| request | p50 | p95 | processor time | size |\n|---|--:|--:|--:|--:|\n")
	for _, q := range requests() {
		began := processor.Used(roots)
		t, err := s.Measure(ctx, q.path, b.requests)
		if err != nil {
			return err
		}
		each := float64((processor.Used(roots) - began).Milliseconds()) / float64(b.requests+1)
		fmt.Printf("| %s | %.0f ms | %.0f ms | %.0f ms | %d KiB |\n", q.name, t.At(50), t.At(95), each, t.Size>>10)
	}
	fmt.Printf("\nLoad of the machine (1 minute): %s before, %s after.\n", before, load())
	return ctx.Err()
}

// load is the load average of the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
