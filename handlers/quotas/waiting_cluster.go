package quotas

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

const (
	clusterWaitRows = 50
	// waitingLook is the interval at which the stream checks without a hint. A pod that starts too
	// slowly causes no hint.
	waitingLook = 15 * time.Second
)

// clusterWaits are the nodes at or below place that wait in the cluster.
func (h *Pages) clusterWaits(ctx context.Context, clock ui.Clock, place uuid.UUID) (views.ClusterWaits, error) {
	waits, err := h.Executions.Waits.InCluster(ctx, place, clusterWaitRows)
	if err != nil {
		return views.ClusterWaits{}, err
	}
	var block views.ClusterWaits
	for _, w := range waits.Entries {
		block.Rows = append(block.Rows, clusterWaitLine(clock, w))
	}
	if waits.More > 0 {
		block.More = units.Plural(waits.More, "more node waits", "more nodes wait") + " in the cluster, for a shorter time."
	}
	return block, nil
}

// otherWaits are the ready nodes of the project that wait for something other than capacity,
// such as a lock, and therefore have no position in the queue.
func (h *Pages) otherWaits(ctx context.Context, clock ui.Clock) (views.ClusterWaits, error) {
	nodes, err := h.Executions.Waits.Nodes(ctx, clusterWaitRows)
	if err != nil {
		return views.ClusterWaits{}, err
	}
	var block views.ClusterWaits
	for _, n := range nodes {
		if n.Position > 0 {
			continue
		}
		block.Rows = append(block.Rows, views.ClusterWaitLine{
			Title: n.Node, URL: views.NodeURL(n.ExecutionID.String(), n.Node), Sub: cmp.Or(n.Execution, n.WorkflowName) + " " + label.ShortID(n.ExecutionID),
			Waits: units.Duration(clock.Now.Sub(n.Since)), Since: n.Since.Format(time.RFC3339), Why: label.ReasonText(&n.Reason), Code: n.Reason.Code,
		})
	}
	return block, nil
}

func clusterWaitLine(clock ui.Clock, w query.ClusterWait) views.ClusterWaitLine {
	line := views.ClusterWaitLine{
		Title: label.NameOf(w.Key, w.Name), URL: label.QueuedURL(w.Key, w.Name), Sub: w.Name.Workflow, Requests: w.Requested.String(),
		Waits: units.Duration(clock.Now.Sub(w.Since)), Since: w.Since.Format(time.RFC3339), Why: label.ReasonText(&w.Reason), Code: w.Reason.Code,
	}
	if w.Name.Execution != "" {
		line.Sub += " · " + w.Name.Execution
	}
	line.Sub += " · " + w.Project.String()
	if w.Priority != query.Normal {
		line.Sub += " · priority " + w.Priority.String()
	}
	return line
}

// withInterval forwards hints, and adds one after each interval without a hint, until ctx ends.
func withInterval(ctx context.Context, hints <-chan struct{}, quiet time.Duration) <-chan struct{} {
	out := make(chan struct{}, 1)
	go func() {
		timer := time.NewTicker(quiet)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case _, open := <-hints:
				if !open {
					hints = nil
					continue
				}
				timer.Reset(quiet)
			case <-timer.C:
			}
			select {
			case out <- struct{}{}:
			default:
			}
		}
	}()
	return out
}
