package telemetry

import "sync"

// hub notifies tails of new lines of their execution.
type hub struct {
	mu   sync.Mutex
	subs map[[16]byte]map[chan struct{}]struct{}
}

func newHub() *hub { return &hub{subs: map[[16]byte]map[chan struct{}]struct{}{}} }

// subscribe returns a channel that gets a token after lines of the execution
// were appended; several appends may share one token.
func (h *hub) subscribe(execution [16]byte) (hint <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subs[execution] == nil {
		h.subs[execution] = map[chan struct{}]struct{}{}
	}
	h.subs[execution][c] = struct{}{}
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.subs[execution], c)
		if len(h.subs[execution]) == 0 {
			delete(h.subs, execution)
		}
	}
}

func (h *hub) notify(execution [16]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.subs[execution] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
