package workflow

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/typeregistry"
)

// TypeSource provides the types that definitions may name.
type TypeSource interface {
	Types(ctx context.Context) (*typeregistry.Registry, error)
}

// Packages reports which code packages are in the store; sha256 is hexadecimal.
type Packages interface {
	Has(ctx context.Context, sha256 string) (bool, error)
}

// Service stores workflows and their versions in Postgres. Every method authorizes its
// caller first: lists and names refer to the current project, ids to any project that
// the caller may read.
type Service struct {
	pool     *pgxpool.Pool
	types    TypeSource
	packages Packages
	now      func() time.Time
	cache    *versionCache
	checkPod func(fields []byte) error // nil: pod fields are not checked
	formats  []Format                  // in addition to the native one

	scheduler Scheduler // nil: definitions declare no schedules
}

// NewService returns a service. A nil packages leaves code packages unchecked.
func NewService(pool *pgxpool.Pool, types TypeSource, packages Packages, now func() time.Time) *Service {
	return &Service{pool: pool, types: types, packages: packages, now: now, cache: newVersionCache(maxCachedVersions, maxCachedNodes)}
}

// CheckPodsWith makes Register check the pod fields of operators, a JSON object, with
// check. Its error is a problem of the definition: an error of package apperr with the
// paths of the invalid fields, or a sentence. Call it before anything else.
func (s *Service) CheckPodsWith(check func(fields []byte) error) { s.checkPod = check }

// Status is the state of a workflow: whether it may be launched.
type Status string

// The states of a workflow.
const (
	Active   Status = "ACTIVE"
	Archived Status = "ARCHIVED"
)

// Workflow is a named definition with its versions, the highest first.
type Workflow struct {
	ID          uuid.UUID
	ProjectID   uuid.UUID
	Name        string
	OwnerTeam   string
	Description string
	Tags        []string
	Status      Status
	Latest      string // the version that a launch without a version takes
	Versions    []VersionHead
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// VersionHead is a version without its definition.
type VersionHead struct {
	ID            uuid.UUID
	Version       string
	Development   bool // registered by the command run or dev, not released
	ContentHash   []byte
	Nodes         int
	CreatedBy     uuid.UUID
	CreatedByName string // "" when the engine registered it
	CreatedAt     time.Time
}

// Version is one immutable version. It is shared and must not be modified.
type Version struct {
	ID            uuid.UUID
	WorkflowID    uuid.UUID
	TenantID      uuid.UUID
	ProjectID     uuid.UUID
	Name          string
	Version       string
	Definition    *Definition
	Plan          *dag.Plan            // of the workflow itself
	Plans         map[string]*dag.Plan // of all its graphs, by name; Plan is under ""
	ContentHash   []byte
	CreatedBy     uuid.UUID
	CreatedByName string
	CreatedAt     time.Time
}

// Get returns the workflow that ref, a name or an id, identifies.
func (s *Service) Get(ctx context.Context, ref string) (Workflow, error) {
	q := db.New(s.pool)
	row, err := s.find(ctx, q, auth.WorkflowRead, ref)
	if err != nil {
		return Workflow{}, err
	}
	rows, err := q.WorkflowVersions(ctx, row.ID)
	if err != nil {
		return Workflow{}, fmt.Errorf("versions of workflow %s: %w", row.ID, err)
	}
	w := summary(row)
	for _, v := range rows {
		w.Versions = append(w.Versions, VersionHead{
			ID: v.ID, Version: v.Version, Development: v.Development, ContentHash: v.ContentHash, Nodes: int(v.NodeCount),
			CreatedBy: v.CreatedBy, CreatedByName: v.CreatedByName, CreatedAt: v.CreatedAt.UTC(),
		})
		if row.LatestVersionID != nil && *row.LatestVersionID == v.ID {
			w.Latest = v.Version
		}
	}
	slices.SortFunc(w.Versions, func(a, b VersionHead) int {
		if a.Development && b.Development {
			return bytes.Compare(b.ID[:], a.ID[:]) // their names have no order; IDs have that of registration
		}
		return compareVersions(b.Version, a.Version)
	})
	return w, nil
}

// Summary is Get without the versions.
func (s *Service) Summary(ctx context.Context, ref string) (Workflow, error) {
	row, err := s.find(ctx, db.New(s.pool), auth.WorkflowRead, ref)
	if err != nil {
		return Workflow{}, err
	}
	return summary(row), nil
}

func summary(row db.Workflow) Workflow {
	return Workflow{
		ID: row.ID, ProjectID: row.ProjectID, Name: row.Name, OwnerTeam: row.OwnerTeam, Description: row.Description,
		Tags: row.Tags, Status: Status(row.Status), CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(),
	}
}

// Version returns a version of the workflow that ref, a name or an id, identifies: the
// latest for "" and "latest".
func (s *Service) Version(ctx context.Context, ref, version string) (Version, error) {
	q := db.New(s.pool)
	row, err := s.find(ctx, q, auth.WorkflowRead, ref)
	if err != nil {
		return Version{}, err
	}
	if version == "" || version == "latest" {
		if row.LatestVersionID == nil {
			return Version{}, apperr.New(apperr.NotFound, "The workflow %s has no version yet.", row.Name)
		}
		return s.versionByID(ctx, *row.LatestVersionID)
	}
	head, err := q.WorkflowVersionHead(ctx, row.ID, version)
	if db.IsNoRows(err) {
		return Version{}, apperr.New(apperr.NotFound, "The workflow %s has no version %s.", row.Name, shorten(version, 60))
	}
	if err != nil {
		return Version{}, fmt.Errorf("version %s of workflow %s: %w", version, row.ID, err)
	}
	return s.versionByID(ctx, head.ID)
}

// VersionByID returns the version with this id. Versions never change, so recently used
// ones stay in memory.
func (s *Service) VersionByID(ctx context.Context, id uuid.UUID) (Version, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return Version{}, err
	}
	v, err := s.versionByID(ctx, id)
	if err != nil {
		return Version{}, err
	}
	if _, err := auth.AuthorizeIn(ctx, auth.WorkflowRead, v.ProjectID, errNoVersion(id)); err != nil {
		return Version{}, err
	}
	return v, nil
}

// VersionsByID returns versions that the caller may read, by their ids. It reads those that are
// not in the cache by one query.
func (s *Service) VersionsByID(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]Version, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return nil, err
	}
	versions, err := s.versionsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	for id, v := range versions {
		if _, err := auth.AuthorizeIn(ctx, auth.WorkflowRead, v.ProjectID, errNoVersion(id)); err != nil {
			return nil, err
		}
	}
	return versions, nil
}

func (s *Service) versionByID(ctx context.Context, id uuid.UUID) (Version, error) {
	versions, err := s.versionsByID(ctx, []uuid.UUID{id})
	return versions[id], err
}

func (s *Service) versionsByID(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]Version, error) {
	out := make(map[uuid.UUID]Version, len(ids))
	var missing []uuid.UUID
	for _, id := range ids {
		if v, ok := s.cache.get(id); ok {
			out[id] = v
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	rows, err := db.New(s.pool).WorkflowVersionsByID(ctx, missing)
	if err != nil {
		return nil, fmt.Errorf("%d workflow versions: %w", len(missing), err)
	}
	types := map[uuid.UUID]*typeregistry.Registry{} // by project
	for _, row := range rows {
		if types[row.ProjectID], err = s.typesOf(ctx, types[row.ProjectID], row); err != nil {
			return nil, err
		}
		v, err := s.compile(row, types[row.ProjectID])
		if err != nil {
			return nil, err
		}
		s.cache.put(v)
		out[v.ID] = v
	}
	for _, id := range missing {
		if _, found := out[id]; !found {
			return nil, errNoVersion(id)
		}
	}
	return out, nil
}

func errNoVersion(id uuid.UUID) error {
	return apperr.New(apperr.NotFound, "There is no workflow version %s.", id)
}

// typesOf returns known, or else the types of the project of a version, for any caller.
func (s *Service) typesOf(ctx context.Context, known *typeregistry.Registry, row db.WorkflowVersionsByIDRow) (*typeregistry.Registry, error) {
	if known != nil {
		return known, nil
	}
	types, err := s.types.Types(auth.AsSystemIn(ctx, row.TenantID, row.ProjectID))
	if err != nil {
		return nil, fmt.Errorf("types for workflow version %s: %w", row.ID, err)
	}
	return types, nil
}

// compile reads the definition of a stored version and compiles its plans.
func (s *Service) compile(row db.WorkflowVersionsByIDRow, types *typeregistry.Registry) (Version, error) {
	id := row.ID
	definition, problems := s.read(row.Definition, Surroundings{Types: types})
	if len(problems) > 0 {
		return Version{}, fmt.Errorf("workflow version %s no longer parses: %s: %s", id, problems[0].Path, problems[0].Message)
	}
	definition.Version = row.Version
	plans, problems := definition.Compile()
	if len(problems) > 0 {
		return Version{}, fmt.Errorf("workflow version %s no longer compiles: %s: %s", id, problems[0].Path, problems[0].Message)
	}
	return Version{
		ID: row.ID, WorkflowID: row.WorkflowID, TenantID: row.TenantID, ProjectID: row.ProjectID, Name: row.Name, Version: row.Version,
		Definition: definition, Plan: plans[""], Plans: plans, ContentHash: row.ContentHash,
		CreatedBy: row.CreatedBy, CreatedByName: row.CreatedByName, CreatedAt: row.CreatedAt.UTC(),
	}, nil
}

// Scope returns the tenant and the project of a workflow that the caller may read.
func (s *Service) Scope(ctx context.Context, id uuid.UUID) (tenant, project uuid.UUID, err error) {
	q := db.New(s.pool)
	row, err := s.find(ctx, q, auth.WorkflowRead, id.String())
	if err != nil {
		return uuid.Nil, uuid.Nil, err
	}
	place, err := q.GetTenancyNode(ctx, row.ProjectID)
	if err != nil {
		return uuid.Nil, uuid.Nil, fmt.Errorf("place of workflow %s: %w", id, err)
	}
	return tenantOf(place), row.ProjectID, nil
}

// find returns the row that ref names when the caller may perform a on it: by its id in
// any project of the caller's, by its name in the current one.
func (s *Service) find(ctx context.Context, q *db.Queries, a auth.Action, ref string) (db.Workflow, error) {
	subject, err := auth.SignedIn(ctx)
	if err != nil {
		return db.Workflow{}, err
	}
	absent := apperr.New(apperr.NotFound, "There is no workflow %q.", shorten(ref, 130))
	var row db.Workflow
	if id, parseErr := uuid.Parse(ref); parseErr == nil {
		row, err = q.WorkflowByID(ctx, id)
	} else {
		row, err = q.WorkflowByName(ctx, ref, subject.ProjectID)
	}
	if db.IsNoRows(err) {
		return db.Workflow{}, absent
	}
	if err != nil {
		return db.Workflow{}, fmt.Errorf("workflow %s: %w", ref, err)
	}
	if _, err := auth.AuthorizeIn(ctx, a, row.ProjectID, absent); err != nil {
		return db.Workflow{}, err
	}
	return row, nil
}
