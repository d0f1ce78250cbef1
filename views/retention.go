package views

import "github.com/flowforge/flowforge/views/ui"

// KeepURL lets an execution stay.
func KeepURL(id string) string { return ExecutionURL(id) + "/keep" }

// ReleaseURL lets the time of an execution count again.
func ReleaseURL(id string) string { return ExecutionURL(id) + "/release" }

// SweepsURL shows what sweeps removed, and by POST begins one.
func SweepsURL() string { return "/admin/storage" }

// Keeping says until when an execution stays, and changes it.
type Keeping struct {
	Expires          *ui.Moment // nil: for ever, or it has not ended
	Passed           bool       // the next sweep removes it
	By               string     // who keeps it; "" for nobody
	KeepURL, FreeURL string     // one of them; "" for those who may not
}

// SweepsPage is what was removed, and what would be.
type SweepsPage struct {
	Page
	Tabs    []ui.Tab
	Rule    string // of the installation, in words
	Notice  *AdminNotice
	Last    *Sweep
	Foresee *Sweep // the latest dry run; nil when a sweep came after it
	Rows    []Sweep
}

// Sweep is one sweep.
type Sweep struct {
	Began      ui.Moment
	Took       string // "" while it runs
	Kind       string // "Sweep" or "Look ahead"
	Executions string
	Removes    string // the same in a sentence
	Artifacts  string
	Released   string // what projects kept and named no more
	Freed      string // of the store
	Error      string
}
