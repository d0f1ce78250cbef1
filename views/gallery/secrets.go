package gallery

import (
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
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
