package fair

import (
	"maps"
	"slices"
)

// axes numbers resources, so that decisions use slices instead of maps. It only grows;
// an axis beyond the end of a slice is zero.
type axes struct {
	names []Resource
	index map[Resource]int
}

func newAxes() axes {
	a := axes{index: map[Resource]int{}}
	for _, r := range []Resource{CPU, Memory, GPU, Pods, Executions, Storage} {
		a.of(r)
	}
	return a
}

const storageAxis = 5 // newAxes puts it there

func (x *axes) count() int { return len(x.names) }

// of returns the axis of r, and adds one when it has none.
func (x *axes) of(r Resource) int {
	if i, ok := x.index[r]; ok {
		return i
	}
	i := len(x.names)
	x.names = append(x.names, r)
	x.index[r] = i
	return i
}

func (x *axes) clone() axes { return axes{slices.Clone(x.names), maps.Clone(x.index)} }

// quantity is an amount on one axis.
type quantity struct {
	axis int
	n    int64
}

// demand is the amount that a request needs, one quantity per axis, in the order of
// display.
type demand []quantity

func (x *axes) demand(v Vector) demand {
	list := make(demand, 0, len(v))
	for _, r := range v.Resources() {
		if v[r] != 0 {
			list = append(list, quantity{x.of(r), v[r]})
		}
	}
	return list
}

func (k demand) on(axis int) int64 {
	for _, q := range k {
		if q.axis == axis {
			return q.n
		}
	}
	return 0
}

// amounts is an amount on every axis.
type amounts []int64

func (v amounts) at(axis int) int64 {
	if axis >= len(v) {
		return 0
	}
	return v[axis]
}

// plus adds n on axis and returns the row, which may have grown.
func (v amounts) plus(axis int, n int64) amounts {
	for axis >= len(v) {
		v = append(v, 0)
	}
	v[axis] += n
	return v
}

// vector returns the amounts that are not zero.
func (x *axes) vector(v amounts) Vector {
	out := Vector{}
	for axis, n := range v {
		if n != 0 {
			out[x.names[axis]] = n
		}
	}
	return out
}
