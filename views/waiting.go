package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/ui"
)

// WaitingURL lists the waiting nodes of a node of the tenancy tree; "" is the current
// project. Page is the cursor of the previous page.
func WaitingURL(place, page string) string {
	q := url.Values{}
	if place != "" {
		q.Set("place", place)
	}
	if page != "" {
		q.Set("page", page)
	}
	return withQuery("/waiting", q)
}

// WaitingStreamURL is the stream of the same list.
func WaitingStreamURL(place, page string) string {
	q := url.Values{}
	if place != "" {
		q.Set("place", place)
	}
	if page != "" {
		q.Set("page", page)
	}
	return withQuery("/waiting/stream", q)
}

// NodeStreamURL is the stream of the page of a node.
func NodeStreamURL(id, node string, q url.Values) string {
	return withQuery(NodeURL(id, node)+"/stream", q)
}

// WaitPanel explains why a node or an execution is waiting. The zero panel shows nothing.
type WaitPanel struct {
	Line      string // the reason as a sentence
	Stats     []WaitStat
	Advice    string // what the user can do
	Actions   []ui.Action
	Resource  string // the scarce resource, "A100 GPUs"; "" if it is not one resource
	Holders   []WaitHolder
	HeldBy    []WaitHolder   // the same in short, where a table does not fit
	Order     []WaitPosition // places in the queue around this one
	OrderNote string
	Score     []ui.Fact // components of the rank in the queue
	Decisions []EventRow
	Basis     string // "Estimated from 61 earlier attempts."
	Code      string // machine-readable reason
	QueueURL  string
}

// Shown reports whether the panel has content.
func (p WaitPanel) Shown() bool { return p.Line != "" }

// Short is the panel without tables.
func (p WaitPanel) Short() WaitPanel {
	p.HeldBy, p.Holders, p.Order, p.Decisions, p.Score = p.Holders, nil, nil, nil, nil
	return p
}

// WaitStat is one figure of a panel: "Asked: 8 A100".
type WaitStat struct {
	Name, Value, Note string
	Since             string // RFC 3339: Value is the time since then
}

// WaitHolder is an execution that uses the missing resource. URL is "" if the user may
// not see it; Title is then "another team".
type WaitHolder struct {
	Title, Sub, URL string
	Owner           string // team or project whose share it counts against
	Amount          string
	How             string // "borrowed" or "guaranteed"
	Ends            string
}

// WaitPosition is one place in the order of admission.
type WaitPosition struct {
	Position        string
	Title, Sub, URL string
	Note            string // "share 0.83", "asked later"
	Own             bool
}

// WaitPanelID is the element id of the panel of a node or an execution.
func WaitPanelID() string { return "wait" }

// WaitAsideID is the element id of the order and the decisions alongside it.
func WaitAsideID() string { return "wait-aside" }

// NodeHeadID is the element id of the head of a node's page.
func NodeHeadID() string { return "node-head" }

// NodeAttemptsID is the element id of the attempts on a node's page.
func NodeAttemptsID() string { return "node-attempts" }

// NodeHead is the head of a node's page; page and stream share it.
type NodeHead struct {
	Origin      *NodeOrigin // nil: nothing was reused
	Cache       *NodeCache  // nil: no cache lookup
	Name, State string
	GraphURL    string
	Summary     string
	Since       string // "waits for 3 min": RFC 3339 of the moment it began to wait
	Waits       string
	Commands    []ui.Action // available commands
}

// NodeUpdate is one message of the stream of a node's page; nil parts are unchanged.
type NodeUpdate struct {
	Head      *NodeHead
	Wait      *WaitPanel
	Attempts  []AttemptLine
	Moved     bool // Attempts changed
	Traceback *Traceback
	Pods      *AttemptPods
	Metrics   *Metrics
	Usage     *Usage
	Python    *PythonEnvironment // nil also for a node without one
	Still     *NodeStill         // facts and values, if one changed
	Lines     []LogLine
}

// Empty reports whether nothing changed.
func (u NodeUpdate) Empty() bool {
	return u.Head == nil && u.Wait == nil && !u.Moved && u.Traceback == nil && u.Pods == nil && u.Metrics == nil && u.Usage == nil && u.Python == nil && u.Still == nil && len(u.Lines) == 0
}

// WaitingPage lists the waiting nodes in the order of admission.
type WaitingPage struct {
	Page
	Scopes    []ui.Choice // this project, the team, everything
	List      WaitingList
	TeamURL   string // limits of the team, "" without permission
	StreamURL string
}

// WaitingListID is the element id of the list.
func WaitingListID() string { return "waiting-list" }

// WaitingList is the live part of the page.
type WaitingList struct {
	Lead    string // "5 wait, the longest for 12 min."
	Rows    []WaitingLine
	Pager   ui.Pager
	Cluster ClusterWaits
	Others  ClusterWaits // nodes that wait for locks, breakers or results
}

// empty reports whether no node and no execution is waiting.
func (m WaitingList) empty() bool {
	return len(m.Rows) == 0 && !m.Cluster.Shown() && !m.Others.Shown()
}

// ClusterWaits lists the nodes submitted to the cluster that have not started. The zero
// value shows nothing.
type ClusterWaits struct {
	Rows []ClusterWaitLine
	More string // "12 more wait in the cluster.", "" when all are shown
}

// Shown reports whether nodes wait in the cluster.
func (c ClusterWaits) Shown() bool { return len(c.Rows) > 0 }

// ClusterWaitLine is a node whose pods have not started.
type ClusterWaitLine struct {
	Title, URL   string
	Sub          string // workflow, execution and project
	Requests     string
	Waits, Since string
	Why, Code    string
}

// WaitingLine is a waiting node or execution.
type WaitingLine struct {
	Position     string
	Title, URL   string
	Sub          string // "digits.train #7k2f00 · street-scenes"
	Requests     string
	Waits, Since string
	Starts       string
	StartsNote   string
	Why          string
	Code         string
	Holders      []WaitHolder
}
