package handlers

import (
	"net/http"

	"github.com/flowforge/flowforge/handlers/request"
)

// leaderPatterns are the routes that only the process which leads the scheduler can
// answer: they show or foresee the queue, which is in its memory.
func leaderPatterns() []string {
	return []string{
		"GET /waiting", "GET /waiting/stream",
		"GET /admin/quotas", "GET /admin/quotas.csv", "GET /admin/quotas/stream", "POST /admin/quotas/{id}", "POST /admin/quotas/{id}/preview",
		"GET /teams/mine", "GET /teams/{id}", "GET /teams/{id}/stream",
		"GET /api/v1/queue", "GET /api/v1/executions/{id}/why", "GET /api/v1/executions/{id}/nodes/{node}/why",
		"GET /api/v1/quota", "POST /api/v1/quota/preview", "GET /api/v1/quotas",
		"GET /api/v1/{kind}/{id}/quota", "POST /api/v1/{kind}/{id}/quota/preview",
		"POST /flowforge.v1.SchedulerService/{method}",
	}
}

// betterPatterns are the routes that the leader answers better, because they say how
// soon a launch would start; without a leader this process does.
func betterPatterns() []string {
	return []string{
		"GET /workflows/{name}/launch", "POST /workflows/{name}/launch", "GET /launch/{id}",
	}
}

// Leader says which requests are for the process that leads the scheduler. It is safe
// for concurrent use.
type Leader struct{ needs, better *http.ServeMux }

// NewLeader returns the routes of the leader.
func NewLeader() *Leader {
	mux := func(patterns []string) *http.ServeMux {
		m := http.NewServeMux()
		for _, p := range patterns {
			m.Handle(p, http.NotFoundHandler())
		}
		return m
	}
	return &Leader{needs: mux(leaderPatterns()), better: mux(betterPatterns())}
}

func knows(m *http.ServeMux, r *http.Request) bool {
	_, pattern := m.Handler(r)
	return pattern != ""
}

// Needs reports whether r can only be answered by the leader.
func (l *Leader) Needs(r *http.Request) bool {
	return knows(l.needs, r) || r.Method == http.MethodPost && r.URL.Path == request.APIPrefix+"/executions" && r.URL.Query().Has("dry_run")
}

// Prefers reports whether the leader answers r better than others.
func (l *Leader) Prefers(r *http.Request) bool { return knows(l.better, r) }

// ToLeader forwards a request to the leader. It reports false when it has not: this
// process leads and is to answer itself, or nobody leads, which is Unavailable. With
// true and an error the request was begun and has no answer yet.
type ToLeader func(w http.ResponseWriter, r *http.Request) (handled bool, err error)

// atLeader has the leader answer what needs it.
func (h *Handlers) atLeader(next http.Handler) http.Handler {
	if h.ToLeader == nil {
		return next
	}
	leader := NewLeader()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		needs := leader.Needs(r)
		if !needs && !leader.Prefers(r) {
			next.ServeHTTP(w, r)
			return
		}
		handled, err := h.ToLeader(w, r)
		switch {
		case err != nil && (needs || handled):
			w.Header().Set("Retry-After", "2")
			h.Site.Fail(w, r, err)
		case !handled:
			next.ServeHTTP(w, r)
		}
	})
}
