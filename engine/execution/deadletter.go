package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/protect"
)

// DeadLetter is a node that failed when no retry was left, and that nobody has let run
// again or put away since.
type DeadLetter struct {
	ID        uuid.UUID
	ProjectID uuid.UUID
	Execution uuid.UUID
	Status    State // of the execution, "" when it is gone
	NodeIndex int
	Node      string
	Attempt   int
	Workflow  string
	Version   string
	Class     protect.Class
	Failure   Failure
	At        time.Time
}

// DeadLetterFilter chooses among dead letters. The zero value is all of the project.
type DeadLetterFilter struct {
	Execution uuid.UUID
	Class     protect.Class
	Before    uuid.UUID // the Next of the page before
	Limit     int
}

// DeadLetterPage is a page of dead letters, the latest first; Next is uuid.Nil on the
// last. Open counts all of the project.
type DeadLetterPage struct {
	DeadLetters []DeadLetter
	Next        uuid.UUID
	Open        int
}

const (
	letterPage = 50
	maxLetters = 500
	letterAge  = 180 * 24 * time.Hour // after it a dead letter is forgotten
	breakerAge = 30 * 24 * time.Hour  // after it a closed breaker is
)

// DeadLetters lists the dead letters of the caller's project.
func (s *Service) DeadLetters(ctx context.Context, f DeadLetterFilter) (DeadLetterPage, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return DeadLetterPage{}, err
	}
	limit := letterPage
	if f.Limit > 0 {
		limit = min(f.Limit, maxLetters)
	}
	p := db.ListDeadLettersParams{ProjectID: subject.ProjectID, Class: string(f.Class), MaxRows: int32(limit + 1)}
	if f.Before != uuid.Nil {
		p.Before = &f.Before
	}
	if f.Execution != uuid.Nil {
		p.ExecutionID = &f.Execution
	}
	rows, err := s.queries.ListDeadLetters(ctx, p)
	if err != nil {
		return DeadLetterPage{}, fmt.Errorf("list dead letters: %w", err)
	}
	open, err := s.queries.CountDeadLetters(ctx, subject.ProjectID)
	if err != nil {
		return DeadLetterPage{}, fmt.Errorf("count dead letters: %w", err)
	}
	page := DeadLetterPage{Open: int(open)}
	for k, r := range rows {
		if k == limit {
			page.Next = rows[k-1].DeadLetter.ID
			break
		}
		page.DeadLetters = append(page.DeadLetters, deadLetterFromRow(r.DeadLetter, r.Status))
	}
	return page, nil
}

func deadLetterFromRow(r db.DeadLetter, status string) DeadLetter {
	l := DeadLetter{
		ID: r.ID, ProjectID: r.ProjectID, Execution: r.ExecutionID, Status: State(status), NodeIndex: int(r.NodeIndex), Node: r.Node,
		Attempt: int(r.Attempt), Workflow: r.WorkflowName, Version: r.Version, Class: protect.Class(r.Class), At: r.At.UTC(),
	}
	if f := stored.Into[Failure](r.Failure); f != nil {
		l.Failure = *f
	}
	return l
}

// DeadLetter returns one that is open. It returns NotFound for one that was settled.
func (s *Service) DeadLetter(ctx context.Context, id uuid.UUID) (DeadLetter, error) {
	letter, _, err := s.deadLetter(ctx, id, auth.ExecutionRead)
	return letter, err
}

// deadLetter reads an open one for somebody who may do action in its project.
func (s *Service) deadLetter(ctx context.Context, id uuid.UUID, action auth.Action) (DeadLetter, db.DeadLetter, error) {
	absent := apperr.New(apperr.NotFound, "There is no dead letter %s; perhaps somebody settled it.", id)
	if _, err := auth.SignedIn(ctx); err != nil {
		return DeadLetter{}, db.DeadLetter{}, err
	}
	row, err := s.queries.GetDeadLetter(ctx, id)
	if db.IsNoRows(err) {
		return DeadLetter{}, db.DeadLetter{}, absent
	}
	if err != nil {
		return DeadLetter{}, db.DeadLetter{}, fmt.Errorf("read dead letter %s: %w", id, err)
	}
	if _, err := auth.AuthorizeIn(ctx, action, row.DeadLetter.ProjectID, absent); err != nil {
		return DeadLetter{}, db.DeadLetter{}, err
	}
	if row.DeadLetter.Outcome != nil {
		return DeadLetter{}, db.DeadLetter{}, absent
	}
	return deadLetterFromRow(row.DeadLetter, row.Status), row.DeadLetter, nil
}

// Dismiss settles a dead letter without running its node again; whoever may launch in
// its project may do it.
func (s *Service) Dismiss(ctx context.Context, id uuid.UUID, reason string) error {
	letter, row, err := s.deadLetter(ctx, id, auth.ExecutionLaunch)
	if err != nil {
		return err
	}
	return s.settle(ctx, letter, row, "put_away", nil, reason)
}

// settle closes a dead letter, with its entry in the audit log.
func (s *Service) settle(ctx context.Context, letter DeadLetter, row db.DeadLetter, outcome string, as *uuid.UUID, reason string) error {
	subject, _ := auth.SubjectOf(ctx)
	return db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		n, err := q.SettleDeadLetter(ctx, db.SettleDeadLetterParams{
			ID: letter.ID, Outcome: outcome, SettledAt: s.now(), SettledBy: subject.Name, RequeuedAs: as,
		})
		if err != nil {
			return fmt.Errorf("settle dead letter %s: %w", letter.ID, err)
		}
		if n == 0 {
			return apperr.New(apperr.Conflict, "Somebody settled this already.")
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "dead_letter." + outcome, Kind: "dead_letter", ID: letter.ID.String(), Name: letter.Workflow + " " + letter.Node,
			TenantID: row.TenantID, ProjectID: row.ProjectID, Old: map[string]any{"open": true}, New: map[string]any{"outcome": outcome, "execution": as},
			Reason: clean(reason, maxMessage),
		})
	})
}

// Requeue lets the node of a dead letter run again: within its execution as long as that
// lives, else in another one that resumes it from this node. It returns the execution in
// which the node runs, and asks for the rights of what it does. Asked twice it does it
// once.
func (s *Service) Requeue(ctx context.Context, id uuid.UUID, reason string) (uuid.UUID, error) {
	letter, row, err := s.deadLetter(ctx, id, auth.ExecutionCancel)
	if err != nil {
		return uuid.Nil, err
	}
	in := letter.Execution
	switch {
	case letter.Status == "":
		return uuid.Nil, apperr.New(apperr.Conflict, "The execution of this node is gone, so it cannot run again.")
	case letter.Status.Ended():
		resumed, _, err := s.Resume(ctx, ResumeRequest{Of: letter.Execution, From: letter.Node, IdempotencyKey: "dead-letter-" + id.String(), deadLetter: id})
		if err != nil {
			return uuid.Nil, err
		}
		in = resumed.ID
	default:
		err := s.CommandNode(ctx, TaskRef{Execution: letter.Execution, Node: letter.NodeIndex}, NodeCommand{Command: CommandRetry, Reason: reason})
		if err != nil {
			return uuid.Nil, err
		}
	}
	return in, s.settle(ctx, letter, row, "requeued", &in, reason)
}

// DeadDelivery is news about an execution that could not be told, after all tries.
type DeadDelivery struct {
	ID        int64
	Kind      string
	Attempts  int
	At        time.Time
	Error     string
	Execution uuid.UUID
	Workflow  string
	Version   string
}

// deliveryKinds are the jobs that tell somebody something.
func deliveryKinds() []string { return []string{FinishedArgs{}.Kind()} }

// DeadDeliveries lists the deliveries of the caller's project that were given up.
func (s *Service) DeadDeliveries(ctx context.Context) ([]DeadDelivery, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	rows, err := db.DeadJobs(ctx, s.pool, deliveryKinds(), subject.ProjectID, maxLetters)
	if err != nil {
		return nil, err
	}
	list := make([]DeadDelivery, len(rows))
	for k, r := range rows {
		list[k] = DeadDelivery{
			ID: r.ID, Kind: r.Kind, Attempts: r.Attempt, At: r.At.UTC(), Error: clean(r.Error, maxMessage),
			Execution: r.ExecutionID, Workflow: r.WorkflowName, Version: r.Version,
		}
	}
	return list, nil
}

// Redeliver tries a delivery again that was given up; whoever may launch in its project
// may do it. Who is told twice knows the execution by its id.
func (s *Service) Redeliver(ctx context.Context, id int64, reason string) error {
	absent := apperr.New(apperr.NotFound, "There is no delivery %d that was given up.", id)
	if _, err := auth.SignedIn(ctx); err != nil {
		return err
	}
	job, err := db.FindDeadJob(ctx, s.pool, deliveryKinds(), id)
	if db.IsNoRows(err) {
		return absent
	}
	if err != nil {
		return err
	}
	if _, err := auth.AuthorizeIn(ctx, auth.ExecutionLaunch, job.ProjectID, absent); err != nil {
		return err
	}
	return db.Tx(ctx, s.pool, func(tx pgx.Tx, q *db.Queries) error {
		if _, err := s.enqueuer.JobRetryTx(ctx, tx, id); err != nil {
			return fmt.Errorf("try delivery %d again: %w", id, err)
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "delivery.requeue", Kind: "delivery", ID: fmt.Sprint(id), Name: job.Kind + " of " + job.WorkflowName, TenantID: job.TenantID, ProjectID: job.ProjectID,
			Old: map[string]any{"state": "given up", "attempts": job.Attempt}, New: map[string]any{"state": "waiting"}, Reason: clean(reason, maxMessage),
		})
	})
}

// Prune forgets dead letters and closed breakers of long ago. For the maintenance job.
func (s *Service) Prune(ctx context.Context) error {
	if _, err := s.queries.ForgetDeadLetters(ctx, s.now().Add(-letterAge)); err != nil {
		return fmt.Errorf("forget dead letters: %w", err)
	}
	if _, err := s.queries.ForgetBreakers(ctx, s.now().Add(-breakerAge)); err != nil {
		return fmt.Errorf("forget breakers: %w", err)
	}
	return nil
}
