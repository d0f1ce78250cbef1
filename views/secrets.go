package views

import (
	"net/url"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views/ui"
)

// SecretsURL lists the secrets of the project; a POST adds one.
func SecretsURL() string { return "/secrets" }

// SecretURL is the page of a secret; a POST replaces its value.
func SecretURL(name string) string { return SecretsURL() + "/" + url.PathEscape(name) }

// SecretDeleteURL deletes a secret by POST.
func SecretDeleteURL(name string) string { return SecretURL(name) + "/delete" }

// Secrets is the list of a project's secrets, with the form for a new one.
type Secrets struct {
	Page
	Rows   []SecretRow
	Form   *SecretForm // nil without permission to add
	Notice string      // result of the last action
}

// Secret is the page of one secret.
type Secret struct {
	Page
	Row  SecretRow
	Form *SecretForm // nil if the value is not stored here, or without permission
}

// SecretRow is a secret without its value.
type SecretRow struct {
	Name        string
	URL         string
	Description string
	Source      string // its source, if it is not stored here
	Reference   string // "vault, path team/db, key password", "" for a stored value
	Added       string // "by Jonas, 3 May", "" if it is not stored here
	Changed     string // "by Mei, 2 h ago", "" if never changed
	Uses        []SecretUse
	DeleteURL   string // "" without permission
}

// SecretUse is a workflow that uses the secret.
type SecretUse struct {
	Workflow, URL           string
	Execution, ExecutionURL string
	When                    ui.Moment
}

// SecretForm is the form for a new secret or a new value. The server never sends an
// entered value back.
type SecretForm struct {
	Action      string
	Name        string
	NameFixed   bool
	Description string
	Stores      []ui.Option // secret stores that the project may use, after "" for a stored value; nil: none
	Path        string
	Key         string
	Version     string
	Prefixes    []string          // "vault allows paths that begin with team/"
	Errors      map[string]string // by field
	Failed      string            // heading of the error summary, or ""
}

func (f SecretForm) described(field string) string {
	id := "secret-" + field + "-help"
	if f.Errors[field] != "" {
		id += " secret-" + field + "-error"
	}
	return id
}

// source is the source of values for which a field is shown; "" for all.
func (f SecretForm) source(field string) string {
	if field == "value" && len(f.Stores) > 0 {
		return "value"
	}
	return ""
}

// added is the user who added the secret, or its source.
func (r SecretRow) added() string {
	if r.Source != "" {
		return "from " + r.Source
	}
	return r.Added
}

// more is the number of further workflows and datastores that use the secret.
func (r SecretRow) more() string {
	if n := len(r.Uses) - 1; n > 0 {
		return "and " + units.Plural(n, "other", "others")
	}
	return ""
}
