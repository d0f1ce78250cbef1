// Package datastore reads what Metaflow's client keeps outside of its metadata service: values of
// artifacts, logs and cards. Each project has one datastore: its own folder in the data directory
// unless an administrator of the project sets another one. The package never writes to it, and it
// never runs what it reads.
package datastore

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/bucket"
	"github.com/flowforge/flowforge/db"
)

// Kind is a kind of datastore, by its name in Metaflow.
type Kind string

// The kinds.
const (
	Local Kind = "local" // a folder of the server's machine
	S3    Kind = "s3"    // a bucket of Amazon S3 or of a store with its API
)

// Place is where the datastore of a project is. Root is what the client has as
// METAFLOW_DATASTORE_SYSROOT_LOCAL or METAFLOW_DATASTORE_SYSROOT_S3. The other fields are for S3:
// credentials are names of secrets of the project, or empty for a public bucket.
type Place struct {
	Kind     Kind
	Root     string // to Put: "" is the folder of the project
	Endpoint string // "" is AWS
	Region   string // "" is us-east-1

	AccessKeySecret, SecretKeySecret, SessionTokenSecret string

	// Get sets these.
	Own       bool // Root is the folder of the project
	UpdatedAt time.Time
	UpdatedBy string
}

// Secrets are the secrets of projects.
type Secrets interface {
	// Exists reports whether the current project has a secret.
	Exists(ctx context.Context, name string) (bool, error)
	// Reveal returns the value of a secret to the system.
	Reveal(ctx context.Context, project uuid.UUID, name string) (string, error)
	// NoteDatastoreUse records that the server uses secrets for the datastore of a project.
	NoteDatastoreUse(ctx context.Context, project uuid.UUID, names []string) error
}

// Config contains the dependencies of a Service.
type Config struct {
	Pool    *pgxpool.Pool
	Secrets Secrets
	Now     func() time.Time
	Dir     string   // holds the folders of projects, by tenant
	Roots   []string // folders in which administrators of the installation may choose others
	// Endpoints are hosts (with ports, or for every port) to which the server may connect although
	// they are on this machine, on link-local addresses or on those of metadata services, and to
	// which it sends credentials although they are not Amazon S3.
	Endpoints []string
	// OwnHosts allows this machine, and credentials for every host: everyone who signs in owns the
	// machine with its secrets.
	OwnHosts bool
	Proxy    func(*http.Request) (*url.URL, error)
}

// Service configures and opens datastores of projects. It is safe for concurrent use.
type Service struct {
	Config
	client *http.Client
}

// NewService returns a Service.
func NewService(c Config) *Service {
	return &Service{Config: c, client: newClient(c)}
}

// Get returns the datastore of the current project.
func (s *Service) Get(ctx context.Context) (Place, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return Place{}, err
	}
	row, err := db.New(s.Pool).MetaflowDatastore(ctx, subject.ProjectID)
	if db.IsNoRows(err) {
		return s.placed(subject, Place{Kind: Local}), nil
	}
	if err != nil {
		return Place{}, fmt.Errorf("datastore of project %s: %w", subject.ProjectID, err)
	}
	return s.placed(subject, placeOf(row)), nil
}

// own is the folder of the current project of a subject.
func (s *Service) own(subject auth.Subject) string {
	return filepath.Join(s.Dir, subject.TenantID.String(), subject.ProjectID.String())
}

// placed fills in the folder of the project.
func (s *Service) placed(subject auth.Subject, p Place) Place {
	if p.Kind == Local && p.Root == "" {
		p.Root, p.Own = s.own(subject), true
	}
	return p
}

func placeOf(row db.MetaflowDatastore) Place {
	return Place{
		Kind: Kind(row.Kind), Root: row.Root, Endpoint: row.Endpoint, Region: row.Region,
		AccessKeySecret: row.AccessKeySecret, SecretKeySecret: row.SecretKeySecret, SessionTokenSecret: row.SessionTokenSecret,
		UpdatedAt: row.UpdatedAt, UpdatedBy: row.UpdatedBy,
	}
}

// Put sets the datastore of the current project. Only administrators of the installation may
// choose a local folder, below one of the allowed ones. Errors: apperr.Forbidden, and
// apperr.Invalid with fields.
func (s *Service) Put(ctx context.Context, p Place) (Place, error) {
	subject, err := auth.Authorize(ctx, auth.TenancyWrite)
	if err != nil {
		return Place{}, err
	}
	if p, err = s.check(ctx, subject, p); err != nil {
		return Place{}, err
	}
	if err := s.noteUse(ctx, subject, p); err != nil {
		return Place{}, err
	}
	err = db.Tx(ctx, s.Pool, func(_ pgx.Tx, q *db.Queries) error {
		old := Place{Kind: Local}
		row, err := q.LockMetaflowDatastore(ctx, subject.ProjectID)
		if err == nil {
			old = placeOf(row)
		} else if !db.IsNoRows(err) {
			return err
		}
		err = q.SetMetaflowDatastore(ctx, db.SetMetaflowDatastoreParams{
			ProjectID: subject.ProjectID, Kind: string(p.Kind), Root: p.Root, Endpoint: p.Endpoint, Region: p.Region,
			AccessKeySecret: p.AccessKeySecret, SecretKeySecret: p.SecretKeySecret, SessionTokenSecret: p.SessionTokenSecret,
			Now: s.Now(), Actor: subject.Name,
		})
		if err != nil {
			return err
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "metaflow_datastore.update", Kind: "metaflow_datastore", ID: subject.ProjectID.String(), Name: s.placed(subject, p).Root,
			TenantID: subject.TenantID, ProjectID: subject.ProjectID, Old: factsOf(old), New: factsOf(p),
		})
	})
	if err != nil {
		return Place{}, fmt.Errorf("set the datastore of project %s: %w", subject.ProjectID, err)
	}
	return s.Get(ctx)
}

// facts are the fields for the audit log: names of secrets, never values.
type facts struct {
	Kind               Kind   `json:"kind"`
	Root               string `json:"root"`
	Endpoint           string `json:"endpoint,omitempty"`
	Region             string `json:"region,omitempty"`
	AccessKeySecret    string `json:"access_key_secret,omitempty"`
	SecretKeySecret    string `json:"secret_key_secret,omitempty"`
	SessionTokenSecret string `json:"session_token_secret,omitempty"`
}

func factsOf(p Place) facts {
	return facts{p.Kind, p.Root, p.Endpoint, p.Region, p.AccessKeySecret, p.SecretKeySecret, p.SessionTokenSecret}
}

// files is the folder of the files of a local datastore.
func (p Place) files() string {
	if filepath.Base(p.Root) == localFolder {
		return p.Root
	}
	return filepath.Join(p.Root, localFolder)
}

// cardFolder is the folder of cards in a datastore. The client keeps those of a local datastore in
// its working directory unless METAFLOW_CARD_LOCALROOT is set.
const cardFolder = "mf.cards"

// Holds reports whether root is this datastore, as the client names the root of a run.
func (p Place) Holds(root string) bool {
	root = strings.TrimSuffix(root, "/")
	return root == p.Root || p.Kind == Local && root == p.files()
}

// Environment is how the client uses the datastore: environment variables and their values. The
// client reads credentials in its own way.
func (p Place) Environment() [][2]string {
	if p.Kind == Local {
		return [][2]string{{"METAFLOW_DEFAULT_DATASTORE", "local"}, {"METAFLOW_DATASTORE_SYSROOT_LOCAL", p.Root}, {"METAFLOW_CARD_LOCALROOT", filepath.Join(p.files(), cardFolder)}}
	}
	out := [][2]string{{"METAFLOW_DEFAULT_DATASTORE", "s3"}, {"METAFLOW_DATASTORE_SYSROOT_S3", p.Root}}
	if p.Endpoint != "" {
		out = append(out, [2]string{"METAFLOW_S3_ENDPOINT_URL", p.Endpoint})
	}
	return out
}

// Open returns the datastore of the current project, for readers of its executions.
func (s *Service) Open(ctx context.Context) (Store, error) {
	p, err := s.Get(ctx) // authorizes
	if err != nil {
		return nil, err
	}
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, subject, p)
}

func (s *Service) open(ctx context.Context, subject auth.Subject, p Place) (Store, error) {
	if p.Kind == Local {
		return s.openLocal(subject, p.Root)
	}
	if message := s.credentialsProblem(p); message != "" {
		return nil, apperr.New(apperr.Unavailable, "%s", message)
	}
	if err := s.noteUse(ctx, subject, p); err != nil {
		return nil, err
	}
	location := bucket.Location{Store: bucket.S3, Endpoint: p.Endpoint, Region: p.Region, Headers: true}
	location.Bucket, location.Key = splitRoot(p.Root)
	system := auth.AsSystem(ctx)
	for _, secret := range []struct {
		name string
		to   *string
	}{{p.AccessKeySecret, &location.AccessKey}, {p.SecretKeySecret, &location.SecretKey}, {p.SessionTokenSecret, &location.SessionToken}} {
		if secret.name == "" {
			continue
		}
		value, err := s.Secrets.Reveal(system, subject.ProjectID, secret.name)
		if err != nil {
			return nil, err
		}
		*secret.to = value
	}
	return remote{location, s.client}, nil
}
