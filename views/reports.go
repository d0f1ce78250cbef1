package views

import (
	"net/url"
	"strconv"

	"github.com/flowforge/flowforge/views/ui"
)

// ReportsURL lists reports.
func ReportsURL(q url.Values) string { return withQuery("/reports", q) }

// NewReportURL is the form of a new report.
func NewReportURL() string { return "/reports/new" }

// ReportURL is a report, by its ID.
func ReportURL(id string) string { return "/reports/" + url.PathEscape(id) }

// ReportPartURL is a page or a command of a report: edit, history, preview, stream or delete.
func ReportPartURL(id, part string) string { return ReportURL(id) + "/" + part }

// ReportRevisionURL is a revision of a report.
func ReportRevisionURL(id string, n int) string {
	return ReportURL(id) + "/revisions/" + strconv.Itoa(n)
}

// ReportPreviewURL renders the text of a new report.
func ReportPreviewURL() string { return "/reports/preview" }

// Reports is the list of reports.
type Reports struct {
	Page
	Query  string
	NewURL string // "" unless the reader may write reports
	Rows   []ReportRow
	Pager  ui.Pager
}

// ReportRow is a report of the list.
type ReportRow struct {
	Title, URL string
	By         string // who created it
	UpdatedBy  string
	Updated    ui.Moment
	Revision   string
}

// ReportPage is a report, or one of its revisions.
type ReportPage struct {
	Page
	ID, Heading string
	By          string // who wrote the revision
	Written     ui.Moment
	Revision    int
	Link        string // to share
	Content     ReportContent
	Stream      string // "" if nothing changes

	EditURL    string // "" unless the reader may edit it
	HistoryURL string
	DeleteURL  string // "" unless the reader may delete it
	Failed     string // why a command was refused

	Old *OldReport // nil: the latest revision
}

// OldReport is what the page of an earlier revision shows besides it.
type OldReport struct {
	Latest     int
	LatestURL  string
	RestoreURL string // "" unless the reader may edit the report
	Changes    ReportChanges
}

// ReportContent is the rendered text of a report.
type ReportContent struct {
	Parts    []ReportPart
	Problems []string // mistakes in the text, with their lines
}

// ReportPart is text, or a live block.
type ReportPart struct {
	HTML  string // sanitised
	Block *ReportBlock
}

// ReportBlock is a live block; one of the pointers is set, or Problem.
type ReportBlock struct {
	ID    string // of its element
	Key   string // of equal blocks of one text; the preview keeps their charts
	Title string
	URL   string // where its content is shown in full
	Open  string // name of that link
	Note  string

	Problem   string // why it shows nothing
	Table     *ReportTable
	Chart     *ReportChart
	Execution *ReportExecution
	Artifact  *Preview
	Sweep     *SweepHead
}

// ReportTable is a table of executions.
type ReportTable struct {
	Columns []ReportColumn
	Rows    []GridRow
}

// ReportColumn is the head of a column.
type ReportColumn struct {
	Part, Title string
	Numeric     bool
}

// ReportChart are curves of executions.
type ReportChart struct {
	Charts       []CompareChart
	Live         bool
	Smooth       int
	Log, Outlier bool
}

// ReportExecution is one execution.
type ReportExecution struct {
	State, Name, URL string
	Summary          string
	Facts            []ui.Fact
	Inputs           []ui.Fact
	Outputs          []ui.Fact
}

// ReportForm edits a report.
type ReportForm struct {
	Page
	Heading    string
	Action     string
	PreviewURL string
	CancelURL  string
	Based      int // the revision that is edited; 0 for a new report

	ReportTitle, Text, Note string
	Errors                  map[string]string // by field
	Failed                  string
	Conflict                *ReportConflict
	Content                 *ReportContent // nil: nothing to preview yet
}

// ReportConflict says that another revision was saved while the reader wrote.
type ReportConflict struct {
	By       string
	Revision int
	URL      string // of that revision
	Changes  ReportChanges
}

// ReportChanges are the differences between two texts.
type ReportChanges struct {
	Title string
	Open  bool
	Note  string // "3 lines added, 1 removed"
	Lines []DiffLine
}

// ReportHistory lists the revisions of a report.
type ReportHistory struct {
	Page
	Heading string
	URL     string
	Rows    []ReportRevisionRow
	Pager   ui.Pager
}

// ReportRevisionRow is a revision in the history.
type ReportRevisionRow struct {
	Number     int
	URL        string
	Latest     bool
	Note       string
	By         string
	Written    ui.Moment
	Size       string
	RestoreURL string // "" if the reader may not restore it
}

// describes are the elements that describe a field of the form.
func (m ReportForm) describes(field, help string) string {
	ids := help
	if m.Errors[field] != "" {
		if ids != "" {
			ids += " "
		}
		ids += "report-" + field + "-error"
	}
	return ids
}

// reportFields are the fields of the form in their order on the page.
func reportFields() [][2]string {
	return [][2]string{{"title", "Title"}, {"text", "Text"}, {"note", "What changed"}}
}

// reportSnippet is a block that the editor inserts.
type reportSnippet struct{ name, icon, text string }

func reportSnippets() []reportSnippet {
	return []reportSnippet{
		{"Table", "table", "```{table}\ntitle: Best runs\nwhere: state:succeeded\nsort: -created\nlimit: 10\n```\n"},
		{"Chart", "chart", "```{chart}\nmetric: accuracy\nwhere: state:succeeded\nlimit: 10\n```\n"},
		{"Artifact", "file", "```{artifact}\nid: paste the link of an artifact\n```\n"},
		{"Execution", "runs", "```{execution}\nid: paste the link of an execution\n```\n"},
		{"Sweep", "sweep", "```{sweep}\nid: paste the link of a sweep\n```\n"},
	}
}

// reportActions begin the first report.
func reportActions(newURL string) []ui.Action {
	if newURL == "" {
		return nil
	}
	return []ui.Action{{Name: "New report", URL: newURL, Icon: "plus", Primary: true}}
}
