// Package amount formats amounts of resources and parses typed ones.
package amount

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/platform/units"
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

// FormatRequest formats a node's request briefly: its GPUs, or else CPU and memory.
func FormatRequest(a fair.Amount) string {
	switch {
	case a.GPUs > 0 && a.GPUType != "":
		return strconv.Itoa(a.GPUs) + " " + a.GPUType
	case a.GPUs > 0:
		return units.Plural(a.GPUs, "GPU", "GPUs")
	case a.Executions > 0:
		return units.Plural(a.Executions, "execution", "executions")
	}
	return ui.CPU(a.CPUMillis) + " · " + ui.Memory(a.MemoryMiB)
}

// Parse parses a typed amount in the unit of the form: 12, 0.5, "16 GiB", "512 MiB". The
// message describes the error.
func Parse(r fair.Resource, text string) (n int64, message string) {
	v, ok := r.Parse(text)
	whole := Unit(r).Divisor == 0
	switch {
	case !ok:
		return 0, fmt.Sprintf("“%s” is not a %s of %s.", ui.Short(text, 40), map[bool]string{true: "whole number", false: "number"}[whole], Unit(r).Word)
	case v < 0:
		return 0, "Enter 0 or more."
	case v > 1e12:
		return 0, "The value is too large."
	case whole && v != math.Trunc(v):
		return 0, fmt.Sprintf("%s must be a whole number; %s is not.", Name(r), strings.TrimSpace(text))
	}
	return int64(math.Round(v)), ""
}
