package views

import "github.com/flowforge/flowforge/views/ui"

// TeamPage is a team for everybody in it: what it may hold, what it holds, its
// queue, and who used its GPUs.
type TeamPage struct {
	Page
	Name, Kind string
	Edit       string // the quota page on this team; "" without the right
	Live       TeamLive
	Hours      TeamHours
	StreamURL  string
}

// TeamLive is the part of the page that moves.
type TeamLive struct {
	Now    TeamNow
	Limits []TeamLimit
	Queue  TeamQueue
	Share  TeamShare
}

// TeamNow is what can start without waiting ("2 H100 and 8 L4"), and what cannot
// ("A100"); "" where there is nothing to say.
type TeamNow struct{ Can, Full string }

// TeamLimitsID is the element id of the limits.
func TeamLimitsID() string { return "team-limits" }

// TeamQueueID is the element id of the queue.
func TeamQueueID() string { return "team-queue" }

// TeamShareID is the element id of the fair-share score.
func TeamShareID() string { return "team-share" }

// TeamLeadID is the element id of the sentence about what can start now.
func TeamLeadID() string { return "team-lead" }

// TeamLimit is one resource of the team.
type TeamLimit struct {
	Name string
	Bar  ui.QuotaBar
	Most string
	Note string // whose limit stands above, when that is what counts
}

// TeamQueue is what waits, in the order of admission.
type TeamQueue struct {
	Count string
	Rows  []TeamWaiting
	More  string // how many more wait; "" when all are shown
	URL   string // the waiting page
}

// TeamWaiting is one node that waits.
type TeamWaiting struct {
	Position   string
	Node, URL  string
	Sub        string // "#7k2f00 street-scenes"
	Asks       string
	Waits      string
	Since      string // RFC 3339: Waits counts on from there
	Starts     string // "≈ 14:38", "14:38 to 14:55", "unknown"
	StartsNote string
	Why        string
	Holders    []TeamHolder
}

// TeamHolder is who holds what a node waits for.
type TeamHolder struct{ Name, URL, Note string }

// TeamShare is the fair-share score in words, with what it is made of.
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

// TeamHours is what was used this week: hours of GPUs, or of CPUs where there are none.
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

// TeamUse is what one person or workflow used.
type TeamUse struct {
	Name, URL, Hours string
	Width            string // of the bar
}

// TeamUpdate is one message of the stream; nil is as before.
type TeamUpdate struct {
	Lead   *TeamLive
	Limits []TeamLimit
	Queue  *TeamQueue
	Share  *TeamShare
}
