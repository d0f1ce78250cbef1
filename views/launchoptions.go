package views

import (
	"strings"

	"github.com/flowforge/flowforge/views/ui"
)

// LaunchOptions are what a launch asks for beside its inputs.
type LaunchOptions struct {
	Cache     []ui.Option     // nil: no operator keeps results
	CacheOf   []OperatorCache // for single operators
	CacheMore int             // operators that are not offered here

	KeepHelp                                      string // what holds without a word
	Keep, KeepSuccess, KeepFailure                string
	KeepError, KeepSuccessError, KeepFailureError string

	More bool // what is seldom wanted is shown at once
}

// OperatorCache is what to do with the results that one operator keeps.
type OperatorCache struct {
	Operator string
	Choices  []ui.Option
	Error    string
}

// CacheID is the id of an operator's control for results that are kept.
func CacheID(operator string) string { return "cache-" + operator }

// described names what describes a control: its help, and what is wrong.
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
