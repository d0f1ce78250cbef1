package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/dagview"
)

// VersionDiff is the page of what changed between two versions of a workflow.
type VersionDiff struct {
	Page
	Name, URL string // of the workflow
	Action    string // where the choice of versions is sent
	From, To  string
	SwapURL   string
	Versions  []string // to choose from, newest first
	Breaks    []string // why callers of the earlier version fail
	Sections  []DiffSection
	Files     []DiffFile
	Notes     []string
	Graph     *dagview.Picture // of both versions; nil if no operator changed
	Graphs    []DiffGraph      // graphs of the workflow with operators that changed
}

// DiffGraph is a graph of a workflow in both versions. State is ADDED, REMOVED or CHANGED.
type DiffGraph struct {
	ID, Name, State string
	Picture         dagview.Picture
}

// DiffSection is a table of changes.
type DiffSection struct {
	ID, Title string
	Rows      []DiffRow
}

// DiffRow is one change. State is ADDED, REMOVED or CHANGED.
type DiffRow struct {
	Name, State, Breaks string
	Details             []DiffDetail
}

// DiffDetail is a property that changed; Lines instead of both texts if it has several lines.
type DiffDetail struct {
	Path, Before, After string
	Lines               []DiffLine
}

// DiffFile is a file that changed.
type DiffFile struct {
	ID, Name, State string
	Added, Removed  string // lines, "+3" and "−1"
	Note            string
	Lines           []DiffLine
	Open            bool
}

// DiffLine is a line of a patch. Header starts a part of the file; then the rest is empty.
type DiffLine struct {
	Header        string
	Before, After string // numbers
	Kind          string // "add", "del", or "" for a line that both have
	Parts         []SourcePart
}

// sign is the mark of a line in a patch.
func (l DiffLine) sign() string {
	switch l.Kind {
	case "add":
		return "+"
	case "del":
		return "−"
	}
	return " "
}

// word is the change of a line for screen readers.
func (l DiffLine) word() string {
	switch l.Kind {
	case "add":
		return "added: "
	case "del":
		return "removed: "
	}
	return ""
}

// VersionDiffURL compares two versions of a workflow; "" selects the defaults.
func VersionDiffURL(name, from, to string) string {
	q := url.Values{}
	if from != "" {
		q.Set("from", from)
	}
	if to != "" {
		q.Set("to", to)
	}
	if len(q) == 0 {
		return WorkflowURL(name) + "/diff"
	}
	return WorkflowURL(name) + "/diff?" + q.Encode()
}
