package argo

import (
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/workflow"
)

// locks returns the mutexes and semaphores of a workflow or a template. The name of a semaphore is
// that of its ConfigMap and key, which has the number of permits unless an administrator of the
// project has set another.
func (p *policies) locks(s *synchronization, path string) []workflow.Lock {
	if s == nil {
		return nil
	}
	var locks []workflow.Lock
	add := func(name string, limit workflow.ConfigMapKey) {
		p.refuse(name == "", path, "A lock must have a name.")
		locks = append(locks, workflow.Lock{Name: name, Permits: p.storedPermits(limit), Limit: limit})
	}
	mutexes, semaphores := s.Mutexes, s.Semaphores
	if s.Mutex != nil {
		mutexes = append(mutexes, *s.Mutex)
	}
	if s.Semaphore != nil {
		semaphores = append(semaphores, *s.Semaphore)
	}
	for _, m := range mutexes {
		add(m.Name, workflow.ConfigMapKey{})
	}
	for _, one := range semaphores {
		if one.Database != nil && one.ConfigMapKeyRef == nil {
			add(one.Database.Key, workflow.ConfigMapKey{})
			continue
		}
		if one.ConfigMapKeyRef == nil || one.Database != nil {
			p.add(path, "Set configMapKeyRef or database.")
			continue
		}
		ref := one.ConfigMapKeyRef
		p.values.checkConfigMap(ref, path+".semaphore.configMapKeyRef")
		add(strings.Trim(ref.Name+"/"+ref.Key, "/"), workflow.ConfigMapKey{Name: ref.Name, Key: ref.Key, Default: p.storedValue(ref), At: path})
	}
	slices.SortFunc(locks, func(a, b workflow.Lock) int { return strings.Compare(a.Name, b.Name) }) // a fixed order prevents deadlocks
	return slices.CompactFunc(locks, func(a, b workflow.Lock) bool { return a.Name == b.Name })
}

// ttl returns how long an ended execution is kept.
func (p *policies) ttl() workflow.TTL {
	var out workflow.TTL
	s := p.spec.TTLStrategy
	if s == nil {
		return out
	}
	read := func(n *int64, name string) *time.Duration {
		if n == nil {
			return nil
		}
		p.refuse(*n < 0, "spec.ttlStrategy."+name, "This must be a number of seconds.")
		d := time.Duration(min(max(*n, 0), 10*365*24*3600)) * time.Second
		return &d
	}
	out.Completion = read(s.Completion, "secondsAfterCompletion")
	out.Success = read(s.Success, "secondsAfterSuccess")
	out.Failure = read(s.Failure, "secondsAfterFailure")
	return out
}

// memo makes a template reuse the outputs of an earlier node of the project with the same key
// in the same ConfigMap. As in Argo, the key alone decides: not what the template runs, nor
// its inputs.
func (p *policies) memo(s *source) *workflow.Cache {
	m := s.Memoize
	if m == nil {
		return nil
	}
	path := s.path + ".memoize"
	p.checks.checkText(m.Key, scope{own: s, leaf: !s.isGraph()}, path+".key")
	p.refuse(s.Suspend != nil, path, "A suspend template waits for an answer each time; omit memoize.")
	p.refuse(m.Key == "", path+".key", "Set the key of the results.")
	c := &workflow.Cache{Key: m.Key, Store: m.Cache.ConfigMap.Name}
	if m.MaxAge != "" {
		c.TTL = p.pause(m.MaxAge, path+".maxAge")
	}
	return c
}
