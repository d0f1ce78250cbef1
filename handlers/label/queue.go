package label

import (
	"strconv"
	"time"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// QueuedName is the name of a waiting node on pages.
func QueuedName(q quota.Queued) string { return NameOf(q.Key, q.Name) }

// NameOf is the name of the node or execution that waits or uses resources.
func NameOf(key fair.Key, name quota.Name) string {
	short := ShortID(key.Execution)
	if name.Node == "" {
		return name.Workflow + " " + short
	}
	return name.Node + " " + short
}

// QueuedURL is the page of a node, or of its execution.
func QueuedURL(key fair.Key, name quota.Name) string {
	if name.Node == "" {
		return views.ExecutionURL(key.Execution.String())
	}
	return views.NodeURL(key.Execution.String(), name.Node)
}

// ReasonText is a reason for pages. The error text of a failed connection is only in the
// API and in the log of the server.
func ReasonText(r *query.Reason) string {
	if r.Code == execution.WaitCluster {
		return "The cluster's API server is not responding. The pod is created when it responds again."
	}
	return r.Message
}

// StartBand formats the estimated start: the middle and the interval.
func StartBand(clock ui.Clock, from, to *time.Time) (text, note string) {
	if from == nil || to == nil {
		return "", ""
	}
	middle := from.Add(to.Sub(*from) / 2)
	if middle.Sub(clock.Now) < time.Minute {
		return "in less than a minute", ""
	}
	text = "≈ " + clock.Moment(middle).Text
	if to.Sub(*from) >= 2*time.Minute {
		note = clock.Moment(*from).Text + " to " + clock.Moment(*to).Text
	}
	return text, note
}

// PositionText is a position in the queue. Nodes with reserved capacity are next.
func PositionText(position int) string {
	if position == 0 {
		return "next"
	}
	return strconv.Itoa(position)
}
