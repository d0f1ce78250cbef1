package views

// Search is the answer of the palette and of the search page.
type Search struct {
	Page
	Query  string
	Groups []SearchGroup
}

// SearchGroup is the findings of one kind.
type SearchGroup struct {
	Name string
	Hits []SearchHit
}

// SearchHit is one finding.
type SearchHit struct{ Icon, Name, Short, URL, Note, State string }
