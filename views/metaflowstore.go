package views

import "github.com/flowforge/flowforge/views/ui"

// MetaflowDatastoreURL is the page of the datastore of the project; a POST sets or tests it.
func MetaflowDatastoreURL() string { return MetaflowRunsURL() + "/datastore" }

// MetaflowDatastore is the page of the datastore of the project.
type MetaflowDatastore struct {
	Page
	Facts       []ui.Fact
	Environment string // for a shell
	Form        *DatastoreForm
	Notice      string
}

// DatastoreForm sets the datastore.
type DatastoreForm struct {
	Kinds   []ui.Option
	Fields  []DatastoreField
	Secrets []string // suggestions
	Failed  string   // heading of the error summary, or ""
	Tested  string   // what a test has found, or ""
	OK      bool     // of the test
}

// DatastoreField is a text of the form.
type DatastoreField struct {
	Name, Label, Help, Value, Error string
	Secret                          bool // the name of a secret
}

func (f DatastoreField) described() string {
	id := "ds-" + f.Name + "-help"
	if f.Error != "" {
		id += " ds-" + f.Name + "-error"
	}
	return id
}

// firstRunes is the beginning of a text.
func firstRunes(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i] + "…"
		}
	}
	return text
}
