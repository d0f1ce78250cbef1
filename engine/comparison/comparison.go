// Package comparison compares executions: their inputs, versions, code, environments, resources,
// outputs, metrics and artifacts, and the curves of their metrics. Every method authorises the
// caller for each execution.
package comparison

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/comparison/sheet"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
)

// The number of executions that can be compared.
const (
	Fewest = 2
	Most   = 50
)

// Limits of what is read of each execution; a comparison names the executions that have more.
const (
	maxArtifacts = 1000
	maxMetrics   = 200
)

// UsageReader reads the usage of executions; *query.UsageReader implements it.
type UsageReader interface {
	HoursOfSeveral(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]query.Hours, error)
}

// Config contains the services that a comparison reads.
type Config struct {
	Now        func() time.Time
	Executions *query.Reader
	Usage      UsageReader
	Workflows  *workflow.Service
	Artifacts  *artifact.Service
	Telemetry  *telemetry.Service
}

// Service compares executions. It is safe for concurrent use.
type Service struct {
	Config

	follows follows
}

// New returns a Service.
func New(c Config) *Service {
	return &Service{Config: c, follows: follows{entries: map[comparedSet]*followed{}}}
}

// Comparison is several executions side by side.
type Comparison struct {
	Executions []query.Execution
	Baseline   int // the index of the execution that the others are compared with
	Rows       []sheet.Row
	Metrics    []string // names of the metrics, sorted
	Notes      []string // what was left out
	Live       bool     // an execution has not ended
}

// Resolve returns the ids that references name: ids, or the ends of ids of executions of the
// caller's project. It drops repetitions.
func (s *Service) Resolve(ctx context.Context, refs []string) ([]uuid.UUID, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return nil, err
	}
	if len(refs) > Most {
		return nil, invalid("executions", "%d executions are too many. Compare at most %d.", len(refs), Most)
	}
	var ids []uuid.UUID
	for _, ref := range refs {
		id, err := s.resolve(ctx, ref)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (s *Service) resolve(ctx context.Context, ref string) (uuid.UUID, error) {
	if id, err := uuid.Parse(ref); err == nil {
		return id, nil
	}
	absent := apperr.New(apperr.NotFound, "There is no execution %q.", ref)
	if _, short := query.ShortID(ref); !short {
		return uuid.Nil, absent
	}
	found, err := s.Executions.EndingWith(ctx, ref)
	switch {
	case err != nil:
		return uuid.Nil, err
	case len(found) == 0:
		return uuid.Nil, absent
	case len(found) > 1:
		return uuid.Nil, invalid("executions", "%d executions have an ID that ends with %q. Enter more of its last characters, or the full ID.", len(found), ref)
	}
	return found[0], nil
}

func invalid(field, format string, args ...any) error {
	err := apperr.New(apperr.Invalid, format, args...)
	return apperr.InvalidFields(err.Message, []apperr.Field{{Path: field, Message: err.Message}})
}

// Refs splits a list of references, separated by commas.
func Refs(text string) []string {
	var refs []string
	for ref := range strings.SplitSeq(text, ",") {
		if ref = strings.TrimSpace(ref); ref != "" {
			refs = append(refs, ref)
		}
	}
	return refs
}

// Compare compares the executions that refs name with baseline, which is one of them; "" is the
// first one.
func (s *Service) Compare(ctx context.Context, refs []string, baseline string) (Comparison, error) {
	ids, err := s.Resolve(ctx, refs)
	if err != nil {
		return Comparison{}, err
	}
	if len(ids) < Fewest {
		return Comparison{}, invalid("executions", "Name at least %d different executions, separated by commas.", Fewest)
	}
	list, err := s.Executions.Several(ctx, ids)
	if err != nil {
		return Comparison{}, err
	}
	c := Comparison{Executions: list}
	if baseline != "" {
		base, err := s.resolve(ctx, baseline)
		if err != nil {
			return Comparison{}, err
		}
		if c.Baseline = slices.Index(ids, base); c.Baseline < 0 {
			return Comparison{}, invalid("baseline", "The baseline must be one of the executions.")
		}
	}
	g := s.gatherer(ids, list)
	if err := g.gather(ctx); err != nil {
		return Comparison{}, err
	}
	c.Rows, c.Metrics, c.Notes = sheet.Compare(g.columns, c.Baseline), g.metricNames(), g.notes
	c.Live = slices.ContainsFunc(list, func(e query.Execution) bool { return !e.Status.Ended() })
	return c, nil
}

func (s *Service) gatherer(ids []uuid.UUID, list []query.Execution) gatherer {
	return gatherer{s: s, ids: ids, list: list, columns: make([][]sheet.Fact, len(list)), known: map[uuid.UUID]artifact.Artifact{}}
}

// Keys returns the key of each execution for a path of Groups; nil if they do not differ in it. It
// reads no metrics and no artifacts, because every chart of a page needs its groups.
func (s *Service) Keys(ctx context.Context, refs []string, path string) ([]string, error) {
	ids, err := s.Resolve(ctx, refs)
	if err != nil || len(ids) < Fewest {
		return nil, err
	}
	list, err := s.Executions.Several(ctx, ids)
	if err != nil {
		return nil, err
	}
	g := s.gatherer(ids, list)
	if err := g.plain(ctx, nil); err != nil {
		return nil, err
	}
	keys, _ := Groups(sheet.Compare(g.columns, 0), path)
	return keys, nil
}

// Short is the end of an id, as pages show it.
func Short(id uuid.UUID) string {
	text := id.String()
	return text[len(text)-6:]
}

// placesOf are the executions with their projects, for telemetry.
func placesOf(list []query.Execution) []telemetry.Place {
	places := make([]telemetry.Place, len(list))
	for i, e := range list {
		places[i] = telemetry.Place{ExecutionID: e.ID, ProjectID: e.ProjectID}
	}
	return places
}
