package views

// Search is the result of the palette and the search page.
type Search struct {
	Page
	Query  string
	Groups []SearchGroup
}

// SearchGroup is the results of one kind.
type SearchGroup struct {
	Name string
	Hits []SearchHit
}

// SearchHit is one result.
type SearchHit struct{ Icon, Name, Short, URL, Note, State string }
