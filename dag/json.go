package dag

import (
	"encoding/json"
	"fmt"
	"slices"
)

// planJSON is the stored form: what Compile cannot work out again is left out,
// except Level, which readers of the API want.
type planJSON struct {
	Nodes []nodeJSON `json:"nodes"`
	Edges []edgeJSON `json:"edges"`
}

type nodeJSON struct {
	Name  string `json:"name"`
	Level int    `json:"level"`
}

type edgeJSON struct {
	From  int    `json:"from"`
	To    int    `json:"to"`
	Label string `json:"label,omitempty"`
}

// MarshalJSON writes {"nodes":[{name,level}],"edges":[{from,to,label}]}.
func (p *Plan) MarshalJSON() ([]byte, error) {
	out := planJSON{Nodes: make([]nodeJSON, len(p.Nodes)), Edges: make([]edgeJSON, len(p.Edges))}
	for i, n := range p.Nodes {
		out.Nodes[i] = nodeJSON{Name: n.Name, Level: n.Level}
	}
	for i, e := range p.Edges {
		out.Edges[i] = edgeJSON(e)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote and works out the rest again. It
// refuses anything that Compile would not have built.
func (p *Plan) UnmarshalJSON(data []byte) error {
	var in planJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	specs := make([]Spec, len(in.Nodes))
	for i, n := range in.Nodes {
		specs[i] = Spec{Name: n.Name}
	}
	for _, e := range in.Edges {
		if e.From < 0 || e.From >= len(specs) || e.To < 0 || e.To >= len(specs) {
			return fmt.Errorf("plan: edge %d → %d leaves the graph", e.From, e.To)
		}
		specs[e.To].Dependencies = append(specs[e.To].Dependencies, Dependency{Name: specs[e.From].Name, Label: e.Label})
	}
	plan, problems := Compile(specs)
	if len(problems) > 0 {
		return fmt.Errorf("plan: %s: %s", problems[0].Path, problems[0].Message)
	}
	if !slices.EqualFunc(plan.Nodes, in.Nodes, func(n Node, j nodeJSON) bool { return n.Level == j.Level }) {
		return fmt.Errorf("plan: the levels do not fit the edges")
	}
	*p = *plan
	return nil
}
