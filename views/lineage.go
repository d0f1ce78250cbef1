package views

import (
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
)

// Lineage is the page about what an item was made from, and what was made from it.
type Lineage struct {
	Page
	Heading    string
	Kind       string
	Stage      string
	OpenURL    string // page of the item, or ""
	Of         string
	Production LineageProduction
	Shown      string // "11 items"
	Cut        string // what the limit left out, or ""
	Up, Down   []ui.Option
	Expanded   []string
	Picture    dagview.Picture
	Facts      []ui.Fact
	Before     LineageSide
	After      LineageSide
	Rows       []LineageRow
}

// LineageProduction specifies which models in production were made from the item.
type LineageProduction struct {
	Models   []LineageLink
	Complete bool
	Itself   bool // the item is the only one of them
}

// LineageSide are the neighbours of the item on one side.
type LineageSide struct {
	Title, Count string
	Links        []LineageLink
	None         string // shown without links
}

// LineageLink is an item with its relation to another one.
type LineageLink struct {
	Icon, Name, URL, Note string
	Of                    string // the execution of a node or an artifact, which others with the name differ in
}

// LineageRow is an item in the list.
type LineageRow struct {
	LineageLink

	OpenURL  string // page of the item, or ""
	Kind     string
	Step     string
	How      string
	By       string
	When     ui.Moment
	NotShown string
	Current  bool
}
