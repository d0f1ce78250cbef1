package views

import (
	"net/url"
	"strconv"

	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// Backfills lists the backfills of the project, newest first.
type Backfills struct {
	Page
	Rows   []BackfillRow
	Pager  ui.Pager
	NewURL string // "" without schedules
}

// BackfillRow is a backfill in the list.
type BackfillRow struct {
	ID, URL, Schedule, Range string
	State, Word              string
	Progress                 string // "43 of 61"
	Owner                    string
	Created                  ui.Moment
}

// BackfillForm asks which times of a schedule run.
type BackfillForm struct {
	Page
	Schedules   []ui.Option
	From, To    string // days, both included
	Reruns      []ui.Option
	Newest      bool
	Parallelism string
	Version     string
	Zone        string
	Errors      map[string]string
	Failed      string
	ErrorLines  []forms.ErrorLine
	Dry         *BackfillDry // nil before the first check
}

// BackfillDry is what a backfill would do.
type BackfillDry struct {
	Facts  []ui.Fact
	Months []BackfillMonth
	Runs   int
	Values url.Values // of the form, for the start
}

// BackfillMonth is a month of times. Blank is the number of days before its first one in the week.
type BackfillMonth struct {
	Name   string
	Blank  int
	Days   []BackfillCell
	Sparse bool // a year: only the days with times
}

// BackfillCell is a day of a month. State is "" for a day without times.
type BackfillCell struct {
	Number, State, Label string
	URL                  string // of the execution of a day with one time, or ""
	Count                string // of the times of a day with several
}

// Backfill is the page of a backfill.
type Backfill struct {
	Page
	ID, Schedule, ScheduleURL string
	Live                      BackfillLive
	Facts                     []ui.Fact
	Failed                    string
	Stream                    string // "" for one that has ended
}

// BackfillLive is the part of the page that follows the executions.
type BackfillLive struct {
	ID, Title               string
	State, Word, Message    string
	Running, Paused         bool
	MayChange               bool
	Segments                []BackfillSegment
	Months                  []BackfillMonth
	Attention               []BackfillAttention
	MoreAttention, Progress string
}

// BackfillSegment is a part of the progress bar.
type BackfillSegment struct {
	State, Text string
	X, Width    string // of 1000
}

// BackfillAttention is a time that failed.
type BackfillAttention struct{ At, State, Word, Why, URL, Execution string }

// BackfillsURL lists the backfills of the project.
func BackfillsURL() string { return "/backfills" }

// NewBackfillURL is the form of a backfill of a schedule, or of any with "".
func NewBackfillURL(schedule string) string {
	if schedule == "" {
		return "/backfills/new"
	}
	return withQuery("/backfills/new", url.Values{"schedule": {schedule}})
}

// BackfillURL is the page of a backfill.
func BackfillURL(id string) string { return BackfillsURL() + "/" + id }

// BackfillPartURL is a part of a backfill, such as its stream, or takes a command.
func BackfillPartURL(id, part string) string { return BackfillURL(id) + "/" + part }

// start is the place of the first day of a month in the week.
func (m BackfillMonth) start() string { return strconv.Itoa(m.Blank + 1) }

func (d BackfillDry) button() string {
	if d.Runs == 1 {
		return "Start 1 execution"
	}
	return "Start " + strconv.Itoa(d.Runs) + " executions"
}
