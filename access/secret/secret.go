// Package secret stores the secrets of projects and provides their values to the
// attempts that reference them. People see names, never values: Put stores a value, and
// only Reveal, which is reserved for the engine, returns it.
package secret

import (
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Secret is the visible part of a secret.
type Secret struct {
	Name        string
	Description string
	Source      string     // "" for a secret of the project; else the Label of its provider
	Reference   *Reference // nil: the value is stored here
	CreatedAt   time.Time
	CreatedBy   string
	UpdatedAt   time.Time
	UpdatedBy   string
	Uses        []Use // newest first
}

// Editable reports whether the value or the reference to it is stored here, so that it can be
// replaced and deleted here.
func (s Secret) Editable() bool { return s.Source == "" }

// Use records that a workflow, or the datastore of Metaflow of the project, received a secret.
type Use struct {
	Workflow    string    // "" for the datastore
	ExecutionID uuid.UUID // the latest; zero for the datastore
	At          time.Time
}

// Owner is the project that a secret belongs to.
type Owner struct {
	TenantID  uuid.UUID
	ProjectID uuid.UUID
	Namespace string // of Kubernetes; also the project's folder of secret files
}

// Provider provides secrets that are stored outside the database. Value returns
// ErrAbsent for an unknown name; it does not authorize.
type Provider interface {
	// Label is a short display name of the location of the secrets.
	Label() string
	Names(ctx context.Context, p Owner) ([]string, error)
	Value(ctx context.Context, p Owner, name string) (string, error)
}

// ErrAbsent means that a provider does not have a secret.
var ErrAbsent = errors.New("there is no such secret")

// Limits of secrets.
const (
	MaxValue       = 64 << 10 // bytes
	MinValue       = 4        // characters: shorter ones cannot be hidden in logs
	MaxDescription = 300      // characters
	MaxPerProject  = 1000
)

// NamePattern is the pattern of names: also valid for a file and for a key of a
// Kubernetes Secret.
const NamePattern = `^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`

var namePattern = regexp.MustCompile(NamePattern)

// ValidName reports whether name is a valid name of a secret.
func ValidName(name string) bool { return namePattern.MatchString(name) }

// Service stores and finds secrets. It is safe for concurrent use.
type Service struct {
	pool      *pgxpool.Pool
	queries   *db.Queries
	keys      Keyring
	providers []Provider
	stores    Stores // nil: no secret refers to a store
	now       func() time.Time
}

// NewService returns a Service over pool that seals with keys. The store takes
// precedence over the providers, and those apply in order.
func NewService(pool *pgxpool.Pool, keys Keyring, now func() time.Time, providers ...Provider) *Service {
	return &Service{pool: pool, queries: db.New(pool), keys: keys, providers: providers, now: now}
}

func absent(name string) error {
	return apperr.New(apperr.NotFound, "There is no secret called %q in this project.", name)
}
