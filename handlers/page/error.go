package page

import (
	"net/http"

	"github.com/a-h/templ"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// Error draws an error page. A user without a project sees that instead of a missing
// permission.
func Error(r *http.Request, v web.ErrorView) templ.Component {
	page := views.Page{Title: v.Title, User: v.User, Path: v.Path, Theme: Theme(r)}
	if s, ok := auth.SubjectOf(r.Context()); ok && s.Role == auth.RoleUser && s.ProjectID == uuid.Nil && v.Status == http.StatusForbidden {
		page.Title = "Welcome"
		return views.NoProjectPage(page)
	}
	failure := views.Failure{Status: v.Status, Title: v.Title, Message: v.Message, RequestID: v.RequestID}
	for _, f := range v.Fields {
		failure.Fields = append(failure.Fields, ui.Fact{Name: f.Path, Value: f.Message})
	}
	return views.ErrorPage(page, failure)
}
