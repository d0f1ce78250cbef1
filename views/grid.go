package views

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/views/ui"
)

// QueryBar is the query of a list of executions.
type QueryBar struct {
	Where  string
	Action string      // of the form; "" is the list
	View   string      // saved view of the list, "" for none
	Hidden [][2]string // other parameters that the form keeps
	Error  *QueryError
	At     [2]int   // the mistake in UTF-16 units, as scripts count them
	Reads  []string // "accuracy reads as metrics.accuracy"
	Fields []FieldGroup
}

// QueryError is what is wrong with a query. Before, Word and After are the query around the mistake.
type QueryError struct {
	Message, Before, Word, After string
	Fix, FixURL                  string // "" for none
}

// QuerySuggestion is a text that can follow in a query. The label is in three parts, of which the
// second is what the reader typed.
type QuerySuggestion struct {
	Text, Before, Hit, After string
	Type, Help, Count        string
}

// QuerySuggestions are the texts that replace the query from a place, in UTF-16 units as scripts
// count them. Failed is why there are none.
type QuerySuggestions struct {
	From   int
	List   []QuerySuggestion
	Failed string
}

// CompleteURL suggests what can follow in a query. With a view, the names are of its project.
func CompleteURL(view string) string {
	if view == "" {
		return "/executions/complete"
	}
	return "/executions/complete?" + url.Values{"view": {view}}.Encode()
}

// FieldGroup are the names of one part of the executions.
type FieldGroup struct {
	Name   string
	Fields []FieldChoice
}

// FieldChoice is a name with its type; Chosen ones are columns of the table.
type FieldChoice struct {
	Path, Type, Help string
	Chosen           bool
}

// ExecutionGrid is a list of executions with chosen columns.
type ExecutionGrid struct {
	Page
	Views    SavedViews
	Layouts  []ui.Choice // the list, and the table with columns
	Query    QueryBar
	Filters  []Chip
	Behind   string // that the index is not up to date; "" when it is
	Total    string
	Columns  []GridColumn
	Shown    []GridColumn // columns of the table of executions, for the chooser
	Missing  *MissingColumns
	Charts   *RunCharts // nil for a table without charts
	Sized    bool       // columns have widths or are pinned
	Rows     []GridRow
	GroupBy  GroupChoice
	Groups   *GridGroups // nil for a table of executions
	Pager    ui.Pager
	Facets   Facets
	Exports  []ui.Action // none for a table that cannot be exported
	Lines    *LogHits    // of a query of logs
	Stream   string
	ClearURL string
	Back     string // URL of this page, for commands
	Failed   string // why there is no table

	ChartEntries []string // entries of the columns that are charts
}

// GridColumn is a column with the links that change it.
type GridColumn struct {
	Title, Part, Path string
	Entry             string // the path with its layout, as the URL has it
	Numeric           bool
	Width             int    // in pixels, 0 without one
	Pin               int    // place among the pinned columns from 1, 0 for others
	Sorted            string // "ascending", "descending" or ""
	SortURL           string
	LeftURL, RightURL string // "" at the end of the pinned or the other columns
	PinURL, DropURL   string // PinURL is "" if no more columns can be pinned
}

// MissingColumns are the parts of a table that it leaves out, because no execution has their names.
type MissingColumns struct {
	Title     string   // "1 column is not shown."
	Reasons   []string // sentences
	Columns   []GridColumn
	RemoveURL string // the table without them
}

// group is what the head of the column shows above its name: the part of the execution, and the path
// to a nested input or output.
func (c GridColumn) group() string {
	return strings.TrimSpace(c.Part + " " + strings.TrimSuffix(c.Title, c.leaf()))
}

// leaf is the last name of a nested input or output, and the title of any other column.
func (c GridColumn) leaf() string {
	if c.Part != "inputs" && c.Part != "outputs" {
		return c.Title
	}
	return c.Title[strings.LastIndexByte(c.Title, '.')+1:]
}

// ColumnWidth is the prefix of the controls with widths of columns.
const ColumnWidth = "width:"

// defaultWidth is that of a column without a width in a table where others have one.
const defaultWidth = 176

// width is the width of a column in a table with widths.
func (c GridColumn) width() string {
	return strconv.Itoa(cmp.Or(c.Width, defaultWidth))
}

// place is the class of a pinned column.
func place(pin int) string {
	if pin == 0 {
		return ""
	}
	return "pin pin-" + strconv.Itoa(pin)
}

// pinWord is the name of the link that pins a column or releases it.
func (c GridColumn) pinWord() string {
	if c.Pin > 0 {
		return "Unpin"
	}
	return "Pin"
}

// GridRow is an execution with the values of the columns.
type GridRow struct {
	ID, Short, URL, State, Title, Flow string
	EditURL                            string // of the form of its labels; "" for those who may not change them
	Cells                              []GridCell
	Charted                            bool // charts beside the table draw it
	Unseen                             bool // the reader hid it from the charts
	Style                              RunStyle
}

// GridCell is a value.
type GridCell struct {
	Text    string
	URL     string // "" for a value without a link
	Numeric bool
	Tags    []string
	Whole   string // the text that the cell shortens, "" for none
	Label   string // the label of the execution that the cell shows, such as LabelNote
	Best    bool   // the best of the values of its column
	Pin     int    // as of the column
}

// Facets are the facets of a table, which a request of its own reads when they are opened.
type Facets struct {
	LoadURL string // reads them; "" when List has them
	OpenURL string // the table with its facets, for browsers without JavaScript
	List    []Facet
	More    string // that there are columns without a facet; "" for none
	Failed  string
}

// RangeHistogram is the distribution of a number. A form adds the range to the query.
type RangeHistogram struct {
	Path, Least, Most string
	Low, High         float64
	Logarithmic       bool
	Bars              []HistogramBar
	Says              string // for readers who do not see it
	Hidden            [][2]string
}

// HistogramBar is an interval; places and sizes are percentages of the drawing.
type HistogramBar struct{ X, Width, Y, Height, Title string }

// Facet lists frequent values of a fact, with the links that add or remove the condition.
type Facet struct {
	Name      string
	Values    []FacetValue
	Histogram *RangeHistogram
}

// FacetValue is a value with the number of executions that have it.
type FacetValue struct {
	Name, State, N, URL string
	On                  bool
}

// BulkPage previews a command for many executions, or has its results.
type BulkPage struct {
	Page
	Heading, Lead string
	Action, Verb  string
	Danger, Done  bool
	Tag           string // of the action tag
	Key           string // of the preview, so that its command runs once
	Rows          []BulkRow
	Able          int // executions for which the command can run, or ran
	Back          string
	Failed        string
}

// BulkRow is what a command does to one execution.
type BulkRow struct {
	ID, Short, URL, State, Title, Message string
	Able                                  bool
	NewURL                                string // execution that a resume launched
}

// BulkURL runs a command for many executions.
func BulkURL() string { return "/executions/bulk" }

// bulkColumn is the heading of the column with messages.
func bulkColumn(done bool) string {
	if done {
		return "Result"
	}
	return "What will happen"
}
