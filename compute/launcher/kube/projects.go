package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/flowforge/flowforge/apperr"
)

// reloadAfter bounds how often the list is reloaded for an unknown project.
const reloadAfter = time.Second

// projects caches the namespaces of projects; a namespace's name never changes.
type projects struct {
	load func(context.Context) ([]Project, error)
	now  func() time.Time

	mu     sync.Mutex
	byID   map[string]Project
	loaded time.Time
}

// find returns a project; NotFound when there is none with this id.
func (p *projects) find(ctx context.Context, id string) (Project, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if project, ok := p.byID[id]; ok {
		return project, nil
	}
	if p.load == nil {
		return Project{}, apperr.New(apperr.NotFound, "The launcher has no list of projects.")
	}
	if now := p.now(); p.byID == nil || now.Sub(p.loaded) >= reloadAfter {
		all, err := p.load(ctx)
		if err != nil {
			return Project{}, fmt.Errorf("list projects: %w", err)
		}
		p.byID, p.loaded = make(map[string]Project, len(all)), now
		for _, project := range all {
			p.byID[project.ID] = project
		}
	}
	project, ok := p.byID[id]
	if !ok {
		return Project{}, apperr.New(apperr.NotFound, "There is no project %s.", id)
	}
	return project, nil
}
