package views

import "github.com/flowforge/flowforge/views/ui"

// TeamPage is the page of a team for its members: limits, usage, queue and GPU-hours.
type TeamPage struct {
	Page
	Name, Kind string
	Edit       string // the quota page on this team; "" without the right
	Live       TeamLive
	Hours      TeamHours
	StreamURL  string
}

// TeamLive is the live part of the page.
type TeamLive struct {
	Now    TeamNow
	Limits []TeamLimit
	Queue  TeamQueue
	Share  TeamShare
}

// TeamNow lists the resources available without waiting ("2 H100 and 8 L4") and those
// that are not ("A100"); "" if empty.
type TeamNow struct{ Can, Full string }

// TeamLimitsID is the element id of the limits.
func TeamLimitsID() string { return "team-limits" }

// TeamQueueID is the element id of the queue.
func TeamQueueID() string { return "team-queue" }

// TeamShareID is the element id of the fair-share score.
func TeamShareID() string { return "team-share" }

// TeamLeadID is the element id of the sentence about available resources.
func TeamLeadID() string { return "team-lead" }

// TeamLimit is one resource of the team.
type TeamLimit struct {
	Name string
	Bar  ui.QuotaBar
	Most string
	Note string // the parent whose limit applies
}

// TeamQueue is the waiting nodes in the order of admission.
type TeamQueue struct {
	Count string
	Rows  []TeamWaiting
	More  string // number of omitted nodes; "" if all are shown
	URL   string // the waiting page
}

// TeamWaiting is one waiting node.
type TeamWaiting struct {
	Position   string
	Node, URL  string
	Sub        string // "#7k2f00 street-scenes"
	Requests   string
	Waits      string
	Since      string // RFC 3339: Waits is the time since then
	Starts     string // "≈ 14:38", "14:38 to 14:55", "unknown"
	StartsNote string
	Why        string
	Holders    []TeamHolder
}

// TeamHolder uses a resource for which a node waits.
type TeamHolder struct{ Name, URL, Note string }

// TeamShare is the fair-share score with its components.
type TeamShare struct {
	Strong, Text string
	Inputs       []ui.Fact
	Order        []TeamRank // the siblings, next first
	Empty        string
}

// TeamRank is a sibling in the order of shares.
type TeamRank struct {
	Name, Share string
	Own         bool
}

// TeamHours is the usage of this week in GPU-hours, or in CPU-hours without GPUs.
type TeamHours struct {
	Title     string // "GPU-hours"
	Period    string // "since Monday 16 November"
	Total     string
	Note      string
	Days      []TeamDay
	DaysLabel string
	People    []TeamUse
	Workflows []TeamUse
	Empty     string
}

// TeamDay is a bar of the chart of days, in a box of 300 × 96.
type TeamDay struct {
	X, Y, W, H string
	LabelX     string
	Label      string
	Title      string
}

// TeamUse is the usage of one user or workflow.
type TeamUse struct {
	Name, URL, Hours string
	Width            string // of the bar
}

// TeamUpdate is one message of the stream; nil parts are unchanged.
type TeamUpdate struct {
	Lead   *TeamLive
	Limits []TeamLimit
	Queue  *TeamQueue
	Share  *TeamShare
}
