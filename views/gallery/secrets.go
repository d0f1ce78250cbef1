package gallery

import (
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

func secretEntries() []Entry {
	return []Entry{
		{"secrets", "Secrets", func(f views.Page) templ.Component { return views.SecretsPage(secrets(f)) }},
		{"secrets-reader", "Secrets: read-only", func(f views.Page) templ.Component {
			m := secrets(f)
			m.Form = nil
			return views.SecretsPage(m)
		}},
		{"secrets-empty", "Secrets: none yet", func(f views.Page) templ.Component {
			m := secrets(f)
			m.Rows, m.Notice = nil, "The secret tracker-key was deleted."
			return views.SecretsPage(m)
		}},
		{"secrets-refused", "Secrets: an invalid value", func(f views.Page) templ.Component {
			m := secrets(f)
			m.Form.Name, m.Form.Failed = "tracker key", "The secret was not saved."
			m.Form.Errors = map[string]string{"name": "Use 1 to 100 letters, digits, \".\", \"_\" and \"-\".", "value": "Enter the value."}
			return views.SecretsPage(m)
		}},
		{"secret-from-store", "Secret from a secret store", func(f views.Page) templ.Component {
			m := secret(f)
			m.Row.Reference = "vault, the path vision/tracker, key token"
			m.Form.Stores = []ui.Option{{Name: "A value that FlowForge stores"}, {Value: "vault", Name: "vault (Vault)", Selected: true}}
			m.Form.Path, m.Form.Key, m.Form.Prefixes = "vision/tracker", "token", []string{"vault allows paths that begin with vision/"}
			return views.SecretPage(m)
		}},
		{"secret-stores", "Secret stores", func(f views.Page) templ.Component {
			return views.SecretStoresPage(views.SecretStores{Page: frame(f, "Secret stores", views.SectionAdmin), Tabs: adminTabs(0), Rows: []views.SecretStoreRow{
				secretStoreRow(), {Name: "mounted", URL: views.SecretStoreURL("mounted"), Kind: "Files", Place: "/run/secrets/vision", Changed: "by Jonas Lindqvist, 3 May"},
			}})
		}},
		{"secret-stores-empty", "Secret stores: none yet", func(f views.Page) templ.Component {
			return views.SecretStoresPage(views.SecretStores{Page: frame(f, "Secret stores", views.SectionAdmin), Tabs: adminTabs(0), Notice: "The secret store vault was deleted."})
		}},
		{"secret-store-new", "New secret store", func(f views.Page) templ.Component {
			form := secretStoreForm()
			form.Name, form.NameFixed = "", false
			return views.NewSecretStorePage(views.NewSecretStore{Page: frame(f, "New secret store", views.SectionAdmin), Form: &form, Kinds: []views.ConnectionKind{
				{Label: "Vault", Summary: "HashiCorp Vault or OpenBao: a KV version 2 engine.", URL: views.NewSecretStoreURL("vault"), Chosen: true},
				{Label: "Files", URL: views.NewSecretStoreURL("file")},
			}})
		}},
		{"secret-store", "Secret store: a test that failed", func(f views.Page) templ.Component {
			return views.SecretStorePage(views.SecretStore{
				Page: frame(f, "vault", views.SectionAdmin), Row: secretStoreRow(), Form: secretStoreForm(), TestURL: "#", DeleteURL: "#",
				Uses:  []views.SecretStoreUse{{Project: "digits", Secret: "tracker-key", Path: "vision/tracker"}},
				Probe: views.SecretStoreProbe{Path: "vision/db", Key: "password", PathHelp: "Read and not shown: the path in the engine, without data/.", Done: true, Detail: "The test failed: there is no such path, or this version was deleted."},
			})
		}},
		{"secret", "Secret", func(f views.Page) templ.Component { return views.SecretPage(secret(f)) }},
	}
}

func secrets(f views.Page) views.Secrets {
	return views.Secrets{
		Page: frame(f, "Secrets", views.SectionSecrets),
		Rows: []views.SecretRow{
			{Name: "hub-token", URL: views.SecretURL("hub-token"), Source: "a file of the server"},
			trackerKey(),
			{Name: "warehouse", URL: views.SecretURL("warehouse"), Added: "by Mei Tanaka, yesterday", Description: "Read-only user of the warehouse"},
		},
		Form: &views.SecretForm{Action: views.SecretsURL()},
	}
}

func secretStoreRow() views.SecretStoreRow {
	return views.SecretStoreRow{
		Name: "vault", URL: views.SecretStoreURL("vault"), Kind: "Vault", Description: "Of the platform team", Place: "https://vault.example.com:8200",
		Changed: "by Amara Okafor, 2 h ago", Used: "1 secret",
	}
}

func secretStoreForm() views.ConnectionForm {
	return views.ConnectionForm{
		Store: true, Action: "#", Kind: "vault", Name: "vault", NameFixed: true, Description: "Of the platform team",
		Fields: []views.ConnectionInput{
			{Name: "address", Label: "Address", Help: "For example: https://vault.example.com:8200.", Value: "https://vault.example.com:8200", Required: true},
			{Name: "authentication", Label: "Authentication", Options: []ui.Option{{Value: "approle", Name: "AppRole", Selected: true}, {Value: "token", Name: "Token"}}},
			{Name: "role_id", Label: "Role ID", Value: "forge", For: "approle"},
			{Name: "secret_id", Label: "Secret ID", Secret: true, Kept: true, For: "approle"},
			{Name: "token", Label: "Token", Secret: true, For: "token"},
			{Name: "prefix", Label: "Allowed path prefix", Value: "{namespace}/"},
			{Name: "projects", Label: "Projects", Value: "*", Lines: true, Required: true},
		},
	}
}

func trackerKey() views.SecretRow {
	return views.SecretRow{
		Name: "tracker-key", URL: views.SecretURL("tracker-key"), Description: "Experiment tracker of the vision team",
		Added: "by Jonas Lindqvist, 3 May", Changed: "by Amara Okafor, 2 h ago", DeleteURL: views.SecretDeleteURL("tracker-key"),
		Uses: []views.SecretUse{
			{Workflow: "digits.train", URL: views.WorkflowURL("digits.train"), Execution: "#7k31aa", ExecutionURL: "#", When: clock().Moment(ago(4 * time.Minute))},
			{Workflow: "image_report", URL: views.WorkflowURL("image_report"), Execution: "#7k2f04", ExecutionURL: "#", When: clock().Moment(ago(26 * time.Hour))},
		},
	}
}

func secret(f views.Page) views.Secret {
	row := trackerKey()
	return views.Secret{
		Page: frame(f, row.Name, views.SectionSecrets, views.Crumb{Name: "Secrets", URL: views.SecretsURL()}), Row: row,
		Form: &views.SecretForm{Action: row.URL, Name: row.Name, NameFixed: true, Description: row.Description},
	}
}
