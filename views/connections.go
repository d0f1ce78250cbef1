package views

import (
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views/ui"
)

// ConnectionsURL lists the connections of the project; a POST adds one.
func ConnectionsURL() string { return "/connections" }

// NewConnectionURL is the form for a new connection of a kind, or the choice of one for "".
func NewConnectionURL(kind string) string {
	if kind == "" {
		return ConnectionsURL() + "/new"
	}
	return ConnectionsURL() + "/new?kind=" + url.QueryEscape(kind)
}

// ConnectionURL is the page of a connection; a POST changes it.
func ConnectionURL(name string) string { return ConnectionsURL() + "/" + url.PathEscape(name) }

// ConnectionDeleteURL deletes a connection by POST.
func ConnectionDeleteURL(name string) string { return ConnectionURL(name) + "/delete" }

// ConnectionTestURL tests a connection by POST.
func ConnectionTestURL(name string) string { return ConnectionURL(name) + "/test" }

// Connections is the list of a project's connections.
type Connections struct {
	Page
	Rows   []ConnectionRow
	NewURL string // "" without permission
	Notice string
}

// ConnectionRow is a connection without its secret fields.
type ConnectionRow struct {
	Name, URL   string
	Kind        string // its label
	Description string
	Place       string // where it leads: "db.example.com:5432"
	Changed     string // "by Mei, 2 h ago"
	Uses        []SecretUse
}

// Connection is the page of one connection.
type Connection struct {
	Page
	Row       ConnectionRow
	Facts     []ConnectionFact
	Form      *ConnectionForm // nil without permission
	TestURL   string          // "" without a test or permission
	Test      *ConnectionTest // the result of the test that was just run
	DeleteURL string          // "" without permission
	Notice    string
	Variables []string // environment variables of an input called db
}

// ConnectionFact is a field with its value.
type ConnectionFact struct{ Label, Value string }

// ConnectionTest is the result of a test.
type ConnectionTest struct {
	OK    bool
	Took  string
	Steps []ConnectionStep
}

// ConnectionStep is one part of a test.
type ConnectionStep struct {
	Name, Detail string
	OK           bool
}

// NewConnection is the page for a new connection.
type NewConnection struct {
	Page
	Kinds []ConnectionKind
	Form  *ConnectionForm // nil before a kind is chosen
}

// ConnectionKind is a kind to choose.
type ConnectionKind struct {
	Label, Summary, URL string
	Chosen              bool
}

// ConnectionForm is the form of a connection. The server never sends a secret field back.
type ConnectionForm struct {
	Action      string
	Kind        string
	Name        string
	NameFixed   bool
	Description string
	Declared    string // of a custom connection: one field per line
	Custom      bool
	Fields      []ConnectionInput
	Store       bool              // it is the form of a secret store
	Errors      map[string]string // by field: "name", "description", "declared" or "values.host"
	Failed      string
}

func (f ConnectionForm) noun() string {
	if f.Store {
		return "secret store"
	}
	return "connection"
}

func (f ConnectionForm) descriptionHelp() string {
	if f.Store {
		return "Purpose and owner. Visible to members of the projects that may use the store."
	}
	return "Purpose and owner. Visible to all members of the project."
}

// ConnectionInput is the control of one field.
type ConnectionInput struct {
	Name, Label, Help string
	Value             string
	Secret            bool
	Kept              bool // a secret field that has a value
	Required          bool
	Number            bool
	Lines             bool // several lines of text
	Options           []ui.Option
	For               string // the authentication that reads the field; empty: all
}

// authenticationOf is the authentication that reads a field of the form; empty: all.
func (f ConnectionForm) authenticationOf(field string) string {
	for _, in := range f.Fields {
		if "values."+in.Name == field {
			return in.For
		}
	}
	return ""
}

// described lists the texts about a control.
func (f ConnectionForm) described(field string, helped bool) string {
	var ids []string
	if helped {
		ids = append(ids, "connection-"+field+"-help")
	}
	if f.Errors[field] != "" {
		ids = append(ids, "connection-"+field+"-error")
	}
	return strings.Join(ids, " ")
}

func (r ConnectionRow) more() string {
	if n := len(r.Uses) - 1; n > 0 {
		return "and " + units.Plural(n, "other", "others")
	}
	return ""
}

// connectionControl are the attributes that every control of the form has.
func connectionControl(f ConnectionForm, field string, helped bool) templ.Attributes {
	a := templ.Attributes{"id": "connection-" + field}
	if ids := f.described(field, helped); ids != "" {
		a["aria-describedby"] = ids
	}
	if f.Errors[field] != "" {
		a["aria-invalid"] = "true"
	}
	return a
}

// connectionHelp is the help of a field. A secret field that has a value keeps it when left empty.
func connectionHelp(c ConnectionInput) string {
	switch {
	case c.Secret && c.Kept:
		return strings.TrimSpace("Stored and hidden. Leave it empty to keep the value. " + c.Help)
	case c.Secret:
		return strings.TrimSpace("Stored encrypted and never shown again. " + c.Help)
	}
	return c.Help
}
