package dagview

import (
	"math"
	"slices"
)

// place computes the centre of every cell along its layer: Brandes and Köpf, "Fast and
// Simple Horizontal Coordinate Assignment" (2001). It averages four alignments,
// one per corner; lines through bends become straight.
func (g *layers) place() []float64 {
	conflicts := g.conflicts()
	var all [4][]float64
	for k := range all {
		upward, leftward := k >= 2, k%2 == 1
		rows := g.snapshot()
		if upward {
			slices.Reverse(rows)
		}
		if leftward {
			for _, row := range rows {
				slices.Reverse(row)
			}
		}
		root := g.align(rows, conflicts, upward)
		xs := g.compact(rows, root)
		if leftward {
			for i := range xs {
				xs[i] = -xs[i]
			}
		}
		all[k] = xs
	}
	g.match(all)
	out := make([]float64, len(g.cells))
	for c := range out {
		four := []float64{all[0][c], all[1][c], all[2][c], all[3][c]}
		slices.Sort(four)
		out[c] = (four[1] + four[2]) / 2
	}
	return out
}

// conflicts marks lines that cross the inner segment of a long line: the long one
// stays straight (type 1 conflicts of the paper).
func (g *layers) conflicts() map[[2]int]bool {
	marked := map[[2]int]bool{}
	pos := g.positions()
	for r := 1; r < len(g.rows); r++ {
		k0, scanned := 0, 0
		row := g.rows[r]
		for i, c := range row {
			inner := g.innerAbove(c)
			if inner < 0 && i < len(row)-1 {
				continue
			}
			k1 := len(g.rows[r-1])
			if inner >= 0 {
				k1 = pos[inner]
			}
			for ; scanned <= i; scanned++ {
				s := row[scanned]
				for _, u := range g.cells[s].up {
					bothBends := g.cells[u].box < 0 && g.cells[s].box < 0
					if (pos[u] < k0 || pos[u] > k1) && !bothBends {
						marked[[2]int{u, s}] = true
					}
				}
			}
			k0 = k1
		}
	}
	return marked
}

// innerAbove is the bend above the bend c, or -1.
func (g *layers) innerAbove(c int) int {
	if g.cells[c].box >= 0 {
		return -1
	}
	for _, u := range g.cells[c].up {
		if g.cells[u].box < 0 {
			return u
		}
	}
	return -1
}

// align joins cells with a median neighbour into vertical blocks and returns the
// root of each cell's block.
func (g *layers) align(rows [][]int, conflicts map[[2]int]bool, upward bool) []int {
	pos := make([]int, len(g.cells))
	for _, row := range rows {
		for i, c := range row {
			pos[c] = i
		}
	}
	root, next := make([]int, len(g.cells)), make([]int, len(g.cells))
	for i := range root {
		root[i], next[i] = i, i
	}
	for _, row := range rows {
		last := -1
		for _, c := range row {
			near := slices.Clone(g.cells[c].up)
			if upward {
				near = slices.Clone(g.cells[c].down)
			}
			if len(near) == 0 {
				continue
			}
			slices.SortFunc(near, func(a, b int) int { return pos[a] - pos[b] })
			for m := (len(near) - 1) / 2; m <= len(near)/2; m++ {
				n := near[m]
				pair := [2]int{n, c}
				if upward {
					pair = [2]int{c, n}
				}
				if next[c] == c && last < pos[n] && !conflicts[pair] {
					next[n] = c
					root[c] = root[n]
					next[c] = root[c]
					last = pos[n]
				}
			}
		}
	}
	return root
}

type blockEdge struct {
	to  int
	gap float64
}

// compact packs the blocks as far left as their neighbours allow, then moves each as far
// right as possible, so that blocks without incoming lines are close to their dependents.
func (g *layers) compact(rows [][]int, root []int) []float64 {
	out, in := map[int][]blockEdge{}, map[int]int{}
	for _, row := range rows {
		for i := 1; i < len(row); i++ {
			a, b := row[i-1], row[i]
			gap := (g.cells[a].across+g.cells[b].across)/2 + g.gap(a, b)
			out[root[a]] = append(out[root[a]], blockEdge{root[b], gap})
			in[root[b]]++
		}
	}
	var queue, sorted []int
	for c := range g.cells {
		if root[c] == c && in[c] == 0 {
			queue = append(queue, c)
		}
	}
	x := make([]float64, len(g.cells))
	for len(queue) > 0 {
		b := queue[0]
		queue = queue[1:]
		sorted = append(sorted, b)
		for _, e := range out[b] {
			x[e.to] = max(x[e.to], x[b]+e.gap)
			if in[e.to]--; in[e.to] == 0 {
				queue = append(queue, e.to)
			}
		}
	}
	for _, b := range slices.Backward(sorted) {
		room := math.Inf(1)
		for _, e := range out[b] {
			room = min(room, x[e.to]-e.gap)
		}
		if !math.IsInf(room, 1) {
			x[b] = max(x[b], room)
		}
	}
	xs := make([]float64, len(g.cells))
	for c := range xs {
		xs[c] = x[root[c]]
	}
	return xs
}

// gap is the minimum space between neighbours; bends may be closer than boxes.
func (g *layers) gap(a, b int) float64 {
	if g.cells[a].box < 0 && g.cells[b].box < 0 {
		return 10
	}
	if g.cells[a].box < 0 || g.cells[b].box < 0 {
		return 16
	}
	return nodeGap
}

// match aligns all layouts with the narrowest one: left-aligned layouts at the left edge,
// right-aligned layouts at the right edge.
func (g *layers) match(all [4][]float64) {
	edges := func(xs []float64) (lo, hi float64) {
		lo, hi = math.Inf(1), math.Inf(-1)
		for c, x := range xs {
			lo, hi = min(lo, x-g.cells[c].across/2), max(hi, x+g.cells[c].across/2)
		}
		return lo, hi
	}
	narrow := 0
	for k := range all {
		lo, hi := edges(all[k])
		nlo, nhi := edges(all[narrow])
		if hi-lo < nhi-nlo {
			narrow = k
		}
	}
	nlo, nhi := edges(all[narrow])
	for k := range all {
		lo, hi := edges(all[k])
		shift := nlo - lo
		if k%2 == 1 {
			shift = nhi - hi
		}
		for c := range all[k] {
			all[k][c] += shift
		}
	}
}
