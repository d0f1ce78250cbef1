package ui

// Deletion is what a page can delete.
type Deletion struct {
	Kind        string // noun, such as "trigger"
	Name        string
	Consequence string // sentences
	URL         string // deletes by POST
	Narrow      bool   // as wide as the form above it
}

func (d Deletion) confirmation() Confirmation {
	return Confirmation{
		ID: "delete", Title: "Delete " + d.Name + "?", Text: d.Consequence + " This cannot be undone.",
		Keep: "Keep the " + d.Kind, Button: "Delete " + d.Kind, URL: d.URL,
	}
}

// Confirmation is the dialog that asks before an action that cannot be undone.
type Confirmation struct {
	ID     string // of the dialog
	Title  string // the question
	Text   string // what the action does
	Keep   string // the button that closes the dialog
	Button string // the button that acts
	URL    string // acts by POST
}
