package views

import (
	"net/url"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views/ui"
)

// FeedURL is the feed of events.
func FeedURL(q url.Values) string { return withQuery("/events", q) }

// FeedStreamURL follows the feed.
func FeedStreamURL(q url.Values) string { return withQuery("/events/stream", q) }

// ConsumersURL is the list of consumers of the feed.
func ConsumersURL() string { return "/events/consumers" }

// NewConsumerURL is the form of a new consumer.
func NewConsumerURL() string { return "/events/new-consumer" }

// ConsumerURL is a page or an action of a consumer of the project, or of one of all projects. part is "",
// "delete", "redeliver" or "discard".
func ConsumerURL(name string, allProjects bool, part string) string {
	path := ConsumersURL() + "/" + url.PathEscape(name)
	if part != "" {
		path += "/" + part
	}
	if !allProjects {
		return path
	}
	return withQuery(path, url.Values{"all_projects": {"true"}})
}

// Feed is the page of the feed of events.
type Feed struct {
	Page
	Tabs               []ui.Tab // none without consumers
	Topics             []ui.Option
	Type, Execution    string // as they were typed
	From, To, Zone     string // in the format of <input type="datetime-local">
	Filtered           bool
	Problem            string
	Rows               []FeedRow
	Note               string // about older events
	Pager              ui.Pager
	FollowURL, StopURL string // one of them, or none on older pages
	StreamURL          string // "" unless the page follows
}

// FeedRow is an event.
type FeedRow struct {
	ID, Cursor   string
	At           ui.Moment
	Type, Topic  string
	Subject, URL string // of what it happened to
	Message      string
	Execution    string // "#8c6804"
	ExecutionURL string
	Payload      string // JSON
}

// Consumers is the list of consumers.
type Consumers struct {
	Page
	Tabs   []ui.Tab
	NewURL string
	Rows   []ConsumerRow
}

// ConsumerRow is a consumer.
type ConsumerRow struct {
	Name, URL   string
	About       string // which events it receives
	State, Word string // icon and text
	Lag         string
	Behind      string // age of the oldest event of the lag
	Last        *ui.Moment
	DeadLetters string
	Dead        bool // it has dead letters
}

// Consumer is the page of a consumer.
type Consumer struct {
	Page
	Row          ConsumerRow
	Notice       string
	Problem      string // what is wrong, and what to do
	ProblemText  string
	Facts        []ui.Fact
	Command      string // to read it
	Letters      []DeadLetter
	Pager        ui.Pager
	DeleteURL    string
	RedeliverURL string
	DiscardURL   string
}

// DeadLetter is an event that a consumer could not process.
type DeadLetter struct {
	FeedRow
	Tries    string
	Error    string
	FailedAt *ui.Moment
}

// dialog is the id of the dialog that asks before the dead letter is discarded.
func (d DeadLetter) dialog() string { return "discard-" + d.ID }

// discardConfirmation asks before dead letters are discarded.
func (m Consumer) discardConfirmation(dialog, what string) ui.Confirmation {
	return ui.Confirmation{
		ID: dialog, Title: "Discard " + what + "?", Text: "The consumer never processes what is discarded. This cannot be undone.",
		Keep: "Keep", Button: "Discard", URL: m.DiscardURL,
	}
}

// ConsumerForm is the form of a new consumer.
type ConsumerForm struct {
	Page
	Failed   string
	Errors   map[string]string
	Name     string
	Topics   []NotificationChoice
	Types    string // one for each line
	Starts   []ui.Option
	MaxTries string
	Scopes   []ui.Option // none unless the user administers the installation
}

// consumerControl are the attributes that every control of the form has.
func consumerControl(f ConsumerForm, field string) templ.Attributes {
	described := "consumer-" + field + "-help"
	a := templ.Attributes{"id": "consumer-" + field, "name": field}
	if f.Errors[field] != "" {
		a["aria-invalid"] = "true"
		described += " consumer-" + field + "-error"
	}
	a["aria-describedby"] = described
	return a
}
