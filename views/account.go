package views

import (
	"net/url"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views/ui"
)

// Login is the sign-in page.
type Login struct {
	Page      Page
	Providers []LoginProvider
	Token     string // from the login link; "" without one
	Next      string // where to go afterwards
	Message   string // why the previous attempt failed
	Notice    string // an informational message, such as "You are signed out"
}

// LoginProvider is the button of a sign-in provider.
type LoginProvider struct {
	Name        string
	URL         string
	Unreachable bool
}

// SignedOut is the page after signing out. It links to the provider's sign-out.
type SignedOut struct {
	Page     Page
	Provider string // its name; "" without a known sign-out URL
	URL      string // where the provider ends its session
}

// AccountURL is the account page of the signed-in user.
func AccountURL() string { return "/account" }

// AccountKeysURL lists API keys and creates new ones.
func AccountKeysURL() string { return "/account/keys" }

// AccountKeyRevokeURL revokes a key by POST.
func AccountKeyRevokeURL(id string) string {
	return "/account/keys/" + url.PathEscape(id) + "/revoke"
}

// SessionEndURL ends one session by POST.
func SessionEndURL(id string) string { return "/account/sessions/" + url.PathEscape(id) + "/end" }

// SessionsEndURL ends every session of the user by POST.
func SessionsEndURL() string { return "/account/sessions/end" }

// ProviderLoginURL begins the sign-in by a provider.
func ProviderLoginURL(id, next string) string {
	return "/login/" + url.PathEscape(id) + "?next=" + url.QueryEscape(next)
}

// Account is the account page of the signed-in user.
type Account struct {
	Page       Page
	Facts      []ui.Fact
	Roles      []AccountRole
	Projects   []ui.Fact
	Groups     []string // as reported by the provider
	Sessions   []AccountSession
	Limits     string // when sessions expire
	NoProjects bool   // no project at all
}

// AccountRole is a role of the user.
type AccountRole struct{ Role, About, Where, From string }

// AccountSession is a browser session of the user.
type AccountSession struct {
	ID      string
	Browser string // "Firefox on Linux"
	Agent   string // in full
	Address string
	By      string // the provider's name
	Started ui.Moment
	Seen    ui.Moment
	Ends    ui.Moment
	Current bool
	EndURL  string
}

// dialog is the id of the dialog that asks before the session is ended.
func (s AccountSession) dialog() string { return "end-" + s.ID }

func (s AccountSession) confirmation() ui.Confirmation {
	c := ui.Confirmation{
		ID: s.dialog(), Title: "End the session of " + s.Browser + "?", Text: "Signs out " + s.Browser + " at " + s.Address + ".",
		Keep: "Keep it", Button: "End the session", URL: s.EndURL,
	}
	if s.Current {
		c.Title, c.Text, c.Keep, c.Button = "Sign out?", "Ends the session of this browser.", "Stay signed in", "Sign out"
	}
	return c
}

// AccountKeys is the page of API keys.
type AccountKeys struct {
	Page  Page
	Keys  []AccountKey
	Form  KeyForm
	Fresh *CreatedKey // the key that was just created
	Done  string      // result of another action, such as a revocation
}

// AccountKey is an API key.
type AccountKey struct {
	ID        string
	Name      string
	Prefix    string // "ffk_ab12…"
	Owner     string // "" for the user
	Scope     string
	Project   string
	Created   ui.Moment
	Expires   ui.Moment
	Expired   bool
	Used      ui.Moment
	Address   string // last used from here
	RevokeURL string
}

// dialog is the id of the dialog that asks before the key is revoked.
func (k AccountKey) dialog() string { return "revoke-" + k.ID }

// CreatedKey is a new key; the page shows it only once.
type CreatedKey struct{ Name, Token, Command string }

// KeyForm is the form for a new key, with the entered values and their errors.
type KeyForm struct {
	Name     string
	Owners   []ui.Option // empty if the user may only create keys for themselves
	Scopes   []KeyScope
	Projects []ui.Option
	Expiries []ui.Option
	Failed   string
	Problems []KeyProblem
}

// KeyScope is an available scope of a key.
type KeyScope struct {
	Value, Name, About string
	Selected           bool
}

// KeyProblem is the error of a field.
type KeyProblem struct{ Field, Message string }

func (f KeyForm) problem(field string) string {
	for _, p := range f.Problems {
		if p.Field == field {
			return p.Message
		}
	}
	return ""
}

// keyAria links a field to its help and its error message.
func keyAria(f KeyForm, field string) templ.Attributes {
	id := "key-" + field
	if f.problem(field) == "" {
		return templ.Attributes{"aria-describedby": id + "-help"}
	}
	return templ.Attributes{"aria-describedby": id + "-error " + id + "-help", "aria-invalid": "true"}
}
