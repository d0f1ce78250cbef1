package views

import "github.com/flowforge/flowforge/views/ui"

// Logs is the log viewer of an execution, on its page and on the log page.
type Logs struct {
	ExecutionID string
	Action      string // of the filter form
	Hidden      [][2]string
	Query       string
	Nodes       []ui.Option
	Levels      []ui.Option
	Hits        string // "2 hits" of a search
	Lines       []LogLine
	Follow      bool // new lines may arrive
	OlderURL    string
	NewerURL    string // "" at the end of the log
	DownloadURL string
	PageURL     string // the log page
	Problem     string // why logs are unavailable
	Note        string // why only a part of the lines is available
	Empty       string // text without lines
	FullPage    bool   // on the log page
	Cursor      string // position after the last line, for the stream
}

// LogsPage is the log page.
type LogsPage struct {
	Page
	Title     string
	State     string
	Back      string
	Logs      Logs
	StreamURL string
}

// LogLine is one line. Parts carry colours and search hits as classes, never as markup
// from the task.
type LogLine struct {
	ID      string // "L120", the permalink
	Time    string
	Exact   string
	Level   string // INFO, WARN, ERROR, …
	Node    string
	NodeURL string
	Parts   []LogPart
	Cut     string // shown before the line: "attempt 2 of train"
	Rank    string // in a gang: the rank of the pod that wrote it
	Stderr  bool
}

// LogPart is a part of a line with one style.
type LogPart struct {
	Text  string
	Class string // "ansi-31 ansi-bold"
	URL   string // http or https, "" for plain text
	Hit   bool   // matches the search
}

const logLinesID = "log-lines"

// logMode tells the script whether new lines may arrive.
func logMode(l Logs) string {
	if l.Follow {
		return "follow"
	}
	return "rest"
}
