package dag

import "slices"

// Reopen makes node i, which has ended, PENDING again, together with its direct and
// indirect dependents that did not run and the nodes that served them. It returns them,
// i first. Other nodes keep their states. It returns false, and changes nothing, when
// the scope of i has ended or was halted or drained, because the node could not run.
func (r *Run) Reopen(i int) ([]int, bool) {
	in, s := &r.scopes[r.places[i].scope], r.around(i)
	if !r.nodes[i].state.Ended() || in.ended() || in.draining || r.Halted(i) {
		return nil, false
	}
	again := []int{i}
	if node := r.planned(i); node != nil {
		again = append(again, r.notRun(s, node)...)
	}
	again = append(again, r.serversOf(s, again)...)
	for _, k := range again {
		r.reopen(k, in)
	}
	for _, k := range again {
		r.nodes[k].pending = r.open(k, s)
		if node := r.planned(k); node != nil {
			for _, d := range node.Dependents { // including those that had not ended yet
				r.nodes[s.base+d].pending = r.open(s.base+d, s)
			}
		}
	}
	return again, true
}

// notRun returns the nodes downstream of node that did not run and were not skipped by
// their own condition.
func (r *Run) notRun(s *shape, node *Node) []int {
	var found []int
	queue := slices.Clone(node.Dependents)
	seen := map[int]struct{}{}
	for ; len(queue) > 0; queue = queue[1:] {
		k := queue[0]
		if _, ok := seen[k]; ok {
			continue
		}
		seen[k] = struct{}{}
		n := &r.nodes[s.base+k]
		if n.state != Cancelled && (n.state != Skipped || !n.omitted) {
			continue
		}
		found = append(found, s.base+k)
		queue = append(queue, s.plan.Nodes[k].Dependents...)
	}
	return found
}

func (r *Run) reopen(i int, s *scope) {
	n := &r.nodes[i]
	r.counts[n.state]--
	r.counts[Pending]++
	switch n.state {
	case Succeeded:
		s.succeeded--
	case Failed:
		s.failed--
	case Cancelled:
		s.cancelled--
	case Pending, Ready, Queued, Running, Retrying, Skipped:
	}
	if r.traits(i).Final {
		s.finals++
	} else {
		s.open++
	}
	if node := r.planned(i); node != nil && r.places[i].scope == Root {
		if r.levels[node.Level] == 0 {
			r.done--
		}
		r.levels[node.Level]++
	}
	*n = member{state: Pending, active: n.active}
}

// open counts the open dependencies of node i.
func (r *Run) open(i int, s *shape) int {
	node := r.planned(i)
	if node == nil {
		return 0
	}
	count := 0
	for _, d := range node.Dependencies {
		state := r.nodes[s.base+d].state
		if node.reads(d) && state.readable() || r.nodes[s.base+d].serving {
			continue
		}
		if state != Succeeded && (node.rule == nil || !state.Ended()) {
			count++
		}
	}
	return count
}
