package views

import (
	"slices"

	"github.com/flowforge/flowforge/views/ui"
)

// Failure is the content of an error page.
type Failure struct {
	Status    int
	Title     string    // "Not found"
	Message   string    // a sentence for users
	Fields    []ui.Fact // path and message
	RequestID string    // identifies the log line
}

// heading is the headline for the status.
func (f Failure) heading() string {
	switch f.Status {
	case 401:
		return "Sign in to continue"
	case 403:
		return "You do not have access to this page"
	case 404:
		return "Page not found"
	case 409:
		return "Conflict with the current state"
	case 422:
		return "A value needs attention"
	case 429:
		return "Limit reached"
	case 503:
		return "Part of FlowForge is not responding"
	}
	return "Something went wrong on our side"
}

// problems are the fields with messages that say more than the sentence for all of them.
func (f Failure) problems() []ui.Fact {
	return slices.DeleteFunc(slices.Clone(f.Fields), func(of ui.Fact) bool { return of.Value == f.Message })
}

// advice tells the user what to do, or that no action is needed.
func (f Failure) advice() string {
	switch f.Status {
	case 404:
		return "Check the address. The page may have been removed."
	case 503:
		return "FlowForge retries automatically. Executions continue, and their results are kept."
	case 500:
		return "Executions continue. The error was logged under the request ID below."
	}
	return ""
}
