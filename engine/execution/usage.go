package execution

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Hours is what attempts held, times how long: of GPUs, of whole CPUs, and of
// GiB of memory.
type Hours struct {
	GPU, CPU, Memory float64
}

func (h Hours) plus(o Hours) Hours { return Hours{h.GPU + o.GPU, h.CPU + o.CPU, h.Memory + o.Memory} }

// UsageLine is what one person, or the executions of one workflow, used.
type UsageLine struct {
	ID         uuid.UUID // of the person; uuid.Nil for a workflow
	Name       string
	Hours      Hours
	Executions int
}

// Usage is what a place used since a moment, including what runs now.
type Usage struct {
	Since      time.Time
	Total      Hours
	ByPerson   []UsageLine // most GPU-hours first, then most CPU-hours
	ByWorkflow []UsageLine
}

// Usage returns what the projects at or below place, a node of the tenancy tree,
// used since a moment. Attempts of less than a second are not counted. It returns
// NotFound for a place that the caller may not see.
func (s *Service) Usage(ctx context.Context, place uuid.UUID, since time.Time) (Usage, error) {
	_, err := auth.AuthorizeIn(ctx, auth.QuotaRead, place, apperr.New(apperr.NotFound, "There is no place %s.", place))
	if err != nil {
		return Usage{}, err
	}
	rows, err := s.queries.UsageAt(ctx, since, s.now(), place)
	if err != nil {
		return Usage{}, fmt.Errorf("sum up the usage at %s: %w", place, err)
	}
	u := Usage{Since: since}
	people, workflows := map[uuid.UUID]*UsageLine{}, map[string]*UsageLine{}
	for _, r := range rows {
		hours := Hours{r.GpuHours, r.CpuHours, r.MemoryHours}
		u.Total = u.Total.plus(hours)
		addUsage(people, r.UserID, UsageLine{ID: r.UserID, Name: r.UserName}, hours, int(r.Executions))
		addUsage(workflows, r.WorkflowName, UsageLine{Name: r.WorkflowName}, hours, int(r.Executions))
	}
	u.ByPerson, u.ByWorkflow = usageLines(people), usageLines(workflows)
	return u, nil
}

func addUsage[K comparable](lines map[K]*UsageLine, key K, fresh UsageLine, hours Hours, executions int) {
	line, ok := lines[key]
	if !ok {
		line = &fresh
		lines[key] = line
	}
	line.Hours = line.Hours.plus(hours)
	line.Executions += executions
}

func usageLines[K comparable](lines map[K]*UsageLine) []UsageLine {
	list := make([]UsageLine, 0, len(lines))
	for _, l := range lines {
		list = append(list, *l)
	}
	slices.SortFunc(list, func(a, b UsageLine) int {
		return cmp.Or(cmp.Compare(b.Hours.GPU, a.Hours.GPU), cmp.Compare(b.Hours.CPU, a.Hours.CPU), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// HoursOf returns what the attempts of one execution used until now.
func (s *Service) HoursOf(ctx context.Context, id uuid.UUID) (Hours, error) {
	if _, err := s.row(ctx, id); err != nil {
		return Hours{}, err
	}
	r, err := s.queries.UsageOfExecution(ctx, s.now(), id)
	if err != nil {
		return Hours{}, fmt.Errorf("sum up the usage of %s: %w", id, err)
	}
	return Hours{r.GpuHours, r.CpuHours, r.MemoryHours}, nil
}

// leastHeld is how long an attempt has to last for its use to be recorded: what
// is quicker costs more to write down than it used.
const leastHeld = time.Second

// usedRow is a row of the record set in RecordHours.
type usedRow struct {
	attemptKey
	EndedAt time.Time `json:"finished"`
	Seconds float64   `json:"seconds"`
	CPU     int       `json:"cpu"`
	Memory  int       `json:"memory"`
	GPUs    int       `json:"gpus"`
	GPUType string    `json:"gpu_type"`
}

// writeHours records what the attempts that end with the batch used.
func (l *loop) writeHours(ctx context.Context, q *db.Queries) error {
	var rows []usedRow
	for _, e := range l.batch.ended {
		if e.StartedAt == nil || e.FinishedAt.Sub(*e.StartedAt) < leastHeld {
			continue
		}
		held := l.batch.release[e.Node]
		rows = append(rows, usedRow{
			attemptKey: e.attemptKey, EndedAt: e.FinishedAt, Seconds: e.FinishedAt.Sub(*e.StartedAt).Seconds(),
			CPU: held.CPUMillis, Memory: held.MemoryMiB, GPUs: held.GPUs, GPUType: held.GPUType,
		})
	}
	if len(rows) == 0 {
		return nil
	}
	err := q.RecordHours(ctx, db.RecordHoursParams{
		ExecutionID: l.id, ProjectID: l.row.ProjectID, Person: l.row.SubmittedBy, WorkflowName: l.row.WorkflowName, Spans: mustJSON(rows),
	})
	if err != nil {
		return fmt.Errorf("record hours: %w", err)
	}
	return nil
}
