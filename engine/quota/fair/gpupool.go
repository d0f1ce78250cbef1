package fair

import (
	"cmp"
	"slices"
)

// gpuPool knows which GPUs of which machines are free. Without machines it decides
// nothing, and the cluster places GPUs.
type gpuPool struct {
	machines []poolMachine
}

// poolMachine is a machine and the number of holders of each of its devices. A device
// briefly has two holders when a release is undone.
type poolMachine struct {
	Machine

	taken []int
}

func newGPUPool(machines []Machine) gpuPool {
	f := gpuPool{}
	for _, m := range machines {
		if len(m.Devices) == 0 {
			continue
		}
		m.Devices = slices.Clone(m.Devices)
		slices.SortFunc(m.Devices, func(a, b Device) int { return cmp.Compare(a.Index, b.Index) })
		f.machines = append(f.machines, poolMachine{m, make([]int, len(m.Devices))})
	}
	slices.SortFunc(f.machines, func(a, b poolMachine) int { return cmp.Compare(a.Name, b.Name) })
	return f
}

func (f *gpuPool) clone() gpuPool {
	out := gpuPool{slices.Clone(f.machines)}
	for i := range out.machines {
		out.machines[i].taken = slices.Clone(out.machines[i].taken)
	}
	return out
}

// free counts the free devices of a type, "" is any; all includes devices in use.
func (m *poolMachine) free(gpuType string, all bool) (n int) {
	for i, d := range m.Devices {
		if (gpuType == "" || d.Type == gpuType) && (all || m.taken[i] == 0) {
			n++
		}
	}
	return n
}

// pick returns the first n free devices of a type without taking them.
func (m *poolMachine) pick(n int, gpuType string) Placement {
	p := Placement{Machine: m.Name, Devices: make([]int, 0, n)}
	for i, d := range m.Devices {
		if len(p.Devices) < n && m.taken[i] == 0 && (gpuType == "" || d.Type == gpuType) {
			p.Devices = append(p.Devices, d.Index)
		}
	}
	return p
}

// types returns the types of GPU to try for a request: its own, or, for any type, each
// type of the machines, so that the GPUs of one attempt are alike, and last a mixture,
// "".
func (f *gpuPool) types(gpuType string) []string {
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

// place finds GPUs for a: on one machine, the fullest that has enough, or with spread
// on as few machines as possible. With all, it treats machines as empty. It skips
// machines named in without. It reports whether the request fits; requests without GPUs
// always fit.
func (f *gpuPool) place(a Amount, spread, all bool, without ...string) ([]Placement, bool) {
	if a.GPUs == 0 || len(f.machines) == 0 {
		return nil, true
	}
	types := f.types(a.GPUType)
	var best *poolMachine
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
func (f *gpuPool) bestFit(n int, gpuType string, all bool, without []string) (best *poolMachine) {
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

// scatter takes from the machines with most free GPUs first. When the pods of a gang
// share its GPUs evenly, the GPUs of each pod are on one machine.
func (f *gpuPool) scatter(a Amount, gpuType string, all bool, without []string) (parts []Placement, ok bool) {
	unit := 1
	if a.Pods > 1 && a.GPUs%a.Pods == 0 {
		unit = a.GPUs / a.Pods
	}
	order := make([]*poolMachine, 0, len(f.machines))
	for i := range f.machines {
		if !slices.Contains(without, f.machines[i].Name) {
			order = append(order, &f.machines[i])
		}
	}
	slices.SortStableFunc(order, func(a, b *poolMachine) int { return cmp.Compare(b.free(gpuType, all), a.free(gpuType, all)) })
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
func (f *gpuPool) take(parts []Placement, sign int) {
	for _, p := range parts {
		for i := range f.machines {
			if m := &f.machines[i]; m.Name == p.Machine {
				m.mark(p.Devices, sign)
			}
		}
	}
}

func (m *poolMachine) mark(devices []int, sign int) {
	for i, d := range m.Devices {
		if slices.Contains(devices, d.Index) {
			m.taken[i] = max(0, m.taken[i]+sign)
		}
	}
}

// together returns the number of free GPUs of a type in total and on the machine with
// the most.
func (f *gpuPool) together(gpuType string) (total, most int) {
	for i := range f.machines {
		free := f.machines[i].free(gpuType, false)
		total, most = total+free, max(most, free)
	}
	return total, most
}

// reservedMachine returns the machine to reserve for a request that does not fit: the
// one with the most free GPUs among those that are large enough.
func (f *gpuPool) reservedMachine(a Amount) string {
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

func (f *gpuPool) capacity(gpuType string) (n int64) {
	for i := range f.machines {
		n += int64(f.machines[i].free(gpuType, true))
	}
	return n
}
