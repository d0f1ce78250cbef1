package views

import "net/url"

// LogHits are lines of the logs of many executions that contain a text.
type LogHits struct {
	Text    string // that the lines contain
	Range   string // which executions were searched
	Note    string // why only a part of the lines or of the page is available; "" for none
	Failed  string // why there are no lines
	Hits    []LogHit
	MoreURL string // "" on the last page
	AllURL  string // the page of the lines; "" on it
}

// LogHit is a line with the lines around it.
type LogHit struct {
	URL                         string // of the line in its log
	Title, Short, ExecutionURL  string
	State                       string // of the execution
	Node, Attempt, Number, When string
	Exact                       string
	Lines                       []LogHitLine
}

// LogHitLine is the found line, or one around it.
type LogHitLine struct {
	Number, Level string
	Parts         []LogPart
	Found         bool
}

// LogLinesPage lists lines of many executions.
type LogLinesPage struct {
	Page
	Query    QueryBar
	Hits     LogHits
	TableURL string
}

// LogHitsURL lists the lines that a query finds in logs.
func LogHitsURL(where, after string) string {
	q := url.Values{"where": {where}}
	if after != "" {
		q.Set("after", after)
	}
	return ExecutionsURL() + "/lines?" + q.Encode()
}
