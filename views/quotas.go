package views

import (
	"net/url"
	"strconv"

	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

// QuotasURL is the quota page with the selection of q: show, only, toggle, edit …
func QuotasURL(q url.Values) string { return withQuery("/admin/quotas", q) }

// QuotaEditURL saves the edit form of a node by POST.
func QuotaEditURL(id string) string { return "/admin/quotas/" + id }

// QuotaPreviewURL renders the consequences of unsaved edits.
func QuotaPreviewURL(id string) string { return QuotaEditURL(id) + "/preview" }

// QuotaStreamURL is the stream of the quota page with the selection of q.
func QuotaStreamURL(q url.Values) string { return withQuery("/admin/quotas/stream", q) }

// QuotaCSVURL is the tree with its usage as CSV.
func QuotaCSVURL() string { return "/admin/quotas.csv" }

// TeamURL is the page of a team: its limits, usage and queue.
func TeamURL(id string) string { return "/teams/" + id }

// TeamStreamURL is the stream of the page of a team.
func TeamStreamURL(id string) string { return TeamURL(id) + "/stream" }

// MyTeamURL is the page of the team of the user's project.
func MyTeamURL() string { return "/teams/mine" }

// QuotasPage is the quota page: limits, usage and idle guarantees.
type QuotasPage struct {
	Page
	Live      QuotaLive
	Groups    []ui.Choice // which resources the table shows
	Only      QuotaFilter
	CSVURL    string
	Tree      QuotaTree
	Edit      *QuotaEdit // the form below its row
	Saved     *QuotaSaved
	Problems  *QuotaProblems
	History   QuotaHistory
	Changes   []QuotaChange
	StreamURL string
}

// QuotaFilter is the link that switches between starved or idle nodes and all nodes.
type QuotaFilter struct {
	URL   string
	On    bool
	Count string
}

// QuotaLive is the live part above the table: figures and advice.
type QuotaLive struct {
	Figures []QuotaFigure
	Advice  []QuotaAdvice
}

// QuotaFiguresID is the element id of the live figures.
func QuotaFiguresID() string { return "quota-figures" }

// QuotaAdviceID is the element id of the advice.
func QuotaAdviceID() string { return "quota-advice" }

// QuotaFigure is one key figure.
type QuotaFigure struct{ Name, Value, Note, URL string }

// QuotaAdvice suggests a change to an administrator: one team is starved while another
// leaves its guarantee unused. URL opens the prepared change if the user has permission.
type QuotaAdvice struct {
	Strong, Text string
	LinkText     string // the node that would start
	LinkURL      string
	URL          string
}

// QuotaTree is the table of tenancy nodes.
type QuotaTree struct {
	Columns []QuotaColumn
	Rows    []QuotaRow
	Empty   string // instead of rows
	More    string // describes the shown part of the tree; "" for the whole tree
	Before  string // URL of the previous rows
	After   string
}

// QuotaColumn is a resource of the table.
type QuotaColumn struct{ Name, Note string }

// columnName names a cell where rows are stacked, without a head of the table.
func columnName(columns []QuotaColumn, i int) string {
	if i >= len(columns) {
		return ""
	}
	return columns[i].Name
}

// QuotaRow is one tenancy node with its bars.
type QuotaRow struct {
	ID       string
	Name     string
	Kind     string
	URL      string // the page of a team; "" for others
	Level    int    // of indentation
	FoldURL  string // "" for a leaf
	FoldText string // "Hide what is below Research"
	Open     bool
	Cells    []QuotaBarCell
	Weight   string
	Waiting  QuotaWaiting
	Notes    []QuotaNote
	EditURL  string // "" without permission to edit
	Editing  bool
	Context  bool // shown only as the parent of a matching row
}

// ElementID is the id of the row.
func (r QuotaRow) ElementID() string { return "q-" + r.ID }

// NotesID is the element id of the notes below the name.
func (r QuotaRow) NotesID() string { return "qn-" + r.ID }

func (r QuotaRow) indent() string { return "tree-" + strconv.Itoa(min(r.Level, 5)) }

// QuotaBarCell is a bar that the stream may replace.
type QuotaBarCell struct {
	ID  string
	Bar ui.QuotaBar
}

// QuotaWaiting is the number of waiting nodes at or below a tenancy node.
type QuotaWaiting struct{ ID, Text, URL string }

// QuotaNote is a short sentence below a name. State "READY" marks a starved team.
type QuotaNote struct{ State, Text string }

// QuotaEdit is the form for the limits of one node.
type QuotaEdit struct {
	ID, Name, Kind string
	ParentName     string
	Action         string
	PreviewURL     string
	CancelURL      string
	Version        string
	Back           string // the selection of the page to return to
	Base           []Hidden
	Sets           []QuotaSet
	Weight         *QuotaField // nil for the installation, which has no siblings
	Reason         QuotaField
	Conflict       *QuotaConflict
	Preview        QuotaPreview
	SaveText       string
}

// QuotaSet is the fields of one resource.
type QuotaSet struct {
	Resource    string
	Legend      string
	Distributed string // "Research has 22 to distribute, 18 are allocated."
	Fields      []QuotaField
}

// QuotaField is one value of the form as entered.
type QuotaField struct {
	ID, Name, Label, Help string
	Value, Unit           string
	Was                   string // the current value, if the entered one differs
	Error                 string
	Placeholder           string
	Decimal               bool
	Optional              bool
}

func (f QuotaField) described() string {
	s := f.ID + "-help"
	if f.Error != "" {
		s += " " + f.ID + "-error"
	}
	return s
}

func (f QuotaField) mode() string {
	if f.Decimal {
		return "decimal"
	}
	return "numeric"
}

// QuotaConflict shows the values that another user saved while the form was open.
type QuotaConflict struct {
	Who, When string
	Rows      []QuotaConflictRow
}

// QuotaConflictRow is one value that the other user changed.
type QuotaConflictRow struct{ Name, Before, Theirs, Yours string }

// QuotaProblems lists the errors of a form.
type QuotaProblems struct {
	Title string
	Links []ui.Action
}

// QuotaPreviewID is the element id of the preview.
func QuotaPreviewID() string { return "quota-preview" }

// QuotaPreview is the effect of an edit, computed by the server.
type QuotaPreview struct {
	Unchanged    bool   // the form equals the saved values
	Invalid      string // why no preview is possible
	Lines        []QuotaEffect
	Confirm      string // confirmation needed when nodes are interrupted
	ConfirmError string
	Confirmed    bool // the user has confirmed these very words
	Bars         []QuotaCompare
}

// QuotaEffect is one consequence.
type QuotaEffect struct {
	Strong, Text      string
	LinkText, LinkURL string
}

// QuotaCompare is a bar before and after.
type QuotaCompare struct {
	Name, Note string
	Bar        ui.QuotaBar
}

// QuotaSaved confirms a saved edit.
type QuotaSaved struct{ Strong, Text, UndoURL string }

// QuotaHistory is the chart of usage over time.
type QuotaHistory struct {
	Title     string
	Label     string
	Chart     chart.History
	Empty     string
	Ranges    []ui.Choice
	Nodes     []ui.Option
	Resources []ui.Option
	Action    string
	Keep      []Hidden // the rest of the selection
	Table     []QuotaHistoryRow
	Unit      string
}

// QuotaHistoryRow is one moment of the chart as text.
type QuotaHistoryRow struct {
	At                   ui.Moment
	Used, Limit, Waiting string
}

// Hidden is a hidden field of a form.
type Hidden struct{ Name, Value string }

// QuotaChange is an entry of the audit log about limits.
type QuotaChange struct {
	Who, Text string // "raised A100 from 8 to 10"
	Node      string
	At        ui.Moment
	Reason    string
	UndoURL   string
}

// QuotaUpdate is one message of the stream: the changed parts.
type QuotaUpdate struct {
	Figures []QuotaFigure // nil: unchanged
	Advice  *[]QuotaAdvice
	Cells   []QuotaBarCell
	Waiting []QuotaWaiting
	Rows    []QuotaRow // rows with changed notes
}
