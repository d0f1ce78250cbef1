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

	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/web/contract"
)

// barWidth is the width of a bar in characters.
const barWidth = 20

func unitOf(resource fair.Resource) string {
	switch resource {
	case "cpu":
		return "cores"
	case "memory", "storage":
		return "GiB"
	}
	return ""
}

// setAmount reads RESOURCE=AMOUNT into to; "none" removes the resource.
func setAmount(to contract.QuotaAmounts, text string) error {
	name, value, ok := strings.Cut(text, "=")
	resource, value := fair.Resource(strings.TrimSpace(name)), strings.TrimSpace(value)
	if !ok || resource == "" {
		return fmt.Errorf("%q is not RESOURCE=AMOUNT, such as gpu:A100=4", text)
	}
	if value == "none" {
		delete(to, resource)
		return nil
	}
	n, ok := typedAmount(resource, value)
	if !ok {
		return fmt.Errorf("%q is not a valid amount of %s", value, resource)
	}
	to[resource] = n
	return nil
}

// typedAmount reads an amount, in the stored unit. GPUs, pods and executions are whole.
func typedAmount(resource fair.Resource, text string) (n int64, ok bool) {
	amount, ok := resource.Parse(text)
	if !ok || amount < 0 || amount > 1e12 || resource.Unit() == "" && math.Trunc(amount) != amount {
		return 0, false
	}
	return int64(math.Round(amount)), true
}

// amountText formats an amount as people type it, without its unit.
func amountText(resource fair.Resource, n int64) string {
	one, _ := resource.Parse("1")
	return strconv.FormatFloat(math.Round(float64(n)/one*100)/100, 'f', -1, 64)
}

// compareResources sorts the total of GPUs first, then GPU types, CPU and the rest.
func compareResources(a, b fair.Resource) int {
	rank := func(r fair.Resource) int {
		if strings.HasPrefix(string(r), "gpu:") {
			return 1
		}
		return map[fair.Resource]int{fair.GPU: 0, fair.CPU: 2, fair.Memory: 3, fair.Pods: 4, fair.Executions: 5, fair.Storage: 6}[r]
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}

// shownResources returns the chosen resources. Without a choice, it returns the GPU types, or
// the total of GPUs, or CPU and memory.
func shownResources(nodes []contract.QuotaBody, chosen []fair.Resource) []fair.Resource {
	if len(chosen) > 0 {
		return chosen
	}
	all := slices.DeleteFunc(quotaResources(nodes), func(r fair.Resource) bool { return !slices.ContainsFunc(nodes, hasOrUses(r)) })
	typed := slices.DeleteFunc(slices.Clone(all), func(r fair.Resource) bool { return !strings.HasPrefix(string(r), "gpu:") })
	switch {
	case len(typed) > 0:
		return typed
	case slices.Contains(all, fair.GPU):
		return []fair.Resource{fair.GPU}
	}
	return []fair.Resource{fair.CPU, fair.Memory}
}

// hasOrUses reports whether a node has or uses any of a resource, or waits for it.
func hasOrUses(r fair.Resource) func(contract.QuotaBody) bool {
	return func(n contract.QuotaBody) bool {
		use := n.Use[r]
		return n.Limit[r] > 0 || use.Used > 0 || use.Waiting > 0 || use.Most != nil && *use.Most > 0
	}
}

// printQuotaTree prints the tree with a bar per resource; the bars of a resource
// share one scale.
func printQuotaTree(w io.Writer, nodes []contract.QuotaBody, chosen []fair.Resource) error {
	if len(nodes) == 0 {
		_, err := fmt.Fprintln(w, "You cannot view any node of the tree.")
		return err
	}
	resources := shownResources(nodes, chosen)
	rows := [][]string{{"NODE"}}
	for _, r := range resources {
		rows[0] = append(rows[0], strings.TrimSpace(strings.ToUpper(strings.TrimPrefix(string(r), "gpu:"))+" "+unitOf(r)), "")
	}
	rows[0] = append(rows[0], "WAITING")
	depth := func(n contract.QuotaBody) int { return strings.Count(n.Path, "/") }
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
func quotaScale(nodes []contract.QuotaBody, r fair.Resource) int64 {
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
func quotaBar(n contract.QuotaBody, r fair.Resource, scale int64) string {
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

func quotaText(n contract.QuotaBody, r fair.Resource) string {
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
