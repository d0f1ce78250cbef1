package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/ui"
)

// Templates is the page of operator templates.
type Templates struct {
	Page
	Templates []TemplateLine
}

// TemplateLine is one version of a template.
type TemplateLine struct {
	Name, Version, Scope, Type, Description, By string
	At                                          ui.Moment
	URL                                         string
}

// Template is the page of one version.
type Template struct {
	Page
	TemplateLine
	Document string
	Use      string // how a definition references it
	Versions []TemplateLine
}

// TemplatesURL lists the templates.
func TemplatesURL() string { return "/templates" }

// TemplateURL is the page of a version of a template.
func TemplateURL(name, version string) string {
	return TemplatesURL() + "/" + url.PathEscape(name) + "?" + url.Values{"version": {version}}.Encode()
}
