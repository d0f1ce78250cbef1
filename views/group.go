package views

import (
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
)

// Group is the page of a node that expands into items of a fan-out or nodes of a graph.
// Like the execution page, it consists of live parts.
type Group struct {
	Page
	Head            GroupHead
	Failures        Failures
	Graph           *dagview.Picture // of a graph, once it has begun
	GraphText       string           // "row: 4 nodes"
	Children        Children
	Facts           []ui.Fact
	Fan             []ui.Fact // source, parallelism and failure policy
	Resources       []ui.Fact // of each item
	Policy          []ui.Fact
	Code            NodeCode // of each item; zero for a graph
	Inputs, Outputs []Value
	Place           NodePath
	StreamURL       string
}

// GroupHead is the head of the page.
type GroupHead struct {
	NodeHead

	Bar      *ui.Bar // nil before the expansion
	Progress string  // "812 of 1,000 items ended"
	Percent  string  // "81 %"
}

// Failures are the failed children of a node, grouped by cause.
type Failures struct {
	Rows []FailureRow
	More bool // there are more groups
}

// FailureRow is one group of failures.
type FailureRow struct {
	Message, Code       string
	Count               string // "12 items"
	URL                 string // the table filtered to this group
	FirstName, FirstURL string
	LogURL              string
}

// Children is the paged table of the children of a node.
type Children struct {
	Noun     string // "items" or "nodes"
	Action   string
	Query    string
	States   []ui.Option
	Hidden   [][2]string
	Chip     string   // another filter: "Failures like: exit code 1"
	ClearURL string   // URL without filters; "" if none is active
	Items    bool     // the children are items with values
	Outputs  []string // names of the outputs with a column
	Attempts bool     // the children have attempts
	Rows     []ChildRow
	Pager    ui.Pager
	Empty    string // text if there are no rows
}

// ChildRow is one row of it.
type ChildRow struct {
	Outputs          []string // in the order of the columns
	Index            int
	Label, Name, URL string
	State            string
	Item             string // its value, in a line
	Sub              string // why it failed, is waiting or was skipped
	Attempt          string
	Took, Since      string
	LogURL           string
}

// NodePath is the position of a node: its parents and its neighbours.
type NodePath struct {
	Parent         *Tag
	Item           string // "item 4 of 1,000"
	Value          string // of the item, as JSON
	Previous, Next *Tag
	Exit           bool // it runs on exit
	Before, After  []Tag
	Condition      string
	Rule           string
}

// GroupUpdate is one message of the stream of the page; nil parts are unchanged.
type GroupUpdate struct {
	Head     *GroupHead
	Failures *Failures
	Shapes   []dagview.Shape
	Children *Children // the whole table, when its first rows appear
	Rows     []ChildRow
	Facts    []ui.Fact
	Outputs  []Value
	Still    bool // Facts or Outputs changed
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

// outputCell is the role of an output's cell on narrow pages, where empty cells are hidden.
func outputCell(value string) string {
	if value == "" {
		return "hide"
	}
	return "output"
}
