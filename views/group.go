package views

import (
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
)

// Group is the page of a node that becomes others: the items of a fan-out, or the
// nodes of a graph. Its parts are live pieces, as those of the page of an execution.
type Group struct {
	Page
	Head            GroupHead
	Failures        Failures
	Graph           *dagview.Picture // of a graph, once it has begun
	GraphText       string           // "row: 4 nodes"
	Children        Children
	Facts           []ui.Fact
	Fan             []ui.Fact // over what, how many at once, what failures mean
	Resources       []ui.Fact // of each item
	Policy          []ui.Fact
	Command         string // that each item runs, "" for a graph
	CommandKind     string
	Inputs, Outputs []Value
	Place           NodePath
	StreamURL       string
}

// GroupHead is the head of the page.
type GroupHead struct {
	NodeHead

	Bar      *ui.Bar // nil: it has not become anything yet
	Progress string  // "812 of 1,000 items ended"
	Percent  string  // "81 %"
}

// Failures are the failures of what a node became by what they have in common.
type Failures struct {
	Rows []FailureRow
	More bool // there are further kinds
}

// FailureRow is one kind of failure.
type FailureRow struct {
	Message, Code       string
	Count               string // "12 items"
	URL                 string // the table of these alone
	FirstName, FirstURL string
	LogURL              string
}

// Children is the paged table of what a node became.
type Children struct {
	Noun     string // "items" or "nodes"
	Action   string
	Query    string
	States   []ui.Option
	Hidden   [][2]string
	Chip     string   // names a further filter: "Failures like: exit code 1"
	ClearURL string   // without any filter; "" when there is none
	Items    bool     // they are items, with values
	Outputs  []string // names of the outputs with a column
	Attempts bool     // they run something themselves
	Rows     []ChildRow
	Pager    ui.Pager
	Empty    string // why there is no row
}

// ChildRow is one row of it.
type ChildRow struct {
	Outputs          []string // in the order of the columns
	Index            int
	Label, Name, URL string
	State            string
	Item             string // its value, in a line
	Sub              string // why it failed, waits or was left out
	Attempt          string
	Took, Since      string
	LogURL           string
}

// NodePath is where a node stands: in which others, and between which.
type NodePath struct {
	Parent         *Tag
	Item           string // "item 4 of 1,000"
	Value          string // of the item, as JSON
	Previous, Next *Tag
	Exit           bool // it runs at the exit
	Before, After  []Tag
	Condition      string
	Rule           string
}

// GroupUpdate is one message of the stream of the page; nil pieces are as before.
type GroupUpdate struct {
	Head     *GroupHead
	Failures *Failures
	Shapes   []dagview.Shape
	Children *Children // the whole table, when what it holds was not there before
	Rows     []ChildRow
	Facts    []ui.Fact
	Outputs  []Value
	Still    bool // Facts and Outputs changed
	Layout   Children
}

// Empty reports whether nothing changed.
func (u GroupUpdate) Empty() bool {
	return u.Head == nil && u.Failures == nil && len(u.Shapes) == 0 && u.Children == nil && len(u.Rows) == 0 && !u.Still
}

const (
	groupHeadID = "group-head"
	failuresID  = "group-failures"
	childrenID  = "children-body"
)

// InnerGraphID is the element id of the graph on the page of a node, and the prefix
// of the ids of its boxes.
func InnerGraphID() string { return "inner" }
