package executions

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/sentence"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// waitPanel explains why w waits; own is its execution.
func waitPanel(clock ui.Clock, w query.Waiting, own uuid.UUID) views.WaitPanel {
	r := w.Reason
	if r.Code == "" {
		return views.WaitPanel{}
	}
	p := views.WaitPanel{Line: r.Message, Code: r.Code, Stats: waitStats(clock, w), QueueURL: views.WaitingURL("", "")}
	if w.Offered {
		p.Line = "Capacity is reserved for it: it is about to start."
	}
	if r.Resource != "" {
		p.Resource = r.Resource.Title()
	}
	p.Advice, p.Actions = waitAdvice(r)
	p.Basis = basisText(r.Basis)
	for _, h := range w.Holders {
		p.Holders = append(p.Holders, waitHolder(clock, r, h))
	}
	for _, q := range w.Nearby {
		p.Order = append(p.Order, waitPlace(r, q, own, w.NodeIndex))
	}
	if len(p.Order) > 0 {
		p.OrderNote = "Work within its guarantee first, then the lowest share, then priority and age. Work within a guarantee is never interrupted."
	}
	p.Score = scoreFacts(r.Score)
	for _, e := range w.Decisions {
		p.Decisions = append(p.Decisions, views.EventRow{Icon: sentence.State(e.Kind), Text: sentence.Event(e), At: clock.Exactly(e.At)})
	}
	return p
}

// wait explains why a node of the page waits; the zero panel when it does not.
func (x *nodeView) wait(ctx context.Context) (views.WaitPanel, error) {
	if x.node.State != dag.Ready {
		return views.WaitPanel{}, nil
	}
	w, err := x.h.Executions.Waits.Why(ctx, x.ID, x.node.Name)
	if err != nil {
		return views.WaitPanel{}, err
	}
	return waitPanel(x.clock, w, x.ID), nil
}

// waitOfAll explains why the execution makes no progress. It returns the zero panel if a node
// runs.
func (x *executionView) waitOfAll(ctx context.Context) (views.WaitPanel, error) {
	if panel, err := x.pendingApprovals(ctx); err != nil || panel.Shown() {
		return panel, err
	}
	if !x.Status.Ended() && x.Counts.Running+x.Counts.AwaitingApproval == 0 && x.Counts.Queued > 0 {
		return x.waitOfPod(), nil
	}
	if x.Status.Ended() || x.Counts.Running+x.Counts.AwaitingApproval+x.Counts.Queued > 0 || (x.Status != query.Pending && x.Counts.Ready == 0) {
		return views.WaitPanel{}, nil
	}
	w, err := x.h.Executions.Waits.Why(ctx, x.ID, "")
	if err != nil {
		return views.WaitPanel{}, err
	}
	p := waitPanel(x.clock, w, x.ID)
	if p.Shown() && w.Node != "" {
		p.Line = sentence.Waits(w.Node, p.Line)
		p.Actions = append([]ui.Action{{Name: "Show details", URL: views.NodeURL(x.ID.String(), w.Node), Icon: "clock"}}, p.Actions...)
	}
	return p.Short(), nil
}

// clusterHolds reports whether a pod can wait long for this reason.
func clusterHolds(code string) bool {
	switch code {
	case execution.WaitUnschedulable, execution.WaitImage, execution.WaitCluster, execution.WaitGang:
		return true
	}
	return false
}

// waitOfPod shows the cluster's message about the first pod that waits, while none has
// started. It returns the zero panel while a pod is only starting.
func (x *executionView) waitOfPod() views.WaitPanel {
	first := query.Node{Index: -1}
	for _, n := range x.nodes {
		if n.State == dag.Queued && n.Reason != nil && clusterHolds(n.Reason.Code) && (first.Index < 0 || n.Index < first.Index) {
			first = n
		}
	}
	if first.Index < 0 {
		return views.WaitPanel{}
	}
	return views.WaitPanel{
		Line: first.Name + ": " + label.ReasonText(first.Reason), Code: first.Reason.Code,
		Actions: []ui.Action{{Name: "Show details", URL: views.NodeURL(x.ID.String(), first.Name), Icon: "clock"}},
	}
}

// basisText states the basis of an estimate.
func basisText(attempts int) string {
	if attempts == 0 {
		return ""
	}
	return "Estimated from " + units.Plural(attempts, "earlier attempt", "earlier attempts") + "."
}

// waitStats are the numbers of a panel.
func waitStats(clock ui.Clock, w query.Waiting) []views.WaitStat {
	r := w.Reason
	var stats []views.WaitStat
	if r.Position > 0 {
		s := views.WaitStat{Name: "Position in the queue", Value: units.Number(int64(r.Position))}
		if r.Ahead > 0 && r.Resource != "" {
			s.Note = fmt.Sprintf("%s ahead for %s", units.Number(int64(r.Ahead)), r.Resource.Title())
		}
		stats = append(stats, s)
	}
	starts, note := label.StartBand(clock, r.StartsFrom, r.StartsTo)
	if starts == "" && r.Position > 0 {
		starts, note = "unknown", "not enough history"
	}
	if starts != "" {
		stats = append(stats, views.WaitStat{Name: "Starts", Value: starts, Note: note})
	}
	if r.Requested > 0 {
		stats = append(stats, views.WaitStat{Name: "Requested", Value: r.Resource.Format(r.Requested)})
	}
	if r.Requested > 0 && r.Resource != "" {
		free := views.WaitStat{Name: "Free", Value: r.Resource.Format(r.Free)}
		if r.Level != nil {
			free.Name = "Free to " + r.Level.String()
			if r.Level.Kind == "installation" {
				free.Name = "Free in the cluster"
			}
		}
		if r.Capacity > 0 {
			free.Note = "of " + r.Resource.Format(r.Capacity)
		}
		stats = append(stats, free)
	}
	if r.Missing > 0 {
		stats = append(stats, views.WaitStat{Name: "Missing", Value: r.Resource.Format(r.Missing)})
	}
	if !w.Since.IsZero() {
		stats = append(stats, views.WaitStat{Name: "Waiting for", Value: units.Duration(clock.Now.Sub(w.Since)), Since: w.Since.Format(time.RFC3339)})
	}
	return stats
}

// waitAdvice describes what the reader can do about a reason.
func waitAdvice(r query.Reason) (string, []ui.Action) {
	limits := ui.Action{Name: "See team limits", URL: views.MyTeamURL(), Icon: "team"}
	at := "your team"
	if r.Level != nil {
		at = r.Level.String()
	}
	switch r.Code {
	case fair.CPUUnavailable, fair.MemoryUnavailable, fair.GPUUnavailable, fair.PodsUnavailable:
		text := "Wait: it starts automatically when enough capacity is free."
		if r.Free > 0 && r.Resource != "" {
			text += fmt.Sprintf(" Requests of up to %s start now.", r.Resource.Format(r.Free))
		}
		return text, []ui.Action{limits}
	case fair.QuotaExceeded:
		return fmt.Sprintf("Wait until other work of %s ends, cancel executions that are not needed, or ask an administrator of %s for a higher limit.", at, at), []ui.Action{limits}
	case fair.BehindInFairShare:
		return "Wait: teams that have used less of their share go first. The position improves with waiting time. A higher priority only helps within the same project.", []ui.Action{limits}
	case fair.Preempted:
		return "Wait: it continues automatically from its last checkpoint when capacity is free. To prevent interruptions, declare the operator not preemptible; it must then fit in the guarantee.", []ui.Action{limits}
	case fair.ExecutionsLimit:
		return fmt.Sprintf("Wait until an execution of %s ends, or cancel one that is not needed.", at), []ui.Action{limits, {Name: "Live executions", URL: views.ExecutionsURL() + "?state=live", Icon: "runs"}}
	case fair.StorageLimit:
		return fmt.Sprintf("Ask an administrator of %s for more storage.", at), []ui.Action{limits, {Name: "Artifacts", URL: views.ArtifactsURL(), Icon: "box"}}
	}
	return "", nil
}

// waitHolder is a node or team that uses some of the missing resource.
func waitHolder(clock ui.Clock, r query.Reason, h quota.Holder) views.WaitHolder {
	out := views.WaitHolder{Title: "another team", Owner: "another team", How: "guaranteed"}
	if h.Owner.Name != "" {
		out.Owner = h.Owner.String()
		if h.Execution == uuid.Nil {
			out.Title = "work of " + out.Owner
		}
	}
	if h.Execution != uuid.Nil {
		key := fair.Key{Execution: h.Execution, Node: h.Node}
		out.Title, out.URL = label.NameOf(key, h.Name), label.QueuedURL(key, h.Name)
		out.Sub = strings.TrimSpace(h.Name.Workflow + " " + h.Name.Execution)
		if h.Nodes > 1 {
			out.Sub += fmt.Sprintf(", %s", units.Plural(h.Nodes, "node", "nodes"))
		}
	}
	if h.Borrowed {
		out.How = "partly borrowed"
	}
	if r.Resource != "" {
		out.Amount = r.Resource.Format(h.Amount)
	}
	out.Ends = "unknown"
	if text, _ := label.StartBand(clock, h.EndsFrom, h.EndsTo); text != "" {
		out.Ends = text
	}
	return out
}

// waitPlace is one position in the order of admission.
func waitPlace(r query.Reason, q quota.Queued, own uuid.UUID, node int) views.WaitPosition {
	p := views.WaitPosition{Position: label.PositionText(q.Position), Title: "another team", Sub: q.Amount.String(), Note: shareNote(q.Reason)}
	if q.Hidden() {
		return p
	}
	p.Title, p.URL = label.QueuedName(q), label.QueuedURL(q.Key, q.Name)
	if q.Execution == own && q.Node == node {
		p.Own, p.URL, p.Sub = true, "", "this node, "+p.Sub
		if node == fair.ExecutionItself {
			p.Sub = "this execution"
		}
		p.Note = shareNote(r)
	}
	return p
}

// shareNote is the number that mostly determines the position.
func shareNote(r query.Reason) string {
	s := r.Score
	if s == nil {
		return ""
	}
	if len(s.Levels) > 0 {
		return fmt.Sprintf("share %.2f", s.Levels[0].Score)
	}
	return fmt.Sprintf("priority %.0f", s.Effective)
}

// scoreFacts shows the parts of a score in the queue.
func scoreFacts(s *fair.Score) []ui.Fact {
	if s == nil {
		return nil
	}
	facts := []ui.Fact{{Name: "Within the guarantee", Value: "yes"}}
	if s.Distance > 0 {
		facts[0].Value, facts[0].Note = "no", fmt.Sprintf("borrows over %s", units.Plural(s.Distance, "level", "levels"))
	}
	for _, l := range s.Levels {
		facts = append(facts, ui.Fact{
			Name: "Share of " + l.Level.String(), Value: fmt.Sprintf("%.2f", l.Score),
			Note: fmt.Sprintf("%.0f %% of %s now, weight %g", 100*l.Share, l.Dominant.Title(), l.Weight),
		})
	}
	return append(facts, ui.Fact{
		Name: "Priority", Value: fmt.Sprintf("%.1f", s.Effective),
		Note: fmt.Sprintf("= %.0f base + %.1f weight + %.1f waiting − %.1f usage", s.Base, s.Weight, s.Waiting, s.Utilisation),
	})
}
