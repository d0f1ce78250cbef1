package execution

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
)

// Limits of one transaction that writes several executions.
const (
	maxGroupLaunches = 250
	maxGroupNodes    = 20_000
	maxGroupInputs   = 8 << 20 // bytes of JSON
)

// LaunchGroup requests several executions. They are written together, but each is accepted or
// refused on its own.
type LaunchGroup struct {
	Requests []LaunchRequest
	Claim    Claim // nil: all of them are launched
}

// Claim is called in a transaction that is about to write executions, with their IDs by the position
// of their requests. It returns errors by position: these requests are not launched, and the others
// are. Its own error rolls the transaction back. It is called again for some of the requests if the
// transaction fails.
type Claim func(ctx context.Context, q *db.Queries, ids map[int]uuid.UUID) (refused map[int]error, err error)

// LaunchOutcome is the outcome of one request of a group.
type LaunchOutcome struct {
	ID      uuid.UUID // of the execution
	Created bool      // false: the idempotency key was used before
	Err     error     // of Launch, or of the Claim
}

// LaunchAll launches a group, and returns the outcome of each request. Its executions are written in
// few transactions, one after the other: one for 250 small workflows.
func (s *LaunchService) LaunchAll(ctx context.Context, g LaunchGroup) []LaunchOutcome {
	series := s.Series()
	defer series.Close()
	return series.Launch(ctx, g)
}

// renew gives launches that have waited for their group new IDs and times, unless their inputs
// contain them.
func (s *LaunchService) renew(list []*launch) error {
	for _, l := range list {
		if l.version.Definition.InputTags {
			continue
		}
		identity, err := s.newIdentity()
		if err != nil {
			return err
		}
		l.id, l.now, l.request.identity = identity.id, identity.at, identity
	}
	return nil
}

// groupLength returns how many of the launches one transaction writes.
func groupLength(list []*launch) int {
	nodes, inputs := 0, 0
	for n, l := range list {
		nodes, inputs = nodes+len(l.version.Plan.Nodes), inputs+len(l.inputs)
		if n == maxGroupLaunches || n > 0 && (nodes > maxGroupNodes || inputs > maxGroupInputs) {
			return n
		}
	}
	return len(list)
}

// launch writes one launch and reads its execution.
func (s *LaunchService) launch(ctx context.Context, l *launch) (e query.Execution, created bool, err error) {
	s.write(ctx, s.pool, []*launch{l}, nil)
	if l.err != nil {
		return query.Execution{}, false, l.err
	}
	e, err = s.reader.Get(auth.WithSubject(ctx, l.subject), l.id)
	return e, l.created(), err
}

// write writes launches in one transaction, or in several if some cannot be written. It sets their
// ids and errors.
func (s *LaunchService) write(ctx context.Context, in db.Beginner, list []*launch, claim Claim) {
	db.TxGroup(ctx, in, list, func(tx pgx.Tx, q *db.Queries, list []*launch) error {
		s.config.Crash("launch.begin")
		return s.insert(ctx, tx, q, list, claim)
	}, func(list []*launch, err error) {
		if err == nil {
			s.config.Crash("launch.committed")
		}
		for _, l := range list {
			if l.ended = true; err != nil {
				l.err = err
			}
			if l.created() {
				s.hub.rememberProject(l.id, l.subject.ProjectID)
				s.changed(l.id)
			}
		}
	})
}

// common contains what launches of a group have in common, so that it is read and checked once.
type common struct {
	targets  map[targetKey]target
	versions map[uuid.UUID]runnable
}

func newCommon() *common {
	return &common{targets: map[targetKey]target{}, versions: map[uuid.UUID]runnable{}}
}

// targetKey identifies the version that a subject launches.
type targetKey struct {
	subject, project                    uuid.UUID
	name, credential, workflow, version string
}

// target is the result of launchable.
type target struct {
	subject auth.Subject
	version workflow.Version
	err     error
}

// target returns the result of launchable.
func (s *LaunchService) target(ctx context.Context, r LaunchRequest, c *common) (auth.Subject, workflow.Version, error) {
	subject, _ := auth.SubjectOf(ctx)
	key := targetKey{subject.ID, subject.ProjectID, subject.Name, subject.Credential, r.Workflow, r.Version}
	t, known := c.targets[key]
	if !known {
		t.subject, t.version, t.err = s.launchable(ctx, r)
		c.targets[key] = t
	}
	return t.subject, t.version, t.err
}

// runnable contains the reasons why a version cannot run here, whatever its inputs are.
type runnable struct {
	fields []apperr.Field
	beyond uuid.UUID // the first level whose limit is too small; uuid.Nil: none
}

// runnable checks the resources, secrets and pools of a version.
func (s *LaunchService) runnable(ctx context.Context, v workflow.Version, c *common) (runnable, error) {
	if r, known := c.versions[v.ID]; known {
		return r, nil
	}
	var r runnable
	r.fields = append(r.fields, s.forecasts.tooLarge(v, v.ProjectID, &r.beyond)...)
	r.fields = append(r.fields, s.configMaps.withoutCluster(v)...)
	missing, err := s.missingVariables(ctx, v)
	if err != nil {
		return r, err
	}
	r.fields = append(r.fields, missing...)
	unknown, err := s.unusablePools(ctx, v)
	if err != nil {
		return r, err
	}
	r.fields = append(r.fields, unknown...)
	c.versions[v.ID] = r
	return r, nil
}
