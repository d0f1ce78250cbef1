// Package lineage answers what artifacts, datasets, feature sets, models and executions were made
// from, and what was made from them, over executions and workflows.
package lineage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/lineage/graph"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// Limits of a request.
const (
	MaxSteps     = 20   // in one direction
	MaxItems     = 1000 // of a graph
	MaxFan       = 100  // neighbours of an item
	DefaultSteps = 2
	DefaultItems = 200
	DefaultFan   = 12

	wideFan      = 200    // neighbours of an item that was expanded
	maxWide      = 50     // expanded items
	maxAncestors = 20_000 // items above these models
	maxModels    = 500    // whose ancestors are searched
)

// versions finds versions of workflows.
type versions interface {
	VersionsByID(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]workflow.Version, error)
}

// Service reads lineage. It is safe for concurrent use.
type Service struct {
	queries   *db.Queries
	workflows versions
	catalogue *catalogue.Service
}

// NewService returns a Service over pool.
func NewService(pool *pgxpool.Pool, workflows *workflow.Service, entries *catalogue.Service) *Service {
	return &Service{queries: db.New(pool), workflows: workflows, catalogue: entries}
}

// Request requests the surroundings of an item. Of is "artifact:<id>", "execution:<id>",
// "node:<execution>:<index>", "dataset:<name@version>", "feature-set:<name@version>" or
// "model:<name@version>", or the key of an item of an earlier answer. Zero values are the defaults,
// except that a depth of 0 steps shows nothing in that direction.
type Request struct {
	Of       string
	Up, Down int
	Fan      int
	Items    int
	Expand   []string // keys of items with more neighbours
	Models   bool     // requests Lineage.Models
}

// Kind is the kind of an item.
type Kind string

// The kinds.
const (
	KindArtifact   Kind = "artifact"
	KindDataset    Kind = "dataset"
	KindFeatureSet Kind = "feature-set"
	KindModel      Kind = "model"
	KindFile       Kind = "file" // an upload
	KindNode       Kind = "node"
	KindExecution  Kind = "execution"
)

// Item is an item with what users know it by.
type Item struct {
	graph.Item

	Kind      Kind
	Name      string // of a node: its name in the plan
	Version   string // of an entry of the catalogue, or of a workflow
	Type      string // of an artifact
	Stage     string // of a model
	Workflow  string
	Execution uuid.UUID // zero for entries and files
	Node      string    // of an artifact and a node
	State     string    // of the execution
	By        string
	At        time.Time
	Size      int64 // of an artifact
	Removed   bool  // it no longer exists
}

// Lineage is the surroundings of an item.
type Lineage struct {
	Focus Item
	Items []Item
	Edges []graph.Edge
	Cut   bool // see graph.Graph

	Production Derived // models in production
	Models     Derived // registered models, with Request.Models
}

// Derived specifies which models were made from the focus, whatever the limits of the graph.
type Derived struct {
	Models []Item
	// Complete is false when the search ended at a limit or at something that the reader may not see:
	// there may be more.
	Complete bool
}

// Trace returns the surroundings of an item. It is NotFound for an item that does not exist or that
// the caller may not read.
func (s *Service) Trace(ctx context.Context, q Request) (Lineage, error) {
	subject, err := auth.SignedIn(ctx)
	if err != nil {
		return Lineage{}, err
	}
	if err := q.check(); err != nil {
		return Lineage{}, err
	}
	focus, err := s.focus(ctx, q.Of)
	if err != nil {
		return Lineage{}, err
	}
	r := s.reader(subject, q.Fan)
	for _, k := range q.Expand {
		r.wide[graph.Key(k)] = true
	}
	p, _ := split(focus)
	if p.part == partExecution {
		r.merged = p.id
	}
	if err := r.loadKeys(ctx, []graph.Key{focus}); err != nil {
		return Lineage{}, err
	}
	if r.missing[p.id] || !r.mayRead(focus) {
		return Lineage{}, absent(q.Of)
	}
	g, err := graph.Walk(ctx, r, focus, graph.Limits{Up: q.Up, Down: q.Down, Items: q.Items})
	if err != nil {
		return Lineage{}, fmt.Errorf("lineage of %s: %w", focus, err)
	}
	out := Lineage{Edges: g.Edges, Cut: g.Cut}
	for _, i := range g.Items {
		item := r.item(i)
		if i.Key == focus {
			out.Focus = item
		}
		out.Items = append(out.Items, item)
	}
	if out.Production, err = s.derived(ctx, r, focus, s.queries.ProductionModels); err != nil {
		return Lineage{}, fmt.Errorf("models in production made from %s: %w", focus, err)
	}
	if q.Models {
		if out.Models, err = s.derived(ctx, r, focus, s.queries.NewestModels); err != nil {
			return Lineage{}, fmt.Errorf("models made from %s: %w", focus, err)
		}
	}
	return out, nil
}

func absent(of string) error {
	return apperr.New(apperr.NotFound, "There is no %s.", strings.ReplaceAll(of, ":", " "))
}

// check applies the defaults and rejects what is beyond the limits.
func (q *Request) check() error {
	var fields []apperr.Field
	within := func(path string, value, least, most int) {
		if value < least || value > most {
			fields = append(fields, apperr.Field{Path: path, Message: fmt.Sprintf("Enter %d to %d.", least, most)})
		}
	}
	if q.Fan == 0 {
		q.Fan = DefaultFan
	}
	if q.Items == 0 {
		q.Items = DefaultItems
	}
	within("up", q.Up, 0, MaxSteps)
	within("down", q.Down, 0, MaxSteps)
	within("neighbours", q.Fan, 1, MaxFan)
	within("limit", q.Items, 1, MaxItems)
	if len(q.Expand) > maxWide {
		fields = append(fields, apperr.Field{Path: "expand", Message: fmt.Sprintf("At most %d items can be expanded.", maxWide)})
	}
	return apperr.InvalidFields("The lineage request has invalid values.", fields)
}

func (s *Service) reader(subject auth.Subject, fan int) *reader {
	return &reader{
		queries: s.queries, versions: s.workflows, subject: subject, fan: fan, wide: map[graph.Key]bool{},
		artifacts: map[uuid.UUID]db.LineageArtifactsRow{}, entries: map[uuid.UUID]db.LineageEntriesRow{},
		executions: map[uuid.UUID]*execution{}, shapes: map[uuid.UUID]*shape{}, nodes: map[nodeAt][]db.LineageNodesRow{}, missing: map[uuid.UUID]bool{},
	}
}

// focus returns the key that of identifies.
func (s *Service) focus(ctx context.Context, of string) (graph.Key, error) {
	kind, ref, _ := strings.Cut(of, ":")
	kinds := map[string]typeregistry.Kind{
		string(KindDataset): typeregistry.KindDataset, string(KindFeatureSet): typeregistry.KindFeatureSet, string(KindModel): typeregistry.KindModel,
	}
	if k, ok := kinds[kind]; ok {
		e, err := s.catalogue.Get(ctx, k, ref)
		if err != nil {
			return "", err
		}
		if e.ArtifactID != nil { // the ID of an earlier output
			return artifactKey(*e.ArtifactID), nil
		}
		return entryKey(e.ID), nil
	}
	if _, ok := split(graph.Key(of)); ok {
		return graph.Key(of), nil
	}
	return "", apperr.InvalidFields("The lineage request has invalid values.", []apperr.Field{{
		Path:    "of",
		Message: "Enter artifact:ID, execution:ID, dataset:NAME@VERSION, feature-set:NAME@VERSION or model:NAME@VERSION.",
	}})
}

// item returns what users know an item by.
func (r *reader) item(i graph.Item) Item {
	out := Item{Item: i}
	p, _ := split(i.Key)
	out.Removed = r.missing[p.id]
	switch p.part {
	case partArtifact:
		a := r.artifacts[p.id]
		out.Kind, out.Name, out.Type, out.Workflow, out.Execution, out.Node = KindArtifact, a.Name, a.Type, a.WorkflowName, a.ExecutionID, a.Node
		out.At, out.Size = a.CreatedAt, a.Size
	case partEntry:
		e := r.entries[p.id]
		out.Kind, out.Name, out.Version, out.Stage, out.By, out.At = kindOf(e.Kind), e.Name, e.Version, e.Stage, e.CreatedBy, e.CreatedAt
	case partFile:
		out.Kind, out.Name, out.Removed = KindFile, p.hash, false
	case partExecution, partNode:
		out.Kind, out.Execution = KindExecution, p.id
		if e := r.executions[p.id]; e != nil {
			out.Name, out.Workflow, out.Version, out.State, out.By, out.At = e.WorkflowName, e.WorkflowName, e.Version, e.Status, e.SubmittedByName, e.CreatedAt
		}
		if p.part == partNode {
			out.Kind = KindNode
			if s := r.shapeOf(p.id); s != nil && p.index < len(s.plan.Nodes) {
				out.Name = s.plan.Nodes[p.index].Name
				out.Node = out.Name
			}
		}
	}
	return out
}

func kindOf(kind string) Kind {
	switch typeregistry.Kind(kind) {
	case typeregistry.KindDataset:
		return KindDataset
	case typeregistry.KindFeatureSet:
		return KindFeatureSet
	default:
		return KindModel
	}
}

// derived returns the listed models of the focus's project that were made from it. It walks up from
// them: a model has few ancestors, and a dataset may have any number of descendants.
func (s *Service) derived(ctx context.Context, r *reader, focus graph.Key, list func(ctx context.Context, project uuid.UUID, limit int32) ([]uuid.UUID, error)) (Derived, error) {
	project, _, _ := r.place(focus)
	if !r.subject.May(auth.CatalogueRead, project) {
		return Derived{}, nil
	}
	ids, err := list(ctx, project, maxModels+1)
	if err != nil {
		return Derived{}, fmt.Errorf("list models: %w", err)
	}
	out := Derived{Complete: len(ids) <= maxModels}
	var roots []graph.Key
	for _, id := range ids[:min(len(ids), maxModels)] {
		roots = append(roots, entryKey(id))
	}
	if len(roots) == 0 {
		return out, nil
	}
	walk := s.reader(r.subject, wideFan)
	walk.merged = r.merged
	if err := walk.loadKeys(ctx, roots); err != nil {
		return out, err
	}
	edges, complete, err := graph.Ancestors(ctx, walk, roots, maxAncestors)
	if err != nil {
		return out, fmt.Errorf("walk up from the models: %w", err)
	}
	out.Complete = out.Complete && complete
	for _, k := range graph.Reached(focus, edges, roots) {
		out.Models = append(out.Models, walk.item(graph.Item{Key: k}))
	}
	slices.SortFunc(out.Models, func(a, b Item) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
