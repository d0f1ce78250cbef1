package ui

// Deletion is what a page can delete.
type Deletion struct {
	Kind        string // noun, such as "trigger"
	Name        string
	Consequence string // sentences
	URL         string // deletes by POST
	Narrow      bool   // as wide as the form above it
}
