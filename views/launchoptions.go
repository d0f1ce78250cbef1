package views

import (
	"strings"

	"github.com/flowforge/flowforge/views/ui"
)

// LaunchOptions are the options of a launch besides its inputs.
type LaunchOptions struct {
	Cache     []ui.Option     // nil if no operator caches results
	CacheOf   []OperatorCache // for single operators
	CacheMore int             // operators omitted here

	KeepHelp                                      string // the retention that applies by default
	Keep, KeepSuccess, KeepFailure                string
	KeepError, KeepSuccessError, KeepFailureError string

	Tags, TagsError string // separated by commas
	Note, NoteError string

	More bool // the advanced options start expanded
}

// OperatorCache is the cache option of one operator.
type OperatorCache struct {
	Operator string
	Choices  []ui.Option
	Error    string
}

// CacheID is the id of the cache control of an operator.
func CacheID(operator string) string { return "cache-" + operator }

// described is the aria-describedby of a control: its help and its error.
func described(id, help, problem string) string {
	ids := ""
	if help != "" {
		ids = id + "-help"
	}
	if problem != "" {
		ids += " " + id + "-error"
	}
	return strings.TrimSpace(ids)
}
