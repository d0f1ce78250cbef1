// Package secretstore registers the secret stores of the installation (HashiCorp Vault, the managers
// of AWS and Google Cloud, files and variables of the server) and reads the values of secrets that
// refer to them. Administrators of the installation register stores; projects refer to paths that a
// store allows them. Values are kept only in memory.
package secretstore

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Store is the visible part of a registered store.
type Store struct {
	Name        string
	Kind        string
	Description string
	Settings    map[string]any // the visible fields
	Secrets     []string       // names of the secret fields that have a value
	CreatedAt   time.Time
	CreatedBy   string
	UpdatedAt   time.Time
	UpdatedBy   string
	Uses        []Use
}

// Text is a visible field as text, "" without a value.
func (s Store) Text(name string) string { value, _ := s.Settings[name].(string); return value }

// Fields are the fields of the kind.
func (s Store) Fields() []connection.Field {
	kind, _ := KindNamed(s.Kind)
	return kind.Fields
}

// Place is where the store is, for people.
func (s Store) Place() string {
	switch s.Kind {
	case Vault:
		return s.Text("address")
	case AWS:
		return s.Text("region")
	case GCP:
		return s.Text("project")
	case File:
		return s.Text("directory")
	}
	return s.Text("variables") + "…"
}

// Prefix is the prefix of the paths that a project may use.
func (s Store) Prefix(p secret.Owner) string {
	return strings.ReplaceAll(s.Text(fieldPrefix), namespaceTag, p.Namespace)
}

// allows reports whether a project may use the store.
func (s Store) allows(p secret.Owner) bool {
	return p.Namespace != "" && slices.ContainsFunc(projectLines(s.Text(fieldProjects)), func(line string) bool {
		return line == AllProjects || line == p.Namespace
	})
}

func projectLines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == ',' || r == ' ' })
}

// Use is a secret of a project that refers to a store.
type Use struct{ Project, Namespace, Secret, Path string }

// Limits of stores.
const (
	MaxStores = 200
	maxUses   = 5000
)

// Dialer opens the connections to stores.
type Dialer interface {
	// Client returns a client that follows no redirects and rejects addresses to which the
	// server must not connect.
	Client(timeout time.Duration) *http.Client
}

// Config contains the dependencies of a Service.
type Config struct {
	Pool        *pgxpool.Pool
	Keys        secret.Keyring
	Now         func() time.Time
	Dialer      Dialer
	Environ     []string // variables of the server
	Private     []string // folders with the server's own data and keys, which no store may read
	MetadataURL string   // of the constant MetadataURL but in tests
	// Wait waits before another try of a store that did not answer.
	Wait func(ctx context.Context, d time.Duration) error
}

// Service registers, tests and reads stores. It is safe for concurrent use.
type Service struct {
	Config
	queries *db.Queries

	mu       sync.Mutex
	managers map[string]openManager // by name of the store
	values   map[secret.Reference]readValue
	silent   map[string]silence // by name of the store
}

// silence records when a store did not respond.
type silence struct {
	err error
	at  time.Time
}

// openManager is the manager of a store at one version of its row.
type openManager struct {
	manager
	updated time.Time
}

// readValue is a value and the time when it was read.
type readValue struct {
	value string
	at    time.Time
}

// New returns a Service.
func New(c Config) *Service {
	if c.MetadataURL == "" {
		c.MetadataURL = MetadataURL
	}
	if c.Wait == nil {
		c.Wait = wait
	}
	return &Service{Config: c, queries: db.New(c.Pool), managers: map[string]openManager{}, values: map[secret.Reference]readValue{}, silent: map[string]silence{}}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

func administers(ctx context.Context) (auth.Subject, error) {
	return auth.Authorize(ctx, auth.Administer)
}

func absent(name string) error {
	return apperr.New(apperr.NotFound, "There is no secret store called %q.", name)
}

// binding is the name under which the secret fields are sealed; no secret has such a name.
func binding(name string) string { return "secret-store/" + name }

func fromRow(row db.SecretStore) (Store, error) {
	s := Store{
		Name: row.Name, Kind: row.Kind, Description: row.Description, Secrets: row.SecretFields,
		CreatedAt: row.CreatedAt, CreatedBy: row.CreatedBy, UpdatedAt: row.UpdatedAt, UpdatedBy: row.UpdatedBy,
	}
	if err := json.Unmarshal(row.Settings, &s.Settings); err != nil {
		return s, fmt.Errorf("settings of secret store %s: %w", row.Name, err)
	}
	return s, nil
}

// unseal returns the secret fields of a row.
func (s *Service) unseal(row db.SecretStore) (map[string]string, error) {
	values := map[string]string{}
	if row.KeyID == nil {
		return values, nil
	}
	text, err := s.Keys.Open(*row.KeyID, secret.Owner{}, binding(row.Name), row.Sealed)
	if err != nil {
		return nil, apperr.Wrap(apperr.Unavailable, err, fmt.Sprintf("The secret store %q cannot be decrypted: its encryption key is not on this server. Enter its secret fields again.", row.Name))
	}
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return nil, fmt.Errorf("secret fields of secret store %s: %w", row.Name, err)
	}
	return values, nil
}
