package consumer

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/platform/units"
)

const auditTopic = "audit"

// authorize returns the project of a consumer; nil for one of the installation. Events of the audit log
// need AuditRead as well.
func authorize(ctx context.Context, installation bool) (auth.Subject, *uuid.UUID, error) {
	if installation {
		subject, err := auth.Authorize(ctx, auth.Administer)
		return subject, nil, err
	}
	subject, err := auth.Authorize(ctx, auth.EventConsume)
	return subject, &subject.ProjectID, err
}

// audited returns Forbidden if a consumer of these topics receives events of the audit log and the subject
// may not read it.
func audited(subject auth.Subject, project *uuid.UUID, topics []string) error {
	place := auth.Installation
	if project != nil {
		place = *project
	}
	if !slices.Contains(topics, auditTopic) || subject.May(auth.AuditRead, place) {
		return nil
	}
	return apperr.New(apperr.Forbidden, "The consumer receives events of the audit log, which your role does not allow you to read (%s).", auth.AuditRead)
}

// find returns the consumer that the subject of ctx may use.
func (s *Service) find(ctx context.Context, ref Ref) (db.EventConsumer, error) {
	subject, project, err := authorize(ctx, ref.Installation)
	if err != nil {
		return db.EventConsumer{}, err
	}
	row, err := s.queries.EventConsumer(ctx, project, ref.Name)
	if db.IsNoRows(err) {
		return row, absent(ref)
	}
	if err != nil {
		return row, fmt.Errorf("find consumer %s: %w", ref.Name, err)
	}
	return row, audited(subject, project, row.Topics)
}

// change runs do in a transaction that has locked the row of the consumer. It returns the error
// of do.
func (s *Service) change(ctx context.Context, ref Ref, do func(context.Context, *db.Queries, db.EventConsumer) error) error {
	subject, project, err := authorize(ctx, ref.Installation)
	if err != nil {
		return err
	}
	return db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockEventConsumer(ctx, project, ref.Name)
		if db.IsNoRows(err) {
			return absent(ref)
		}
		if err != nil {
			return fmt.Errorf("lock consumer %s: %w", ref.Name, err)
		}
		if err := audited(subject, project, row.Topics); err != nil {
			return err
		}
		return do(ctx, q, row)
	})
}

// List returns the consumers of the current project and, for administrators of the installation, those of
// all projects.
func (s *Service) List(ctx context.Context) ([]Consumer, error) {
	subject, project, err := authorize(ctx, false)
	if err != nil {
		return nil, err
	}
	rows, err := s.queries.EventConsumers(ctx, counted, nil, project, subject.May(auth.Administer, auth.Installation))
	if err != nil {
		return nil, fmt.Errorf("list consumers: %w", err)
	}
	list := make([]Consumer, 0, len(rows))
	for _, row := range rows {
		list = append(list, consumerOf(row))
	}
	return list, nil
}

// Get returns a consumer. Error: NotFound.
func (s *Service) Get(ctx context.Context, ref Ref) (Consumer, error) {
	row, err := s.find(ctx, ref)
	if err != nil {
		return Consumer{}, err
	}
	rows, err := s.queries.EventConsumers(ctx, counted, &row.ID, nil, false)
	if err != nil {
		return Consumer{}, fmt.Errorf("consumer %s: %w", ref.Name, err)
	}
	if len(rows) == 0 {
		return Consumer{}, absent(ref) // it was deleted meanwhile
	}
	return consumerOf(rows[0]), nil
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// check returns Invalid with the fields at fault.
func (sp *Spec) check() error {
	var fields []apperr.Field
	refuse := func(when bool, field, format string, args ...any) {
		if when {
			fields = append(fields, apperr.Field{Path: field, Message: fmt.Sprintf(format, args...)})
		}
	}
	refuse(len(sp.Name) > maxName || !nameForm.MatchString(sp.Name), "name", "Enter a name of letters, digits, dots, hyphens and underscores, up to %d characters, that begins with a letter or a digit.", maxName)
	for _, t := range sp.Topics {
		refuse(!slices.Contains(feed.Topics(), t), "topics", "%q is not a topic. The topics are %s.", t, strings.Join(feed.Topics(), ", "))
	}
	refuse(len(sp.Types) > maxTypes, "types", "Enter at most %d types.", maxTypes)
	for _, t := range sp.Types {
		refuse(!feed.IsType(t), "types", "%q is not a type of events or a pattern such as execution.*", t)
	}
	refuse(sp.MaxTries < 1 || sp.MaxTries > MaxTries, "max_tries", "Enter 1 to %d.", MaxTries)
	return apperr.InvalidFields("The consumer has invalid values.", fields)
}

// start returns the position after which a new consumer starts.
func (s *Service) start(ctx context.Context, q *db.Queries, start string) (int64, error) {
	state, err := q.FeedState(ctx)
	if err != nil {
		return 0, fmt.Errorf("state of the feed: %w", err)
	}
	switch start {
	case Oldest:
		return state.Removed, nil
	case Newest, "":
		return state.Position, nil
	}
	n, err := strconv.ParseInt(start, 10, 64)
	switch {
	case err != nil || n < 0 || n > state.Position:
		return 0, apperr.InvalidFields("The consumer has invalid values.", []apperr.Field{{Path: "start", Message: "Use oldest, newest, or the cursor of an event of this server."}})
	case n < state.Removed:
		return 0, apperr.InvalidFields("The consumer has invalid values.", []apperr.Field{{
			Path: "start", Message: fmt.Sprintf("Events after this cursor have been removed, because the feed keeps events for %s. Use oldest to start with the oldest event that is kept.", units.Period(s.config.Keep)),
		}})
	}
	return n, nil
}

// Create adds a consumer. Errors: Invalid with fields, Forbidden, and Conflict for a name that exists.
func (s *Service) Create(ctx context.Context, sp Spec) (Consumer, error) {
	subject, project, err := authorize(ctx, sp.Installation)
	if err != nil {
		return Consumer{}, err
	}
	if sp.MaxTries == 0 {
		sp.MaxTries = DefaultTries
	}
	if err := sp.check(); err != nil {
		return Consumer{}, err
	}
	if err := audited(subject, project, sp.Topics); err != nil {
		return Consumer{}, err
	}
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if project != nil {
			if _, err := q.LockActiveProject(ctx, *project); db.IsNoRows(err) {
				return apperr.New(apperr.Conflict, "The project is archived, so consumers cannot be created in it.")
			} else if err != nil {
				return fmt.Errorf("lock project: %w", err)
			}
		}
		n, err := q.CountEventConsumers(ctx, project)
		if err != nil {
			return fmt.Errorf("count consumers: %w", err)
		}
		if n >= MaxConsumers {
			return apperr.New(apperr.Conflict, "There are %d consumers, the maximum. Delete unused consumers.", n)
		}
		return s.insert(ctx, q, subject, project, sp, false)
	})
	if err != nil {
		return Consumer{}, err
	}
	return s.Get(ctx, sp.Ref)
}

func (s *Service) insert(ctx context.Context, q *db.Queries, subject auth.Subject, project *uuid.UUID, sp Spec, sink bool) error {
	position, err := s.start(ctx, q, sp.Start)
	if err != nil {
		return err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make consumer id: %w", err)
	}
	row := db.EventConsumer{ID: id, ProjectID: project, Name: sp.Name, Sink: sink, Topics: orEmpty(sp.Topics), Types: orEmpty(sp.Types), MaxTries: int32(sp.MaxTries), Position: position, CreatedBy: subject.Name, CreatedAt: s.now()} //nolint:gosec // 1 to 100
	if project != nil {
		row.TenantID = &subject.TenantID
	}
	err = q.InsertEventConsumer(ctx, db.InsertEventConsumerParams{
		ID: row.ID, TenantID: row.TenantID, ProjectID: row.ProjectID, Name: row.Name, Sink: row.Sink, Topics: row.Topics, Types: row.Types, MaxTries: row.MaxTries,
		Position: row.Position, CreatedBy: row.CreatedBy, CreatedAt: row.CreatedAt,
	})
	if db.Constraint(err) == "event_consumers_name_key" {
		return &apperr.Error{Code: apperr.Conflict, Message: fmt.Sprintf("A consumer called %q already exists.", sp.Name),
			Fields: []apperr.Field{{Path: "name", Message: "This name already exists. Choose another name."}}}
	}
	if err != nil {
		return fmt.Errorf("store consumer %s: %w", sp.Name, err)
	}
	return audit.Record(ctx, q, entry("event_consumer.create", row, nil, factsOf(row)))
}

// Delete removes a consumer with its cursor and its dead letters.
func (s *Service) Delete(ctx context.Context, ref Ref) error {
	return s.change(ctx, ref, func(ctx context.Context, q *db.Queries, row db.EventConsumer) error {
		if err := q.DeleteEventConsumer(ctx, row.ID); err != nil {
			return fmt.Errorf("delete consumer %s: %w", ref.Name, err)
		}
		return audit.Record(ctx, q, entry("event_consumer.delete", row, factsOf(row), nil))
	})
}

// facts are the fields for the audit log.
type facts struct {
	Topics   []string `json:"topics,omitempty"`
	Types    []string `json:"types,omitempty"`
	MaxTries int32    `json:"max_tries"`
	Cursor   int64    `json:"cursor"`
}

func factsOf(row db.EventConsumer) facts {
	return facts{Topics: row.Topics, Types: row.Types, MaxTries: row.MaxTries, Cursor: row.Position}
}

func entry(action string, row db.EventConsumer, before, after any) audit.Entry {
	e := audit.Entry{Action: action, Kind: "event_consumer", ID: row.ID.String(), Name: row.Name, Old: before, New: after}
	if row.ProjectID != nil {
		e.TenantID, e.ProjectID = *row.TenantID, *row.ProjectID
	}
	return e
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func consumerOf(row db.EventConsumersRow) Consumer {
	c := row.EventConsumer
	cursor := c.Position
	if row.Taken > 0 {
		cursor = row.First - 1
	}
	out := Consumer{
		Ref: Ref{Name: c.Name, Installation: c.ProjectID == nil}, ID: c.ID, Sink: c.Sink, Topics: c.Topics, Types: c.Types, MaxTries: int(c.MaxTries),
		Cursor: strconv.FormatInt(cursor, 10), Lag: row.Taken + row.Unread, LagMore: row.More, Taken: row.Taken, Failing: row.Waiting, DeadLetters: row.Dead,
		Missed: c.Missed, Acknowledged: c.Acknowledged, AcknowledgedAt: c.AcknowledgedAt, ReadAt: c.ReadAt, Problem: c.Problem, ProblemAt: c.ProblemAt, CreatedBy: c.CreatedBy, CreatedAt: c.CreatedAt,
	}
	if oldest := row.Oldest; oldest.After(time.Unix(0, 0)) {
		out.Oldest = &oldest
	}
	return out
}
