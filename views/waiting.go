package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/ui"
)

// WaitingURL lists what waits in a place of the tenancy tree; "" is the project of
// the reader. Page is the mark of the page before.
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

// WaitPanel explains why a node, or a whole execution, waits. The zero panel shows
// nothing.
type WaitPanel struct {
	Line      string // the reason in plain words
	Stats     []WaitStat
	Advice    string // what one can do
	Actions   []ui.Action
	Resource  string // "GPU A100": what is short, "" when it is not one resource
	Holders   []WaitHolder
	HeldBy    []WaitHolder   // the same in a few words, where there is no room for a table
	Order     []WaitPosition // places in the queue around this one
	OrderNote string
	Score     []ui.Fact // what the place in the queue is made of
	Decisions []EventRow
	Basis     string // "Estimated from 61 earlier attempts."
	Code      string // for programs
	QueueURL  string
}

// Shown reports whether there is anything to explain.
func (p WaitPanel) Shown() bool { return p.Line != "" }

// Short is the panel where the tables beside it have no room.
func (p WaitPanel) Short() WaitPanel {
	p.HeldBy, p.Holders, p.Order, p.Decisions, p.Score = p.Holders, nil, nil, nil, nil
	return p
}

// WaitStat is one figure of a panel: "Asked: 8 A100".
type WaitStat struct {
	Name, Value, Note string
	Since             string // RFC 3339: Value counts on from there
}

// WaitHolder is an execution that holds what is missing. URL is "" when the reader
// may not see it: then Title is "another team".
type WaitHolder struct {
	Title, Sub, URL string
	Owner           string // whose share it counts for
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

// WaitAsideID is the element id of the order and the decisions beside it.
func WaitAsideID() string { return "wait-aside" }

// NodeHeadID is the element id of the head of a node's page.
func NodeHeadID() string { return "node-head" }

// NodeAttemptsID is the element id of the attempts on a node's page.
func NodeAttemptsID() string { return "node-attempts" }

// NodeHead is the head of a node's page; page and stream share it.
type NodeHead struct {
	Origin      *NodeOrigin // nil: it goes on from no other node
	Cache       *NodeCache  // nil: the cache was not asked
	Name, State string
	GraphURL    string
	Summary     string
	Since       string // "waits for 3 min": RFC 3339 of the moment it began to wait
	Waits       string
	Commands    []ui.Action // what can be done with it now
}

// NodeUpdate is one message of the stream of a node's page; nil pieces are as before.
type NodeUpdate struct {
	Head     *NodeHead
	Wait     *WaitPanel
	Attempts []AttemptLine
	Moved    bool // Attempts changed
	Pods     *AttemptPods
	Metrics  *Metrics
	Usage    *Usage
	Still    *NodeStill // facts and values, when one of them changed
	Lines    []LogLine
}

// Empty reports whether nothing changed.
func (u NodeUpdate) Empty() bool {
	return u.Head == nil && u.Wait == nil && !u.Moved && u.Pods == nil && u.Metrics == nil && u.Usage == nil && u.Still == nil && len(u.Lines) == 0
}

// WaitingPage lists what waits, in the order of admission.
type WaitingPage struct {
	Page
	Scopes    []ui.Choice // this project, the team, everything
	List      WaitingList
	TeamURL   string // limits of the team, "" without the right
	StreamURL string
}

// WaitingListID is the element id of the list.
func WaitingListID() string { return "waiting-list" }

// WaitingList is the part of the page that moves.
type WaitingList struct {
	Lead    string // "5 wait, the longest for 12 min."
	Rows    []WaitingLine
	Pager   ui.Pager
	Cluster ClusterWaits
	Others  ClusterWaits // what waits for anything but room: locks, breakers, results
}

// ClusterWaits is what has been handed to the cluster and has not begun there. The
// zero value shows nothing.
type ClusterWaits struct {
	Rows []ClusterWaitLine
	More string // "12 more wait in the cluster.", "" when all are shown
}

// Shown reports whether anything waits in the cluster.
func (c ClusterWaits) Shown() bool { return len(c.Rows) > 0 }

// ClusterWaitLine is a node whose pods the cluster has not begun.
type ClusterWaitLine struct {
	Title, URL   string
	Sub          string // workflow, execution and project
	Asks         string
	Waits, Since string
	Why, Code    string
}

// WaitingLine is a node, or an execution that may not begin yet.
type WaitingLine struct {
	Position     string
	Title, URL   string
	Sub          string // "digits.train #7k2f00 · street-scenes"
	Asks         string
	Waits, Since string
	Starts       string
	StartsNote   string
	Why          string
	Code         string
	Holders      []WaitHolder
}
