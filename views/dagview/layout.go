// Package dagview draws a plan: a layered layout computed on the server (longest
// path layering, barycentre ordering, Brandes–Köpf placement) and its SVG. A
// drawing depends only on the plan and may be cached; Painter adds states to it.
package dagview

import (
	"slices"
)

// Item is one node of a plan; Dependencies and Level are as compiled.
type Item struct {
	Name         string
	Level        int
	Dependencies []int
	Links        []Link
	Expands      bool // it expands into other nodes: its box has space for their states
	Final        bool // it runs on exit; its level comes after all other levels
}

// Link marks a dependency whose condition is not success.
type Link struct {
	On      int
	Text    string // the condition, for a tooltip
	Failure bool   // the item handles its failure
}

// Box is one box of a drawing: a node, or a group of similar nodes.
type Box struct {
	Key                string // stable within the plan, part of element ids
	Title              string
	Stem               string // shared beginning of the names of a group, "" for a mixed one
	Members            []int  // indexes of the items
	FromLevel, ToLevel int
	Expands, Final     bool
	X, Y, W, H         int // top left corner and size
}

// Group reports whether the box represents several nodes.
func (b Box) Group() bool { return len(b.Members) > 1 }

// Line joins two boxes. Path and Arrow are SVG path data.
type Line struct {
	From, To    int
	Text        string // see Link
	Failure     bool
	Path, Arrow string
}

// Divide is the line before the exit nodes, with the position of its label.
type Divide struct{ X1, Y1, X2, Y2, LabelX, LabelY int }

// Direction is the direction in which dependents are drawn.
type Direction int

// Down suits a panel next to the graph, Right a wide card.
const (
	Down Direction = iota
	Right
)

// Drawing is a plan laid out. It is never changed after Layout returns it.
type Drawing struct {
	Width, Height int
	Boxes         []Box
	Lines         []Line
	Exit          *Divide // nil without exit nodes
	Nodes         int     // number of items
	Owner         []int   // box of each item
	Incoming      [][]int
	Outgoing      [][]int
}

// Geometry in CSS pixels.
const (
	boxWidth, boxHeight     = 170, 46
	groupWidth, groupHeight = 216, 82
	nodeGap, layerGap       = 28, 38
	margin                  = 16
)

// Layout computes the positions of items. Items must be acyclic and their levels
// consistent, as in a compiled plan.
func Layout(items []Item, direction Direction) *Drawing {
	boxes, lines := collapse(items)
	widen(boxes)
	g := newLayers(boxes, lines, direction)
	g.order()
	xs := g.place()
	d := &Drawing{Boxes: boxes, Lines: lines, Nodes: len(items), Owner: make([]int, len(items))}
	for b, box := range boxes {
		for _, m := range box.Members {
			d.Owner[m] = b
		}
	}
	d.Incoming, d.Outgoing = make([][]int, len(boxes)), make([][]int, len(boxes))
	for i, l := range lines {
		d.Incoming[l.To] = append(d.Incoming[l.To], i)
		d.Outgoing[l.From] = append(d.Outgoing[l.From], i)
	}
	g.draw(d, xs, direction)
	return d
}

// widen gives all single boxes the width of the longest name.
func widen(boxes []Box) {
	w := 152.0
	for _, b := range boxes {
		if !b.Group() && !b.Expands {
			w = max(w, textWidth(b.Title, nameSize)+nameInset+12)
		}
	}
	width := min(int(w+0.5), 236)
	for i := range boxes {
		if !boxes[i].Group() && !boxes[i].Expands {
			boxes[i].W = width
		}
	}
}

// cell is a box or, where box < 0, a bend of a line that passes through a layer.
type cell struct {
	box    int
	layer  int
	across float64 // size along the layer
	depth  float64 // size across the layers
	up     []int   // connected cells of the previous layer
	down   []int
}

// layers is the layered graph with its bends.
type layers struct {
	cells  []cell
	rows   [][]int
	chains [][]int // the cells of each line, ends included
}

func newLayers(boxes []Box, lines []Line, direction Direction) *layers {
	g := &layers{cells: make([]cell, len(boxes)), chains: make([][]int, len(lines))}
	rank := ranks(boxes)
	for i, b := range boxes {
		c := cell{box: i, layer: rank[i], across: float64(b.W), depth: float64(b.H)}
		if direction == Right {
			c.across, c.depth = c.depth, c.across
		}
		g.cells[i] = c
		for len(g.rows) <= rank[i] {
			g.rows = append(g.rows, nil)
		}
		g.rows[rank[i]] = append(g.rows[rank[i]], i)
	}
	for i, l := range lines {
		chain := []int{l.From}
		for layer := rank[l.From] + 1; layer < rank[l.To]; layer++ {
			bend := len(g.cells)
			g.cells = append(g.cells, cell{box: -1, layer: layer, across: 6})
			g.rows[layer] = append(g.rows[layer], bend)
			chain = append(chain, bend)
		}
		chain = append(chain, l.To)
		for k := 1; k < len(chain); k++ {
			a, b := chain[k-1], chain[k]
			g.cells[a].down = append(g.cells[a].down, b)
			g.cells[b].up = append(g.cells[b].up, a)
		}
		g.chains[i] = chain
	}
	return g
}

// ranks numbers the first levels of boxes without gaps.
func ranks(boxes []Box) []int {
	var starts []int
	for _, b := range boxes {
		starts = append(starts, b.FromLevel)
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	rank := make([]int, len(boxes))
	for i, b := range boxes {
		rank[i], _ = slices.BinarySearch(starts, b.FromLevel)
	}
	return rank
}
