package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// pathLocks gives attempts exclusive use of absolute paths.
type pathLocks struct {
	mu   sync.Mutex
	held map[string]pathHold
}

// pathHold is the use of a path by an attempt, until free is closed.
type pathHold struct {
	free chan struct{}
	by   *attempt
}

// outlasts reports whether a serves other nodes until b has ended, so that b cannot wait
// for it: a server ends after all other nodes of its template.
func (a *attempt) outlasts(b *attempt) bool {
	if !a.spec.Serves || a.over.Load() || context.Cause(a.ctx) != nil || a.spec.ExecutionId != b.spec.ExecutionId {
		return false
	}
	template := a.spec.Node[:strings.LastIndex(a.spec.Node, "/")+1]
	return strings.HasPrefix(b.spec.Node, template)
}

// acquire waits until all names are free and locks them for an attempt.
func (p *pathLocks) acquire(by *attempt, names []string) (release func(), err error) {
	names = slices.Clone(names)
	slices.Sort(names) // a fixed order prevents deadlocks
	names = slices.Compact(names)
	var mine []string
	release = func() { p.release(mine) }
	for _, name := range names {
		for {
			busy, ok := p.take(name, by)
			if ok {
				break
			}
			if busy.by.outlasts(by) {
				release()
				return nil, fmt.Errorf("the daemon %s uses %s until this task has ended; use another path in one of them", busy.by.spec.Node, name)
			}
			select {
			case <-busy.free:
			case <-by.ctx.Done():
				release()
				return nil, context.Cause(by.ctx)
			}
		}
		mine = append(mine, name)
	}
	return release, nil
}

// take locks name for an attempt, or returns who holds it.
func (p *pathLocks) take(name string, by *attempt) (busy pathHold, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if busy, ok := p.held[name]; ok {
		return busy, false
	}
	if p.held == nil {
		p.held = map[string]pathHold{}
	}
	p.held[name] = pathHold{make(chan struct{}), by}
	return pathHold{}, true
}

func (p *pathLocks) release(names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range names {
		close(p.held[name].free)
		delete(p.held, name)
	}
}

// pathsOf returns the absolute paths that an attempt names.
func pathsOf(spec *flowforgev1.AttemptSpec) []string {
	var names []string
	for _, f := range spec.Files {
		if f.Path != "" {
			names = append(names, filepath.Clean(f.Path))
		}
	}
	for _, o := range spec.Outputs {
		if o.Path != "" {
			names = append(names, filepath.Clean(o.Path))
		}
	}
	for _, s := range spec.Scratch {
		names = append(names, filepath.Clean(s.Path))
	}
	return names
}
