package dag

import "encoding/json"

// planJSON is the representation in the API. Definitions are never read from it, but
// compiled again.
type planJSON struct {
	Nodes []nodeJSON `json:"nodes"`
	Edges []edgeJSON `json:"edges"`
}

type nodeJSON struct {
	Name    string `json:"name"`
	Level   int    `json:"level"`
	Depends string `json:"depends,omitempty"`
}

type edgeJSON struct {
	From    int    `json:"from"`
	To      int    `json:"to"`
	Label   string `json:"label,omitempty"`
	Streams bool   `json:"streams,omitempty"`
}

// MarshalJSON writes {"nodes":[{name,level,depends}],"edges":[{from,to,label,streams}]}.
func (p *Plan) MarshalJSON() ([]byte, error) {
	out := planJSON{Nodes: make([]nodeJSON, len(p.Nodes)), Edges: make([]edgeJSON, len(p.Edges))}
	for i, n := range p.Nodes {
		out.Nodes[i] = nodeJSON{Name: n.Name, Level: n.Level, Depends: n.Depends}
	}
	for i, e := range p.Edges {
		out.Edges[i] = edgeJSON(e)
	}
	return json.Marshal(out)
}
