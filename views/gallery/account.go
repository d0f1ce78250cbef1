package gallery

import (
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

func accountEntries() []Entry {
	providers := []views.LoginProvider{{Name: "Meridian SSO", URL: "#"}, {Name: "Partner login", URL: "#", Unreachable: true}}
	login := func(m views.Login) func(views.Page) templ.Component {
		return func(f views.Page) templ.Component {
			f.User, m.Next = "", "/"
			m.Page = f
			return views.LoginPage(m)
		}
	}
	alone := func(f views.Page, title string) views.Page { f.User, f.Title = "", title; return f }
	return []Entry{
		{"login", "Sign in", login(views.Login{})},
		{"login-link", "Sign in: from the link", login(views.Login{Token: "t0ken"})},
		{"login-error", "Sign in: used link", login(views.Login{Message: "This login link was used already or has expired."})},
		{"login-providers", "Sign in: by providers", login(views.Login{Providers: providers})},
		{"login-refused", "Sign in: a provider denied access", login(views.Login{Providers: providers[:1], Message: "Meridian SSO denied access, or you cancelled."})},
		{"signed-out", "Signed out, on to the provider", func(f views.Page) templ.Component {
			return views.SignedOutPage(views.SignedOut{Page: alone(f, "Signed out"), Provider: "Meridian SSO", URL: "#"})
		}},
		{"no-project", "Signed in, without a project", func(f views.Page) templ.Component {
			f.Title, f.User = "Welcome", "Grace Hopper"
			return views.NoProjectPage(f)
		}},
		{"account", "Your account", func(f views.Page) templ.Component { return views.AccountPage(account(f)) }},
		{"account-keys", "API keys", func(f views.Page) templ.Component { return views.AccountKeysPage(accountKeys(f)) }},
		{"account-keys-made", "API keys: a new key", func(f views.Page) templ.Component {
			m := accountKeys(f)
			m.Fresh = &views.CreatedKey{Name: "nightly CI", Token: "ffk_k3jx7q2mzt9a_NQ7W2LHBVXK5DSTFA3R6YMOUEIJCP4GZNQ7W2LHBVXK5DSTFA3R6", Command: "flowforge login --server https://forge.example.com --token"} //nolint:gosec // a fictitious key
			return views.AccountKeysPage(m)
		}},
		{"account-keys-failed", "API keys: a value needs attention", func(f views.Page) templ.Component {
			m := accountKeys(f)
			m.Keys, m.Form.Name, m.Form.Failed = nil, "", "The key cannot be created."
			m.Form.Problems = []views.KeyProblem{{Field: "name", Message: "Enter a name of at most 100 characters, such as the program that uses the key."}}
			return views.AccountKeysPage(m)
		}},
	}
}

func account(f views.Page) views.Account {
	f = frame(f, "Your account", views.SectionNone)
	f.Path = views.AccountURL()
	moment := func(d time.Duration) ui.Moment { return clock().Moment(ago(d)) }
	return views.Account{
		Page:   f,
		Facts:  []ui.Fact{{Name: "Name", Value: "Amara Okafor"}, {Name: "E-mail", Value: "amara@meridian.example"}, {Name: "Signed in with", Value: "https://login.meridian.example"}, {Name: "Project", Value: "Meridian › Research › Vision › digits"}, {Name: "User id", Value: someID, Mono: true}},
		Groups: []string{"data-science", "ml-platform"},
		Roles: []views.AccountRole{
			{Role: "TeamAdmin", Where: "Meridian › Research › Vision", About: "Manages a team: cancels executions of others, adds projects and members, distributes the team's limits.", From: "the group ml-platform of Meridian SSO"},
			{Role: "Viewer", Where: "Meridian", About: "Read-only access."},
		},
		Sessions: []views.AccountSession{
			{ID: "1", Browser: "Firefox on Linux", Agent: "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0", Address: "198.51.100.7", By: "Meridian SSO", Started: moment(3 * time.Hour), Seen: moment(20 * time.Second), Ends: moment(-29 * 24 * time.Hour), Current: true, EndURL: "#"},
			{ID: "2", Browser: "Safari on iPhone", Agent: "Mozilla/5.0 (iPhone; CPU iPhone OS 26_1 like Mac OS X)", Address: "203.0.113.80", By: "Meridian SSO", Started: moment(50 * time.Hour), Seen: moment(9 * time.Hour), Ends: moment(-27 * 24 * time.Hour), EndURL: "#"},
		},
		Limits: "Sessions expire after 12 hours of inactivity, and no later than 30 days after sign-in.",
	}
}

func accountKeys(f views.Page) views.AccountKeys {
	f = frame(f, "API keys", views.SectionNone, views.Crumb{Name: "Your account", URL: views.AccountURL()})
	f.Path = views.AccountKeysURL()
	moment := func(d time.Duration) ui.Moment { return clock().Moment(ago(d)) }
	return views.AccountKeys{
		Page: f,
		Keys: []views.AccountKey{
			{ID: "k3jx7q2mzt9a", Name: "nightly CI", Prefix: "ffk_k3jx7q2mzt9a_…", Owner: "ci", Scope: "launch", Project: "digits", Created: moment(40 * 24 * time.Hour), Expires: moment(-50 * 24 * time.Hour), Used: moment(9 * time.Hour), Address: "192.0.2.15", RevokeURL: "#"},
			{ID: "a2b3c4d5e6f7", Name: "notebook", Prefix: "ffk_a2b3c4d5e6f7_…", Scope: "read", Project: "every project", Created: moment(100 * 24 * time.Hour), Expires: moment(10 * 24 * time.Hour), Expired: true, RevokeURL: "#"},
			{ID: "q7w2lhbvxk5d", Name: "exporter", Prefix: "ffk_q7w2lhbvxk5d_…", Scope: "everything", Project: "every project", Created: moment(time.Hour), RevokeURL: "#"},
		},
		Form: views.KeyForm{
			Owners:   []ui.Option{{Name: "Amara Okafor (you)", Selected: true}, {Value: "ci", Name: "ci (service account of digits)"}},
			Projects: []ui.Option{{Name: "Every project", Selected: true}, {Value: "digits", Name: "Meridian › Research › Vision › digits"}},
			Expiries: []ui.Option{{Value: "30", Name: "In 30 days"}, {Value: "90", Name: "In 90 days", Selected: true}, {Value: "0", Name: "Never"}},
			Scopes: []views.KeyScope{
				{Value: "read", Name: "Read", About: "Read access to everything that its owner can read."},
				{Value: "launch", Name: "Launch", About: "Also launch and cancel executions, and upload their files.", Selected: true},
				{Value: "write", Name: "Write", About: "Also register workflows, types and catalogue entries."},
				{Value: "admin", Name: "Admin", About: "Everything that its owner may do, including members, limits and secrets."},
			},
		},
	}
}
