// Package secret keeps the secrets of projects and finds their values for the
// attempts that name them. People see names, never values: a value goes in
// through Put and comes out through Reveal alone, which is the engine's.
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

// Secret is what people may know of a secret.
type Secret struct {
	Name        string
	Description string
	Source      string // "" for the store of the project; else the Label of its provider
	CreatedAt   time.Time
	CreatedBy   string
	UpdatedAt   time.Time
	UpdatedBy   string
	Uses        []Use // newest first
}

// Editable reports whether its value is kept by this server, so that it can be
// replaced and deleted here.
func (s Secret) Editable() bool { return s.Source == "" }

// Use says that a workflow was given a secret.
type Use struct {
	Workflow    string
	ExecutionID uuid.UUID // the latest
	At          time.Time
}

// Owner is the project that a secret belongs to.
type Owner struct {
	TenantID  uuid.UUID
	ProjectID uuid.UUID
	Namespace string // of Kubernetes; also the project's folder of secret files
}

// Provider gives secrets that are kept outside of the database. Value fails with
// ErrAbsent for a name it does not have; it does not authorise.
type Provider interface {
	// Label says in a word or two where the secrets are, for people.
	Label() string
	Names(ctx context.Context, p Owner) ([]string, error)
	Value(ctx context.Context, p Owner, name string) (string, error)
}

// ErrAbsent says that a provider does not have a secret.
var ErrAbsent = errors.New("there is no such secret")

// Limits of secrets.
const (
	MaxValue       = 64 << 10 // bytes
	MinValue       = 4        // characters: shorter ones cannot be hidden in logs
	MaxDescription = 300      // characters
	MaxPerProject  = 1000
)

// NamePattern is the form of names: also good for a file and for a key of a
// Kubernetes Secret.
const NamePattern = `^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`

var namePattern = regexp.MustCompile(NamePattern)

// ValidName reports whether a secret may be called name.
func ValidName(name string) bool { return namePattern.MatchString(name) }

// Service keeps and finds secrets. It is safe for concurrent use.
type Service struct {
	pool      *pgxpool.Pool
	queries   *db.Queries
	keys      Keyring
	providers []Provider
	now       func() time.Time
}

// NewService returns a Service over pool that seals with keys. What a project
// keeps in the store goes before the providers, and those in their order.
func NewService(pool *pgxpool.Pool, keys Keyring, now func() time.Time, providers ...Provider) *Service {
	return &Service{pool: pool, queries: db.New(pool), keys: keys, providers: providers, now: now}
}

func absent(name string) error {
	return apperr.New(apperr.NotFound, "There is no secret called %q in this project.", name)
}
