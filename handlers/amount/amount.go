// Package amount formats amounts of resources and parses typed ones.
package amount

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/views/ui"
)

// Unit is the unit of a resource on pages.
func Unit(r fair.Resource) ui.Unit {
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

// Name is the column heading of a resource.
func Name(r fair.Resource) string {
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

// Words is an amount in a sentence: "12 A100", "1 CPU core".
func Words(r fair.Resource, n int64) string {
	return Unit(r).Quantity(n)
}

// Asked formats a node's request briefly: its GPUs, or else CPU and memory.
func Asked(a fair.Amount) string {
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

// Parse parses a typed amount in the unit of the form: 12, 0.5, "16 GiB", "512 MiB". The
// message describes the error.
func Parse(r fair.Resource, text string) (n int64, message string) {
	number, unit := strings.TrimSpace(text), ""
	if i := strings.IndexFunc(number, func(c rune) bool { return c != '.' && c != ',' && c != '-' && (c < '0' || c > '9') }); i >= 0 {
		number, unit = strings.TrimSpace(number[:i]), strings.ToLower(strings.TrimSpace(number[i:]))
	}
	v, err := parseGrouped(number)
	factor, known := factor(r, unit)
	whole := Unit(r).Divisor == 0
	switch {
	case err != nil || !known:
		return 0, fmt.Sprintf("“%s” is not a %s of %s.", ui.Short(text, 40), map[bool]string{true: "whole number", false: "number"}[whole], Unit(r).Word)
	case v < 0:
		return 0, "Enter 0 or more."
	case v*factor > 1e12:
		return 0, "The value is too large."
	case whole && v != math.Trunc(v):
		return 0, fmt.Sprintf("%s must be a whole number; %s is not.", Name(r), number)
	}
	return int64(math.Round(v * factor)), ""
}

// parseGrouped parses a number with or without commas between thousands. A comma anywhere
// else is an error, because some languages use it as the decimal separator.
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

// factor converts unit to the stored unit of r.
func factor(r fair.Resource, unit string) (float64, bool) {
	u := Unit(r)
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
