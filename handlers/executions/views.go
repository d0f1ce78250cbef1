package executions

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/view"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

const allViews = "all" // the value of view in the address of the list without a view

// tableKeys are the parameters that a view has values for. With editKey, those that the address
// lacks are empty.
func tableKeys() []string { return []string{"where", "sort", "columns", "group"} }

const editKey = "edit"

// viewFailure is a form of a view that was refused.
type viewFailure struct {
	id, name, sharing string // id is "" for a new view
	table             bool   // only the table was saved: the form had no name and no sharing
	errors            map[string]string
	message           string
	status            int
}

// withView puts the table of the view that the address names into the request. The request moves to
// the project of the view, so that its link works for every member.
func (h *lists) withView(r *http.Request) (*http.Request, error) {
	q := r.URL.Query()
	name := q.Get("view")
	if name == "" || name == allViews {
		return r, nil
	}
	r = h.inProjectOf(r, name)
	v, err := h.Views.Get(r.Context(), name)
	if err != nil {
		return r, err
	}
	literal := slices.ContainsFunc(append(tableKeys(), editKey), q.Has)
	q.Set("view", v.ID.String())
	if !literal {
		maps.Copy(q, tableQuery(v.Table))
	}
	q.Set(editKey, "1")
	return withQuery(r, q), nil
}

func withQuery(r *http.Request, q url.Values) *http.Request {
	next := r.Clone(r.Context())
	next.URL.RawQuery = q.Encode()
	return next
}

// inProjectOf moves a request into the project of a view, if the caller may read it there.
func (h *lists) inProjectOf(r *http.Request, name string) *http.Request {
	id, err := uuid.Parse(name)
	if err != nil {
		return r
	}
	tenant, project, err := h.Views.Scope(r.Context(), id)
	if err != nil {
		return r // the service answers that there is no such view
	}
	return h.Page.Scope.In(r, tenant, project)
}

func tableQuery(t view.Table) url.Values {
	return url.Values{"where": {t.Where}, "sort": {t.Sort}, "columns": {strings.Join(t.Columns, ",")}, "group": {t.Group}}
}

func tableOf(q url.Values) view.Table {
	return view.Table{Where: q.Get("where"), Sort: q.Get("sort"), Columns: entriesOf(q), Group: q.Get("group")}
}

// toDefaultView redirects the bare address of the list to the default view of the project.
func (h *lists) toDefaultView(w http.ResponseWriter, r *http.Request) (bool, error) {
	if r.URL.RawQuery != "" {
		return false, nil
	}
	id, err := h.Views.Default(r.Context())
	if err != nil || id == uuid.Nil {
		return false, err
	}
	http.Redirect(w, r, views.ExecutionViewURL(id.String()), http.StatusSeeOther)
	return true, nil
}

// savedViews are the tabs of a list and the forms of its view. A refused form is shown again.
func (h *lists) savedViews(r *http.Request, failed *viewFailure) (views.SavedViews, error) {
	list, err := h.Views.List(r.Context())
	if err != nil {
		return views.SavedViews{}, err
	}
	q := r.URL.Query()
	current, found := view.Choose(list, q.Get("view"))
	m := views.SavedViews{Tabs: []ui.Tab{{Name: "All", URL: views.AllExecutionsURL(), Current: !found}}}
	for _, v := range list {
		tab := ui.Tab{Name: v.Name, URL: views.ExecutionViewURL(v.ID.String()), Current: found && v.ID == current.ID}
		if v.Default {
			tab.Count = "default"
		}
		m.Tabs = append(m.Tabs, tab)
	}
	back := label.ListURL(views.ExecutionsURL(), q, "", "")
	subject, _ := auth.SubjectOf(r.Context())
	if isGrid(q) && subject.May(auth.ExecutionLaunch, subject.ProjectID) {
		m.New = &views.ViewForm{ID: "new-view", Action: views.SaveViewURL(), Back: back, Sharings: sharings(string(view.Private), true)}
	}
	if found {
		m.Current = h.savedView(r, current, back)
	}
	if failed != nil {
		m.Failed = failed.message
		form := m.New
		if failed.id != "" && m.Current != nil {
			form = m.Current.Change
		}
		if form == nil && failed.message == "" {
			m.Failed = failed.errors["name"]
		}
		if form != nil && !failed.table {
			form.Name, form.Errors, form.Sharings = failed.name, failed.errors, sharings(failed.sharing, failed.id == "" || current.Mine)
		}
	}
	return m, nil
}

func (h *lists) savedView(r *http.Request, v view.View, back string) *views.SavedView {
	id := v.ID.String()
	m := &views.SavedView{
		Name: v.Name, Sharing: "Only you can see it", Owner: v.OwnerName, Updated: h.Page.Clock(r).Moment(v.UpdatedAt).Text,
		Changed: !tableOf(r.URL.Query()).Equal(v.Table), Default: v.Default, MayDefault: v.MayDefault, RevertURL: views.ExecutionViewURL(id),
		DefaultURL: views.ChangeViewURL(id) + "/default", DeleteURL: views.ChangeViewURL(id) + "/delete", Link: views.ExecutionViewURL(id),
	}
	if v.Sharing == view.Project {
		m.Sharing, m.Shared = "Everyone in the project can see it", true
	}
	if v.MayChange {
		m.Change = &views.ViewForm{
			ID: "view", Action: views.ChangeViewURL(id), Back: back, Based: v.UpdatedAt.Format(time.RFC3339Nano), Name: v.Name, Sharings: sharings(string(v.Sharing), v.Mine),
		}
	}
	return m
}

// sharings are the choices of who sees a view; only its owner makes it private.
func sharings(chosen string, private bool) []ui.Option {
	list := []ui.Option{{Value: string(view.Private), Name: "Only me"}, {Value: string(view.Project), Name: "Everyone in the project"}}
	if !private {
		list = list[1:]
	}
	for i := range list {
		list[i].Selected = list[i].Value == chosen
	}
	return list
}

// saveView saves the table of the page as a new view.
func (h *lists) saveView(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The form could not be read.")
	}
	f := r.PostForm
	name, sharing, q := f.Get("name"), view.Sharing(f.Get("sharing")), queryOf(f.Get("back"))
	if other := q.Get("view"); other != "" { // the copy is in the project of the view on the page
		r = h.inProjectOf(r, other)
	}
	t := tableOf(q)
	v, err := h.Views.Save(r.Context(), view.Edit{Name: &name, Sharing: &sharing, Table: &t})
	if err != nil {
		return h.viewAgain(w, r, q, viewFailure{name: name, sharing: string(sharing)}, err)
	}
	http.Redirect(w, r, views.ExecutionViewURL(v.ID.String()), http.StatusSeeOther)
	return nil
}

// changeView renames and shares a view; with table it saves the table of the page in it.
func (h *lists) changeView(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The form could not be read.")
	}
	f, id := r.PostForm, chi.URLParam(r, "view")
	r = h.inProjectOf(r, id)
	q := queryOf(f.Get("back"))
	e := view.Edit{}
	if at, err := time.Parse(time.RFC3339Nano, f.Get("based")); err == nil {
		e.Based = &at
	}
	name, sharing := f.Get("name"), view.Sharing(f.Get("sharing"))
	if f.Get("table") != "" {
		t := tableOf(q)
		e.Table = &t
	} else {
		e.Name, e.Sharing = &name, &sharing
	}
	if _, err := h.Views.Change(r.Context(), id, e); err != nil {
		q.Set("view", id)
		return h.viewAgain(w, r, q, viewFailure{id: id, name: name, sharing: string(sharing), table: e.Table != nil}, err)
	}
	next := views.ExecutionViewURL(id)
	if e.Table == nil && q.Get("view") == id { // unsaved changes of the table stay
		next = label.ListURL(views.ExecutionsURL(), q, "", "")
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

// queryOf is the query of the address of a list.
func queryOf(back string) url.Values {
	u, err := url.Parse(backTo(back))
	if err != nil {
		return url.Values{}
	}
	return u.Query()
}

// viewAgain responds to a refused form with the page that contained it.
func (h *lists) viewAgain(w http.ResponseWriter, r *http.Request, q url.Values, failed viewFailure, err error) error {
	fields := apperr.FieldsOf(err)
	if len(fields) == 0 && !apperr.Is(err, apperr.Conflict) {
		return err
	}
	failed.errors, failed.status = map[string]string{}, http.StatusUnprocessableEntity
	for _, field := range fields {
		if failed.errors[field.Path] = field.Message; field.Path != "name" && field.Path != "sharing" {
			failed.message = field.Message
		}
	}
	if len(fields) == 0 {
		failed.message, failed.status = apperr.MessageOf(err), http.StatusConflict
	}
	q.Set(editKey, "1")
	again := withQuery(r, q)
	again.URL.Path = views.ExecutionsURL()
	return h.gridPage(w, again, &failed)
}

// defaultView makes a view the default of the project, or stops that.
func (h *lists) defaultView(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The form could not be read.")
	}
	id := chi.URLParam(r, "view")
	r = h.inProjectOf(r, id)
	if _, err := h.Views.SetDefault(r.Context(), id, r.PostForm.Get("on") != ""); err != nil {
		return err
	}
	http.Redirect(w, r, views.ExecutionViewURL(id), http.StatusSeeOther)
	return nil
}

// deleteView removes a view.
func (h *lists) deleteView(w http.ResponseWriter, r *http.Request) error {
	id := chi.URLParam(r, "view")
	r = h.inProjectOf(r, id)
	if err := h.Views.Delete(r.Context(), id); err != nil {
		return err
	}
	http.Redirect(w, r, views.AllExecutionsURL(), http.StatusSeeOther)
	return nil
}
