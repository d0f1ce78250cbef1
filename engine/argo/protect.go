package argo

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/workflow"
)

// locks are the mutexes and semaphores of a workflow or a template. A semaphore is
// named by its ConfigMap and key, which says how many may hold it, unless an
// administrator of the project has said it.
func (t *translator) locks(s *synchronization, path string) []workflow.Lock {
	if s == nil {
		return nil
	}
	var locks []workflow.Lock
	add := func(name string, limit workflow.ConfigMapKey) {
		t.refuse(name == "", path, "A lock needs a name.")
		locks = append(locks, workflow.Lock{Name: name, Permits: 1, Limit: limit})
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
			t.add(path, "A semaphore is named by configMapKeyRef, or by database.")
			continue
		}
		ref := one.ConfigMapKeyRef
		t.checkConfigMap(ref, path+".semaphore.configMapKeyRef")
		add(strings.Trim(ref.Name+"/"+ref.Key, "/"), workflow.ConfigMapKey{Name: ref.Name, Key: ref.Key, At: path})
	}
	slices.SortFunc(locks, func(a, b workflow.Lock) int { return strings.Compare(a.Name, b.Name) }) // nobody waits in a circle
	return slices.Compact(locks)
}

// ttl is how long an ended execution is kept.
func (t *translator) ttl() workflow.TTL {
	var out workflow.TTL
	s := t.spec.TTLStrategy
	if s == nil {
		return out
	}
	read := func(n *int64, name string) *time.Duration {
		if n == nil {
			return nil
		}
		t.refuse(*n < 0, "spec.ttlStrategy."+name, "This has to be a number of seconds.")
		d := time.Duration(min(max(*n, 0), 10*365*24*3600)) * time.Second
		return &d
	}
	out.Completion = read(s.Completion, "secondsAfterCompletion")
	out.Success = read(s.Success, "secondsAfterSuccess")
	out.Failure = read(s.Failure, "secondsAfterFailure")
	return out
}

var ofTheRun = regexp.MustCompile(`\{\{[^}]*\bworkflow\.`)

// memo lets a template take over the outputs of an earlier node with the same key. The
// engine compares what the template runs and all its inputs; the key is part of it.
func (t *translator) memo(s *source) *workflow.Cache {
	m := s.Memoize
	if m == nil {
		return nil
	}
	path := s.path + ".memoize"
	t.checkText(m.Key, scope{own: s, leaf: true}, path+".key")
	t.refuse(s.ContainerSet != nil, path, "Only a container, a script or http is remembered; leave it out.")
	t.refuse(m.Key == "", path+".key", "Say by which key results are found again.")
	text, err := json.Marshal([]any{s.Container, s.Script, s.HTTP, m.Key})
	t.refuse(err != nil || ofTheRun.Match(text), path, "What a template with memoize reads of the workflow would not be part of the key; pass it on as an input parameter.")
	sum := sha256.Sum256([]byte(m.Cache.ConfigMap.Name + "\n" + m.Key))
	c := &workflow.Cache{Version: hex.EncodeToString(sum[:8])}
	if m.MaxAge != "" {
		c.TTL = t.pause(m.MaxAge, path+".maxAge")
	}
	return c
}
