// Package connection stores how the workflows of a project reach services: databases, buckets and
// APIs. A connection has visible fields and secret ones. People read and edit the visible fields;
// secret fields are encrypted, only the engine reads them, for the attempts that the connection was
// chosen for.
package connection

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Connection is the visible part of a connection.
type Connection struct {
	Name        string
	Kind        string
	Description string
	Declared    []Field        // of a custom connection
	Settings    map[string]any // the visible fields
	Secrets     []string       // names of the secret fields that have a value
	CreatedAt   time.Time
	CreatedBy   string
	UpdatedAt   time.Time
	UpdatedBy   string
	Uses        []Use // newest first

	projectID uuid.UUID
}

// Fields are the fields of the kind, or the declared ones.
func (c Connection) Fields() []Field { return fieldsOf(c.Kind, c.Declared) }

func fieldsOf(kind string, declared []Field) []Field {
	if kind == Custom {
		return declared
	}
	k, _ := KindNamed(kind)
	return k.Fields
}

// Text is a visible field as text, "" without a value.
func (c Connection) Text(name string) string {
	if c.Settings[name] == nil {
		return ""
	}
	return fmt.Sprint(c.Settings[name])
}

// Use records that a workflow received a connection.
type Use struct {
	Workflow    string
	ExecutionID uuid.UUID // the latest
	At          time.Time
}

// Limits of connections.
const (
	MaxDescription = 300 // characters
	MaxPerProject  = 1000
	MaxEdit        = 256 << 10 // bytes of all values of one connection
)

var fieldName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// Dialer opens the connections of Test.
type Dialer interface {
	// Client returns a client that follows no redirects and rejects addresses to which the
	// server must not connect.
	Client(timeout time.Duration) *http.Client
	// DialContext opens a TCP connection with the same limits.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Config contains the dependencies of a Service.
type Config struct {
	Pool   *pgxpool.Pool
	Keys   secret.Keyring
	Now    func() time.Time
	Dialer Dialer
}

// Service stores, finds and tests connections. It is safe for concurrent use.
type Service struct {
	Config
	queries *db.Queries
}

// NewService returns a Service.
func NewService(c Config) *Service { return &Service{Config: c, queries: db.New(c.Pool)} }

func absent(name string) error {
	return apperr.New(apperr.NotFound, "There is no connection called %q in this project.", name)
}

// binding is the name under which the secret fields are sealed; no secret has such a name.
func binding(name string) string { return "connection/" + name }

func fromRow(row db.Connection) (Connection, error) {
	c := Connection{
		Name: row.Name, Kind: row.Kind, Description: row.Description, Secrets: row.SecretFields, projectID: row.ProjectID,
		CreatedAt: row.CreatedAt, CreatedBy: row.CreatedBy, UpdatedAt: row.UpdatedAt, UpdatedBy: row.UpdatedBy,
	}
	if err := json.Unmarshal(row.Declared, &c.Declared); err != nil {
		return c, fmt.Errorf("fields of connection %s: %w", row.Name, err)
	}
	if err := decodeNumbers(row.Settings, &c.Settings); err != nil {
		return c, fmt.Errorf("settings of connection %s: %w", row.Name, err)
	}
	return c, nil
}

// decodeNumbers decodes JSON and keeps numbers as they are written.
func decodeNumbers(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into)
}
