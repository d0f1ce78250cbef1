package reports

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/report"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// blank shows the form of a new report.
func (h *Pages) blank(w http.ResponseWriter, r *http.Request) error {
	if _, err := auth.Authorize(r.Context(), auth.ExecutionLaunch); err != nil {
		return err
	}
	return h.form(w, r, http.StatusOK, h.newForm(r))
}

func (h *Pages) newForm(r *http.Request) views.ReportForm {
	return views.ReportForm{
		Page: h.Page.Base(r, "New report", views.SectionReports, reportsCrumb()), Heading: "New report",
		Action: views.ReportsURL(nil), PreviewURL: views.ReportPreviewURL(), CancelURL: views.ReportsURL(nil),
	}
}

func (h *Pages) editForm(r *http.Request, one report.Report) views.ReportForm {
	id := one.ID.String()
	return views.ReportForm{
		Page: h.Page.Base(r, "Edit", views.SectionReports, reportsCrumb(), views.Crumb{Name: one.Title, URL: views.ReportURL(id)}), Heading: "Edit " + one.Title,
		Action: views.ReportPartURL(id, "edit"), PreviewURL: views.ReportPartURL(id, "preview"), CancelURL: views.ReportURL(id), Based: one.Revision,
	}
}

// edit shows the form of a report.
func (h *Pages) edit(w http.ResponseWriter, r *http.Request) error {
	one, err := h.read(r)
	if err != nil {
		return err
	}
	if _, err := auth.Authorize(r.Context(), auth.ExecutionLaunch); err != nil {
		return err
	}
	m := h.editForm(r, one)
	m.ReportTitle, m.Text = one.Title, one.Text
	return h.form(w, r, http.StatusOK, m)
}

// form shows a form with the preview of its text.
func (h *Pages) form(w http.ResponseWriter, r *http.Request, status int, m views.ReportForm) error {
	content, err := h.content(r, m.Text)
	if err != nil {
		return err
	}
	m.Content = &content
	return web.Render(w, r, status, views.ReportFormPage(m))
}

// previewOf renders the text of the form of a report that the caller may read.
func (h *Pages) previewOf(w http.ResponseWriter, r *http.Request) error {
	if _, err := h.read(r); err != nil {
		return err
	}
	return h.preview(w, r)
}

// preview renders the text of a form.
func (h *Pages) preview(w http.ResponseWriter, r *http.Request) error {
	if _, err := auth.Authorize(r.Context(), auth.ExecutionLaunch); err != nil {
		return err
	}
	f, err := typed(r)
	if err != nil {
		return err
	}
	content, err := h.content(r, text(f))
	if err != nil {
		return err
	}
	return web.Render(w, r, http.StatusOK, views.ReportPreview(content))
}

// typed reads the form of a report.
func typed(r *http.Request) (url.Values, error) {
	if err := r.ParseForm(); err != nil {
		return nil, apperr.Wrap(apperr.Invalid, err, "The form cannot be read. Send it again.")
	}
	return r.PostForm, nil
}

// text is the text of a form with the line breaks that are saved.
func text(f url.Values) string { return strings.ReplaceAll(f.Get("text"), "\r\n", "\n") }

func editOf(f url.Values) report.Edit {
	title, body := f.Get("title"), f.Get("text")
	based, _ := strconv.Atoi(f.Get("revision"))
	return report.Edit{Title: &title, Text: &body, Note: f.Get("note"), Based: based}
}

// create saves a new report.
func (h *Pages) create(w http.ResponseWriter, r *http.Request) error {
	f, err := typed(r)
	if err != nil {
		return err
	}
	if f.Get("preview") != "" {
		return h.again(w, r, http.StatusOK, h.newForm(r), f)
	}
	one, err := h.Reports.Create(r.Context(), editOf(f))
	if err != nil {
		return h.rejected(w, r, h.newForm(r), f, err)
	}
	http.Redirect(w, r, views.ReportURL(one.ID.String()), http.StatusSeeOther)
	return nil
}

// save saves a revision of a report.
func (h *Pages) save(w http.ResponseWriter, r *http.Request) error {
	f, err := typed(r)
	if err != nil {
		return err
	}
	one, err := h.read(r)
	if err != nil {
		return err
	}
	m := h.editForm(r, one)
	if m.Based, err = strconv.Atoi(f.Get("revision")); err != nil || m.Based < 1 {
		return apperr.New(apperr.Invalid, "The form does not contain the revision that it edits. Open it again.")
	}
	if f.Get("preview") != "" {
		return h.again(w, r, http.StatusOK, m, f)
	}
	_, err = h.Reports.Change(r.Context(), one.ID.String(), editOf(f))
	if conflicts(err) {
		return h.conflict(w, r, f)
	}
	if err != nil {
		return h.rejected(w, r, m, f, err)
	}
	http.Redirect(w, r, views.ReportURL(one.ID.String()), http.StatusSeeOther)
	return nil
}

// conflicts reports whether another revision was saved first.
func conflicts(err error) bool {
	fields := apperr.FieldsOf(err)
	return apperr.Is(err, apperr.Conflict) && len(fields) > 0 && fields[0].Path == "revision"
}

// conflict responds with the typed text and its differences from the latest revision, on which
// the next save is based.
func (h *Pages) conflict(w http.ResponseWriter, r *http.Request, f url.Values) error {
	latest, err := h.read(r)
	if err != nil {
		return err
	}
	m := h.editForm(r, latest)
	m.Conflict = &views.ReportConflict{By: latest.UpdatedBy, Revision: latest.Revision, URL: views.ReportRevisionURL(latest.ID.String(), latest.Revision)}
	if m.Conflict.Changes, err = changes("Your text compared with the latest revision", latest.Text, text(f)); err != nil {
		return err
	}
	m.Conflict.Changes.Open = true
	return h.again(w, r, http.StatusConflict, m, f)
}

// rejected shows a form again with its errors and the typed values.
func (h *Pages) rejected(w http.ResponseWriter, r *http.Request, m views.ReportForm, f url.Values, err error) error {
	code := apperr.CodeOf(err)
	if code != apperr.Invalid && code != apperr.Conflict {
		return err
	}
	m.Errors = map[string]string{}
	for _, field := range apperr.FieldsOf(err) {
		m.Errors[field.Path] = field.Message
	}
	if len(m.Errors) == 0 {
		m.Failed = apperr.MessageOf(err)
	}
	return h.again(w, r, web.Status(code), m, f)
}

// again shows a form with the typed values.
func (h *Pages) again(w http.ResponseWriter, r *http.Request, status int, m views.ReportForm, f url.Values) error {
	m.ReportTitle, m.Text, m.Note = f.Get("title"), text(f), f.Get("note")
	return h.form(w, r, status, m)
}
