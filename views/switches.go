package views

// ListSwitch turns an entry of a list on or off by POST.
type ListSwitch struct {
	Name   string // "Schedule nightly"
	Title  string // what a click does: "Pause nightly"
	URL    string
	On     bool
	Hidden [][2]string // names and values that the form sends
}
