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
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// Semaphore is a lock of a project that is in use, waited for, or has permits set by an
// administrator: a mutex, a semaphore, or the concurrency limit of a workflow.
type Semaphore struct {
	Name     string
	Workflow string // whose concurrency limit it is
	Permits  int    // set by an administrator; 0: the definitions decide
	SetAt    *time.Time
	SetBy    string
	Defined  int    // permits in the definition of a holder or waiter; 0: there is none
	Limit    string // the ConfigMap that sets them in place of the definition; "" for none
	Held     int
	Waiting  int
	Holders  []LockUser // the longest first
	Waiters  []LockUser // the next first; at most lockUsers of both
}

// Holds returns the effective number of permits; 0: it is unknown.
func (s Semaphore) Holds() int {
	if s.Permits > 0 {
		return s.Permits
	}
	return s.Defined
}

// LockUser is a node, or a whole execution, that has a lock or waits for it.
type LockUser struct {
	Execution     uuid.UUID
	Workflow      string
	ExecutionName string
	Node          string // "" for the whole execution
	Since         time.Time
}

// SemaphorePage is a page of semaphores in the order of their names; Next is "" on the last
// page.
type SemaphorePage struct {
	Semaphores []Semaphore
	Next       string // the After of the next page
}

const (
	semaphorePage = 100
	lockUsers     = 20
)

// SemaphoreService shows the locks of a project and sets their permits.
type SemaphoreService struct{ *core }

// List lists the semaphores of the caller's project with names after the given one.
func (s *SemaphoreService) List(ctx context.Context, after string) (SemaphorePage, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return SemaphorePage{}, err
	}
	return s.semaphores(ctx, subject.ProjectID, after, "")
}

func (s *SemaphoreService) semaphores(ctx context.Context, project uuid.UUID, after, only string) (SemaphorePage, error) {
	fresh := s.now().Add(-lockWaiterTTL)
	rows, err := s.queries.ListSemaphores(ctx, db.ListSemaphoresParams{ProjectID: project, Fresh: fresh, After: after, Single: only, MaxRows: semaphorePage + 1})
	if err != nil {
		return SemaphorePage{}, fmt.Errorf("list semaphores: %w", err)
	}
	var page SemaphorePage
	if len(rows) > semaphorePage {
		rows = rows[:semaphorePage]
		page.Next = rows[len(rows)-1].Name
	}
	at, names := map[string]int{}, make([]string, len(rows))
	for k, r := range rows {
		one := Semaphore{Name: r.Name, Permits: int(r.Permits), SetAt: stored.UTC(r.UpdatedAt), SetBy: r.UpdatedBy, Held: int(r.Held), Waiting: int(r.Waiting)}
		if lock := (workflow.Lock{Name: r.Name}); lock.OfWorkflow() {
			one.Workflow = lock.Workflow()
		}
		page.Semaphores = append(page.Semaphores, one)
		at[r.Name], names[k] = k, r.Name
	}
	users, err := s.queries.LockUsers(ctx, project, names, fresh, lockUsers)
	if err != nil {
		return SemaphorePage{}, fmt.Errorf("list users of semaphores: %w", err)
	}
	for _, u := range users {
		one := &page.Semaphores[at[u.Name]]
		user := LockUser{Execution: u.ExecutionID, Workflow: u.WorkflowName, ExecutionName: u.ExecutionName, Since: u.Since.UTC()}
		if u.NodeIndex != fair.ExecutionItself {
			user.Node = u.NodeName
		}
		if u.Waits {
			one.Waiters = append(one.Waiters, user)
		} else {
			one.Holders = append(one.Holders, user)
		}
		if one.Defined == 0 {
			s.defined(ctx, one, u.VersionID)
		}
	}
	return page, nil
}

// defined adds the definition of a semaphore in a version; a removed version has none.
func (s *SemaphoreService) defined(ctx context.Context, one *Semaphore, version uuid.UUID) {
	v, err := s.workflows.VersionByID(auth.AsSystem(ctx), version)
	if err != nil {
		return
	}
	if lock, ok := v.Definition.LockCalled(one.Name); ok {
		one.Defined = lock.Permits
		if lock.Limit.Name != "" {
			one.Limit = lock.Limit.Name + ", " + lock.Limit.Key
		}
	}
}

// Set sets the permits of a semaphore of the caller's project and overrides
// definitions; 0 restores the definitions. It requires the permission to administer the
// project. It returns Invalid for a name that no definition can contain, or a number out of
// range.
func (s *SemaphoreService) Set(ctx context.Context, name string, permits int, reason string) (Semaphore, error) {
	subject, err := auth.Authorize(ctx, auth.QuotaWrite)
	if err != nil {
		return Semaphore{}, err
	}
	var fields []apperr.Field
	if !workflow.IsLockName(name) {
		fields = append(fields, apperr.Field{Path: "name", Message: "Use at most 200 letters, digits and the characters . _ / and -."})
	}
	if permits < 0 || permits > workflow.MaxPermits {
		fields = append(fields, apperr.Field{Path: "permits", Message: fmt.Sprintf("Enter a number from 1 to %d.", workflow.MaxPermits)})
	}
	if err := apperr.InvalidFields("The permits are not valid.", fields); err != nil {
		return Semaphore{}, err
	}
	var waiting []uuid.UUID
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := q.HoldLockName(ctx, subject.ProjectID.String()+"/"+name); err != nil {
			return fmt.Errorf("lock semaphore %s: %w", name, err)
		}
		before, err := q.LockSemaphore(ctx, subject.ProjectID, name)
		if err != nil {
			return fmt.Errorf("read semaphore %s: %w", name, err)
		}
		if int(before) == permits {
			return nil
		}
		if permits == 0 {
			err = q.UnsetSemaphore(ctx, subject.ProjectID, name)
		} else {
			err = q.SetSemaphore(ctx, db.SetSemaphoreParams{
				ProjectID: subject.ProjectID, Name: name, Permits: int32(permits), UpdatedAt: s.now(), UpdatedBy: subject.Name, //nolint:gosec // checked above
			})
		}
		if err != nil {
			return fmt.Errorf("set semaphore %s: %w", name, err)
		}
		if waiting, err = q.LockWaiters(ctx, subject.ProjectID, name); err != nil {
			return fmt.Errorf("list waiters of %s: %w", name, err)
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "semaphore.set", Kind: "semaphore", ID: name, Name: name, TenantID: subject.TenantID, ProjectID: subject.ProjectID,
			Old: permitsEntry(int(before)), New: permitsEntry(permits), Reason: clean(reason, maxMessage),
		})
	})
	if err != nil {
		return Semaphore{}, err
	}
	s.wakeAll(waiting)
	page, err := s.semaphores(ctx, subject.ProjectID, "", name)
	if err != nil || len(page.Semaphores) == 0 {
		return Semaphore{Name: name}, err
	}
	return page.Semaphores[0], nil
}

func permitsEntry(permits int) map[string]any {
	if permits == 0 {
		return map[string]any{"permits": "as defined"}
	}
	return map[string]any{"permits": permits}
}
