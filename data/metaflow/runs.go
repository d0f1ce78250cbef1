package metaflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Flows returns all flows, the oldest first.
func (s *Service) Flows(ctx context.Context) ([]Flow, error) {
	subject, q, err := s.reader(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := q.MetaflowFlows(ctx, subject.ProjectID)
	if err != nil {
		return nil, fmt.Errorf("list flows: %w", err)
	}
	flows := make([]Flow, 0, len(rows))
	for _, row := range rows {
		flows = append(flows, flowOf(row))
	}
	return flows, nil
}

// Flow returns a flow; apperr.NotFound if it does not exist.
func (s *Service) Flow(ctx context.Context, flow string) (Flow, error) {
	subject, q, err := s.reader(ctx)
	if err != nil {
		return Flow{}, err
	}
	row, err := q.MetaflowFlow(ctx, subject.ProjectID, flow)
	if err != nil {
		return Flow{}, absent(err, "flow %q", flow)
	}
	return flowOf(row), nil
}

// CreateFlow records a flow; apperr.Conflict if it exists.
func (s *Service) CreateFlow(ctx context.Context, flow string, user *string) (Flow, error) {
	subject, q, err := s.writer(ctx)
	if err != nil {
		return Flow{}, err
	}
	if err := checkFlow(subject, flow); err != nil {
		return Flow{}, err
	}
	row, err := q.InsertMetaflowFlow(ctx, subject.ProjectID, flow, user, s.epoch())
	return flowOf(row), stored(err, fmt.Sprintf("a flow %q", flow))
}

func flowOf(row db.MetaflowFlow) Flow {
	return Flow{FlowID: row.FlowID, UserName: row.UserName, TSEpoch: row.TsEpoch, Tags: []string{}, SystemTags: []string{}}
}

// NewRun is a run that a client registers.
type NewRun struct {
	FlowID     string
	RunID      string // "": the service gives it a number
	UserName   string
	Tags       []string
	SystemTags []string
}

// CreateRun records a run. Errors: apperr.Invalid for a run ID that is a number,
// apperr.NotFound for an unknown flow, apperr.Conflict for a run ID that exists.
func (s *Service) CreateRun(ctx context.Context, n NewRun) (Run, error) {
	subject, _, err := s.writer(ctx)
	if err != nil {
		return Run{}, err
	}
	if err := checkRun(subject, n.FlowID, n.RunID); err != nil {
		return Run{}, err
	}
	if isNumber(n.RunID) {
		return Run{}, apperr.New(apperr.Invalid, "provided run_id may not be a numeric")
	}
	var run Run
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		number, err := q.InsertMetaflowRun(ctx, db.InsertMetaflowRunParams{
			ProjectID: subject.ProjectID, FlowID: n.FlowID, RunID: optional(n.RunID), UserName: n.UserName, TsEpoch: s.epoch(),
			Tags: tagSet(n.Tags), SystemTags: tagSet(n.SystemTags),
		})
		if err != nil {
			return stored(err, fmt.Sprintf("a run %s/%s", n.FlowID, n.RunID))
		}
		if sendsHeartbeats(n.SystemTags) {
			if err := q.BeatMetaflow(ctx, number, s.now().Unix(), 0); err != nil {
				return err
			}
		}
		run, err = findRun(ctx, q, subject.ProjectID, n.FlowID, strconv.FormatInt(number, 10))
		return err
	})
	return run, err
}

// sendsHeartbeats reports whether the version of the client in the tags sends heartbeats, which
// it does since 2.2.12. A version that cannot be read does too.
func sendsHeartbeats(tags []string) bool {
	for _, tag := range tags {
		version, ok := strings.CutPrefix(tag, "metaflow_version:")
		if !ok {
			continue
		}
		has, since := [3]int{}, [3]int{2, 2, 12}
		for i, part := range strings.SplitN(version, ".", 4) {
			n, err := strconv.Atoi(part)
			if err != nil && i < len(has) {
				return true
			}
			if i < len(has) {
				has[i] = n
			}
		}
		return slices.Compare(has[:], since[:]) >= 0
	}
	return false
}

// Run returns a run; apperr.NotFound if it does not exist.
func (s *Service) Run(ctx context.Context, flow, run string) (Run, error) {
	subject, q, err := s.reader(ctx)
	if err != nil {
		return Run{}, err
	}
	return findRun(ctx, q, subject.ProjectID, flow, run)
}

func findRun(ctx context.Context, q *db.Queries, project uuid.UUID, flow, run string) (Run, error) {
	id := parseID(run)
	row, err := q.MetaflowRun(ctx, project, flow, id.Number, id.Text)
	if err != nil {
		return Run{}, absent(err, "run %s/%s", flow, run)
	}
	return runOf(row), nil
}

func runOf(row db.MetaflowRunRow) Run {
	return Run{
		FlowID: row.FlowID, RunNumber: idOf(row.RunNumber, row.RunID), UserName: row.UserName, TSEpoch: row.TsEpoch,
		Tags: list(row.Tags), SystemTags: list(row.SystemTags), LastHeartbeat: row.LastHeartbeatTs, Status: row.Status, User: row.User,
	}
}

// Runs returns the runs of a flow, newest first, and the cursor of the next page, which is
// "" after the last one; apperr.NotFound if the flow does not exist.
func (s *Service) Runs(ctx context.Context, flow string, p Page) ([]Run, string, error) {
	subject, q, err := s.reader(ctx)
	if err != nil {
		return nil, "", err
	}
	if _, err := q.MetaflowFlow(ctx, subject.ProjectID, flow); err != nil {
		return nil, "", absent(err, "flow %q", flow)
	}
	rows, err := q.MetaflowRuns(ctx, db.MetaflowRunsParams{
		ProjectID: subject.ProjectID, FlowID: flow, BeforeEpoch: p.cursor.Epoch, BeforeID: p.cursor.ID,
		Wants: encode(p.wants), Tagged: encode(p.tagged), RowLimit: p.fetch(),
	})
	if err != nil {
		return nil, "", filtered(err, "list runs of "+flow)
	}
	runs := make([]Run, 0, len(rows))
	for _, row := range rows {
		runs = append(runs, runOf(row))
	}
	runs, next := page(p, runs, func(r Run) cursor { return cursor{r.TSEpoch, r.RunNumber.Number} })
	return runs, next, nil
}

// Beat records a heartbeat of a run.
func (s *Service) Beat(ctx context.Context, flow, run string) error {
	found, q, err := s.writeRun(ctx, flow, run)
	if err != nil {
		return err
	}
	return q.BeatMetaflow(ctx, found.RunNumber.Number, s.now().Unix(), 0)
}

// ErrSystemTag is the error for the removal of a system tag.
var ErrSystemTag = errors.New("cannot remove a system tag")

// MutateTags removes tags of a run and then adds others. It returns the tags afterwards. Errors:
// apperr.NotFound, and ErrSystemTag for the removal of a system tag. Adding a system tag has no
// effect.
func (s *Service) MutateTags(ctx context.Context, flow, run string, add, remove []string) ([]string, error) {
	subject, _, err := s.writer(ctx)
	if err != nil {
		return nil, err
	}
	var tags []string
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		found, err := findRun(ctx, q, subject.ProjectID, flow, run)
		if err != nil {
			return err
		}
		if err := checkRun(subject, found.FlowID, found.RunNumber.String()); err != nil {
			return err
		}
		now, err := q.LockMetaflowTags(ctx, found.RunNumber.Number)
		if err != nil {
			return err
		}
		for _, tag := range remove {
			if slices.Contains(now.SystemTags, tag) {
				return fmt.Errorf("%w: %s", ErrSystemTag, tag)
			}
		}
		kept := slices.DeleteFunc(now.Tags, func(t string) bool { return slices.Contains(remove, t) })
		for _, tag := range add {
			if !slices.Contains(now.SystemTags, tag) {
				kept = append(kept, tag)
			}
		}
		tags = tagSet(kept)
		return q.SetMetaflowTags(ctx, tags, found.RunNumber.Number)
	})
	return tags, err
}

// tagSet returns the tags sorted and without repetition.
func tagSet(tags []string) []string {
	return list(slices.Compact(slices.Sorted(slices.Values(tags))))
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
