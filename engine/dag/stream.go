package dag

import "slices"

// readable reports whether a node in s can be read by those that stream from it: its
// attempt runs, or its output is complete.
func (s State) readable() bool { return s == Running || s == Succeeded }

// reads reports whether n reads node d of its plan while d runs.
func (n *Node) reads(d int) bool { return slices.Contains(n.Reads, d) }

// stream updates the open dependencies of the readers of node i, which was in state
// from. Other dependencies close permanently; these reopen when the attempt that is
// read does not succeed.
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

// CutOff returns a node that node i streams from and that stopped without success, or
// NoNode.
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

// Reads reports whether node i reads node d of its scope while d runs.
func (r *Run) Reads(i, d int) bool {
	node := r.planned(i)
	return node != nil && len(node.Reads) > 0 && node.reads(d-r.scopes[r.nodes[i].scope].base)
}

// ReadsAny reports whether node i reads any node while that node runs.
func (r *Run) ReadsAny(i int) bool {
	node := r.planned(i)
	return node != nil && len(node.Reads) > 0
}

// Read reports whether other nodes read node i while it runs.
func (r *Run) Read(i int) bool {
	node := r.planned(i)
	return node != nil && len(node.Readers) > 0
}

// readers decides about the nodes that read node i while it runs.
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
