package workflow

import (
	"container/list"
	"sync"

	"github.com/google/uuid"
)

// A version of 10,000 operators takes about 20 MB, so nodes are counted as well.
const (
	maxCachedVersions = 500
	maxCachedNodes    = 60_000
)

// versionCache keeps the most recently used versions. Versions never change, so entries
// never become stale.
type versionCache struct {
	mu          sync.Mutex
	maxVersions int
	maxNodes    int
	nodes       int
	recent      *list.List // of Version, the last used in front
	byID        map[uuid.UUID]*list.Element
}

func newVersionCache(maxVersions, maxNodes int) *versionCache {
	return &versionCache{maxVersions: maxVersions, maxNodes: maxNodes, recent: list.New(), byID: map[uuid.UUID]*list.Element{}}
}

func (c *versionCache) get(id uuid.UUID) (Version, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byID[id]
	if !ok {
		return Version{}, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(Version), true
}

// put adds v and evicts the least recently used versions; v itself stays even if it
// alone exceeds the limit.
func (c *versionCache) put(v Version) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.byID[v.ID]; ok {
		return
	}
	c.byID[v.ID] = c.recent.PushFront(v)
	c.nodes += len(v.Plan.Nodes)
	for c.recent.Len() > 1 && (c.recent.Len() > c.maxVersions || c.nodes > c.maxNodes) {
		oldest := c.recent.Remove(c.recent.Back()).(Version)
		delete(c.byID, oldest.ID)
		c.nodes -= len(oldest.Plan.Nodes)
	}
}
