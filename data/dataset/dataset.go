// Package dataset describes versions of datasets and feature sets: statistics of their columns, how
// they differ from earlier versions, who uses them, and aliases. The versions themselves are entries
// of the catalogue.
package dataset

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/artifact/preview"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/dataset/drift"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/typeregistry"
)

const (
	listRows    = 100
	versionRows = 100
	useRows     = 20
	useCount    = 1000
)

// Config is what a Service works with.
type Config struct {
	Pool      *pgxpool.Pool
	Catalogue *catalogue.Service
	Artifacts *artifact.Service
	Log       *slog.Logger
	Now       func() time.Time
}

// Service describes datasets and feature sets. It is safe for concurrent use.
type Service struct {
	Config

	queries  *db.Queries
	enqueuer *river.Client[pgx.Tx]
}

// NewService returns a Service. From then on, the statistics of each version that is registered in
// the catalogue are computed.
func NewService(c Config) (*Service, error) {
	enqueuer, err := river.NewClient(riverpgxv5.New(c.Pool), &river.Config{Logger: c.Log})
	if err != nil {
		return nil, fmt.Errorf("create the client of the queue: %w", err)
	}
	s := &Service{Config: c, queries: db.New(c.Pool), enqueuer: enqueuer}
	c.Catalogue.OnRegister(s.registered)
	return s, nil
}

// Summary is a dataset in a list.
type Summary struct {
	Name     string
	Versions int
	Newest   string
	NewestAt time.Time
	Rows     int64 // of the newest version; -1: unknown
	Columns  int64
}

// Version is a version of a dataset.
type Version struct {
	catalogue.Entry

	State   State
	Rows    int64 // -1: unknown
	Aliases []string
}

// Alias is a name of a version.
type Alias struct {
	Name, Version, By string
	At                time.Time
}

// Dataset is a dataset or feature set with its versions.
type Dataset struct {
	Kind      typeregistry.Kind
	Name      string
	Versions  []Version // newest first
	More      string    // pass as after for older versions; "" at the end
	Aliases   []Alias
	MayChange bool
}

// List returns the datasets or feature sets of the project by name, those after the given one. next
// is "" at the end.
func (s *Service) List(ctx context.Context, kind typeregistry.Kind, text, after string) (list []Summary, next string, err error) {
	subject, err := auth.Authorize(ctx, auth.CatalogueRead)
	if err != nil {
		return nil, "", err
	}
	rows, err := s.queries.ListDatasets(ctx, db.ListDatasetsParams{ProjectID: subject.ProjectID, Kind: string(kind), After: after, Query: db.EscapeLike(text), RowLimit: listRows + 1})
	if err != nil {
		return nil, "", fmt.Errorf("list %s: %w", kind, err)
	}
	for i, r := range rows {
		if i == listRows {
			return list, list[i-1].Name, nil
		}
		list = append(list, Summary{Name: r.Name, Versions: int(r.Versions), Newest: r.Newest, NewestAt: r.NewestAt.UTC(), Rows: r.Rows, Columns: r.Columns})
	}
	return list, "", nil
}

// Get returns a dataset or feature set of the project. after is More of an earlier answer.
func (s *Service) Get(ctx context.Context, kind typeregistry.Kind, name, after string) (Dataset, error) {
	subject, err := auth.Authorize(ctx, auth.CatalogueRead)
	if err != nil {
		return Dataset{}, err
	}
	d := Dataset{Kind: kind, Name: name, MayChange: subject.May(auth.CatalogueWrite, subject.ProjectID)}
	before := uuid.Max
	if after != "" {
		if before, err = uuid.Parse(after); err != nil {
			return d, apperr.InvalidFields("The page token is not valid.", []apperr.Field{{Path: "page", Message: "Use next_page from the previous response."}})
		}
	}
	rows, err := s.queries.DatasetVersions(ctx, db.DatasetVersionsParams{ProjectID: subject.ProjectID, Kind: string(kind), Name: name, Before: before, RowLimit: versionRows + 1})
	if err != nil {
		return d, fmt.Errorf("versions of %s: %w", name, err)
	}
	if len(rows) == 0 {
		return d, apperr.New(apperr.NotFound, "There is no %s %q.", kind, name)
	}
	aliases, err := s.queries.DatasetAliases(ctx, subject.ProjectID, string(kind), name)
	if err != nil {
		return d, fmt.Errorf("aliases of %s: %w", name, err)
	}
	of := map[uuid.UUID][]string{}
	for _, a := range aliases {
		of[a.EntryID] = append(of[a.EntryID], a.Alias)
		d.Aliases = append(d.Aliases, Alias{Name: a.Alias, Version: a.Version, By: a.SetBy, At: a.SetAt.UTC()})
	}
	for i, r := range rows {
		if i == versionRows {
			d.More = d.Versions[i-1].ID.String()
			break
		}
		e, err := catalogue.FromRow(r.CatalogueEntry)
		if err != nil {
			return d, fmt.Errorf("versions of %s: %w", name, err)
		}
		v := Version{Entry: e, State: State(r.State), Rows: r.Rows, Aliases: of[e.ID]}
		if v.Rows < 0 && e.Facts.Rows != nil {
			v.Rows = *e.Facts.Rows
		}
		d.Versions = append(d.Versions, v)
	}
	return d, nil
}

// Statistics are the statistics of a version. Problem explains why there are none.
type Statistics struct {
	State   State
	Problem string
	At      *time.Time
	Profile *preview.Profile // nil unless they are ready
}

// Statistics returns the statistics of the version that ref identifies: name@version, name@alias, or
// name for the newest version.
func (s *Service) Statistics(ctx context.Context, kind typeregistry.Kind, ref string) (catalogue.Entry, Statistics, error) {
	e, err := s.entry(ctx, kind, ref)
	if err != nil {
		return e, Statistics{}, err
	}
	stats, err := s.statistics(ctx, e)
	return e, stats, err
}

// entry returns a version; the ID of an artifact is none.
func (s *Service) entry(ctx context.Context, kind typeregistry.Kind, ref string) (catalogue.Entry, error) {
	e, err := s.Catalogue.Get(ctx, kind, ref)
	if err == nil && e.ArtifactID != nil || apperr.Is(err, apperr.NotFound) {
		return catalogue.Entry{}, apperr.New(apperr.NotFound, "There is no %s with this name and version.", kind)
	}
	return e, err
}

func (s *Service) statistics(ctx context.Context, e catalogue.Entry) (Statistics, error) {
	if e.Blob == nil {
		return Statistics{State: Absent, Problem: "The version is registered without a file, so FlowForge cannot read its values."}, nil
	}
	row, err := s.queries.GetProfile(ctx, e.ID)
	if db.IsNoRows(err) {
		return Statistics{State: Absent, Problem: "The statistics were not computed."}, nil
	}
	if err != nil {
		return Statistics{}, fmt.Errorf("statistics of %s: %w", e.Ref(), err)
	}
	out := Statistics{State: State(row.State), Problem: row.Problem, At: row.ComputedAt}
	if len(row.Profile) > 0 {
		out.Profile = &preview.Profile{}
		if err := json.Unmarshal(row.Profile, out.Profile); err != nil {
			return out, fmt.Errorf("statistics of %s: %w", e.Ref(), err)
		}
	}
	return out, nil
}

// Change is how a version differs from another one.
type Change struct {
	Now, Before catalogue.Entry
	First       bool // there is no earlier version
	NowStats    Statistics
	BeforeStats Statistics
	Report      *drift.Report // nil unless both versions have statistics
}

// Compare compares a version with another one of the same dataset; against "" is the version that was
// registered before it.
func (s *Service) Compare(ctx context.Context, kind typeregistry.Kind, ref, against string) (Change, error) {
	var c Change
	var err error
	if c.Now, c.NowStats, err = s.Statistics(ctx, kind, ref); err != nil {
		return c, err
	}
	if against != "" {
		c.Before, err = s.entry(ctx, kind, c.Now.Name+"@"+against)
		if apperr.Is(err, apperr.NotFound) {
			return c, apperr.InvalidFields("The versions cannot be compared.", []apperr.Field{{Path: "against", Message: c.Now.Name + " has no version " + against + "."}})
		}
	} else {
		c.Before, c.First, err = s.former(ctx, c.Now)
	}
	if err != nil || c.First {
		return c, err
	}
	if c.BeforeStats, err = s.statistics(ctx, c.Before); err != nil {
		return c, err
	}
	if c.NowStats.Profile != nil && c.BeforeStats.Profile != nil {
		report := drift.Compare(*c.BeforeStats.Profile, *c.NowStats.Profile)
		c.Report = &report
	}
	return c, nil
}

// former returns the version that was registered before e; none is true if e is the first.
func (s *Service) former(ctx context.Context, e catalogue.Entry) (former catalogue.Entry, none bool, err error) {
	subject, err := auth.Authorize(ctx, auth.CatalogueRead)
	if err != nil {
		return former, false, err
	}
	row, err := s.queries.FormerVersion(ctx, subject.ProjectID, string(e.Kind), e.Name, e.ID)
	if db.IsNoRows(err) {
		return former, true, nil
	}
	if err != nil {
		return former, false, fmt.Errorf("version before %s: %w", e.Ref(), err)
	}
	former, err = catalogue.FromRow(row)
	return former, false, err
}

// Use is an execution that read a version.
type Use struct {
	Input, Requested  string
	Execution         uuid.UUID
	Workflow, Version string
	Status, By        string
	At                time.Time
}

// Uses returns the newest executions that read a version, and how many there are, counted to 1,000.
func (s *Service) Uses(ctx context.Context, e catalogue.Entry) (uses []Use, total int64, err error) {
	if _, err := auth.Authorize(ctx, auth.ExecutionRead); err != nil {
		return nil, 0, err
	}
	rows, err := s.queries.DatasetUses(ctx, e.ID, useRows)
	if err != nil {
		return nil, 0, fmt.Errorf("uses of %s: %w", e.Ref(), err)
	}
	for _, r := range rows {
		uses = append(uses, Use{r.Input, r.Requested, r.ID, r.WorkflowName, r.Version, r.Status, r.SubmittedByName, r.CreatedAt.UTC()})
	}
	if total, err = s.queries.CountDatasetUses(ctx, e.ID, useCount+1); err != nil {
		return nil, 0, fmt.Errorf("count the uses of %s: %w", e.Ref(), err)
	}
	return uses, total, nil
}

// Rows returns the rows of a version from a position on.
func (s *Service) Rows(ctx context.Context, e catalogue.Entry, q preview.Query) (preview.Table, error) {
	subject, err := auth.Authorize(ctx, auth.CatalogueRead)
	if err != nil {
		return preview.Table{}, err
	}
	return s.Artifacts.Table(ctx, file(e, subject.ProjectID), "", q)
}

// file is the bytes of a version as an artifact of its project.
func file(e catalogue.Entry, project uuid.UUID) artifact.Artifact {
	return artifact.Artifact{
		ID: e.ID, ProjectID: project, Name: e.Name, SHA256: e.Blob.SHA256, Size: e.Blob.Size, MediaType: e.Blob.MediaType, Filename: e.Blob.Filename,
	}
}
