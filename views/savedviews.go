package views

import "github.com/flowforge/flowforge/views/ui"

// SavedViews are the saved views of the table of executions, as tabs, and the one that is open.
type SavedViews struct {
	Tabs    []ui.Tab
	Current *SavedView // nil without one
	New     *ViewForm  // saves the table as a new view; nil if the reader may not
	Failed  string
}

// SavedView is the open view.
type SavedView struct {
	Name, Sharing, Owner, Updated string
	Changed                       bool // the table of the page differs from the saved one
	Shared                        bool // everyone in the project sees it
	Default                       bool
	Change                        *ViewForm // nil if the reader may not change it
	MayDefault                    bool
	RevertURL                     string
	DefaultURL, DeleteURL, Link   string
}

// deleteText is what deleting the view does.
func (v SavedView) deleteText() string {
	if v.Shared {
		return "Deletes the view for everyone in the project. The executions are kept."
	}
	return "Deletes the view. The executions are kept."
}

// ViewForm names a view. Back is the URL of the table.
type ViewForm struct {
	ID, Action, Back, Based string
	Name                    string
	Sharings                []ui.Option
	Errors                  map[string]string
}

// ExecutionViewURL opens a saved view.
func ExecutionViewURL(id string) string { return ExecutionsURL() + "?view=" + id }

// AllExecutionsURL lists all executions, also in a project with a default view.
func AllExecutionsURL() string { return ExecutionsURL() + "?view=all" }

// SaveViewURL saves a new view.
func SaveViewURL() string { return ExecutionsURL() + "/views" }

// ChangeViewURL changes a view.
func ChangeViewURL(id string) string { return SaveViewURL() + "/" + id }
