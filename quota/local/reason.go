package local

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/google/uuid"
)

const (
	maxHolders  = 3    // holders that a reason names
	maxPosition = 1000 // beyond this a position is not counted
)

// refuse gives every request of want that was not granted its reason. Holders
// and free amounts are the same for all of one resource and found once.
func (l *Local) refuse(want, granted []Request) []Refusal {
	given := make(map[int]struct{}, len(granted))
	for _, r := range granted {
		given[r.Key.Node] = struct{}{}
	}
	holders := map[string][]Holder{}
	counted := 0
	var refused []Refusal
	for _, r := range want {
		if _, ok := given[r.Key.Node]; ok {
			continue
		}
		reason := l.reason(r, holders)
		if counted < maxHolders {
			counted++
			reason.Position = l.waiting.ahead(r, maxPosition) + 1
		}
		refused = append(refused, Refusal{r.Key, reason})
	}
	return refused
}

func (l *Local) reason(r Request, holders map[string][]Holder) Reason {
	short, ok := shortage(r.Amount, l.free)
	if !ok {
		return Reason{Code: BehindOthers, Message: "Waits behind a node that has waited longer and needs more room."}
	}
	if _, ok := holders[short.code]; !ok {
		holders[short.code] = l.holders(short)
	}
	reason := short.reason(r.Amount, l.free, l.capacity)
	reason.Holders = holders[short.code]
	return reason
}

// holders returns the executions that hold most of a resource.
func (l *Local) holders(of resource) []Holder {
	all := make([]Holder, 0, len(l.held))
	for id, nodes := range l.held {
		h := Holder{Execution: id, Nodes: len(nodes)}
		for _, amount := range nodes {
			h.Amount += of.of(amount)
		}
		if h.Amount > 0 {
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Amount, a.Amount), bytes.Compare(a.Execution[:], b.Execution[:]))
	})
	return all[:min(len(all), maxHolders)]
}

// Position returns the present place of a waiting node, 1 is next, or 0 when it
// does not wait here.
func (l *Local) Position(execution uuid.UUID, node int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.waiting.entries[execution][node]
	if !ok {
		return 0
	}
	return l.waiting.ahead(e.request, maxPosition) + 1
}
