// Package artifact stores the outputs of tasks: the bytes in a content-addressed store,
// and the name, type and origin of each output in Postgres.
package artifact

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/search"
)

// DirectoryMediaType marks a blob that is the manifest of a folder.
const DirectoryMediaType = "application/vnd.flowforge.directory+json"

// Artifact is one named, typed output of a node.
type Artifact struct {
	ID           uuid.UUID
	ProjectID    uuid.UUID
	ExecutionID  uuid.UUID
	NodeIndex    int
	Node         string
	Attempt      int
	WorkflowName string
	Name         string
	Type         string // type expression
	Kind         string // kind of the type, such as Model
	SHA256       string // hex
	Size         int64  // bytes
	MediaType    string
	Filename     string
	Metadata     map[string]any
	CreatedAt    time.Time
}

// New is an artifact to publish; its blob is already in the store.
type New struct {
	ID           uuid.UUID // from NewID
	ExecutionID  uuid.UUID
	NodeIndex    int
	Node         string
	Attempt      int
	WorkflowName string
	Name, Type   string
	Kind         string
	SHA256       string
	Size         int64
	MediaType    string
	Filename     string
	Metadata     map[string]any
	GC           GC
}

// GC specifies when an unused artifact is removed.
type GC string

// The times at which unused artifacts are removed.
const (
	GCExecution  GC = ""           // with the record of their execution
	GCCompletion GC = "completion" // once their execution has ended
	GCNever      GC = "never"      // never automatically
)

// NewID returns an id for an artifact.
func NewID() (uuid.UUID, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return id, fmt.Errorf("create artifact id: %w", err)
	}
	return id, nil
}

// Service reads and publishes artifacts.
type Service struct {
	pool  *pgxpool.Pool
	store Store
	now   func() time.Time
	draws chan struct{} // has room for each thumbnail that may be made at a time

	account  Account // nil: storage is not counted
	direct   Direct  // nil: all bytes pass through the server
	browsers bool    // downloads in browsers are direct too

	previews chan struct{} // has an element for each running preview
}

// previewsAtOnce is how many previews a server makes at the same time: each takes up to some hundred
// MiB of memory.
const previewsAtOnce = 4

// NewService returns a Service over pool and store on the clock now.
func NewService(pool *pgxpool.Pool, store Store, now func() time.Time) *Service {
	return &Service{
		pool: pool, store: store, now: now, draws: make(chan struct{}, drawing), previews: make(chan struct{}, previewsAtOnce),
	}
}

// Account counts bytes that are new to a project, in the transaction of q. With refuse,
// it returns apperr.Quota when they exceed a limit.
type Account func(ctx context.Context, q *db.Queries, project uuid.UUID, bytes int64, refuse bool) error

// CountWith makes account count the storage of projects. Call it before the service is
// used.
func (s *Service) CountWith(account Account) { s.account = account }

func (s *Service) count(ctx context.Context, q *db.Queries, project uuid.UUID, bytes int64, refuse bool) error {
	if s.account == nil || bytes == 0 {
		return nil
	}
	return s.account(ctx, q, project, bytes, refuse)
}

// Store returns the content-addressed store. It does not check projects: hashes from a
// request or a task must go through Blob, OpenBlob and Has.
func (s *Service) Store() Store { return s.store }

// Publish writes the rows of items with q, so that they appear together with the other
// changes of the transaction of q. The engine calls it for the tenant and project of
// the execution.
func (s *Service) Publish(ctx context.Context, q *db.Queries, tenantID, projectID uuid.UUID, items []New) error {
	if _, err := auth.Authorize(ctx, auth.TaskReport); err != nil {
		return err
	}
	if len(items) == 0 {
		return nil
	}
	rows := db.InsertArtifactsParams{TenantID: tenantID, ProjectID: projectID, CreatedAt: s.now()}
	for _, item := range items {
		hash, err := decodeHash(item.SHA256)
		if err != nil {
			return err
		}
		if item.Metadata == nil {
			item.Metadata = map[string]any{}
		}
		metadata, err := json.Marshal(item.Metadata)
		if err != nil {
			return fmt.Errorf("artifact %s: metadata: %w", item.Name, err)
		}
		mediaType := MediaTypeOf(item.Kind, item.Filename, item.MediaType)
		rows.Ids = append(rows.Ids, item.ID)
		rows.ExecutionIds = append(rows.ExecutionIds, item.ExecutionID)
		rows.NodeIndexes = append(rows.NodeIndexes, int32(item.NodeIndex)) //nolint:gosec // at most tens of thousands
		rows.Nodes = append(rows.Nodes, item.Node)
		rows.Attempts = append(rows.Attempts, int32(item.Attempt)) //nolint:gosec // a small count
		rows.WorkflowNames = append(rows.WorkflowNames, item.WorkflowName)
		rows.Names = append(rows.Names, item.Name)
		rows.Types = append(rows.Types, item.Type)
		rows.Kinds = append(rows.Kinds, item.Kind)
		rows.Sha256s = append(rows.Sha256s, hash)
		rows.Sizes = append(rows.Sizes, item.Size)
		rows.MediaTypes = append(rows.MediaTypes, mediaType)
		rows.Filenames = append(rows.Filenames, SafeFilename(item.Filename, item.Name, item.Kind, mediaType))
		rows.Gcs = append(rows.Gcs, string(item.GC))
		rows.Metadata = append(rows.Metadata, metadata)
	}
	if err := q.UpsertBlobs(ctx, rows.CreatedAt, rows.Sha256s, rows.Sizes, rows.MediaTypes); err != nil {
		return fmt.Errorf("publish blobs: %w", err)
	}
	fresh, err := q.ReferBlobs(ctx, projectID, rows.CreatedAt, rows.Sha256s, rows.Sizes)
	if err != nil {
		return fmt.Errorf("publish blobs in project %s: %w", projectID, err)
	}
	if err := s.count(ctx, q, projectID, fresh, false); err != nil {
		return err
	}
	if err := q.InsertArtifacts(ctx, rows); err != nil {
		return fmt.Errorf("publish artifacts: %w", err)
	}
	return nil
}

// Get returns an artifact, or apperr.NotFound when there is none that the caller
// may read.
func (s *Service) Get(ctx context.Context, id uuid.UUID) (Artifact, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return Artifact{}, err
	}
	row, err := db.New(s.pool).GetArtifact(ctx, id)
	if db.IsNoRows(err) {
		return Artifact{}, absent(id)
	}
	if err != nil {
		return Artifact{}, fmt.Errorf("get artifact %s: %w", id, err)
	}
	if _, err := auth.AuthorizeIn(ctx, auth.ArtifactRead, row.ProjectID, absent(id)); err != nil {
		return Artifact{}, err
	}
	return fromRow(row)
}

// Scope returns the tenant and the project of an artifact that the caller may read.
func (s *Service) Scope(ctx context.Context, id uuid.UUID) (tenant, project uuid.UUID, err error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return uuid.Nil, uuid.Nil, err
	}
	row, err := db.New(s.pool).GetArtifact(ctx, id)
	if db.IsNoRows(err) {
		return uuid.Nil, uuid.Nil, absent(id)
	}
	if err != nil {
		return uuid.Nil, uuid.Nil, fmt.Errorf("scope of artifact %s: %w", id, err)
	}
	_, err = auth.AuthorizeIn(ctx, auth.ArtifactRead, row.ProjectID, absent(id))
	if err != nil {
		return uuid.Nil, uuid.Nil, err
	}
	return row.TenantID, row.ProjectID, nil
}

func absent(id uuid.UUID) error { return apperr.New(apperr.NotFound, "There is no artifact %s.", id) }

// ByHash returns the artifacts of the subject's project that have the bytes of
// hash, newest first, at most 100.
func (s *Service) ByHash(ctx context.Context, hash string) ([]Artifact, error) {
	subject, err := auth.Authorize(ctx, auth.ArtifactRead)
	if err != nil {
		return nil, err
	}
	raw, err := decodeHash(hash)
	if err != nil {
		return nil, err
	}
	rows, err := db.New(s.pool).ArtifactsByHash(ctx, raw, subject.ProjectID)
	if err != nil {
		return nil, fmt.Errorf("artifacts by hash: %w", err)
	}
	if len(rows) == 0 {
		return nil, apperr.New(apperr.NotFound, "There is no artifact with the SHA-256 %s.", hash)
	}
	return fromRows(rows)
}

// Filter selects artifacts; empty fields select all.
type Filter struct {
	ExecutionID *uuid.UUID
	Workflow    string // name
	Type        string // kind, such as Model
	Query       string // text in name, node, workflow or file name
	Where       string // a query over facts and metadata, such as metadata.accuracy >= 0.9
	After       string // Page.Next of the previous page
	Limit       int    // 1 to 200; 50 when 0
}

// Page is a part of a list, newest first; Next is "" at its end.
type Page struct {
	Artifacts []Artifact
	Next      string
}

const (
	defaultLimit = 50
	maxLimit     = 200
)

// List returns artifacts of the subject's project, newest first.
func (s *Service) List(ctx context.Context, f Filter) (Page, error) {
	subject, err := auth.Authorize(ctx, auth.ArtifactRead)
	if err != nil {
		return Page{}, err
	}
	before := uuid.Max
	if f.After != "" {
		if before, err = uuid.Parse(f.After); err != nil {
			return Page{}, apperr.InvalidFields("The page token is not valid.", []apperr.Field{{Path: "page", Message: "Use next_page from the previous response."}})
		}
	}
	limit := f.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	limit = min(limit, maxLimit)
	condition, err := search.Condition(f.Where, search.ArtifactFields(), []string{"name", "node", "workflow", "file"}, s.now())
	if err != nil {
		return Page{}, apperr.InvalidFields("The artifact query is not valid.", []apperr.Field{{Path: "where", Message: err.Error()}})
	}
	rows, err := db.New(s.pool).ListArtifacts(ctx, db.ListArtifactsParams{
		Condition: condition,
		ProjectID: subject.ProjectID, Before: before, ExecutionID: f.ExecutionID, Workflow: f.Workflow, Kind: f.Type,
		Query: db.EscapeLike(f.Query), RowLimit: int32(limit) + 1,
	})
	if err != nil {
		return Page{}, fmt.Errorf("list artifacts: %w", err)
	}
	page := Page{}
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = rows[limit-1].ID.String()
	}
	page.Artifacts, err = fromRows(rows)
	return page, err
}

// Open returns the bytes of an artifact for reading.
func (s *Service) Open(ctx context.Context, a Artifact) (*Reader, error) {
	if _, err := auth.AuthorizeIn(ctx, auth.ArtifactRead, a.ProjectID, absent(a.ID)); err != nil {
		return nil, err
	}
	return s.store.Open(ctx, a.SHA256)
}

func fromRows(rows []db.Artifact) ([]Artifact, error) {
	out := make([]Artifact, 0, len(rows))
	for _, row := range rows {
		a, err := fromRow(row)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

func fromRow(row db.Artifact) (Artifact, error) {
	a := Artifact{
		ID: row.ID, ProjectID: row.ProjectID, ExecutionID: row.ExecutionID, NodeIndex: int(row.NodeIndex), Node: row.Node,
		Attempt: int(row.Attempt), WorkflowName: row.WorkflowName, Name: row.Name, Type: row.Type, Kind: row.Kind,
		SHA256: hex.EncodeToString(row.Sha256), Size: row.Size, MediaType: row.MediaType, Filename: row.Filename, CreatedAt: row.CreatedAt,
	}
	if err := json.Unmarshal(row.Metadata, &a.Metadata); err != nil {
		return a, fmt.Errorf("artifact %s: metadata: %w", row.ID, err)
	}
	return a, nil
}

func decodeHash(hash string) ([]byte, error) {
	if !ValidHash(hash) {
		return nil, apperr.New(apperr.Invalid, "%q is not a SHA-256 in lower-case hex.", hash)
	}
	return hex.DecodeString(hash) //nolint:wrapcheck // checked one line above
}
