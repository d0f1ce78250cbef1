package dag

// Serve says that node i, which runs, serves others from now on: what depends on it
// goes on as if it had succeeded, it takes no place any more, and once all others of
// its scope have ended or serve, Next dismisses it. It leaves that state by its end
// alone. Of a node whose traits say nothing of serving nothing changes.
func (r *Run) Serve(i int) {
	n, t := &r.nodes[i], r.traits(i)
	if n.state != Running || n.serving || !t.Serves || t.Final || t.Expands || t.Waits {
		return
	}
	n.serving = true
	in := &r.scopes[n.scope]
	in.serving++
	in.active--
	r.working--
	if node := r.planned(i); node != nil {
		for _, d := range node.Dependents {
			if !in.plan.Nodes[d].reads(node.Index) {
				r.nodes[in.base+d].pending--
			}
		}
	}
}

// Serving reports whether node i serves others.
func (r *Run) Serving(i int) bool { return r.nodes[i].serving }

// Dismissed reports whether node i serves and nobody needs it any more.
func (r *Run) Dismissed(i int) bool {
	n := &r.nodes[i]
	s := &r.scopes[n.scope]
	return n.serving && s.open == s.serving
}

// servers decides about the nodes of a scope that serve, once nothing else in it is open.
func (w *pass) servers(index int) {
	s := &w.run.scopes[index]
	if s.serving == 0 || s.open != s.serving {
		return
	}
	for i := s.base; i < s.base+s.size; i++ {
		if w.run.nodes[i].serving {
			w.consider(i)
		}
	}
}

// serversOf are the nodes that served some of nodes, all of the scope s, and have ended.
func (r *Run) serversOf(s *scope, nodes []int) []int {
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

// served is what became of node with a server that was stopped as if it had ended well:
// that says nothing about those that it served.
func served(node *Node, p Past) Past {
	if node.Serves && p.State == Cancelled {
		p.State = Succeeded
	}
	return p
}

// serves lets nodes run again after all that serve others which run, or were stopped.
func serves(plan *Plan, past []Past, verdicts []Verdict) {
	for k := range plan.Nodes {
		if served(&plan.Nodes[k], past[k]).State != Succeeded || !plan.Nodes[k].Serves || verdicts[k].RunReason != Taken {
			continue
		}
		if past[k].State == Cancelled {
			verdicts[k] = Verdict{Unfinished, NoNode}
		}
		for _, d := range plan.Downstream(k) {
			if g := verdicts[d].RunReason; g != Taken && g != AtTheEnd {
				verdicts[k] = Verdict{Serving, d}
				break
			}
		}
	}
}
