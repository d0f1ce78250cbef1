package views

import (
	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views/ui"
)

// Types is the registry: every type with a live widget.
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
	Widget                            templ.Component // nil when it has none
	Anchor                            string
}

// Type is the page of one type.
type Type struct {
	Page
	Name, Icon, Summary string
	Custom              bool
	Expression          string // the example that the widget is made from
	Widget              templ.Component
	Parameters          []TypeParameter
	Checks              []string
	Examples            []ui.Fact // value → how it is shown
	UISchema            string
	JSONSchema          string
	UsedIn              []TypeUse
	Others              []TypeGroup
	Problem             string
}

// TypeParameter is a parameter of a type in an expression.
type TypeParameter struct{ Name, Kind, Does string }

// TypeUse is a place where a type is used.
type TypeUse struct{ Workflow, URL, Fields string }
