package kube

import (
	"sync"
	"time"
)

const (
	recentLife = 10 * time.Minute
	recentMost = 50_000
)

// recent caches the attempts that this process has started, so that retrying a batch in
// which one failed calls the cluster for that one only. Losing the cache is harmless:
// names identify existing pods.
type recent struct {
	now func() time.Time

	mu    sync.Mutex
	tasks map[string]time.Time
}

func (r *recent) has(task string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.tasks[task]
	return ok && r.now().Sub(at) < recentLife
}

func (r *recent) add(task string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if r.tasks == nil {
		r.tasks = map[string]time.Time{}
	}
	if len(r.tasks) >= recentMost {
		for other, at := range r.tasks {
			if now.Sub(at) >= recentLife {
				delete(r.tasks, other)
			}
		}
		if len(r.tasks) >= recentMost {
			clear(r.tasks)
		}
	}
	r.tasks[task] = now
}

func (r *recent) drop(task string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tasks, task)
}
