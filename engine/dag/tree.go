package dag

import "slices"

// tree is the structure of a run: its nodes, and the scopes that they form. It contains no states, and
// only grows.
type tree struct {
	places []place // of the nodes
	shapes []shape // of the scopes
}

// place is the position of a node in the tree.
type place struct {
	scope int
	inner int // the scope that it last expanded into, or NoNode
}

// shape is one instance of a plan, or the items of a fan-out.
type shape struct {
	plan    *Plan // nil: items
	item    Traits
	base    int // the first node
	size    int
	parent  int // the node that expanded into this scope, or NoNode
	partial bool
	shared  bool // its nodes use the slots of the scope around it
}

// extend adds a scope, whose nodes follow all others.
func (t *tree) extend(s shape) {
	s.base = len(t.places)
	t.places = slices.Grow(t.places, s.size)
	for range s.size {
		t.places = append(t.places, place{scope: len(t.shapes), inner: NoNode})
	}
	t.shapes = append(t.shapes, s)
}

func (s *shape) traits(k int) Traits {
	if s.plan != nil {
		return s.plan.Nodes[k].Traits
	}
	return s.item
}

// around returns the scope of node i.
func (t *tree) around(i int) *shape { return &t.shapes[t.places[i].scope] }

// traits returns the traits of node i.
func (t *tree) traits(i int) Traits {
	s := t.around(i)
	return s.traits(i - s.base)
}

// planned returns node i of its plan; nil for an item.
func (t *tree) planned(i int) *Node {
	s := t.around(i)
	if s.plan == nil {
		return nil
	}
	return &s.plan.Nodes[i-s.base]
}

// slotsOf is the scope whose slots node i uses.
func (t *tree) slotsOf(i int) int {
	s := t.places[i].scope
	for t.shapes[s].shared {
		s = t.places[t.shapes[s].parent].scope
	}
	return s
}

// Size returns how many nodes the run has.
func (t *tree) Size() int { return len(t.places) }

// ScopeOf returns the scope of node i.
func (t *tree) ScopeOf(i int) int { return t.places[i].scope }

// Inner returns the scope that node i last expanded into, or NoNode.
func (t *tree) Inner(i int) int { return t.places[i].inner }

// Parent returns the node that expanded into the scope of node i, or NoNode.
func (t *tree) Parent(i int) int { return t.around(i).parent }

// Members returns the index of the first node of a scope, and how many it has.
func (t *tree) Members(s int) (base, size int) { return t.shapes[s].base, t.shapes[s].size }

// Position returns the position of node i in its scope.
func (t *tree) Position(i int) int { return i - t.around(i).base }

// Depends returns the text of the rule of node i; "" for the default rule.
func (t *tree) Depends(i int) string {
	if node := t.planned(i); node != nil {
		return node.Depends
	}
	return ""
}

// DependenciesOf returns the nodes that node i depends on.
func (t *tree) DependenciesOf(i int) []int {
	node := t.planned(i)
	if node == nil {
		return nil
	}
	base := t.around(i).base
	all := make([]int, len(node.Dependencies))
	for k, d := range node.Dependencies {
		all[k] = base + d
	}
	return all
}

// Sibling returns the node called name of the scope s; false when it has none.
func (t *tree) Sibling(s int, name string) (int, bool) {
	in := &t.shapes[s]
	if in.plan == nil {
		return NoNode, false
	}
	k, ok := in.plan.Lookup(name)
	return in.base + k, ok
}

// Reads reports whether node i reads node d of its scope while d runs.
func (t *tree) Reads(i, d int) bool {
	node := t.planned(i)
	return node != nil && len(node.Reads) > 0 && node.reads(d-t.around(i).base)
}

// ReadsAny reports whether node i reads any node while that node runs.
func (t *tree) ReadsAny(i int) bool {
	node := t.planned(i)
	return node != nil && len(node.Reads) > 0
}

// Read reports whether other nodes read node i while it runs.
func (t *tree) Read(i int) bool {
	node := t.planned(i)
	return node != nil && len(node.Readers) > 0
}
