package connection

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
)

// URLField is the name of the address of a connection among its secret fields.
const URLField = "url"

// Exists reports whether the subject's current project has a connection of a kind, or of any kind
// for "", so that a launch may reference it. The error is a lookup that failed, and so tells nothing.
func (s *Service) Exists(ctx context.Context, kind, name string) (bool, error) {
	subject, err := auth.Authorize(ctx, auth.SecretRead)
	if err != nil || !secret.ValidName(name) {
		return false, nil //nolint:nilerr // for who may not read connections, there are none
	}
	row, err := s.queries.GetConnection(ctx, subject.ProjectID, name)
	if db.IsNoRows(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get connection %s: %w", name, err)
	}
	return kind == "" || row.Kind == kind, nil
}

// Document is a connection for a task.
type Document struct {
	Kind    string
	Fields  map[string]any // the visible fields
	Secrets []string       // the secret fields that Reveal returns, including URLField if the address has one
	URL     string         // the address, "" if the connection has none or it has a secret field
}

// Document returns a connection of a project for a task. Only the engine may call it.
func (s *Service) Document(ctx context.Context, project uuid.UUID, name string) (Document, error) {
	row, err := s.system(ctx, project, name)
	if err != nil {
		return Document{}, err
	}
	c, err := fromRow(row)
	if err != nil {
		return Document{}, err
	}
	d := Document{Kind: c.Kind, Fields: c.Settings, Secrets: c.Secrets}
	if c.Kind == Postgres && slices.Contains(c.Secrets, "password") {
		d.Secrets = append(slices.Clone(c.Secrets), URLField)
	} else {
		d.URL = urlOf(c, nil)
	}
	return d, nil
}

// Reveal returns a secret field of a connection, or its address for URLField. Only the engine may
// call it, to pass the value to the attempt that references it; for all other subjects it returns
// apperr.Forbidden.
func (s *Service) Reveal(ctx context.Context, project uuid.UUID, name, field string) (string, error) {
	row, err := s.system(ctx, project, name)
	if err != nil {
		return "", err
	}
	values, err := s.unseal(row)
	if err != nil {
		return "", err
	}
	if field == URLField {
		c, err := fromRow(row)
		return urlOf(c, values), err
	}
	value, ok := values[field]
	if !ok {
		return "", apperr.New(apperr.NotFound, "The connection %q has no value for %s.", name, field)
	}
	return value, nil
}

func (s *Service) system(ctx context.Context, project uuid.UUID, name string) (db.Connection, error) {
	if subject, ok := auth.SubjectOf(ctx); !ok || subject.Role != auth.RoleSystem {
		return db.Connection{}, apperr.New(apperr.Forbidden, "Only tasks can read values of connections.")
	}
	row, err := s.queries.GetConnection(ctx, project, name)
	if db.IsNoRows(err) {
		return row, absent(name)
	}
	if err != nil {
		return row, fmt.Errorf("get connection %s: %w", name, err)
	}
	return row, nil
}

// NoteUse records that an execution of a workflow received a connection, with an audit entry for
// the execution. The engine calls it.
func (s *Service) NoteUse(ctx context.Context, project uuid.UUID, workflow string, execution uuid.UUID, name string) error {
	if _, err := auth.Authorize(ctx, auth.TaskReport); err != nil {
		return err
	}
	place, err := s.owner(ctx, project)
	if err != nil {
		return err
	}
	err = db.Tx(ctx, s.Pool, func(_ pgx.Tx, q *db.Queries) error {
		n, err := q.NoteConnectionUse(ctx, db.NoteConnectionUseParams{ProjectID: project, Name: name, Workflow: workflow, ExecutionID: execution, Now: s.Now()})
		if err != nil || n == 0 {
			return err
		}
		return audit.Record(ctx, q, entry("connection.use", place, name, nil, map[string]any{"workflow": workflow, "execution": execution}))
	})
	if err != nil {
		return fmt.Errorf("store the use of connection %s: %w", name, err)
	}
	return nil
}

// urlOf is the URL of a connection, "" for custom ones.
func urlOf(c Connection, secrets map[string]string) string {
	switch c.Kind {
	case Postgres:
		u := url.URL{Scheme: "postgresql", User: url.User(c.Text("user")), Host: net.JoinHostPort(strings.Trim(c.Text("host"), "[]"), c.Text("port")),
			Path: "/" + c.Text("database"), RawQuery: url.Values{"sslmode": {c.Text("sslmode")}}.Encode()}
		if secrets["password"] != "" {
			u.User = url.UserPassword(c.Text("user"), secrets["password"])
		}
		return u.String()
	case S3:
		u := url.URL{Scheme: "s3", Host: c.Text("bucket"), Path: "/" + strings.Trim(c.Text("prefix"), "/")}
		return strings.TrimSuffix(u.String(), "/")
	case HTTP:
		return c.Text("base_url")
	case message.Webhook:
		return c.Text("url")
	case HuggingFace, ClickHouse:
		return c.Text("endpoint")
	}
	return ""
}
