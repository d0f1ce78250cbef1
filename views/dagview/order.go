package dagview

import (
	"slices"
	"sort"
)

const sweeps = 24

// order sorts the cells of every row so that few lines cross: barycentre sweeps
// down and up, keeping the best (Sugiyama, Tagawa, Toda 1981).
func (g *layers) order() {
	best, least := g.snapshot(), g.crossings()
	for sweep := 0; sweep < sweeps && least > 0; sweep++ {
		pos := g.positions()
		if sweep%2 == 0 {
			for r := 1; r < len(g.rows); r++ {
				g.sortRow(r, pos, func(c cell) []int { return c.up })
			}
		} else {
			for r := len(g.rows) - 2; r >= 0; r-- {
				g.sortRow(r, pos, func(c cell) []int { return c.down })
			}
		}
		if n := g.crossings(); n < least {
			best, least = g.snapshot(), n
		}
	}
	g.rows = best
}

// sortRow sorts one row by the mean position of its neighbours and updates pos.
func (g *layers) sortRow(r int, pos []int, neighbours func(cell) []int) {
	row := g.rows[r]
	centre := make(map[int]float64, len(row))
	for _, c := range row {
		near := neighbours(g.cells[c])
		if len(near) == 0 {
			centre[c] = float64(pos[c])
			continue
		}
		sum := 0
		for _, n := range near {
			sum += pos[n]
		}
		centre[c] = float64(sum) / float64(len(near))
	}
	sort.SliceStable(row, func(i, j int) bool { return centre[row[i]] < centre[row[j]] })
	for i, c := range row {
		pos[c] = i
	}
}

func (g *layers) positions() []int {
	pos := make([]int, len(g.cells))
	for _, row := range g.rows {
		for i, c := range row {
			pos[c] = i
		}
	}
	return pos
}

func (g *layers) snapshot() [][]int {
	rows := make([][]int, len(g.rows))
	for i, row := range g.rows {
		rows[i] = slices.Clone(row)
	}
	return rows
}

// crossings counts crossing lines with an accumulator tree per pair of rows
// (Barth, Mutzel, Jünger 2004): O(lines log cells).
func (g *layers) crossings() int {
	pos := g.positions()
	total := 0
	for r := 0; r+1 < len(g.rows); r++ {
		size := len(g.rows[r+1])
		tree := make([]int, size+1)
		seen := 0
		for _, c := range g.rows[r] {
			ends := make([]int, 0, len(g.cells[c].down))
			for _, d := range g.cells[c].down {
				ends = append(ends, pos[d])
			}
			for _, e := range ends {
				smaller := 0
				for i := e + 1; i > 0; i -= i & -i {
					smaller += tree[i]
				}
				total += seen - smaller
			}
			for _, e := range ends {
				for i := e + 1; i <= size; i += i & -i {
					tree[i]++
				}
				seen++
			}
		}
	}
	return total
}
