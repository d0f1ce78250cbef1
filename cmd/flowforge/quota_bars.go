package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// barWidth is the width of a bar in characters.
const barWidth = 20

// amountFactors maps the unit suffixes of an amount to stored units.
func amountFactors(resource string) map[string]float64 {
	switch resource {
	case "cpu":
		return map[string]float64{"": 1000, "m": 1, "cores": 1000}
	case "memory", "storage":
		return map[string]float64{"": 1 << 10, "mi": 1, "mib": 1, "gi": 1 << 10, "gib": 1 << 10, "ti": 1 << 20, "tib": 1 << 20}
	}
	return map[string]float64{"": 1}
}

func unitOf(resource string) string {
	switch resource {
	case "cpu":
		return "cores"
	case "memory", "storage":
		return "GiB"
	}
	return ""
}

// setAmount reads RESOURCE=AMOUNT into to; "none" removes the resource.
func setAmount(to map[string]int64, text string) error {
	resource, value, ok := strings.Cut(text, "=")
	resource, value = strings.TrimSpace(resource), strings.TrimSpace(value)
	if !ok || resource == "" {
		return fmt.Errorf("%q is not RESOURCE=AMOUNT, such as gpu:A100=4", text)
	}
	if value == "none" {
		delete(to, resource)
		return nil
	}
	number := strings.TrimRight(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	factor, known := amountFactors(resource)[strings.ToLower(strings.TrimSpace(value[len(number):]))]
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !known || n < 0 || n*factor > 1e12 || math.Trunc(n*factor) != n*factor {
		return fmt.Errorf("%q is not a valid amount of %s", value, resource)
	}
	to[resource] = int64(n * factor)
	return nil
}

// amountText formats an amount as people type it, without its unit.
func amountText(resource string, n int64) string {
	return strconv.FormatFloat(math.Round(float64(n)/amountFactors(resource)[""]*100)/100, 'f', -1, 64)
}

// compareResources sorts the total of GPUs first, then GPU types, CPU and the rest.
func compareResources(a, b string) int {
	rank := func(r string) int {
		if strings.HasPrefix(r, "gpu:") {
			return 1
		}
		return map[string]int{"gpu": 0, "cpu": 2, "memory": 3, "pods": 4, "executions": 5, "storage": 6}[r]
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}

// shownResources returns the chosen resources. Without a choice, it returns the GPU types, or
// the total of GPUs, or CPU and memory.
func shownResources(nodes []quotaNode, chosen []string) []string {
	if len(chosen) > 0 {
		return chosen
	}
	all := quotaResources(nodes)
	typed := slices.DeleteFunc(slices.Clone(all), func(r string) bool { return !strings.HasPrefix(r, "gpu:") })
	switch {
	case len(typed) > 0:
		return typed
	case slices.Contains(all, "gpu"):
		return []string{"gpu"}
	}
	return []string{"cpu", "memory"}
}

// printQuotaTree prints the tree with a bar per resource; the bars of a resource
// share one scale.
func printQuotaTree(w io.Writer, nodes []quotaNode, chosen []string) error {
	if len(nodes) == 0 {
		_, err := fmt.Fprintln(w, "You cannot view any node of the tree.")
		return err
	}
	resources := shownResources(nodes, chosen)
	rows := [][]string{{"NODE"}}
	for _, r := range resources {
		rows[0] = append(rows[0], strings.TrimSpace(strings.ToUpper(strings.TrimPrefix(r, "gpu:"))+" "+unitOf(r)), "")
	}
	rows[0] = append(rows[0], "WAITING")
	depth := func(n quotaNode) int { return strings.Count(n.Path, "/") }
	top := depth(nodes[0])
	if nodes[0].Kind == "installation" { // paths omit the installation
		top--
	}
	for _, n := range nodes {
		indent := strings.Repeat("  ", max(depth(n)-top, 0))
		if n.Kind == "installation" {
			indent = ""
		}
		row := []string{indent + n.Name + " (" + n.Kind + ")"}
		for _, r := range resources {
			row = append(row, quotaBar(n, r, quotaScale(nodes, r)), quotaText(n, r))
		}
		rows = append(rows, append(row, strconv.Itoa(n.Waiting)))
	}
	return printColumns(w, rows)
}

// quotaScale is the width of the bars of a resource.
func quotaScale(nodes []quotaNode, r string) int64 {
	scale := int64(1)
	for _, n := range nodes {
		use := n.Use[r]
		scale = max(scale, use.Used, n.Limit[r])
		if use.Most != nil {
			scale = max(scale, *use.Most)
		}
	}
	return scale
}

// quotaBar draws the guaranteed usage, the borrowed, lent and free amounts, up to the maximum
// of the node.
func quotaBar(n quotaNode, r string, scale int64) string {
	use := n.Use[r]
	most := scale
	if use.Most != nil {
		most = max(*use.Most, use.Used)
	}
	at := func(v int64) int { return int(math.Round(float64(v) * barWidth / float64(scale))) }
	bar := []rune(strings.Repeat("·", at(most)) + strings.Repeat(" ", max(barWidth-at(most), 0)))
	fill := func(from, to int64, c rune) {
		end := at(to)
		if to > from && end == at(from) {
			end++
		}
		for i := at(from); i < min(end, len(bar)); i++ {
			bar[i] = c
		}
	}
	fill(n.Limit[r]-use.Lent, n.Limit[r], '░')
	fill(0, use.Used-use.Borrowed, '█')
	fill(use.Used-use.Borrowed, use.Used, '▒')
	return "[" + string(bar) + "]"
}

func quotaText(n quotaNode, r string) string {
	use := n.Use[r]
	text := amountText(r, use.Used)
	if limit, ok := n.Limit[r]; ok {
		text += " of " + amountText(r, limit)
	}
	if use.Borrowed > 0 {
		text += ", +" + amountText(r, use.Borrowed)
	}
	if use.Lent > 0 {
		text += ", " + amountText(r, use.Lent) + " lent"
	}
	return text
}

// printColumns aligns rows by characters, not by bytes.
func printColumns(w io.Writer, rows [][]string) error {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}
