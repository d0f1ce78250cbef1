package notifications

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/engine/notify"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

func (h *Pages) mountTemplates(r chi.Router) {
	const path = "/notifications/templates/{kind}/{event}"
	r.Get("/notifications/templates", h.Page.Serve(h.templates))
	r.Get(path, h.Page.Serve(h.template))
	r.Post(path, h.Page.Serve(h.saveTemplate))
	r.Post(path+"/preview", h.Page.Serve(h.previewTemplate))
	r.Post(path+"/test", h.Page.Serve(h.testTemplate))
	r.Post(path+"/delete", h.Page.Serve(h.deleteTemplate))
}

// templates lists the templates. With a kind and an event, it leads to the form of that template.
func (h *Pages) templates(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if q.Get("kind") != "" && q.Get("event") != "" {
		http.Redirect(w, r, views.NotificationTemplateURL(q.Get("kind"), q.Get("event")), http.StatusSeeOther)
		return nil
	}
	list, err := h.Notifications.Templates(r.Context())
	if err != nil {
		return err
	}
	m := views.NotificationTemplates{
		Page: h.Page.Base(r, "Templates", views.SectionNotifications, views.Crumb{Name: "Notifications", URL: views.NotificationsURL()}), May: page.MayWriteSecrets(r),
		Notice: map[string]string{"saved": "The template was saved.", "deleted": "The template was deleted."}[q.Get("did")],
	}
	for _, kind := range notify.TemplateKinds() {
		m.Kinds = append(m.Kinds, ui.Option{Value: kind, Name: kindLabel(kind)})
	}
	for _, d := range notify.TemplateEvents() {
		m.Events = append(m.Events, ui.Option{Value: string(d.Event), Name: d.Title})
	}
	clock := h.Page.Clock(r)
	for _, t := range list {
		m.Rows = append(m.Rows, views.NotificationTemplateRow{
			URL: views.NotificationTemplateURL(t.Kind, string(t.Event)), Kind: kindLabel(t.Kind), Event: eventTitle(t.Event), By: t.UpdatedBy, At: clock.Moment(t.UpdatedAt),
		})
	}
	return web.Render(w, r, http.StatusOK, views.NotificationTemplatesPage(m))
}

func kindLabel(kind string) string {
	k, _ := connection.KindNamed(kind)
	return k.Label
}

func eventTitle(event notify.Event) string {
	for _, d := range notify.TemplateEvents() {
		if d.Event == event {
			return d.Title
		}
	}
	return string(event)
}

// start is a new template, with a text to begin with.
func start(kind string, event notify.Event) notify.Template {
	t := notify.Template{Kind: kind, Event: event}
	switch kind {
	case message.Slack:
		t.Body = "*{{ title }}*\n{{ text }}\n<{{ url }}|Open in FlowForge>"
	case message.Teams:
		t.Body = "**{{ title }}**\n\n{{ text }}\n\n[Open in FlowForge]({{ url }})"
	case message.Email:
		t.Subject, t.Body = "{{ title }}", "# {{ title }}\n\n{{ text }}\n\n[Open in FlowForge]({{ url }})\n"
	case message.Webhook:
		t.Body = "{\n  \"event\": \"{{ event }}\",\n  \"title\": \"{{ title }}\",\n  \"url\": \"{{ url }}\"\n}"
	}
	return t
}

// templateForm is a template in its form, with the result of the last action.
type templateForm struct {
	notify.Template

	stored  bool
	channel string // chosen for the test
	failed  error
	notice  *views.AdminNotice
}

// readTemplate returns the stored template that a path names, or a new one.
func (h *Pages) readTemplate(r *http.Request) (templateForm, error) {
	kind, event := request.PathValue(r, "kind"), notify.Event(request.PathValue(r, "event"))
	t, err := h.Notifications.Template(r.Context(), kind, event)
	known := slices.Contains(notify.TemplateKinds(), kind) && slices.ContainsFunc(notify.TemplateEvents(), func(d notify.Description) bool { return d.Event == event })
	switch {
	case err == nil:
		return templateForm{Template: t, stored: true}, nil
	case apperr.Is(err, apperr.NotFound) && known:
		if !page.MayWriteSecrets(r) {
			return templateForm{}, apperr.New(apperr.Forbidden, "You cannot add notification templates to this project. Ask an administrator of the team.")
		}
		return templateForm{Template: start(kind, event)}, nil
	}
	return templateForm{}, err
}

// typedTemplate returns the template that a form contains.
func (h *Pages) typedTemplate(r *http.Request) (templateForm, error) {
	if err := r.ParseForm(); err != nil {
		return templateForm{}, apperr.Wrap(apperr.Invalid, err, "The form cannot be read. Send it again.")
	}
	f, err := h.readTemplate(r)
	if err != nil {
		return f, err
	}
	f.Subject, f.Body, f.channel = r.PostForm.Get("subject"), strings.ReplaceAll(r.PostForm.Get("body"), "\r\n", "\n"), r.PostForm.Get("channel")
	return f, nil
}

func (h *Pages) template(w http.ResponseWriter, r *http.Request) error {
	f, err := h.readTemplate(r)
	if err != nil {
		return err
	}
	return h.renderTemplate(w, r, http.StatusOK, f)
}

func (h *Pages) renderTemplate(w http.ResponseWriter, r *http.Request, status int, f templateForm) error {
	channels, err := h.Notifications.Channels(r.Context())
	if err != nil {
		return err
	}
	event := string(f.Event)
	m := views.NotificationTemplateForm{
		Page:    h.Page.Base(r, eventTitle(f.Event), views.SectionNotifications, views.Crumb{Name: "Notifications", URL: views.NotificationsURL()}, views.Crumb{Name: "Templates", URL: views.NotificationTemplatesURL()}),
		Heading: kindLabel(f.Kind) + ": " + eventTitle(f.Event), Lead: "Expressions in {{ }} are replaced by values of the event.",
		Action: views.NotificationTemplateURL(f.Kind, event), PreviewURL: views.NotificationTemplatePartURL(f.Kind, event, "preview"), TestURL: views.NotificationTemplatePartURL(f.Kind, event, "test"),
		ReadOnly: !page.MayWriteSecrets(r), HasSubject: f.Kind == message.Email, Subject: f.Subject, Body: f.Body, Notice: f.notice,
	}
	m.BodyLabel, m.BodyHelp = bodyTexts(f.Kind)
	if f.stored && !m.ReadOnly {
		m.DeleteURL = views.NotificationTemplatePartURL(f.Kind, event, "delete")
	}
	for _, c := range channels {
		if c.Kind == f.Kind {
			m.Channels = append(m.Channels, ui.Option{Value: c.Name, Name: c.Name, Selected: c.Name == f.channel})
		}
	}
	for _, v := range notify.Variables(f.Event) {
		m.Variables = append(m.Variables, views.NotificationVariable(v))
	}
	if f.failed != nil {
		m.Failed, m.Errors = apperr.MessageOf(f.failed), map[string]string{}
		for _, field := range apperr.FieldsOf(f.failed) {
			if m.Errors[field.Path] == "" {
				m.Errors[field.Path] = field.Message
			}
		}
	}
	if !m.ReadOnly {
		if m.Preview, err = h.preview(r, f.Template); err != nil {
			return err
		}
	}
	return web.Render(w, r, status, views.NotificationTemplatePage(m))
}

func bodyTexts(kind string) (label, help string) {
	switch kind {
	case message.Email:
		return "Text", "Markdown. The e-mail contains it as HTML and as text."
	case message.Slack:
		return "Text", "Slack's mrkdwn, such as *bold* and <https://example.com|link>."
	case message.Teams:
		return "Text", "Markdown of Adaptive Cards."
	}
	return "JSON", `The body of the request. Expressions are inside strings, such as "{{ title }}".`
}

// preview returns the preview, or the reason why there is none.
func (h *Pages) preview(r *http.Request, t notify.Template) (views.NotificationTemplatePreview, error) {
	p, err := h.Notifications.Preview(r.Context(), t)
	if apperr.Is(err, apperr.Invalid) {
		m := views.NotificationTemplatePreview{}
		for _, f := range apperr.FieldsOf(err) {
			m.Problems = append(m.Problems, f.Message)
		}
		return m, nil
	}
	if err != nil {
		return views.NotificationTemplatePreview{}, err
	}
	m := views.NotificationTemplatePreview{Sample: p.Sample, Subject: p.Subject, Text: p.Text, HTML: belowPage(p.HTML), JSON: p.JSON}
	m.About = "The latest message, " + h.Page.Clock(r).Exactly(p.At).Text
	if p.Sample {
		m.About = "Sample values, because the project has no recent message about this event."
	}
	return m, nil
}

// belowPage lowers the headings of a sanitized e-mail below those of the page that shows it.
func belowPage(html string) string {
	return strings.NewReplacer("<h1", "<h3", "</h1", "</h3", "<h2", "<h4", "</h2", "</h4", "<h3", "<h5", "</h3", "</h5").Replace(html)
}

func (h *Pages) saveTemplate(w http.ResponseWriter, r *http.Request) error {
	f, err := h.typedTemplate(r)
	if err != nil {
		return err
	}
	if _, err := h.Notifications.PutTemplate(r.Context(), f.Template); err != nil {
		return h.refusedTemplate(w, r, f, err)
	}
	http.Redirect(w, r, views.NotificationTemplatesURL()+"?"+url.Values{"did": {"saved"}}.Encode(), http.StatusSeeOther)
	return nil
}

// refusedTemplate shows the form again with its errors.
func (h *Pages) refusedTemplate(w http.ResponseWriter, r *http.Request, f templateForm, err error) error {
	if !apperr.Is(err, apperr.Invalid) {
		return err
	}
	f.failed = err
	return h.renderTemplate(w, r, http.StatusUnprocessableEntity, f)
}

// previewTemplate responds to htmx with the preview, and to a plain form with the whole page.
func (h *Pages) previewTemplate(w http.ResponseWriter, r *http.Request) error {
	f, err := h.typedTemplate(r)
	if err != nil {
		return err
	}
	if r.Header.Get("HX-Request") == "" {
		return h.renderTemplate(w, r, http.StatusOK, f)
	}
	p, err := h.preview(r, f.Template)
	if err != nil {
		return err
	}
	return web.Render(w, r, http.StatusOK, views.NotificationPreviewBlock(p))
}

func (h *Pages) testTemplate(w http.ResponseWriter, r *http.Request) error {
	f, err := h.typedTemplate(r)
	if err != nil {
		return err
	}
	result, err := h.Notifications.SendTest(r.Context(), f.Template, f.channel)
	if err != nil {
		return h.refusedTemplate(w, r, f, err)
	}
	f.notice = &views.AdminNotice{Kind: "ok", Strong: f.channel + " received the test message.", Text: result.Detail}
	if !result.OK {
		f.notice = &views.AdminNotice{Kind: "error", Strong: f.channel + " did not accept the test message.", Text: result.Detail}
	}
	return h.renderTemplate(w, r, http.StatusOK, f)
}

func (h *Pages) deleteTemplate(w http.ResponseWriter, r *http.Request) error {
	if err := h.Notifications.DeleteTemplate(r.Context(), request.PathValue(r, "kind"), notify.Event(request.PathValue(r, "event"))); err != nil {
		return err
	}
	http.Redirect(w, r, views.NotificationTemplatesURL()+"?"+url.Values{"did": {"deleted"}}.Encode(), http.StatusSeeOther)
	return nil
}
