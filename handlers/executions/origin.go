package executions

import (
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/views"
)

// originLine describes the origin of the result, or of the checkpoint, of a node.
func originLine(d query.NodeDetail) *views.NodeOrigin {
	if d.Origin == nil {
		return nil
	}
	line := &views.NodeOrigin{URL: originURL(d.Origin.Execution, d.Origin.Node), Name: originName(d.Origin.Execution, d.Origin.Node)}
	switch d.Origin.Use {
	case query.OriginReused:
		line.Text = "Reused from"
	case query.OriginCached:
		line.Text = "Its result comes from"
	case query.OriginBefore:
		line.Text = "Continued from the checkpoint of"
	}
	return line
}

// cacheLine describes the cache lookup of a node and its reason.
func cacheLine(d query.NodeDetail) *views.NodeCache {
	if d.Cache == nil {
		return nil
	}
	line := &views.NodeCache{Why: d.Cache.Why}
	switch d.Cache.Found {
	case query.CacheHit:
		line.Found = "Cache hit."
	case query.CacheMiss:
		line.Found = "Cache miss."
	case query.CacheIgnored:
		line.Found = "Cache not used."
	}
	if d.Cache.Execution != nil && d.Origin == nil {
		line.URL, line.Name = originURL(*d.Cache.Execution, d.Cache.Node), "Compare with "+originName(*d.Cache.Execution, d.Cache.Node)
	}
	return line
}

func originURL(id uuid.UUID, node string) string {
	if node == "" {
		return views.ExecutionURL(id.String())
	}
	return views.NodeURL(id.String(), node)
}

func originName(id uuid.UUID, node string) string {
	if node == "" {
		return "execution " + label.ShortID(id)
	}
	return node + " in execution " + label.ShortID(id)
}
