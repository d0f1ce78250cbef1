package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/ui"
)

// SecretsURL lists the secrets of the project; by POST it takes a new one.
func SecretsURL() string { return "/secrets" }

// SecretURL is the page of a secret; by POST it takes another value.
func SecretURL(name string) string { return SecretsURL() + "/" + url.PathEscape(name) }

// SecretDeleteURL deletes a secret by POST.
func SecretDeleteURL(name string) string { return SecretURL(name) + "/delete" }

// Secrets is the list of a project's secrets, and the form for another one.
type Secrets struct {
	Page
	Rows   []SecretRow
	Form   *SecretForm // nil for who may not add any
	Notice string      // what was just done
}

// Secret is the page of one secret.
type Secret struct {
	Page
	Row  SecretRow
	Form *SecretForm // nil when its value is not kept here, or for who may not change it
}

// SecretRow is what is shown of a secret: everything but its value.
type SecretRow struct {
	Name        string
	URL         string
	Description string
	Source      string // where it comes from when it is not kept here
	Added       string // "by Jonas, 3 May", "" when it is not kept here
	Changed     string // "by Mei, 2 h ago", "" when it is as it was added
	Uses        []SecretUse
	DeleteURL   string // "" for who may not delete it
}

// SecretUse is a workflow that was given the secret.
type SecretUse struct {
	Workflow, URL           string
	Execution, ExecutionURL string
	When                    ui.Moment
}

// SecretForm is the form for a new secret, or for another value of one. A value
// that was typed never comes back.
type SecretForm struct {
	Action      string
	Name        string
	NameFixed   bool
	Description string
	Errors      map[string]string // by field
	Failed      string            // what is wrong, "" when nothing is
}

func (f SecretForm) described(field string) string {
	id := "secret-" + field + "-help"
	if f.Errors[field] != "" {
		id += " secret-" + field + "-error"
	}
	return id
}

// added says who added the secret, or where else it comes from.
func (r SecretRow) added() string {
	if r.Source != "" {
		return "from " + r.Source
	}
	return r.Added
}

// more says that further workflows use the secret.
func (r SecretRow) more() string {
	if n := len(r.Uses) - 1; n > 0 {
		return "and " + ui.Plural(n, "other workflow", "other workflows")
	}
	return ""
}
