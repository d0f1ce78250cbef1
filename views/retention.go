package views

import "github.com/flowforge/flowforge/views/ui"

// KeepURL exempts an execution from cleanup.
func KeepURL(id string) string { return ExecutionURL(id) + "/keep" }

// ReleaseURL applies the retention of an execution again.
func ReleaseURL(id string) string { return ExecutionURL(id) + "/release" }

// StorageURL lists the cleanups; a POST starts one.
func StorageURL() string { return "/admin/storage" }

// Keeping shows and changes the expiry of an execution.
type Keeping struct {
	Expires          *ui.Moment // nil: never, or the execution has not ended
	Passed           bool       // the next cleanup removes it
	By               string     // user who keeps it, or ""
	KeepURL, FreeURL string     // one of them; "" without permission
}

// StoragePage is the page of past and previewed cleanups.
type StoragePage struct {
	Page
	Tabs    []ui.Tab
	Rule    string // retention rule of the installation, as text
	Notice  *AdminNotice
	Last    *Cleanup
	Foresee *Cleanup // the latest preview; nil if a cleanup followed
	Rows    []Cleanup
}

// Cleanup is one cleanup.
type Cleanup struct {
	Started    ui.Moment
	Took       string // "" while it runs
	Kind       string // "Sweep" or "Look ahead"
	Executions string
	Removes    string // the same as a phrase
	Sweeps     string // names of those that expired, or ""
	Artifacts  string
	Released   string // storage released by projects
	Freed      string // of the object store
	Error      string
}
