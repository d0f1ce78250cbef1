package execution

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/protect"
)

// DeadLetter is a node that failed after its last retry, and that has not been run again or
// dismissed since.
type DeadLetter struct {
	ID        uuid.UUID
	ProjectID uuid.UUID
	Execution uuid.UUID
	Status    query.State // of the execution, "" when it is gone
	NodeIndex int
	Node      string
	Attempt   int
	Workflow  string
	Version   string
	Class     protect.Class
	Failure   query.Failure
	At        time.Time
}

// DeadLetterFilter selects dead letters. The zero value selects all of the project.
type DeadLetterFilter struct {
	Execution uuid.UUID
	Class     protect.Class
	Before    uuid.UUID // the Next of the previous page
	Limit     int
}

// DeadLetterPage is a page of dead letters, newest first; Next is uuid.Nil on the last
// page. Open counts all of the project, Matching those of the class.
type DeadLetterPage struct {
	DeadLetters []DeadLetter
	Next        uuid.UUID
	Open        int
	Matching    int
}

const (
	letterPage = 50
	maxLetters = 500
	letterAge  = 180 * 24 * time.Hour // older dead letters are deleted
	breakerAge = 30 * 24 * time.Hour  // older closed breakers are deleted
)

// DeadLetterService lists and settles failures that need a person.
type DeadLetterService struct {
	*core

	commands   *CommandService
	resumption *ResumeService
}

// List lists the dead letters of the caller's project.
func (s *DeadLetterService) List(ctx context.Context, f DeadLetterFilter) (DeadLetterPage, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return DeadLetterPage{}, err
	}
	if err := checkClass(f.Class); err != nil {
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
	counts, err := s.queries.CountDeadLetters(ctx, string(f.Class), subject.ProjectID)
	if err != nil {
		return DeadLetterPage{}, fmt.Errorf("count dead letters: %w", err)
	}
	page := DeadLetterPage{Open: int(counts.Open), Matching: int(counts.Matching)}
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
		ID: r.ID, ProjectID: r.ProjectID, Execution: r.ExecutionID, Status: query.State(status), NodeIndex: int(r.NodeIndex), Node: r.Node,
		Attempt: int(r.Attempt), Workflow: r.WorkflowName, Version: r.Version, Class: protect.Class(r.Class), At: r.At.UTC(),
	}
	if f := stored.Into[query.Failure](r.Failure); f != nil {
		l.Failure = *f
	}
	return l
}

// checkClass returns Invalid for an unknown class; "" stands for all.
func checkClass(class protect.Class) error {
	if class == "" || slices.Contains(protect.Classes(), class) {
		return nil
	}
	var names []string
	for _, c := range protect.Classes() {
		names = append(names, string(c))
	}
	return apperr.InvalidFields("The class of failures does not exist.", []apperr.Field{{Path: "class", Message: fmt.Sprintf("%q is not a class of failures. The classes are %s.", string(class), strings.Join(names, ", "))}})
}

// Get returns an open dead letter. It returns NotFound for a settled one.
func (s *DeadLetterService) Get(ctx context.Context, id uuid.UUID) (DeadLetter, error) {
	letter, _, err := s.deadLetter(ctx, id, auth.ExecutionRead)
	return letter, err
}

// deadLetter reads an open dead letter for a caller with the permission action in its
// project.
func (s *DeadLetterService) deadLetter(ctx context.Context, id uuid.UUID, action auth.Action) (DeadLetter, db.DeadLetter, error) {
	absent := apperr.New(apperr.NotFound, "There is no dead letter %s. It may have been retried or dismissed already.", id)
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

// Dismiss settles a dead letter without running its node again. It requires the permission
// to launch in its project.
func (s *DeadLetterService) Dismiss(ctx context.Context, id uuid.UUID, reason string) error {
	letter, row, err := s.deadLetter(ctx, id, auth.ExecutionLaunch)
	if err != nil {
		return err
	}
	return s.settle(ctx, letter, row, dismissed, nil, reason)
}

// dismissed is the stored outcome of a dead letter that a user dismissed.
const dismissed = "dismissed"

// DismissAll dismisses the dead letters of the caller's project that are not newer than newest: those of
// a class, or all for "". It returns their number, and requires the permission to launch.
func (s *DeadLetterService) DismissAll(ctx context.Context, class protect.Class, newest uuid.UUID, reason string) (int, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionLaunch)
	if err != nil {
		return 0, err
	}
	if err := checkClass(class); err != nil {
		return 0, err
	}
	count := 0
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		rows, err := q.DismissDeadLetters(ctx, db.DismissDeadLettersParams{
			Dismissed: dismissed, SettledAt: s.now(), SettledBy: subject.Name, ProjectID: subject.ProjectID, Newest: newest, Class: string(class),
		})
		if err != nil {
			return fmt.Errorf("dismiss dead letters: %w", err)
		}
		count = len(rows)
		entries := make([]audit.Entry, len(rows))
		for i, r := range rows {
			entries[i] = audit.Entry{
				Action: "dead_letter." + dismissed, Kind: "dead_letter", ID: r.ID.String(), Name: r.WorkflowName + " " + r.Node, TenantID: r.TenantID, ProjectID: subject.ProjectID,
				Old: map[string]any{"open": true}, New: map[string]any{"outcome": dismissed}, Reason: clean(reason, maxMessage),
			}
		}
		return audit.RecordAll(ctx, q, entries)
	})
	return count, err
}

// settle closes a dead letter and adds its entry to the audit log.
func (s *DeadLetterService) settle(ctx context.Context, letter DeadLetter, row db.DeadLetter, outcome string, as *uuid.UUID, reason string) error {
	subject, _ := auth.SubjectOf(ctx)
	return db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		n, err := q.SettleDeadLetter(ctx, db.SettleDeadLetterParams{
			ID: letter.ID, Outcome: outcome, SettledAt: s.now(), SettledBy: subject.Name, RequeuedAs: as,
		})
		if err != nil {
			return fmt.Errorf("settle dead letter %s: %w", letter.ID, err)
		}
		if n == 0 {
			return apperr.New(apperr.Conflict, "This dead letter was already retried or dismissed.")
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "dead_letter." + outcome, Kind: "dead_letter", ID: letter.ID.String(), Name: letter.Workflow + " " + letter.Node,
			TenantID: row.TenantID, ProjectID: row.ProjectID, Old: map[string]any{"open": true}, New: map[string]any{"outcome": outcome, "execution": as},
			Reason: clean(reason, maxMessage),
		})
	})
}

// Requeue runs the node of a dead letter again: within its execution while that is live,
// otherwise in a new execution that resumes it from this node. It returns the execution in
// which the node runs, and requires the permissions of what it does. A second call has no
// further effect.
func (s *DeadLetterService) Requeue(ctx context.Context, id uuid.UUID, reason string) (uuid.UUID, error) {
	letter, row, err := s.deadLetter(ctx, id, auth.ExecutionCancel)
	if err != nil {
		return uuid.Nil, err
	}
	in := letter.Execution
	switch {
	case letter.Status == "":
		return uuid.Nil, apperr.New(apperr.Conflict, "The execution of this node was deleted, so the node cannot run again.")
	case letter.Status.Ended():
		resumed, _, err := s.resumption.Resume(ctx, ResumeRequest{Of: letter.Execution, From: letter.Node, IdempotencyKey: "dead-letter-" + id.String(), deadLetter: id})
		if err != nil {
			return uuid.Nil, err
		}
		in = resumed.ID
	default:
		err := s.commands.CommandNode(ctx, TaskRef{Execution: letter.Execution, Node: letter.NodeIndex}, NodeCommand{Command: CommandRetry, Reason: reason})
		if err != nil {
			return uuid.Nil, err
		}
	}
	return in, s.settle(ctx, letter, row, "requeued", &in, reason)
}

// DeadDelivery is a notification about an execution that failed after all its attempts.
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

// deliveryKinds are the jobs that deliver notifications.
func deliveryKinds() []string { return []string{FinishedArgs{}.Kind()} }

// Deliveries lists the failed deliveries of the caller's project.
func (s *DeadLetterService) Deliveries(ctx context.Context) ([]DeadDelivery, error) {
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

// Redeliver retries a failed delivery. It requires the permission to launch in its project.
// Receivers recognise duplicates by the id of the execution.
func (s *DeadLetterService) Redeliver(ctx context.Context, id int64, reason string) error {
	return s.settleDelivery(ctx, id, "delivery.requeue", "waiting", reason, func(tx pgx.Tx) error {
		_, err := s.enqueuer.JobRetryTx(ctx, tx, id)
		return err
	})
}

// DismissDelivery removes a failed delivery, which is then never retried. It requires the permission to
// launch in its project.
func (s *DeadLetterService) DismissDelivery(ctx context.Context, id int64, reason string) error {
	return s.settleDelivery(ctx, id, "delivery.dismiss", "dismissed", reason, func(tx pgx.Tx) error {
		n, err := db.DeleteDeadJob(ctx, tx, id)
		if err == nil && n == 0 {
			return absentDelivery(id) // another user was faster
		}
		return err
	})
}

func absentDelivery(id int64) error {
	return apperr.New(apperr.NotFound, "There is no undelivered event %d. It may have been delivered or dismissed already.", id)
}

// settleDelivery does something with a failed delivery, and records it in the audit log.
func (s *DeadLetterService) settleDelivery(ctx context.Context, id int64, action, state, reason string, do func(pgx.Tx) error) error {
	if _, err := auth.SignedIn(ctx); err != nil {
		return err
	}
	job, err := db.FindDeadJob(ctx, s.pool, deliveryKinds(), id)
	if db.IsNoRows(err) {
		return absentDelivery(id)
	}
	if err != nil {
		return err
	}
	if _, err := auth.AuthorizeIn(ctx, auth.ExecutionLaunch, job.ProjectID, absentDelivery(id)); err != nil {
		return err
	}
	return db.Tx(ctx, s.pool, func(tx pgx.Tx, q *db.Queries) error {
		if err := do(tx); err != nil {
			return fmt.Errorf("%s %d: %w", action, id, err)
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: action, Kind: "delivery", ID: fmt.Sprint(id), Name: job.Kind + " of " + job.WorkflowName, TenantID: job.TenantID, ProjectID: job.ProjectID,
			Old: map[string]any{"state": "given up", "attempts": job.Attempt}, New: map[string]any{"state": state}, Reason: clean(reason, maxMessage),
		})
	})
}

// Prune deletes old dead letters and old closed breakers. The maintenance job calls it.
func (s *MaintenanceService) Prune(ctx context.Context) error {
	if _, err := s.queries.ForgetDeadLetters(ctx, s.now().Add(-letterAge)); err != nil {
		return fmt.Errorf("delete dead letters: %w", err)
	}
	if _, err := s.queries.ForgetBreakers(ctx, s.now().Add(-breakerAge)); err != nil {
		return fmt.Errorf("delete breakers: %w", err)
	}
	return nil
}
