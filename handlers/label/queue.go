package label

import (
	"strconv"
	"time"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// QueuedName is what people call a waiting node.
func QueuedName(q quota.Queued) string { return NameOf(q.Key, q.Name) }

// NameOf is what waits or holds, as its execution and node are called.
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

// ReasonText is a reason for people: what a connection that failed said of itself is
// left to the API and the log of the server.
func ReasonText(r *execution.Reason) string {
	if r.Code == execution.WaitCluster {
		return "The cluster's API server is not responding. The pod is created when it responds again."
	}
	return r.Message
}

// StartBand writes when something probably starts: the middle, and the band.
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

// PositionText is a place in the queue; what has room set aside is before them all.
func PositionText(position int) string {
	if position == 0 {
		return "next"
	}
	return strconv.Itoa(position)
}
