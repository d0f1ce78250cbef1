package dag

import "slices"

// readable reports whether a node in s can be read by those that stream from it: its
// attempt runs, or what it made is there as a whole.
func (s State) readable() bool { return s == Running || s == Succeeded }

// reads reports whether n reads node d of its plan while that runs.
func (n *Node) reads(d int) bool { return slices.Contains(n.Reads, d) }

// stream counts for the readers of node i, which was in from, whether they may run.
// Other dependencies are closed once and for all; these can open again, when the
// attempt that they read ends otherwise than well.
func (r *Run) stream(i int, in *scope, from State) {
	node := r.planned(i)
	if node == nil || len(node.Readers) == 0 {
		return
	}
	before, after := from.readable(), r.nodes[i].state.readable()
	if before == after {
		return
	}
	by := 1
	if after {
		by = -1
	}
	for _, d := range node.Readers {
		r.nodes[in.base+d].pending += by
	}
}

// CutOff returns a node that node i reads while it runs and that runs no more without
// having succeeded, or NoNode.
func (r *Run) CutOff(i int) int {
	node := r.planned(i)
	if node == nil || len(node.Reads) == 0 {
		return NoNode
	}
	base := r.scopes[r.nodes[i].scope].base
	for _, d := range node.Reads {
		if !r.nodes[base+d].state.readable() {
			return base + d
		}
	}
	return NoNode
}

// Reads reports whether node i reads node d of its scope while that runs.
func (r *Run) Reads(i, d int) bool {
	node := r.planned(i)
	return node != nil && len(node.Reads) > 0 && node.reads(d-r.scopes[r.nodes[i].scope].base)
}

// ReadsAny reports whether node i reads anything while it runs.
func (r *Run) ReadsAny(i int) bool {
	node := r.planned(i)
	return node != nil && len(node.Reads) > 0
}

// Read reports whether others read node i while it runs.
func (r *Run) Read(i int) bool {
	node := r.planned(i)
	return node != nil && len(node.Readers) > 0
}

// readers decides about those that read node i while it runs.
func (w *pass) readers(i int) {
	node := w.run.planned(i)
	if node == nil {
		return
	}
	base := w.run.scopes[w.run.nodes[i].scope].base
	for _, d := range node.Readers {
		if !w.run.nodes[base+d].state.Ended() {
			w.consider(base + d)
		}
	}
}
