package runner

import (
	"fmt"
	"time"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// tick ends parents that are idle, and the least recently used ones while all together use
// too much memory.
func (w *warmPool) tick(now time.Time) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, parent := range w.parents {
		if now.Sub(parent.last) >= warmIdle {
			w.end(key, "it was idle")
		}
	}
	if now.Sub(w.measured) < warmMeasure {
		return
	}
	w.measured = now
	limit := w.limit.MemoryMiB << 20
	var sum int64
	for _, parent := range w.parents {
		parent.used = parent.memory()
		sum += parent.used
	}
	for sum > limit && len(w.parents) > 0 {
		key := w.oldest()
		used := w.parents[key].used
		if used > limit {
			l := w.modulesOf(key)
			l.modules, l.full = nil, true
		}
		sum -= used
		w.end(key, fmt.Sprintf("the warm processes used more than %d MiB", w.limit.MemoryMiB))
	}
}

// use returns the number of parents and their memory.
func (w *warmPool) use() *flowforgev1.WarmPython {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	use := &flowforgev1.WarmPython{}
	for _, parent := range w.parents {
		use.Processes++
		use.MemoryBytes += parent.used
	}
	return use
}
