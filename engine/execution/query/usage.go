package query

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

// UsageReader sums up the resources that attempts have used.
type UsageReader struct {
	queries *db.Queries
	rows    Rows
	now     func() time.Time
}

// Hours are the resources of attempts multiplied by their duration: of GPUs, of whole CPUs,
// and of GiB of memory.
type Hours struct {
	GPU, CPU, Memory float64
}

func (h Hours) plus(o Hours) Hours { return Hours{h.GPU + o.GPU, h.CPU + o.CPU, h.Memory + o.Memory} }

// UsageLine is the usage of one person, or of the executions of one workflow.
type UsageLine struct {
	ID         uuid.UUID // of the user; uuid.Nil for a workflow
	Name       string
	Hours      Hours
	Executions int
}

// Usage is the usage at a level since a moment, including running attempts.
type Usage struct {
	Since      time.Time
	Total      Hours
	ByPerson   []UsageLine // sorted by GPU hours, then by CPU hours
	ByWorkflow []UsageLine
}

// At returns the usage of the projects at or below place, a node of the tenancy tree,
// since a moment. Attempts of less than a second are not counted. It returns NotFound for a
// place that the caller may not see.
func (q *UsageReader) At(ctx context.Context, place uuid.UUID, since time.Time) (Usage, error) {
	_, err := auth.AuthorizeIn(ctx, auth.QuotaRead, place, apperr.New(apperr.NotFound, "There is no tenant, department, team or project %s.", place))
	if err != nil {
		return Usage{}, err
	}
	rows, err := q.queries.UsageAt(ctx, since, q.now(), place)
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

// HoursOf returns the usage of one execution until now.
func (q *UsageReader) HoursOf(ctx context.Context, id uuid.UUID) (Hours, error) {
	if _, err := q.rows.Execution(ctx, id); err != nil {
		return Hours{}, err
	}
	r, err := q.queries.UsageOfExecution(ctx, q.now(), id)
	if err != nil {
		return Hours{}, fmt.Errorf("sum up the usage of %s: %w", id, err)
	}
	return Hours{r.GpuHours, r.CpuHours, r.MemoryHours}, nil
}

// HoursOfSeveral returns the usage of executions until now.
func (q *UsageReader) HoursOfSeveral(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]Hours, error) {
	if _, err := q.rows.Executions(ctx, ids); err != nil {
		return nil, err
	}
	rows, err := q.queries.UsageOfExecutions(ctx, q.now(), ids)
	if err != nil {
		return nil, fmt.Errorf("sum up the usage of %d executions: %w", len(ids), err)
	}
	hours := map[uuid.UUID]Hours{}
	for _, r := range rows {
		hours[r.ExecutionID] = Hours{r.GpuHours, r.CpuHours, r.MemoryHours}
	}
	return hours, nil
}

// GPUHours returns the GPU hours of each of several executions until now. It leaves out
// executions that the caller may not see, and those that used no GPUs.
func (q *UsageReader) GPUHours(ctx context.Context, ids ...uuid.UUID) (map[uuid.UUID]float64, error) {
	seen := make([]uuid.UUID, 0, len(ids))
	for _, id := range ids {
		_, err := q.rows.Execution(ctx, id)
		if apperr.Is(err, apperr.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		seen = append(seen, id)
	}
	rows, err := q.queries.HoursOfExecutions(ctx, q.now(), seen)
	if err != nil {
		return nil, fmt.Errorf("sum up GPU-hours: %w", err)
	}
	hours := make(map[uuid.UUID]float64, len(rows))
	for _, r := range rows {
		hours[r.ExecutionID] = r.GpuHours
	}
	return hours, nil
}
