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
	Token     string // of the link that was opened; "" without one
	Next      string // where to go afterwards
	Message   string // why an earlier try failed
	Notice    string // something good to know, such as that one has signed out
}

// LoginProvider is the button of a sign-in provider.
type LoginProvider struct {
	Name        string
	URL         string
	Unreachable bool
}

// SignedOut says that a session has ended here, and leads on to the provider.
type SignedOut struct {
	Page     Page
	Provider string // its name; "" when it keeps no session that we know how to end
	URL      string // where the provider ends its session
}

// AccountURL is the page about the reader.
func AccountURL() string { return "/account" }

// AccountKeysURL lists and makes API keys.
func AccountKeysURL() string { return "/account/keys" }

// AccountKeyRevokeURL revokes a key by POST.
func AccountKeyRevokeURL(id string) string {
	return "/account/keys/" + url.PathEscape(id) + "/revoke"
}

// SessionEndURL ends one session by POST.
func SessionEndURL(id string) string { return "/account/sessions/" + url.PathEscape(id) + "/end" }

// SessionsEndURL ends every session of the reader by POST.
func SessionsEndURL() string { return "/account/sessions/end" }

// ProviderLoginURL begins the sign-in by a provider.
func ProviderLoginURL(id, next string) string {
	return "/login/" + url.PathEscape(id) + "?next=" + url.QueryEscape(next)
}

// Account is the page about the reader.
type Account struct {
	Page       Page
	Facts      []ui.Fact
	Roles      []AccountRole
	Projects   []ui.Fact
	Groups     []string // as the provider told them
	Sessions   []AccountSession
	Limits     string // when sessions end by themselves
	NoProjects bool   // no project at all
}

// AccountRole is a role of the reader.
type AccountRole struct{ Role, About, Where, From string }

// AccountSession is a browser where the reader is signed in.
type AccountSession struct {
	Browser string // "Firefox on Linux"
	Agent   string // in full
	Address string
	By      string // the provider's name
	Begun   ui.Moment
	Seen    ui.Moment
	Ends    ui.Moment
	Current bool
	EndURL  string
}

// AccountKeys is the page of API keys.
type AccountKeys struct {
	Page  Page
	Keys  []AccountKey
	Form  KeyForm
	Fresh *FreshKey // the key that was just made
	Done  string    // what else was just done
}

// AccountKey is an API key.
type AccountKey struct {
	ID        string
	Name      string
	Prefix    string // "ffk_ab12…"
	Owner     string // "" for the reader
	Scope     string
	Project   string
	Created   ui.Moment
	Expires   ui.Moment
	Expired   bool
	Used      ui.Moment
	Address   string // that it was used from last
	RevokeURL string
}

// FreshKey is a key that is shown once.
type FreshKey struct{ Name, Token, Command string }

// KeyForm is the form for a new key, with what was typed and what was wrong.
type KeyForm struct {
	Name     string
	Owners   []ui.Option // empty when the reader can make keys of themselves alone
	Scopes   []KeyScope
	Projects []ui.Option
	Expiries []ui.Option
	Failed   string
	Problems []KeyProblem
}

// KeyScope is what a key may be good for.
type KeyScope struct {
	Value, Name, About string
	Selected           bool
}

// KeyProblem is what is wrong with a field.
type KeyProblem struct{ Field, Message string }

func (f KeyForm) problem(field string) string {
	for _, p := range f.Problems {
		if p.Field == field {
			return p.Message
		}
	}
	return ""
}

// keyAria ties a field to its help and its message.
func keyAria(f KeyForm, field string) templ.Attributes {
	id := "key-" + field
	if f.problem(field) == "" {
		return templ.Attributes{"aria-describedby": id + "-help"}
	}
	return templ.Attributes{"aria-describedby": id + "-error " + id + "-help", "aria-invalid": "true"}
}
