// Package registry describes what the versions of models are used for: their stages, aliases and
// promotions, who decided them and why. The versions themselves are entries of the catalogue.
package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/typeregistry"
)

// Stage is what a version is used for.
type Stage string

// The stages. A model has at most one version in production.
const (
	None       Stage = "none"
	Staging    Stage = "staging"
	Production Stage = "production"
	Archived   Stage = "archived"
)

// Stages returns all stages.
func Stages() []Stage { return []Stage{None, Staging, Production, Archived} }

// Limits.
const (
	maxReason   = 2000 // characters
	maxRules    = 20
	historyRows = 200
	versionRows = 100
	modelRows   = 100
)

// Service stores stages and promotions. It is safe for concurrent use.
type Service struct {
	pool      *pgxpool.Pool
	queries   *db.Queries
	catalogue *catalogue.Service
	now       func() time.Time
}

// NewService returns a Service over pool on the clock now.
func NewService(pool *pgxpool.Pool, entries *catalogue.Service, now func() time.Time) *Service {
	return &Service{pool: pool, queries: db.New(pool), catalogue: entries, now: now}
}

// Summary is a model in a list.
type Summary struct {
	Name         string
	Versions     int
	Newest       string
	NewestAt     time.Time
	Production   string // version, or ""
	OpenRequests int
}

// Version is a version of a model.
type Version struct {
	catalogue.Entry

	Stage     Stage
	ChangedBy string
	ChangedAt *time.Time
	Aliases   []string
}

// Alias is a name of a version.
type Alias struct {
	Name, Version, By string
	At                time.Time
}

// Request asks to move a version to a stage.
type Request struct {
	ID       uuid.UUID
	Version  string
	Stage    Stage
	State    string // open, approved, rejected or withdrawn
	Reason   string
	Proposed bool // a rule made it
	Checks   []Check
	By       string
	At       time.Time
	Mine     bool // the caller asked
	Model    string
}

// Event is something that happened to a model.
type Event struct {
	Version, Action, Detail, Reason, By string
	At                                  time.Time
}

// Policy is what a project asks of promotions to production.
type Policy struct {
	Approval bool   // another person approves
	Propose  bool   // a version that passes all rules when it is registered is proposed for production
	Rules    []Rule // checked for each promotion to production
	OfModel  bool   // the model has its own; else it is that of the project
	By       string
	At       time.Time
}

// Model is a model with its versions.
type Model struct {
	Name       string
	Versions   []Version // newest first
	More       string    // pass as After for older versions; "" at the end
	Production *Version
	Aliases    []Alias
	Requests   []Request // open
	History    []Event   // newest first
	Policy     Policy
	MayChange  bool // the caller may move versions and decide requests
	MayRule    bool // the caller may set the policy
}

// List returns the models of the project by name, those after the given one. next is "" at the end.
func (s *Service) List(ctx context.Context, text, after string) (models []Summary, next string, err error) {
	subject, err := auth.Authorize(ctx, auth.CatalogueRead)
	if err != nil {
		return nil, "", err
	}
	rows, err := s.queries.ListModels(ctx, subject.ProjectID, after, db.EscapeLike(text), modelRows+1)
	if err != nil {
		return nil, "", fmt.Errorf("list models: %w", err)
	}
	for i, r := range rows {
		if i == modelRows {
			return models, models[i-1].Name, nil
		}
		models = append(models, Summary{
			Name: r.Name, Versions: int(r.Versions), Newest: r.Newest, NewestAt: r.NewestAt.UTC(), Production: r.Production, OpenRequests: int(r.OpenRequests),
		})
	}
	return models, "", nil
}

// Get returns a model of the project. after is More of an earlier answer.
func (s *Service) Get(ctx context.Context, name, after string) (Model, error) {
	subject, err := auth.Authorize(ctx, auth.CatalogueRead)
	if err != nil {
		return Model{}, err
	}
	m := Model{Name: name, MayChange: subject.May(auth.CatalogueWrite, subject.ProjectID), MayRule: subject.May(auth.WorkflowArchive, subject.ProjectID)}
	before := uuid.Max
	if after != "" {
		if before, err = uuid.Parse(after); err != nil {
			return m, apperr.InvalidFields("The page token is not valid.", []apperr.Field{{Path: "page", Message: "Use next_page from the previous response."}})
		}
	}
	rows, err := s.queries.ModelVersions(ctx, subject.ProjectID, name, before, versionRows+1)
	if err != nil {
		return m, fmt.Errorf("versions of %s: %w", name, err)
	}
	if len(rows) == 0 {
		return m, absent(name)
	}
	aliases, err := s.aliases(ctx, subject.ProjectID, &m)
	if err != nil {
		return m, err
	}
	for i, r := range rows {
		if i == versionRows {
			m.More = m.Versions[i-1].ID.String()
			break
		}
		v, err := versionOf(db.ModelVersionRow(r), aliases)
		if err != nil {
			return m, err
		}
		m.Versions = append(m.Versions, v)
	}
	if m.Production, err = s.inProduction(ctx, s.queries, subject.ProjectID, name); err != nil {
		return m, err
	}
	if m.Production != nil {
		m.Production.Aliases = aliases[m.Production.ID]
	}
	if m.Policy, err = s.policy(ctx, s.queries, subject.ProjectID, name); err != nil {
		return m, err
	}
	return m, s.events(ctx, subject, &m)
}

func absent(name string) error { return apperr.New(apperr.NotFound, "There is no model %q.", name) }

func versionOf(r db.ModelVersionRow, aliases map[uuid.UUID][]string) (Version, error) {
	e, err := catalogue.FromRow(r.CatalogueEntry)
	if err != nil {
		return Version{}, fmt.Errorf("read version: %w", err)
	}
	stage := Stage(r.Stage)
	if stage == "" {
		stage = None
	}
	return Version{Entry: e, Stage: stage, ChangedBy: r.ChangedBy, ChangedAt: r.ChangedAt, Aliases: aliases[e.ID]}, nil
}

func (s *Service) aliases(ctx context.Context, project uuid.UUID, m *Model) (map[uuid.UUID][]string, error) {
	rows, err := s.queries.ModelAliases(ctx, project, m.Name)
	if err != nil {
		return nil, fmt.Errorf("aliases of %s: %w", m.Name, err)
	}
	by := map[uuid.UUID][]string{}
	for _, r := range rows {
		by[r.EntryID] = append(by[r.EntryID], r.Alias)
		m.Aliases = append(m.Aliases, Alias{Name: r.Alias, Version: r.Version, By: r.SetBy, At: r.SetAt.UTC()})
	}
	return by, nil
}

// inProduction returns the version in production; nil for none.
func (s *Service) inProduction(ctx context.Context, q *db.Queries, project uuid.UUID, name string) (*Version, error) {
	id, err := q.ProductionVersion(ctx, project, name)
	if db.IsNoRows(err) {
		return nil, nil //nolint:nilnil // none is in production
	}
	if err != nil {
		return nil, fmt.Errorf("version of %s in production: %w", name, err)
	}
	row, err := q.ModelVersion(ctx, id, project)
	if err != nil {
		return nil, fmt.Errorf("version of %s in production: %w", name, err)
	}
	v, err := versionOf(row, nil)
	return &v, err
}

// policy returns the policy of a model, else that of its project.
func (s *Service) policy(ctx context.Context, q *db.Queries, project uuid.UUID, name string) (Policy, error) {
	rows, err := q.ModelPolicies(ctx, project, name)
	if err != nil {
		return Policy{}, fmt.Errorf("policy of %s: %w", name, err)
	}
	p := Policy{Rules: []Rule{}}
	for _, r := range rows {
		if p.OfModel {
			break
		}
		p = Policy{Approval: r.Approval, Propose: r.Propose, OfModel: r.Name != "", By: r.UpdatedBy, At: r.UpdatedAt.UTC()}
		if err := json.Unmarshal(r.Rules, &p.Rules); err != nil {
			return p, fmt.Errorf("rules of %s: %w", name, err)
		}
	}
	return p, nil
}

// events reads the open requests and the history.
func (s *Service) events(ctx context.Context, subject auth.Subject, m *Model) error {
	requests, err := s.queries.ModelRequests(ctx, subject.ProjectID, m.Name)
	if err != nil {
		return fmt.Errorf("requests of %s: %w", m.Name, err)
	}
	for _, r := range requests {
		q, err := requestOf(db.GetModelRequestRow(r), subject)
		if err != nil {
			return err
		}
		if q.Stage == Production {
			if err := s.judgeAgain(ctx, &q, r.EntryID, subject.ProjectID, m); err != nil {
				return err
			}
		}
		m.Requests = append(m.Requests, q)
	}
	history, err := s.queries.ModelHistory(ctx, subject.ProjectID, m.Name, historyRows)
	if err != nil {
		return fmt.Errorf("history of %s: %w", m.Name, err)
	}
	for _, h := range history {
		m.History = append(m.History, Event{Version: h.Version, Action: h.Action, Detail: h.Detail, Reason: h.Reason, By: h.ByName, At: h.At.UTC()})
	}
	return nil
}

// judgeAgain applies the current rules to an open request: another version may be in production since it
// was made.
func (s *Service) judgeAgain(ctx context.Context, q *Request, entry, project uuid.UUID, m *Model) error {
	row, err := s.queries.ModelVersion(ctx, entry, project)
	if db.IsNoRows(err) {
		return nil // deleted in the meantime
	}
	if err != nil {
		return fmt.Errorf("version of request %s: %w", q.ID, err)
	}
	version, err := versionOf(row, nil)
	if err != nil {
		return err
	}
	var current *catalogue.Entry
	if m.Production != nil {
		current = &m.Production.Entry
	}
	q.Checks = Judge(m.Policy.Rules, version.Entry, current)
	return nil
}

// OpenRequests returns up to limit open requests of the current project, the oldest first.
func (s *Service) OpenRequests(ctx context.Context, limit int32) ([]Request, error) {
	subject, err := auth.Authorize(ctx, auth.CatalogueRead)
	if err != nil {
		return nil, err
	}
	rows, err := s.queries.OpenModelRequests(ctx, subject.ProjectID, limit)
	if err != nil {
		return nil, fmt.Errorf("open requests: %w", err)
	}
	requests := make([]Request, len(rows))
	for i, r := range rows {
		if requests[i], err = requestOf(db.GetModelRequestRow(r), subject); err != nil {
			return nil, err
		}
	}
	return requests, nil
}

func requestOf(r db.GetModelRequestRow, subject auth.Subject) (Request, error) {
	q := Request{
		ID: r.ID, Version: r.Version, Stage: Stage(r.Stage), State: r.State, Reason: r.Reason, Proposed: r.Proposed,
		By: r.RequestedByName, At: r.RequestedAt.UTC(), Model: r.Name, Mine: r.RequestedBy == subject.ID,
	}
	if err := json.Unmarshal(r.Checks, &q.Checks); err != nil {
		return q, fmt.Errorf("checks of request %s: %w", r.ID, err)
	}
	return q, nil
}

// Version returns a version of a model of the caller's project. It is NotFound without one.
func (s *Service) Version(ctx context.Context, name, version string) (Version, error) {
	subject, err := auth.Authorize(ctx, auth.CatalogueRead)
	if err != nil {
		return Version{}, err
	}
	e, err := s.find(ctx, name, version)
	if err != nil {
		return Version{}, err
	}
	row, err := s.queries.ModelVersion(ctx, e.ID, subject.ProjectID)
	if err != nil {
		return Version{}, fmt.Errorf("version of %s: %w", name, err)
	}
	aliases, err := s.aliases(ctx, subject.ProjectID, &Model{Name: name})
	if err != nil {
		return Version{}, err
	}
	return versionOf(row, aliases)
}

// find returns a version of a model of the caller's project.
func (s *Service) find(ctx context.Context, name, version string) (catalogue.Entry, error) {
	if version == "" {
		return catalogue.Entry{}, apperr.InvalidFields("The change to the model has invalid values.", []apperr.Field{{Path: "version", Message: "Enter a version."}})
	}
	return s.catalogue.Get(ctx, typeregistry.KindModel, name+"@"+version)
}
