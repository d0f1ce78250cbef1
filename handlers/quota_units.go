package handlers

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/views/ui"
)

// quotaUnit is how people count a resource.
func quotaUnit(r fair.Resource) ui.Unit {
	switch r {
	case fair.CPU:
		return ui.Unit{Word: "CPU cores", One: "CPU core", Short: "cores", Divisor: 1000}
	case fair.Memory:
		return ui.Unit{Word: "GiB of memory", Short: "GiB", Divisor: 1024}
	case fair.Storage:
		return ui.Unit{Word: "GiB of storage", Short: "GiB", Divisor: 1024}
	case fair.GPU:
		return ui.Unit{Word: "GPUs", One: "GPU", Short: "GPUs"}
	case fair.Pods:
		return ui.Unit{Word: string(r), One: "pod"}
	case fair.Executions:
		return ui.Unit{Word: string(r), One: "execution"}
	default:
		return ui.Unit{Word: r.GPUType(), Short: r.GPUType()}
	}
}

// quotaName heads a column.
func quotaName(r fair.Resource) string {
	switch r {
	case fair.CPU:
		return "CPU"
	case fair.Memory:
		return "Memory"
	case fair.Storage:
		return "Storage"
	case fair.GPU:
		return "All GPUs"
	case fair.Pods:
		return "Pods"
	case fair.Executions:
		return "Executions"
	default:
		return r.GPUType()
	}
}

// quotaWords is an amount in a sentence: "12 A100", "1 CPU core".
func quotaWords(r fair.Resource, n int64) string {
	return quotaUnit(r).Quantity(n)
}

// asked is what a node asks for, in a few words: its GPUs, or else CPU and memory.
func asked(a fair.Amount) string {
	switch {
	case a.GPUs > 0 && a.GPUType != "":
		return strconv.Itoa(a.GPUs) + " " + a.GPUType
	case a.GPUs > 0:
		return ui.Plural(a.GPUs, "GPU", "GPUs")
	case a.Executions > 0:
		return ui.Plural(a.Executions, "execution", "executions")
	}
	return ui.CPU(a.CPUMillis) + " · " + ui.Memory(a.MemoryMiB)
}

// parseQuota reads an amount as people type it, in the unit of the form: 12, 0.5,
// "16 GiB", "512 MiB". The message says what is wrong with it.
func parseQuota(r fair.Resource, text string) (n int64, message string) {
	number, unit := strings.TrimSpace(text), ""
	if i := strings.IndexFunc(number, func(c rune) bool { return c != '.' && c != ',' && c != '-' && (c < '0' || c > '9') }); i >= 0 {
		number, unit = strings.TrimSpace(number[:i]), strings.ToLower(strings.TrimSpace(number[i:]))
	}
	v, err := parseGrouped(number)
	factor, known := quotaFactor(r, unit)
	whole := quotaUnit(r).Divisor == 0
	switch {
	case err != nil || !known:
		return 0, fmt.Sprintf("“%s” is not a %s of %s.", ui.Short(text, 40), map[bool]string{true: "whole number", false: "number"}[whole], quotaUnit(r).Word)
	case v < 0:
		return 0, "It cannot be below 0."
	case v*factor > 1e12:
		return 0, "That is more than can be counted."
	case whole && v != math.Trunc(v):
		return 0, fmt.Sprintf("%s are counted in whole numbers; %s is not one.", quotaName(r), number)
	}
	return int64(math.Round(v * factor)), ""
}

// parseGrouped reads a number with or without commas between thousands. A comma
// anywhere else is an error: in some languages it begins the decimals.
func parseGrouped(number string) (float64, error) {
	whole, _, _ := strings.Cut(number, ".")
	groups := strings.Split(whole, ",")
	for _, g := range groups[1:] {
		if len(g) != 3 {
			return 0, strconv.ErrSyntax
		}
	}
	return strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
}

// quotaFactor is what one of unit is in the stored unit of r.
func quotaFactor(r fair.Resource, unit string) (float64, bool) {
	u := quotaUnit(r)
	if unit == "" {
		return max(u.Divisor, 1), true
	}
	switch r {
	case fair.CPU:
		f, ok := map[string]float64{"core": 1000, "cores": 1000, "cpu": 1000, "m": 1}[unit]
		return f, ok
	case fair.Memory, fair.Storage:
		f, ok := map[string]float64{"mib": 1, "mi": 1, "gib": 1 << 10, "gi": 1 << 10, "tib": 1 << 20, "ti": 1 << 20}[unit]
		return f, ok
	}
	return 1, unit == strings.ToLower(u.Word)
}

// quotaGroup is a set of resources that the table shows side by side.
type quotaGroup struct {
	key, name string
	resources []fair.Resource
}

// typesPerGroup keeps the table legible without scrolling on a laptop.
const typesPerGroup = 3

// quotaGroups are the choices of resources. The first one is shown by default: GPUs by
// type, or CPU where there are no GPUs.
func quotaGroups(o quota.Overview) []quotaGroup {
	var gpus []fair.Resource
	total := false
	for _, r := range o.Resources {
		if r.GPUType() != "" {
			gpus = append(gpus, r)
		}
	}
	for _, n := range o.Nodes {
		_, limited := n.Limits.Limit[fair.GPU]
		total = total || limited && n.Kind != "installation"
	}
	if total || len(gpus) == 0 && slices.Contains(o.Resources, fair.GPU) {
		gpus = append([]fair.Resource{fair.GPU}, gpus...)
	}
	var groups []quotaGroup
	for part := range slices.Chunk(gpus, typesPerGroup) {
		g := quotaGroup{key: "gpus", resources: part}
		if len(groups) > 0 {
			g.key = "gpus-" + strconv.Itoa(len(groups)+1)
		}
		var names []string
		for _, r := range part {
			names = append(names, quotaName(r))
		}
		g.name = strings.Join(names, ", ")
		groups = append(groups, g)
	}
	compute := quotaGroup{"compute", "CPU, memory, pods", []fair.Resource{fair.CPU, fair.Memory, fair.Pods}}
	other := quotaGroup{"other", "Executions, storage", []fair.Resource{fair.Executions, fair.Storage}}
	if !hasGPUs(o) {
		return append(append([]quotaGroup{compute}, groups...), other)
	}
	return append(groups, compute, other)
}

// hasGPUs reports whether the installation has a GPU of any type.
func hasGPUs(o quota.Overview) bool {
	for _, n := range o.Nodes {
		for r, amount := range n.Limits.Limit {
			if n.Kind == "installation" && amount > 0 && (r == fair.GPU || r.GPUType() != "") {
				return true
			}
		}
	}
	return false
}
