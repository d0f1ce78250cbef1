package gallery

import (
	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// connectionEntries are the pages of connections.
func connectionEntries() []Entry {
	return []Entry{
		{"connections", "Connections", func(f views.Page) templ.Component {
			return views.ConnectionsPage(views.Connections{Page: frame(f, "Connections", views.SectionConnections), NewURL: views.NewConnectionURL(""), Rows: []views.ConnectionRow{
				connectionRow(), {Name: "lake", URL: views.ConnectionURL("lake"), Kind: "S3", Place: "s3://vision-lake", Changed: "by Jonas Lindqvist, 3 May"},
			}})
		}},
		{"connections-empty", "Connections: none yet", func(f views.Page) templ.Component {
			return views.ConnectionsPage(views.Connections{Page: frame(f, "Connections", views.SectionConnections), Notice: "The connection lake was deleted."})
		}},
		{"connection-new", "New connection", func(f views.Page) templ.Component { return views.NewConnectionPage(newConnection(f)) }},
		{"connection", "Connection: a test that failed", func(f views.Page) templ.Component {
			m := connection(f)
			m.Test = &views.ConnectionTest{Took: "0.4 s", Steps: []views.ConnectionStep{
				{Name: "Connect to db.example.com:5432", OK: true, Detail: "The server accepts connections."},
				{Name: "Sign in as reader to the database sales", Detail: "The server refused: password authentication failed for user \"reader\"."},
			}}
			return views.ConnectionPage(m)
		}},
		{"connection-reader", "Connection: read-only", func(f views.Page) templ.Component {
			m := connection(f)
			m.Form, m.TestURL, m.DeleteURL = nil, "", ""
			m.Facts = []views.ConnectionFact{{Label: "Host", Value: "db.example.com"}, {Label: "Port", Value: "5432"}, {Label: "Password", Value: "Hidden"}}
			return views.ConnectionPage(m)
		}},
	}
}

func connectionRow() views.ConnectionRow {
	return views.ConnectionRow{
		Name: "warehouse", URL: views.ConnectionURL("warehouse"), Kind: "PostgreSQL", Description: "Read-only replica", Place: "db.example.com:5432/sales",
		Changed: "by Mei Tanaka, yesterday", Uses: trackerKey().Uses[:1],
	}
}

func postgresForm() views.ConnectionForm {
	return views.ConnectionForm{Action: views.ConnectionsURL(), Kind: "postgres", Errors: map[string]string{}, Fields: []views.ConnectionInput{
		{Name: "host", Label: "Host", Help: "Name or address of the server, such as db.example.com.", Value: "db.example.com", Required: true},
		{Name: "port", Label: "Port", Value: "5432"},
		{Name: "password", Label: "Password", Secret: true},
		{Name: "sslmode", Label: "SSL mode", Options: []ui.Option{{Value: "disable", Name: "disable"}, {Value: "require", Name: "require", Selected: true}}},
	}}
}

func newConnection(f views.Page) views.NewConnection {
	form := postgresForm()
	form.Name, form.Failed = "ware house", "The connection has invalid values."
	form.Errors["name"] = "Use 1 to 100 letters, digits, \".\", \"_\" and \"-\"; start with a letter, a digit or \"_\"."
	return views.NewConnection{
		Page: frame(f, "New connection", views.SectionConnections, views.Crumb{Name: "Connections", URL: views.ConnectionsURL()}), Form: &form,
		Kinds: []views.ConnectionKind{
			{Label: "PostgreSQL", Summary: "A PostgreSQL database.", URL: views.NewConnectionURL("postgres"), Chosen: true},
			{Label: "S3", URL: views.NewConnectionURL("s3")}, {Label: "HTTP", URL: views.NewConnectionURL("http")},
		},
	}
}

func connection(f views.Page) views.Connection {
	form := postgresForm()
	form.NameFixed, form.Description = true, "Read-only replica"
	form.Fields[2].Kept = true
	return views.Connection{
		Page: frame(f, "warehouse", views.SectionConnections, views.Crumb{Name: "Connections", URL: views.ConnectionsURL()}),
		Row:  connectionRow(), Form: &form, TestURL: views.ConnectionTestURL("warehouse"), DeleteURL: views.ConnectionDeleteURL("warehouse"),
		Variables: []string{"FLOWFORGE_CONNECTION_DB_HOST", "FLOWFORGE_CONNECTION_DB_PASSWORD", "FLOWFORGE_CONNECTION_DB_URL"},
	}
}
