package executions

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// loadLabels reads the tags and the note. Every refresh reads them, so that a message with the head
// does not undo a change that its reader has just saved.
func (x *executionView) loadLabels(ctx context.Context) error {
	labels, err := x.h.Table.Index.Labels(ctx, []uuid.UUID{x.ID})
	x.labels = labels[x.ID]
	return err
}

// editable links the forms of the labels of executions to their rows, for those who may change them.
func editable(ctx context.Context, rows []views.GridRow, of []query.Execution) []views.GridRow {
	for i, e := range of {
		if mayKeep(ctx, e.ProjectID) {
			rows[i].EditURL = views.LabelsURL(rows[i].ID)
		}
	}
	return rows
}

// labelled is the name, the tags and the note of the execution, with their form for those who may
// change them.
func (x *executionView) labelled() views.ExecutionLabels {
	l := views.ExecutionLabels{Name: x.Name, Short: label.ShortID(x.ID), Tags: x.labels.Tags, Note: x.labels.Note}
	if x.mayKeep {
		l.EditURL = views.LabelsURL(x.ID.String())
		l.Form = views.LabelForm{
			URL: l.EditURL, Name: x.Name, NameWas: x.Name, Note: l.Note, NoteWas: l.Note,
			Tags: strings.Join(l.Tags, ", "), TagsWas: strings.Join(l.Tags, "\n"),
		}
	}
	return l
}

// labelsPage is the form for readers without JavaScript, or the editor of one label for the script.
func (h *Pages) labelsPage(w http.ResponseWriter, r *http.Request) error {
	x, err := h.loadExecution(r)
	if err != nil {
		return err
	}
	if err := h.Table.Index.CheckLabel(r.Context(), x.ID, index.Change{}); err != nil {
		return err
	}
	f := x.labelled().Form
	if field := r.URL.Query().Get(labelKey); field != "" {
		return editLabel(w, r, http.StatusOK, field, f)
	}
	return h.drawLabels(w, r, http.StatusOK, x, f)
}

// labelKey is the parameter with the label that the script edits in place.
const labelKey = "field"

// editLabel draws the editor of one label.
func editLabel(w http.ResponseWriter, r *http.Request, status int, field string, f views.LabelForm) error {
	if !slices.Contains([]string{views.LabelName, views.LabelTags, views.LabelNote}, field) {
		return apperr.New(apperr.NotFound, "%s is not a label of an execution.", strconv.Quote(field))
	}
	f.URL += "?" + url.Values{labelKey: {field}}.Encode()
	return web.Render(w, r, status, views.LabelEditorView(views.LabelEditor{LabelForm: f, Label: field}))
}

// saveLabels changes what differs from the values that the form showed, so that concurrent changes
// of other people are kept.
func (h *Pages) saveLabels(w http.ResponseWriter, r *http.Request) error {
	x, err := h.loadExecution(r)
	if err != nil {
		return err
	}
	if err := r.ParseForm(); err != nil {
		return apperr.New(apperr.Invalid, "The form could not be read.")
	}
	f := labelForm(views.LabelsURL(x.ID.String()), r.PostForm)
	if _, err := h.Table.Index.Label(r.Context(), x.ID, changeOf(f)); err != nil {
		fields := apperr.FieldsOf(err)
		if !apperr.Is(err, apperr.Invalid) || len(fields) == 0 {
			return err
		}
		for _, field := range fields {
			switch field.Path {
			case "name":
				f.NameError = field.Message
			case "note":
				f.NoteError = field.Message
			default:
				f.TagsError = field.Message
			}
		}
		if field := r.URL.Query().Get(labelKey); field != "" {
			return editLabel(w, r, http.StatusUnprocessableEntity, field, f)
		}
		return h.drawLabels(w, r, http.StatusUnprocessableEntity, x, f)
	}
	if r.URL.Query().Get(labelKey) != "" {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(w, r, views.ExecutionURL(x.ID.String()), http.StatusSeeOther)
	return nil
}

func (h *Pages) drawLabels(w http.ResponseWriter, r *http.Request, status int, x *executionView, f views.LabelForm) error {
	to := views.ExecutionURL(x.ID.String())
	m := views.LabelsPage{
		Page: h.Page.Base(r, "Name, tags and note", views.SectionExecutions, views.Crumb{Name: "Executions", URL: views.ExecutionsURL()}, views.Crumb{Name: x.title(), URL: to}),
		Form: f, Back: to,
	}
	if n := len(f.ErrorLines()); n > 0 {
		m.Failed = units.Plural(n, "value needs", "values need") + " attention"
		m.Title = "Error: " + m.Title
	}
	return web.Render(w, r, status, views.LabelsView(m))
}

// labelForm is the form as it was sent.
func labelForm(to string, sent url.Values) views.LabelForm {
	lines := func(name string) string { return strings.ReplaceAll(sent.Get(name), "\r\n", "\n") }
	return views.LabelForm{
		URL: to, Name: sent.Get("name"), NameWas: sent.Get("name_was"), Tags: sent.Get("tags"), TagsWas: lines("tags_was"), Note: lines("note"), NoteWas: lines("note_was"),
	}
}

// changeOf is what a form changes.
func changeOf(f views.LabelForm) index.Change {
	var c index.Change
	if f.Name != f.NameWas {
		c.Name = &f.Name
	}
	if f.Note != f.NoteWas {
		c.Note = &f.Note
	}
	was := slices.DeleteFunc(strings.Split(f.TagsWas, "\n"), func(tag string) bool { return tag == "" })
	if f.Tags == strings.Join(was, ", ") {
		return c // a tag of a command can contain a comma
	}
	is := label.SplitTags(f.Tags)
	for _, tag := range is {
		if !slices.Contains(was, tag) {
			c.Add = append(c.Add, tag)
		}
	}
	for _, tag := range was {
		if !slices.Contains(is, tag) {
			c.Remove = append(c.Remove, tag)
		}
	}
	return c
}
