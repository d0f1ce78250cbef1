// Package leader marks the routes that only the leading scheduler can serve. They show or predict
// the queue, which only the leader has in memory.
package leader

import (
	"cmp"
	"net/http"

	"github.com/go-chi/chi/v5"
)

// Forward sends a request to the leader. It returns false if it did not send the request: either
// this process leads and must answer itself, or no process leads (Unavailable). With true and an
// error, the request was sent and has no response yet.
type Forward func(w http.ResponseWriter, r *http.Request) (handled bool, err error)

// Routes holds the marked routes of a site. It is safe for concurrent use once every route
// is registered.
type Routes struct {
	forward Forward // nil in a process that always leads
	fail    func(w http.ResponseWriter, r *http.Request, err error)
	marks   map[string]*Mark // by method and pattern
}

// New returns Routes without marks. forward sends requests to the leader; it is nil in a
// process that always leads. fail responds with an error.
func New(forward Forward, fail func(w http.ResponseWriter, r *http.Request, err error)) *Routes {
	return &Routes{forward: forward, fail: fail, marks: map[string]*Mark{}}
}

// Mark marks a route that the leader answers.
type Mark struct {
	routes *Routes
	needs  bool                     // only the leader can answer
	when   func(*http.Request) bool // nil: every request
}

// Mark marks a route that only the leader can answer, or those of its requests for which
// when returns true; nil means all requests.
func (l *Routes) Mark(method, pattern string, when func(*http.Request) bool) *Mark {
	return l.mark(method, pattern, &Mark{routes: l, needs: true, when: when})
}

func (l *Routes) mark(method, pattern string, m *Mark) *Mark {
	l.marks[method+" "+pattern] = m
	return m
}

// Answer lets the leader answer r. It returns false if this process must answer.
func (m *Mark) Answer(w http.ResponseWriter, r *http.Request) bool {
	if m.routes.forward == nil || !m.takes(r) {
		return false
	}
	handled, err := m.routes.forward(w, r)
	if err != nil && (m.needs || handled) {
		w.Header().Set("Retry-After", "2")
		m.routes.fail(w, r, err)
		return true
	}
	return handled
}

func (m *Mark) takes(r *http.Request) bool { return m.when == nil || m.when(r) }

// Takes reports whether the leader answers r, as site routes it.
func (l *Routes) Takes(site chi.Routes, r *http.Request) bool {
	pattern := site.Find(chi.NewRouteContext(), r.Method, cmp.Or(r.URL.RawPath, r.URL.Path))
	m, ok := l.marks[r.Method+" "+pattern]
	return ok && m.takes(r)
}

// Router registers routes with a mark.
type Router struct {
	routes *Routes
	router chi.Router
	needs  bool
}

// Needs registers routes on r that only the leader can answer.
func (l *Routes) Needs(r chi.Router) Router { return Router{l, r, true} }

// Prefers registers routes on r that the leader answers better. Without a leader, this
// process answers them.
func (l *Routes) Prefers(r chi.Router) Router { return Router{l, r, false} }

// Get registers h for GET.
func (m Router) Get(pattern string, h http.HandlerFunc) { m.Method(http.MethodGet, pattern, h) }

// Post registers h for POST.
func (m Router) Post(pattern string, h http.HandlerFunc) { m.Method(http.MethodPost, pattern, h) }

// Method registers h for method.
func (m Router) Method(method, pattern string, h http.Handler) {
	mark := m.routes.mark(method, pattern, &Mark{routes: m.routes, needs: m.needs})
	m.router.Method(method, pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !mark.Answer(w, r) {
			h.ServeHTTP(w, r)
		}
	}))
}
