package dag

// Serve marks the running node i as serving: its dependents proceed as if it had
// succeeded, it no longer counts towards limits, and once all other nodes of its scope
// have ended or serve, Next dismisses it. It serves until it ends. Serve has no effect
// on a node without the trait Serves.
func (r *Run) Serve(i int) {
	n, t := &r.nodes[i], r.traits(i)
	if n.state != Running || n.serving || !t.Serves || t.Final || t.Expands || t.Waits {
		return
	}
	n.serving = true
	r.scopes[r.places[i].scope].serving++
	r.slots(i).active--
	r.working--
	if node := r.planned(i); node != nil {
		in := r.around(i)
		for _, d := range node.Dependents {
			if !in.plan.Nodes[d].reads(node.Index) {
				r.nodes[in.base+d].pending--
			}
		}
	}
}

// Serving reports whether node i serves others.
func (r *Run) Serving(i int) bool { return r.nodes[i].serving }

// Dismissed reports whether node i serves and no node needs it any more.
func (r *Run) Dismissed(i int) bool {
	s := &r.scopes[r.places[i].scope]
	return r.nodes[i].serving && s.open == s.serving
}

// servers decides about the serving nodes of a scope once no other node is open.
func (w *pass) servers(index int) {
	s := &w.run.scopes[index]
	if s.serving == 0 || s.open != s.serving {
		return
	}
	base, size := w.run.Members(index)
	for i := base; i < base+size; i++ {
		if w.run.nodes[i].serving {
			w.consider(i)
		}
	}
}

// serversOf returns the ended nodes that served any of nodes, all of the scope s.
func (r *Run) serversOf(s *shape, nodes []int) []int {
	var found []int
	seen := map[int]struct{}{}
	for _, i := range nodes {
		node := r.planned(i)
		if node == nil {
			continue
		}
		for _, d := range s.plan.Upstream(node.Index) {
			if _, ok := seen[d]; ok || !s.plan.Nodes[d].Serves || r.nodes[s.base+d].state != Succeeded {
				continue
			}
			seen[d] = struct{}{}
			found = append(found, s.base+d)
		}
	}
	return found
}

// served returns the past of node with a stopped server counted as succeeded: its state
// says nothing about the nodes that it served.
func served(node *Node, p Past) Past {
	if node.Serves && p.State == Cancelled {
		p.State = Succeeded
	}
	return p
}

// serves also reruns nodes that serve rerun nodes, or that were stopped.
func serves(plan *Plan, past []Past, verdicts []Verdict) {
	for k := range plan.Nodes {
		if served(&plan.Nodes[k], past[k]).State != Succeeded || !plan.Nodes[k].Serves || verdicts[k].RunReason != Reused {
			continue
		}
		if past[k].State == Cancelled {
			verdicts[k] = Verdict{Unfinished, NoNode}
		}
		for _, d := range plan.Downstream(k) {
			if g := verdicts[d].RunReason; g != Reused && g != Final {
				verdicts[k] = Verdict{Serving, d}
				break
			}
		}
	}
}
