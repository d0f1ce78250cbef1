package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/ui"
)

// SemaphoresURL lists the semaphores of the project after a name, "" for all; by POST it
// takes the permits of one.
func SemaphoresURL(after string) string {
	if after == "" {
		return "/semaphores"
	}
	return "/semaphores?after=" + url.QueryEscape(after)
}

// SemaphoreSetURL is the list after the permits of one were set.
func SemaphoreSetURL(name string) string { return "/semaphores?set=" + url.QueryEscape(name) }

// waitingTabs are the two pages about what waits.
func waitingTabs(semaphores bool) []ui.Tab {
	return []ui.Tab{
		{Name: "Queue", URL: WaitingURL("", ""), Current: !semaphores},
		{Name: "Semaphores", URL: SemaphoresURL(""), Current: semaphores},
	}
}

// Semaphores is the page of a project's mutexes and semaphores.
type Semaphores struct {
	Page
	Rows   []SemaphoreRow
	Pager  ui.Pager
	MaySet bool
	Notice *AdminNotice

	Name, Permits string // as they were typed, after a mistake
	Problem       string
}

// SemaphoreRow is a lock with who holds it and who waits.
type SemaphoreRow struct {
	Name, URL                string
	Permits                  string // "" when it is not known
	Value                    string // the same for the form
	Source                   string // who says the permits
	SetAt                    *ui.Moment
	Settable                 bool
	Held                     string
	Waiting                  int
	Holders, Waiters         []LockLine
	MoreHolders, MoreWaiters string
}

// LockLine is who holds a lock or waits for it.
type LockLine struct {
	Name, Sub, URL string
	Since          ui.Moment
}
