// Package graph traverses lineage: from one item to the items that it was made from, and to those
// made from it, within limits. It describes what it left out. It is pure; a Source returns the
// neighbors of an item.
package graph

import (
	"cmp"
	"context"
	"slices"
)

// Key identifies an item, such as "artifact:<id>".
type Key string

// Direction is the direction of a walk.
type Direction int

// Up leads to what an item was made from, Down to what was made from it.
const (
	Up   Direction = -1
	Down Direction = 1
)

// Relation describes how two items are connected.
type Relation string

// The relations.
const (
	Input      Relation = "input"      // a node or an execution reads the item
	Output     Relation = "output"     // a node or an execution produced the item
	Value      Relation = "value"      // a node reads a value that another node returned
	After      Relation = "after"      // a node started after another one and may have read its results
	Registered Relation = "registered" // a version was registered from the artifact
	SameBytes  Relation = "same bytes" // a version has the bytes of the artifact
)

// Edge leads from what was there first to what was made from it.
type Edge struct {
	From, To Key
	Relation Relation
	Label    string // the input or output
}

// Neighbours are the items next to one item in one direction.
type Neighbours struct {
	Edges   []Edge
	More    int  // further neighbours that were not read
	AtLeast bool // More was counted only up to a limit: there are at least so many
	Hidden  int  // neighbours that the reader may not see
}

// Source returns the neighbours of items in a direction. A fan of 0 is the default number of
// neighbours of one item.
type Source interface {
	Neighbours(ctx context.Context, of []Key, d Direction) (map[Key]Neighbours, error)
}

// Limits bound a walk.
type Limits struct {
	Up, Down int // steps from the focus
	Items    int // in the whole graph, with the focus
}

// Item is an item of a graph.
type Item struct {
	Key    Key
	Step   int // from the focus: negative for what it was made from
	Before More
	After  More
}

// More is what a graph left out next to an item.
type More struct {
	Items   int
	AtLeast bool // there are at least so many
	Hidden  int
}

// Graph is the surroundings of an item.
type Graph struct {
	Focus Key
	Items []Item // by step, then in the order in which they were found
	Edges []Edge
	// Cut reports that the limit of items left something out; see More of the items.
	Cut bool
}

// walker collects a graph.
type walker struct {
	source Source
	limits Limits
	items  map[Key]*Item
	order  []Key
	edges  map[Edge]bool
	graph  Graph
}

// Walk returns the surroundings of focus.
func Walk(ctx context.Context, source Source, focus Key, limits Limits) (Graph, error) {
	w := &walker{source: source, limits: limits, items: map[Key]*Item{}, edges: map[Edge]bool{}}
	w.graph.Focus = focus
	w.add(focus, 0)
	for _, d := range []Direction{Up, Down} {
		if err := w.walk(ctx, d); err != nil {
			return Graph{}, err
		}
	}
	for _, k := range w.order {
		w.graph.Items = append(w.graph.Items, *w.items[k])
	}
	slices.SortStableFunc(w.graph.Items, func(a, b Item) int { return cmp.Compare(a.Step, b.Step) })
	return w.graph, nil
}

func (w *walker) add(k Key, step int) {
	w.items[k] = &Item{Key: k, Step: step}
	w.order = append(w.order, k)
}

// walk follows one direction. After the last step it reads once more, to say what is behind the
// items at the border.
func (w *walker) walk(ctx context.Context, d Direction) error {
	depth := w.limits.Down
	if d == Up {
		depth = w.limits.Up
	}
	frontier := []Key{w.graph.Focus}
	for step := 1; len(frontier) > 0; step++ {
		found, err := w.source.Neighbours(ctx, frontier, d)
		if err != nil {
			return err
		}
		border := step > depth
		var next []Key
		for _, k := range frontier {
			next = append(next, w.take(k, found[k], d, step, border)...)
		}
		if border {
			return nil
		}
		frontier = next
	}
	return nil
}

// take adds the neighbours of k and returns the new ones. At the border it only counts them.
func (w *walker) take(k Key, n Neighbours, d Direction, step int, border bool) []Key {
	more := More{Items: n.More, AtLeast: n.AtLeast, Hidden: n.Hidden}
	var next []Key
	left := map[Key]bool{}
	for _, e := range n.Edges {
		other := e.To
		if d == Up {
			other = e.From
		}
		if other == k {
			continue
		}
		if w.items[other] == nil {
			full := len(w.items) >= w.limits.Items
			if border || full {
				w.graph.Cut = w.graph.Cut || full && !border
				left[other] = true
				continue
			}
			w.add(other, step*int(d))
			next = append(next, other)
		}
		if !w.edges[e] {
			w.edges[e] = true
			w.graph.Edges = append(w.graph.Edges, e)
		}
	}
	more.Items += len(left)
	if d == Up {
		w.items[k].Before = more
	} else {
		w.items[k].After = more
	}
	return next
}

// Reached returns which of the roots lead down from focus, given the edges of walks up from the
// roots.
func Reached(focus Key, edges []Edge, roots []Key) []Key {
	next := map[Key][]Key{}
	for _, e := range edges {
		next[e.From] = append(next[e.From], e.To)
	}
	seen, queue := map[Key]bool{focus: true}, []Key{focus}
	for len(queue) > 0 {
		k := queue[0]
		queue = queue[1:]
		for _, to := range next[k] {
			if !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	var reached []Key
	for _, r := range roots {
		if seen[r] {
			reached = append(reached, r)
		}
	}
	return reached
}

// Ancestors returns all edges above roots until limit items are known. complete is false when there
// are more.
func Ancestors(ctx context.Context, source Source, roots []Key, limit int) (edges []Edge, complete bool, err error) {
	seen := map[Key]bool{}
	frontier := []Key{}
	for _, r := range roots {
		if !seen[r] {
			seen[r] = true
			frontier = append(frontier, r)
		}
	}
	complete = true
	for len(frontier) > 0 {
		found, err := source.Neighbours(ctx, frontier, Up)
		if err != nil {
			return nil, false, err
		}
		var next []Key
		for _, k := range frontier {
			n := found[k]
			complete = complete && n.More == 0 && n.Hidden == 0
			for _, e := range n.Edges {
				edges = append(edges, e)
				if seen[e.From] {
					continue
				}
				if len(seen) >= limit {
					complete = false
					continue
				}
				seen[e.From] = true
				next = append(next, e.From)
			}
		}
		frontier = next
	}
	return edges, complete, nil
}
