package views

import (
	"net/url"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views/ui"
)

// NotificationTemplatesURL lists the templates of the project.
func NotificationTemplatesURL() string { return NotificationsURL() + "/templates" }

// NotificationTemplateURL is the form of a template; a POST stores it.
func NotificationTemplateURL(kind, event string) string {
	return NotificationTemplatesURL() + "/" + url.PathEscape(kind) + "/" + url.PathEscape(event)
}

// NotificationTemplatePartURL is a command of a template: "preview", "test" or "delete".
func NotificationTemplatePartURL(kind, event, part string) string {
	return NotificationTemplateURL(kind, event) + "/" + part
}

// NotificationPreviewID is the element id of the preview.
func NotificationPreviewID() string { return "template-preview" }

// NotificationTemplates is the list of templates.
type NotificationTemplates struct {
	Page
	Notice        string
	May           bool // the reader can change templates
	Kinds, Events []ui.Option
	Rows          []NotificationTemplateRow
}

// NotificationTemplateRow is a template in the list.
type NotificationTemplateRow struct {
	URL, Kind, Event, By string
	At                   ui.Moment
}

// NotificationTemplateForm is the form of a template.
type NotificationTemplateForm struct {
	Page
	Heading, Lead              string
	Action, PreviewURL         string
	TestURL, DeleteURL         string // "" without
	ReadOnly, HasSubject, Mono bool
	Subject, Body, BodyLabel   string
	BodyHelp                   string
	Channels                   []ui.Option // of the kind
	Variables                  []NotificationVariable
	Failed                     string
	Errors                     map[string]string
	Notice                     *AdminNotice // the answer to a test message
	Preview                    NotificationTemplatePreview
}

// NotificationVariable is a value that a template reads.
type NotificationVariable struct{ Name, About string }

// NotificationTemplatePreview is the message of a template.
type NotificationTemplatePreview struct {
	About               string // which event is shown
	Sample              bool
	Subject, Text, JSON string
	HTML                string // sanitized
	Problems            []string
}

func templateControl(f NotificationTemplateForm, field string) templ.Attributes {
	described := "template-" + field + "-help"
	a := templ.Attributes{"id": "template-" + field}
	if f.Errors[field] != "" {
		described += " template-" + field + "-error"
		a["aria-invalid"] = "true"
	}
	a["aria-describedby"] = described
	if f.ReadOnly {
		a["disabled"] = true
	}
	return a
}
