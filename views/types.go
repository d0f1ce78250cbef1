package views

import (
	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views/ui"
)

// Types is the page of all types with live widgets.
type Types struct {
	Page
	Groups []TypeGroup
	Count  string
}

// TypeGroup is the types of one family.
type TypeGroup struct {
	Name  string // "Numbers", "Data"
	Types []TypeCard
}

// TypeCard is one type in the list.
type TypeCard struct {
	Name, URL, Icon, Summary, Example string
	Custom                            bool
	Widget                            templ.Component // nil without a widget
	Anchor                            string
}

// Type is the page of one type.
type Type struct {
	Page
	Name, Icon, Summary string
	Custom              bool
	Expression          string // the example that the widget shows
	Widget              templ.Component
	Parameters          []TypeParameter
	Checks              []string
	Examples            []ui.Fact // value → displayed text
	UISchema            string
	JSONSchema          string
	UsedIn              []TypeUse
	UsesCut             int // workflows that were searched, if there are more
	Others              []TypeGroup
	Problem             string
}

// TypeParameter is a parameter of a type in an expression.
type TypeParameter struct{ Name, Kind, Does string }

// TypeUse is a place where a type is used.
type TypeUse struct{ Workflow, URL, Fields string }
