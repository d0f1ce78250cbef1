// Package catalogue stores the objects that workflow inputs may reference: datasets,
// feature sets and models by name and version, and the custom types of a tenant.
package catalogue

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/typeregistry"
)

// Service registers and finds entries. It is safe for concurrent use.
type Service struct {
	pool *pgxpool.Pool
	now  func() time.Time

	onRegister func(ctx context.Context, tx pgx.Tx, q *db.Queries, e Entry) error // nil: nothing

	mu         sync.Mutex
	registries map[uuid.UUID]builtRegistry // by tenant
}

// NewService returns a Service on the clock now.
func NewService(pool *pgxpool.Pool, now func() time.Time) *Service {
	return &Service{pool: pool, now: now, registries: map[uuid.UUID]builtRegistry{}}
}

// OnRegister makes do part of the transaction that registers an entry. Call it before the service is
// used.
func (s *Service) OnRegister(do func(ctx context.Context, tx pgx.Tx, q *db.Queries, e Entry) error) {
	s.onRegister = do
}

// BlobRef references bytes in the artifact store.
type BlobRef struct {
	SHA256    string `json:"sha256"` // hex
	Size      int64  `json:"size"`   // bytes
	MediaType string `json:"media_type"`
	Filename  string `json:"filename"`
}

// Facts are the properties of an entry; which of them apply depends on its kind.
type Facts struct {
	Rows         *int64                `json:"rows,omitempty"`
	Columns      []typeregistry.Column `json:"columns,omitempty"`      // Dataset
	Partitioning []string              `json:"partitioning,omitempty"` // Dataset
	Features     []typeregistry.Column `json:"features,omitempty"`     // FeatureSet
	EntityKey    string                `json:"entity_key,omitempty"`
	TimestampKey string                `json:"timestamp_key,omitempty"`
	Architecture string                `json:"architecture,omitempty"`  // Model
	Inputs       []typeregistry.Column `json:"input_schema,omitempty"`  // Model: tensors
	Outputs      []typeregistry.Column `json:"output_schema,omitempty"` // Model: tensors
	Exportable   []string              `json:"exportable_formats,omitempty"`
	URI          string                `json:"uri,omitempty"` // where the data is when its bytes are not here
	Metadata     map[string]any        `json:"metadata,omitempty"`
	Metrics      map[string]float64    `json:"metrics,omitempty"`  // Model
	TestSet      string                `json:"test_set,omitempty"` // Model: what the metrics were measured on
}

// Entry is one version of a dataset, feature set or model, or an earlier output.
type Entry struct {
	ID          uuid.UUID
	Kind        typeregistry.Kind
	Name        string
	Version     string
	Description string
	Format      string // of a dataset, such as csv
	Framework   string // of a model
	Tags        []string
	Facts       Facts
	Blob        *BlobRef   // nil when the bytes are elsewhere
	ArtifactID  *uuid.UUID // set for an earlier output
	From        *uuid.UUID // the artifact that the version was registered from
	ExecutionID uuid.UUID  // that produced an earlier output
	CreatedBy   string
	CreatedAt   time.Time
}

// Ref returns the reference to the entry for an input.
func (e Entry) Ref() string {
	if e.ArtifactID != nil {
		return e.ArtifactID.String()
	}
	return e.Name + "@" + e.Version
}

// namePattern excludes the separators of references and addresses from names.
const (
	namePattern    = `^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$`
	versionPattern = `^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$`
)

// Register adds an entry. Registering the same version with the same content succeeds
// without a change (created is false); with different content it returns
// apperr.Conflict.
func (s *Service) Register(ctx context.Context, e Entry) (entry Entry, created bool, err error) {
	subject, err := auth.Authorize(ctx, auth.CatalogueWrite)
	if err != nil {
		return Entry{}, false, err
	}
	if err := checkEntry(e); err != nil {
		return Entry{}, false, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Entry{}, false, fmt.Errorf("create entry id: %w", err)
	}
	e.ID, e.CreatedBy, e.CreatedAt = id, subject.Name, s.now().UTC().Truncate(time.Microsecond)
	if e.Tags == nil {
		e.Tags = []string{}
	}
	if err := s.fromArtifact(ctx, &e, subject.ProjectID); err != nil {
		return Entry{}, false, err
	}
	if err := s.checkBlob(ctx, subject.ProjectID, e.Blob); err != nil {
		return Entry{}, false, err
	}
	row, err := toRow(e, subject.ProjectID)
	if err != nil {
		return Entry{}, false, err
	}
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx, q *db.Queries) error {
		if err := q.InsertCatalogueEntry(ctx, row); err != nil {
			return err
		}
		if s.onRegister != nil {
			if err := s.onRegister(ctx, tx, q, e); err != nil {
				return err
			}
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "catalogue.register", Kind: string(e.Kind), ID: e.ID.String(), Name: e.Ref(),
			TenantID: subject.TenantID, ProjectID: subject.ProjectID, New: e,
		})
	})
	if db.Constraint(err) == "catalogue_entries_version_key" {
		return s.registered(ctx, e)
	}
	if err != nil {
		return Entry{}, false, fmt.Errorf("register %s %s: %w", e.Kind, e.Ref(), err)
	}
	return e, true, nil
}

// checkBlob rejects bytes that were not uploaded to the project.
func (s *Service) checkBlob(ctx context.Context, project uuid.UUID, blob *BlobRef) error {
	if blob == nil {
		return nil
	}
	raw, err := hex.DecodeString(blob.SHA256)
	if err == nil {
		var known map[string]int64
		if known, err = db.New(s.pool).FindBlobs(ctx, project, [][]byte{raw}, s.now()); err != nil {
			return fmt.Errorf("blob %s: %w", blob.SHA256, err)
		}
		if len(known) > 0 {
			return nil
		}
	}
	return apperr.InvalidFields("The entry has invalid values.",
		[]apperr.Field{{Path: "file", Message: "The project does not have this file. Upload it to POST /api/v1/blobs first."}})
}

// registered handles a version that already exists.
func (s *Service) registered(ctx context.Context, e Entry) (Entry, bool, error) {
	there, err := s.Get(ctx, e.Kind, e.Ref())
	if err != nil {
		return Entry{}, false, err
	}
	if content(there) != content(e) {
		return Entry{}, false, apperr.New(apperr.Conflict, "%s %s is already registered with different content. Register the new content under a new version.", e.Kind, e.Ref())
	}
	return there, false, nil
}

// content returns the fields that must be equal for two registrations to be the same.
func content(e Entry) string {
	e.ID, e.CreatedAt, e.CreatedBy = uuid.Nil, time.Time{}, ""
	b, err := json.Marshal(e)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func checkEntry(e Entry) error {
	var fields []apperr.Field
	add := func(path, message string) { fields = append(fields, apperr.Field{Path: path, Message: message}) }
	if !slices.Contains(kinds(), e.Kind) {
		add("kind", "Enter Dataset, FeatureSet or Model.")
	}
	if !regexp.MustCompile(namePattern).MatchString(e.Name) {
		add("name", "Start with a letter or digit; then letters, digits and . _ - / are allowed, 200 characters at most.")
	}
	if !regexp.MustCompile(versionPattern).MatchString(e.Version) {
		add("version", "Start with a letter or digit; then letters, digits and . _ + - are allowed, 100 characters at most.")
	}
	if e.Kind == typeregistry.KindFeatureSet && len(e.Facts.Features) == 0 {
		add("features", "A feature set needs at least one feature.")
	}
	seen := map[string]bool{}
	for i, f := range e.Facts.Features {
		switch {
		case f.Name == "":
			add(fmt.Sprintf("features[%d].name", i), "A feature must have a name.")
		case seen[f.Name]:
			add(fmt.Sprintf("features[%d].name", i), "The feature "+f.Name+" is listed twice.")
		}
		seen[f.Name] = true
	}
	for name, columns := range map[string][]typeregistry.Column{
		"columns": e.Facts.Columns, "features": e.Facts.Features, "input_schema": e.Facts.Inputs, "output_schema": e.Facts.Outputs,
	} {
		for i, c := range columns {
			if wrong := c.CheckAttributes(); wrong != "" {
				add(fmt.Sprintf("%s[%d]", name, i), wrong)
			}
		}
	}
	if e.Facts.Rows != nil && *e.Facts.Rows < 0 {
		add("rows", "Enter 0 or more.")
	}
	return apperr.InvalidFields("The entry has invalid values.", fields)
}

func kinds() []typeregistry.Kind {
	return []typeregistry.Kind{typeregistry.KindDataset, typeregistry.KindFeatureSet, typeregistry.KindModel}
}

// SplitRef splits "name@version"; the version is "" when ref names the newest.
func SplitRef(ref string) (name, version string) {
	name, version, _ = strings.Cut(ref, "@")
	return name, version
}

func toRow(e Entry, projectID uuid.UUID) (db.InsertCatalogueEntryParams, error) {
	facts, err := json.Marshal(e.Facts)
	if err != nil {
		return db.InsertCatalogueEntryParams{}, fmt.Errorf("entry %s: %w", e.Ref(), err)
	}
	var blob json.RawMessage
	if e.Blob != nil {
		if blob, err = json.Marshal(e.Blob); err != nil {
			return db.InsertCatalogueEntryParams{}, fmt.Errorf("entry %s: %w", e.Ref(), err)
		}
	}
	return db.InsertCatalogueEntryParams{
		ID: e.ID, ProjectID: projectID, Kind: string(e.Kind), Name: e.Name, Version: e.Version, Description: e.Description,
		Format: e.Format, Framework: e.Framework, Tags: e.Tags, Facts: facts, Blob: blob, ArtifactID: e.From, CreatedBy: e.CreatedBy, CreatedAt: e.CreatedAt,
	}, nil
}

func fromRow(row db.CatalogueEntry) (Entry, error) {
	e := Entry{
		ID: row.ID, Kind: typeregistry.Kind(row.Kind), Name: row.Name, Version: row.Version, Description: row.Description,
		Format: row.Format, Framework: row.Framework, Tags: row.Tags, From: row.ArtifactID, CreatedBy: row.CreatedBy, CreatedAt: row.CreatedAt,
	}
	if err := json.Unmarshal(row.Facts, &e.Facts); err != nil {
		return e, fmt.Errorf("entry %s: facts: %w", e.Ref(), err)
	}
	if len(row.Blob) > 0 {
		e.Blob = &BlobRef{}
		if err := json.Unmarshal(row.Blob, e.Blob); err != nil {
			return e, fmt.Errorf("entry %s: blob: %w", e.Ref(), err)
		}
	}
	return e, nil
}
