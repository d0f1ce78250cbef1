package fair

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/platform/units"
)

// Resource is the name of a limited resource: one of the constants, or "gpu:<TYPE>".
type Resource string

// The resources and their units. GPU counts GPUs of all types; a GPU that was requested
// by type also counts as OfType(type).
const (
	CPU        Resource = "cpu"        // millicores
	Memory     Resource = "memory"     // MiB
	GPU        Resource = "gpu"        // count
	Pods       Resource = "pods"       // processes or pods at the same time
	Executions Resource = "executions" // executions at the same time
	Storage    Resource = "storage"    // MiB of artifacts

	gpuPrefix = "gpu:"
)

// OfType returns the resource of GPUs of one type.
func OfType(gpuType string) Resource { return Resource(gpuPrefix + gpuType) }

// GPUType returns the type of a resource from OfType, and "" for others.
func (r Resource) GPUType() string {
	t, ok := strings.CutPrefix(string(r), gpuPrefix)
	if !ok {
		return ""
	}
	return t
}

// Valid reports whether r can have a limit.
func (r Resource) Valid() bool {
	switch r {
	case CPU, Memory, GPU, Pods, Executions, Storage:
		return true
	default:
		return r.GPUType() != ""
	}
}

// Unit returns the unit of r; counts have none.
func (r Resource) Unit() string {
	switch r {
	case CPU:
		return "m"
	case Memory, Storage:
		return "MiB"
	default:
		return ""
	}
}

// Title returns the display name of r.
func (r Resource) Title() string {
	switch r {
	case CPU:
		return "CPU"
	case Memory, Storage, Pods, Executions:
		return string(r)
	default:
		return strings.TrimSpace(r.GPUType() + " GPUs")
	}
}

// Format returns n of r for display: "1.5 cores", "2 GiB", "4 A100 GPUs", "1 pod".
func (r Resource) Format(n int64) string {
	switch r {
	case CPU:
		if n == 1000 {
			return "1 core"
		}
		return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64) + " cores"
	case Memory, Storage:
		if n >= 1024 || n <= -1024 {
			return strings.TrimSuffix(strconv.FormatFloat(float64(n)/1024, 'f', 1, 64), ".0") + " GiB"
		}
		return strconv.FormatInt(n, 10) + " MiB"
	case Pods, Executions:
		return units.Plural(n, strings.TrimSuffix(string(r), "s"), string(r))
	default:
		noun := strings.TrimSpace(r.GPUType() + " GPU")
		return units.Plural(n, noun, noun+"s")
	}
}

// Parse reads an amount as users type it, in the unit of Format or in one that they add:
// 0.5, "500m" or "2 cores" of CPU, 16 (GiB) or "512 MiB" of memory, 4, "4 GPUs" or "4 A100 GPUs". The
// amount is in the stored unit of r. It may be negative or a fraction.
func (r Resource) Parse(text string) (amount float64, ok bool) {
	number, unit, ok := units.Quantity(text)
	if !ok {
		return 0, false
	}
	factor, ok := r.factor(unit)
	return number * factor, ok
}

// factor returns how many stored units one typed unit has.
func (r Resource) factor(unit string) (float64, bool) {
	typed := strings.ToLower(unit)
	switch r {
	case CPU:
		factor, ok := map[string]float64{"": 1000, "core": 1000, "cores": 1000, "cpu": 1000, "m": 1}[typed]
		return factor, ok
	case Memory, Storage:
		if unit == "" {
			return 1 << 10, true
		}
		bytes, ok := units.SizeOf(unit)
		return bytes / (1 << 20), ok
	case GPU:
		return 1, typed == "" || typed == "gpu" || typed == "gpus"
	case Pods, Executions:
		return 1, typed == "" || typed == string(r) || typed+"s" == string(r)
	default:
		kind := strings.ToLower(r.GPUType())
		return 1, slices.Contains([]string{"", "gpu", "gpus", kind, kind + " gpu", kind + " gpus"}, typed)
	}
}

// order is the display order of resources: CPU, memory, GPU, its types, the rest.
func (r Resource) order() int {
	fixed := []Resource{CPU, Memory, GPU, "", Pods, Executions, Storage}
	if i := slices.Index(fixed, r); i >= 0 && r != "" {
		return i
	}
	return slices.Index(fixed, "")
}

// Compare orders resources for display.
func (r Resource) Compare(other Resource) int {
	return cmp.Or(cmp.Compare(r.order(), other.order()), strings.Compare(string(r), string(other)))
}

// Vector is an amount of several resources; an absent resource is zero, except in
// Limits, where each field defines it.
type Vector map[Resource]int64

// Plus returns the sum.
func (v Vector) Plus(w Vector) Vector {
	sum := maps.Clone(v)
	if sum == nil {
		sum = Vector{}
	}
	for r, n := range w {
		if sum[r] += n; sum[r] == 0 {
			delete(sum, r)
		}
	}
	return sum
}

// Minus returns the difference, which may be negative.
func (v Vector) Minus(w Vector) Vector {
	negative := make(Vector, len(w))
	for r, n := range w {
		negative[r] = -n
	}
	return v.Plus(negative)
}

// Resources returns the resources of v in the order of display.
func (v Vector) Resources() []Resource {
	return slices.SortedFunc(maps.Keys(v), Resource.Compare)
}

// String returns v for display: "2 cores, 4 GiB, 1 pod".
func (v Vector) String() string {
	parts := make([]string, 0, len(v))
	for _, r := range v.Resources() {
		parts = append(parts, r.Format(v[r]))
	}
	return strings.Join(parts, ", ")
}

// Amount is the reservation of one attempt, one execution, or a whole gang of Pods. It
// is comparable: requests of one Amount share a line.
type Amount struct {
	CPUMillis  int    `json:"cpu_millis,omitempty"`
	MemoryMiB  int    `json:"memory_mib,omitempty"`
	GPUs       int    `json:"gpus,omitempty"`
	GPUType    string `json:"gpu_type,omitempty"` // "": of any type
	Pods       int    `json:"pods,omitempty"`
	Executions int    `json:"executions,omitempty"`
}

// Vector returns a by resource. Typed GPUs count both as GPU and as their type.
func (a Amount) Vector() Vector {
	v := Vector{}
	for _, w := range []struct {
		r Resource
		n int
	}{
		{CPU, a.CPUMillis}, {Memory, a.MemoryMiB}, {GPU, a.GPUs}, {Pods, a.Pods}, {Executions, a.Executions},
	} {
		if w.n > 0 {
			v[w.r] = int64(w.n)
		}
	}
	if a.GPUs > 0 && a.GPUType != "" {
		v[OfType(a.GPUType)] = int64(a.GPUs)
	}
	return v
}

// String returns a for display, with GPUs by type when they have one.
func (a Amount) String() string {
	v := a.Vector()
	if a.GPUs > 0 && a.GPUType != "" {
		delete(v, GPU)
	}
	return v.String()
}

// Check returns an error when a is invalid.
func (a Amount) Check() error {
	if a.CPUMillis < 0 || a.MemoryMiB < 0 || a.GPUs < 0 || a.Pods < 0 || a.Executions < 0 {
		return fmt.Errorf("a negative amount: %+v", a)
	}
	if a.GPUType != "" && a.GPUs == 0 {
		return fmt.Errorf("a GPU type without GPUs: %+v", a)
	}
	return nil
}
