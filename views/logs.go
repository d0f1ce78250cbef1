package views

import "github.com/flowforge/flowforge/views/ui"

// Logs is the log viewer of an execution, on its page and on a page of its own.
type Logs struct {
	ExecutionID string
	Action      string // of the filter form
	Hidden      [][2]string
	Query       string
	Nodes       []ui.Option
	Levels      []ui.Option
	Hits        string // "2 hits" of a search
	Lines       []LogLine
	Follow      bool // new lines are coming
	OlderURL    string
	DownloadURL string
	PageURL     string // the page of its own
	Problem     string // logs cannot be read right now
	Note        string // only a part of the lines can be read right now
	Empty       string // why there is nothing
	Tall        bool   // on the page of its own
	Cursor      string // where the last line ends, for the stream
}

// LogsPage is the log viewer on a page of its own.
type LogsPage struct {
	Page
	Title     string
	State     string
	Back      string
	Logs      Logs
	StreamURL string
}

// LogLine is one line. Parts carry colours and hits as classes, never as markup of
// the task.
type LogLine struct {
	ID      string // "L120", the permalink
	Time    string
	Exact   string
	Level   string // INFO, WARN, ERROR, …
	Node    string
	NodeURL string
	Parts   []LogPart
	Cut     string // shown before the line: "attempt 2 of train"
	Rank    string // in a gang: which of its pods wrote it
	Stderr  bool
}

// LogPart is a run of a line with one look.
type LogPart struct {
	Text  string
	Class string // "ansi-31 ansi-bold"
	URL   string // http or https, "" for plain text
	Hit   bool   // matches the search
}

const logLinesID = "log-lines"

// logMode tells the script whether new lines come.
func logMode(l Logs) string {
	if l.Follow {
		return "follow"
	}
	return "rest"
}
