package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/ui"
)

// SemaphoresURL lists the semaphores of the project after a name, "" for all; a POST sets
// the permits of one.
func SemaphoresURL(after string) string {
	if after == "" {
		return "/semaphores"
	}
	return "/semaphores?after=" + url.QueryEscape(after)
}

// SemaphoreSetURL is the list with a confirmation that permits were set.
func SemaphoreSetURL(name string) string { return "/semaphores?set=" + url.QueryEscape(name) }

// waitingTabs are the tabs Queue and Semaphores.
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

	Name, Permits string // as entered, after an error
	Problem       string
}

// SemaphoreRow is a lock with its holders and waiters.
type SemaphoreRow struct {
	Name, URL                string
	Permits                  string // "" if unknown
	Value                    string // the same for the form
	Source                   string // source of the number of permits
	SetAt                    *ui.Moment
	Settable                 bool
	Held                     string
	Waiting                  int
	Holders, Waiters         []LockLine
	MoreHolders, MoreWaiters string
}

// LockLine is a holder of a lock or a waiter.
type LockLine struct {
	Name, Sub, URL string
	Since          ui.Moment
}
