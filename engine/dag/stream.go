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
func (r *Run) stream(i int, from State) {
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
	base := r.around(i).base
	for _, d := range node.Readers {
		r.nodes[base+d].pending += by
	}
}

// CutOff returns a node that node i streams from and that stopped without success, or
// NoNode.
func (r *Run) CutOff(i int) int {
	node := r.planned(i)
	if node == nil || len(node.Reads) == 0 {
		return NoNode
	}
	base := r.around(i).base
	for _, d := range node.Reads {
		if !r.nodes[base+d].state.readable() {
			return base + d
		}
	}
	return NoNode
}

// readers decides about the nodes that read node i while it runs.
func (w *pass) readers(i int) {
	node := w.run.planned(i)
	if node == nil {
		return
	}
	base := w.run.around(i).base
	for _, d := range node.Readers {
		if !w.run.nodes[base+d].state.Ended() {
			w.consider(base + d)
		}
	}
}
