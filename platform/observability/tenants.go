package observability

import "sync"

// otherTenants is the label of all tenants beyond the limit.
const otherTenants = "other"

// tenants limits the number of values of the label tenant. A tenant keeps its label
// until the process ends, so that no series is interrupted.
type tenants struct {
	mu   sync.Mutex
	most int
	seen map[string]struct{}
}

func newTenants(most int) *tenants { return &tenants{most: most, seen: map[string]struct{}{}} }

// label returns name, or "other" when the limit is reached.
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
