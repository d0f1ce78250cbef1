package observability

import "sync"

// otherTenants is the label of all tenants beyond the bound.
const otherTenants = "other"

// tenants bounds how many values the label tenant has. Who has got a label keeps it
// until the process ends, so that no series breaks off.
type tenants struct {
	mu   sync.Mutex
	most int
	seen map[string]struct{}
}

func newTenants(most int) *tenants { return &tenants{most: most, seen: map[string]struct{}{}} }

// label returns name, or "other" when the bound is reached.
func (t *tenants) label(name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.seen[name]; ok {
		return name
	}
	if len(t.seen) >= t.most {
		return otherTenants
	}
	t.seen[name] = struct{}{}
	return name
}
