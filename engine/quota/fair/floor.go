package fair

import (
	"cmp"
	"slices"
)

// floor knows which GPUs of which machines are free. Without machines it has
// nothing to say, and GPUs are placed by somebody else.
type floor struct {
	machines []rack
}

// rack is a machine and how often each of its devices is taken. Twice happens
// for a moment when a release is undone.
type rack struct {
	Machine

	taken []int
}

func newFloor(machines []Machine) floor {
	f := floor{}
	for _, m := range machines {
		if len(m.Devices) == 0 {
			continue
		}
		m.Devices = slices.Clone(m.Devices)
		slices.SortFunc(m.Devices, func(a, b Device) int { return cmp.Compare(a.Index, b.Index) })
		f.machines = append(f.machines, rack{m, make([]int, len(m.Devices))})
	}
	slices.SortFunc(f.machines, func(a, b rack) int { return cmp.Compare(a.Name, b.Name) })
	return f
}

func (f *floor) clone() floor {
	out := floor{slices.Clone(f.machines)}
	for i := range out.machines {
		out.machines[i].taken = slices.Clone(out.machines[i].taken)
	}
	return out
}

// free counts the free devices of a type, "" is any; all counts those in use too.
func (m *rack) free(gpuType string, all bool) (n int) {
	for i, d := range m.Devices {
		if (gpuType == "" || d.Type == gpuType) && (all || m.taken[i] == 0) {
			n++
		}
	}
	return n
}

// pick takes nothing yet: it returns the first n free devices of a type.
func (m *rack) pick(n int, gpuType string) Placement {
	p := Placement{Machine: m.Name, Devices: make([]int, 0, n)}
	for i, d := range m.Devices {
		if len(p.Devices) < n && m.taken[i] == 0 && (gpuType == "" || d.Type == gpuType) {
			p.Devices = append(p.Devices, d.Index)
		}
	}
	return p
}

// types returns the types of GPU to try for a request: its own, or for any type
// each that the machines have, so that the GPUs of one attempt are alike, and
// last a mixture, "".
func (f *floor) types(gpuType string) []string {
	if gpuType != "" {
		return []string{gpuType}
	}
	var types []string
	for _, m := range f.machines {
		for _, d := range m.Devices {
			if !slices.Contains(types, d.Type) {
				types = append(types, d.Type)
			}
		}
	}
	slices.Sort(types)
	if len(types) == 1 {
		return types
	}
	return append(types, "")
}

// place finds GPUs for a: on one machine, the fullest that has enough, or with
// spread on as few machines as possible. With all it looks at machines as if
// they were empty. Machines named in without are left alone. It reports whether
// there is room; requests without GPUs always have.
func (f *floor) place(a Amount, spread, all bool, without ...string) ([]Placement, bool) {
	if a.GPUs == 0 || len(f.machines) == 0 {
		return nil, true
	}
	types := f.types(a.GPUType)
	var best *rack
	var bestType string
	for _, gpuType := range types {
		m := f.bestFit(a.GPUs, gpuType, all, without)
		if m != nil && (best == nil || gpuType != "" && m.free(gpuType, all) < best.free(bestType, all)) {
			best, bestType = m, gpuType
		}
	}
	if best != nil {
		return []Placement{best.pick(a.GPUs, bestType)}, true
	}
	if !spread {
		return nil, false
	}
	for _, gpuType := range types {
		if parts, ok := f.scatter(a, gpuType, all, without); ok {
			return parts, true
		}
	}
	return nil, false
}

// bestFit returns the machine with the fewest free GPUs among those that have n.
func (f *floor) bestFit(n int, gpuType string, all bool, without []string) (best *rack) {
	least := 0
	for i := range f.machines {
		m := &f.machines[i]
		if slices.Contains(without, m.Name) {
			continue
		}
		if free := m.free(gpuType, all); free >= n && (best == nil || free < least) {
			best, least = m, free
		}
	}
	return best
}

// scatter takes from the machines with most free GPUs first. A gang whose GPUs
// divide by its pods gets those of a pod together.
func (f *floor) scatter(a Amount, gpuType string, all bool, without []string) (parts []Placement, ok bool) {
	unit := 1
	if a.Pods > 1 && a.GPUs%a.Pods == 0 {
		unit = a.GPUs / a.Pods
	}
	order := make([]*rack, 0, len(f.machines))
	for i := range f.machines {
		if !slices.Contains(without, f.machines[i].Name) {
			order = append(order, &f.machines[i])
		}
	}
	slices.SortStableFunc(order, func(a, b *rack) int { return cmp.Compare(b.free(gpuType, all), a.free(gpuType, all)) })
	left := a.GPUs
	for _, m := range order {
		n := min(left, m.free(gpuType, all)/unit*unit)
		if n == 0 {
			continue
		}
		parts = append(parts, m.pick(n, gpuType))
		if left -= n; left == 0 {
			return parts, true
		}
	}
	return nil, false
}

// take marks devices as taken sign times more.
func (f *floor) take(parts []Placement, sign int) {
	for _, p := range parts {
		for i := range f.machines {
			if m := &f.machines[i]; m.Name == p.Machine {
				m.mark(p.Devices, sign)
			}
		}
	}
}

func (m *rack) mark(devices []int, sign int) {
	for i, d := range m.Devices {
		if slices.Contains(devices, d.Index) {
			m.taken[i] = max(0, m.taken[i]+sign)
		}
	}
}

// together returns how many GPUs of a type are free in all and on the machine
// with most of them.
func (f *floor) together(gpuType string) (total, most int) {
	for i := range f.machines {
		free := f.machines[i].free(gpuType, false)
		total, most = total+free, max(most, free)
	}
	return total, most
}

// waitingRoom returns the machine to keep for a request that does not fit: the
// one with most free GPUs among those that would be large enough.
func (f *floor) waitingRoom(a Amount) string {
	name, most := "", -1
	for i := range f.machines {
		m := &f.machines[i]
		if m.free(a.GPUType, true) < a.GPUs {
			continue
		}
		if free := m.free(a.GPUType, false); free > most {
			name, most = m.Name, free
		}
	}
	return name
}
