package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/bench/record"
)

// result is what a peer did in all turns.
type result struct {
	adapter
	version  string
	measured map[string][]float64 // seconds of each turn, by workload
	errors   []string             // of workloads
	failed   string               // why it has no turns
}

// recorded returns the times of a workload.
func (r result) recorded(w workload) record.Case {
	f := r.Facts()
	return record.Case{
		Name: w.name + " " + f.Name, Unit: "s", Values: r.measured[w.name],
		Summary: fmt.Sprintf("%s with %s %s; durable: %s", strings.ReplaceAll(w.summary, "`", ""), f.Name, r.version, f.Durability),
	}
}

// problems returns the errors of a peer, each once.
func (r result) problems() []string {
	if r.failed != "" {
		return []string{r.failed}
	}
	var list []string
	for _, e := range r.errors {
		if !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	return list
}

// cases returns the records of all results. A peer without a time has a case with its error.
func cases(results []result, loads []workload) []record.Case {
	var list []record.Case
	for _, w := range loads {
		for _, r := range results {
			c := r.recorded(w)
			if len(c.Values) == 0 {
				c.Error = strings.Join(r.problems(), "; ")
			}
			list = append(list, c)
		}
	}
	return list
}

// table writes a row for each peer, with medians and ranges, and then what failed.
func table(results []result, loads []workload) string {
	var b strings.Builder
	b.WriteString("| peer | version | durable before the next step |")
	for _, w := range loads {
		fmt.Fprintf(&b, " %s |", w.name)
	}
	b.WriteString("\n|---|---|---|" + strings.Repeat("--:|", len(loads)) + "\n")
	for _, r := range results {
		f := r.Facts()
		fmt.Fprintf(&b, "| %s | %s | %s |", f.Name, orDash(r.version), f.Durability)
		for _, w := range loads {
			fmt.Fprintf(&b, " %s |", cell(r.recorded(w)))
		}
		b.WriteString("\n")
	}
	b.WriteString("\nSeconds, as the median and the range of the rounds.")
	for _, w := range loads {
		fmt.Fprintf(&b, " %s: %s.", w.name, w.summary)
	}
	b.WriteString("\n\n")
	for _, r := range results {
		for _, problem := range r.problems() {
			fmt.Fprintf(&b, "- %s failed: %s\n", r.Facts().Name, problem)
		}
	}
	for _, m := range missing() {
		fmt.Fprintf(&b, "- %s is not measured: %s.\n", m[0], m[1])
	}
	for _, line := range ahead(results, loads) {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	return b.String()
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

func cell(c record.Case) string {
	if len(c.Values) == 0 {
		return "failed"
	}
	least, most := c.Range()
	return fmt.Sprintf("%s (%s to %s)", seconds(c.Median()), seconds(least), seconds(most))
}

// seconds formats a time with three digits.
func seconds(s float64) string {
	switch {
	case s < 1:
		return fmt.Sprintf("%.3f", s)
	case s < 10:
		return fmt.Sprintf("%.2f", s)
	default:
		return fmt.Sprintf("%.1f", s)
	}
}

// ahead compares FlowForge with its goals: on shell workloads it is faster than every durable
// peer, on Python workloads than every peer that is not a library in the process.
func ahead(results []result, loads []workload) []string {
	own := slices.IndexFunc(results, func(r result) bool { return r.Facts() == flowforge{}.Facts() })
	if own < 0 {
		return nil
	}
	var lines []string
	for _, w := range loads {
		mine := results[own].recorded(w)
		if len(mine.Values) == 0 {
			continue
		}
		var faster []string
		compared := 0
		for i, r := range results {
			f, other := r.Facts(), r.recorded(w)
			if i == own || len(other.Values) == 0 || (w.shell && !f.Durable) || (!w.shell && f.InProcess) {
				continue
			}
			compared++
			if other.Median() <= mine.Median() {
				faster = append(faster, fmt.Sprintf("%s (%.2f of its time)", f.Name, other.Median()/mine.Median()))
			}
		}
		if compared == 0 {
			continue
		}
		verdict := "FlowForge is ahead"
		if len(faster) > 0 {
			verdict = "faster than FlowForge: " + strings.Join(faster, ", ")
		}
		group := "durable peers"
		if !w.shell {
			group = "peers that are not libraries in the process"
		}
		lines = append(lines, fmt.Sprintf("%s, of %s: %s.", w.name, group, verdict))
	}
	return lines
}
