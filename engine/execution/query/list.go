package query

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/stored"
)

const (
	defaultPage  = 50
	maxPage      = 500
	currentNodes = 10 // active nodes that Get lists
)

// Scope returns the tenant and the project of an execution that the caller may read.
func (q *Reader) Scope(ctx context.Context, id uuid.UUID) (tenant, project uuid.UUID, err error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return uuid.Nil, uuid.Nil, err
	}
	row, err := q.queries.ExecutionPlace(ctx, id)
	if db.IsNoRows(err) {
		return uuid.Nil, uuid.Nil, Absent(id)
	}
	if err != nil {
		return uuid.Nil, uuid.Nil, fmt.Errorf("project of execution %s: %w", id, err)
	}
	if _, err := auth.AuthorizeIn(ctx, auth.ExecutionRead, row.ProjectID, Absent(id)); err != nil {
		return uuid.Nil, uuid.Nil, err
	}
	return row.TenantID, row.ProjectID, nil
}

// Get returns an execution with the names of some active nodes and, from earlier executions,
// its expected end.
func (q *Reader) Get(ctx context.Context, id uuid.UUID) (Execution, error) {
	row, err := q.rows.Execution(ctx, id)
	if err != nil {
		return Execution{}, err
	}
	e := ExecutionFrom(row)
	hideOthers(ctx, e.Reason)
	if e.Counts.Queued+e.Counts.Running+e.Counts.AwaitingApproval > 0 {
		if e.CurrentNodes, err = q.currentNodes(ctx, row); err != nil {
			return Execution{}, err
		}
	}
	e.EstimatedCompletion = q.estimates.Completion(ctx, e, q.now())
	q.expire(&e)
	return e, nil
}

func (q *Reader) currentNodes(ctx context.Context, row db.Execution) ([]string, error) {
	names, err := q.queries.ListActiveNodes(ctx, row.ID, currentNodes)
	if err != nil {
		return nil, fmt.Errorf("list active nodes: %w", err)
	}
	return names, nil
}

// Filter selects executions; zero fields select all. After is a Page's Next.
type Filter struct {
	Workflow string // name or id
	User     string // name or id
	Query    string // in the name, the workflow's name or the id; "#8c6804" is the suffix of an id
	Status   []State
	Waiting  bool      // only executions with waiting nodes, or that may not begin yet
	Approval Approval  // "": whether or not they only wait for approvals
	Purpose  Purpose   // "": Work, but any if a workflow or a text is selected
	BySweep  bool      // one run for each sweep, at the launch of the sweep, without Offset and Counted; a Query finds each run
	From, To time.Time // of the launch
	After    string
	Offset   int // rows to skip at the beginning
	Limit    int
	Counted  bool // requests Page.Total
}

// Page is one page of executions, newest first. Next is "" on the last page.
type Page struct {
	Executions []Execution
	Runs       map[uuid.UUID]int // by sweep, the number of runs that match; nil without Filter.BySweep or if all of them do
	Next       string
	Total      int // of all pages, with Filter.Counted
}

// List returns the executions of the caller's project that f selects. An unknown workflow
// has none.
func (q *Reader) List(ctx context.Context, f Filter) (Page, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return Page{}, err
	}
	limit := f.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	limit = min(limit, maxPage)
	params := db.ListExecutionsParams{
		ProjectID: subject.ProjectID, Statuses: make([]string, 0, len(f.Status)), MaxRows: int32(limit) + 1, Skipped: int32(f.Offset), //nolint:gosec // bounded by the caller
		Submitters: []uuid.UUID{}, Waiting: f.Waiting, Approval: string(f.Approval), Purpose: f.purpose(),
	}
	for _, st := range f.Status {
		params.Statuses = append(params.Statuses, string(st))
	}
	text, err := q.resolveFilter(ctx, f, &params)
	if err != nil {
		return Page{}, err
	}
	params.Least, params.Beyond = floorOf(f.From), floorOf(f.To)
	if f.BySweep && text.pattern == nil {
		has, err := q.queries.HasInputSweeps(ctx, params.ProjectID)
		if err != nil {
			return Page{}, fmt.Errorf("find sweeps: %w", err)
		}
		if has {
			return q.bySweep(ctx, params, limit)
		}
	}
	rows, err := q.rowsOf(ctx, params, text)
	if err != nil {
		return Page{}, fmt.Errorf("list executions: %w", err)
	}
	var page Page
	if f.Counted {
		if page.Total, err = q.count(ctx, params, text); err != nil {
			return Page{}, err
		}
	}
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = rows[limit-1].ID.String()
	}
	for _, row := range rows {
		e := ExecutionFrom(row)
		hideOthers(ctx, e.Reason)
		page.Executions = append(page.Executions, e)
	}
	return page, nil
}

// count returns the number of executions that the filter of p selects.
func (q *Reader) count(ctx context.Context, p db.ListExecutionsParams, t textFilter) (int, error) {
	n, err := q.queries.CountExecutions(ctx, db.CountExecutionsParams{
		ProjectID: p.ProjectID, WorkflowID: p.WorkflowID, Statuses: p.Statuses, Submitters: p.Submitters, NamePattern: t.pattern,
		NamedWorkflows: t.workflows, ShortIds: t.ids, IDLeast: t.least, IDMost: t.most, Waiting: p.Waiting, Approval: p.Approval, Purpose: p.Purpose,
		Least: p.Least, Beyond: p.Beyond,
	})
	if err != nil {
		return 0, fmt.Errorf("count executions: %w", err)
	}
	return int(n), nil
}

// textFilter is what a text can select: executions by their name, by their workflow, or by a part of
// their ID.
type textFilter struct {
	pattern     *string // nil without a text
	workflows   []uuid.UUID
	ids         []uuid.UUID
	least, most uuid.UUID
}

// rowsOf reads a page.
func (q *Reader) rowsOf(ctx context.Context, p db.ListExecutionsParams, t textFilter) ([]db.Execution, error) {
	if t.pattern == nil {
		return q.queries.ListExecutions(ctx, p)
	}
	return q.queries.ListExecutionsWithText(ctx, db.ListExecutionsWithTextParams{
		ProjectID: p.ProjectID, Before: p.Before, WorkflowID: p.WorkflowID, Statuses: p.Statuses, Submitters: p.Submitters, Waiting: p.Waiting, Approval: p.Approval, Purpose: p.Purpose,
		Least: p.Least, Beyond: p.Beyond, NamePattern: *t.pattern, NamedWorkflows: t.workflows, ShortIds: t.ids, IDLeast: t.least, IDMost: t.most,
		BranchRows: p.MaxRows + p.Skipped, Skipped: p.Skipped, MaxRows: p.MaxRows,
	})
}

// resolveFilter replaces names by ids first, so that indexes serve the list.
func (q *Reader) resolveFilter(ctx context.Context, f Filter, p *db.ListExecutionsParams) (t textFilter, err error) {
	t.workflows, t.ids = []uuid.UUID{}, []uuid.UUID{}
	if p.Before, err = parseCursor(f.After); err != nil {
		return t, err
	}
	if f.Workflow != "" {
		if p.WorkflowID, err = q.workflowID(ctx, f.Workflow); err != nil {
			return t, err
		}
	}
	if f.User != "" {
		if p.Submitters, err = q.submitters(ctx, p.ProjectID, f.User); err != nil {
			return t, err
		}
	}
	if f.Query == "" {
		return t, nil
	}
	pattern := "%" + db.EscapeLike(f.Query) + "%"
	t.pattern = &pattern
	if t.workflows, err = q.queries.WorkflowsLike(ctx, p.ProjectID, pattern); err != nil {
		return t, fmt.Errorf("find workflows: %w", err)
	}
	t.least, t.most = idRange(f.Query)
	if end, ok := ShortID(f.Query); ok && len(end) >= shortestText {
		if t.ids, err = q.endingWith(ctx, p.ProjectID, f.Query); err != nil {
			return t, err
		}
	}
	return t, nil
}

// workflowID resolves a name; an unknown one becomes an id that no workflow has.
func (q *Reader) workflowID(ctx context.Context, ref string) (*uuid.UUID, error) {
	if id, err := uuid.Parse(ref); err == nil {
		return &id, nil
	}
	w, err := q.workflows.Get(ctx, ref)
	if apperr.Is(err, apperr.NotFound) {
		return &uuid.Nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &w.ID, nil
}

// People returns the IDs of the users that a name or an ID means in the current project; uuid.Nil for
// an unknown one. A name means users who have a role in the project or have launched executions in it.
func (q *Reader) People(ctx context.Context, ref string) ([]uuid.UUID, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	return q.submitters(ctx, subject.ProjectID, ref)
}

// submitters resolves a user's name or id in a project; an unknown one becomes an id that no person
// has.
func (q *Reader) submitters(ctx context.Context, project uuid.UUID, ref string) ([]uuid.UUID, error) {
	if id, err := uuid.Parse(ref); err == nil {
		return []uuid.UUID{id}, nil
	}
	ids, err := q.queries.UsersNamed(ctx, ref, project)
	if err != nil {
		return nil, fmt.Errorf("find people: %w", err)
	}
	if len(ids) == 0 {
		ids = []uuid.UUID{uuid.Nil}
	}
	return ids, nil
}

// idRange returns the range of ids that begin with text: none when text cannot begin an id.
func idRange(text string) (least, most uuid.UUID) {
	digits := strings.ReplaceAll(strings.ToLower(text), "-", "")
	const hexDigits = 32
	if len(digits) == 0 || len(digits) > hexDigits {
		return uuid.Max, uuid.Nil
	}
	least, errLeast := uuid.Parse(digits + strings.Repeat("0", hexDigits-len(digits)))
	most, errMost := uuid.Parse(digits + strings.Repeat("f", hexDigits-len(digits)))
	if errLeast != nil || errMost != nil {
		return uuid.Max, uuid.Nil
	}
	return least, most
}

// floorOf is the smallest id of a moment, nil for none.
func floorOf(t time.Time) *uuid.UUID {
	if t.IsZero() {
		return nil
	}
	var id uuid.UUID
	ms := t.UnixMilli()
	for i := 5; i >= 0; i-- {
		id[i] = byte(ms)
		ms >>= 8
	}
	return &id
}

func parseCursor(text string) (*uuid.UUID, error) {
	if text == "" {
		return nil, nil
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return nil, apperr.New(apperr.Invalid, "The page token is not valid.")
	}
	return &id, nil
}

// Recent returns the latest executions of each workflow, newest first, without inputs
// and outputs.
func (q *Reader) Recent(ctx context.Context, workflowIDs []uuid.UUID, each int) (map[uuid.UUID][]Execution, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	rows, err := q.queries.RecentExecutions(ctx, workflowIDs, subject.ProjectID, int32(min(each, maxPage))) //nolint:gosec // at most maxPage
	if err != nil {
		return nil, fmt.Errorf("recent executions: %w", err)
	}
	recent := make(map[uuid.UUID][]Execution, len(workflowIDs))
	for _, r := range rows {
		recent[r.WorkflowID] = append(recent[r.WorkflowID], ExecutionFrom(db.Execution{
			ID: r.ID, ProjectID: subject.ProjectID, WorkflowID: r.WorkflowID, WorkflowName: r.WorkflowName, Version: r.Version,
			Name: r.Name, Status: r.Status, Priority: r.Priority, SubmittedBy: r.SubmittedBy, SubmittedByName: r.SubmittedByName,
			CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt, Error: r.Error,
			Total: r.Total, Pending: r.Pending, Ready: r.Ready, Queued: r.Queued, Running: r.Running, Retrying: r.Retrying,
			Succeeded: r.Succeeded, Failed: r.Failed, Skipped: r.Skipped, Cancelled: r.Cancelled,
			Levels: r.Levels, LevelsDone: r.LevelsDone,
		}))
	}
	return recent, nil
}

// CountedRuns is the number of executions of a version from which on VersionRuns stops counting.
const CountedRuns = 1000

// Runs counts executions of a version. The rest of Total is cancelled or has not ended.
type Runs struct {
	Total, Succeeded, Failed int
}

// VersionRuns counts the executions of versions of a workflow of the current project, up to
// CountedRuns of each. Versions without executions are missing.
func (q *Reader) VersionRuns(ctx context.Context, workflowID uuid.UUID, versions []uuid.UUID) (map[uuid.UUID]Runs, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	rows, err := q.queries.VersionRuns(ctx, versions, workflowID, subject.ProjectID, CountedRuns)
	if err != nil {
		return nil, fmt.Errorf("count executions of versions: %w", err)
	}
	counted := make(map[uuid.UUID]Runs, len(rows))
	for _, r := range rows {
		counted[r.VersionID] = Runs{Total: int(r.Runs), Succeeded: int(r.Succeeded), Failed: int(r.Failed)}
	}
	return counted, nil
}

// Outputs returns the outputs of executions of the current project, by the ids of those that it
// has.
func (q *Reader) Outputs(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]map[string]any, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	rows, err := q.queries.ExecutionOutputs(ctx, ids, subject.ProjectID)
	if err != nil {
		return nil, fmt.Errorf("outputs of executions: %w", err)
	}
	out := make(map[uuid.UUID]map[string]any, len(rows))
	for _, r := range rows {
		out[r.ID] = stored.Object(r.Outputs)
	}
	return out, nil
}

// Named returns the executions of the caller's project that ids name, in the order of ids. Removed
// ones are left out.
func (q *Reader) Named(ctx context.Context, ids []uuid.UUID) ([]Execution, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	rows, err := complete(q.rows, ids, func(d *db.Queries) ([]db.Execution, error) { return d.ExecutionsOf(ctx, ids, subject.ProjectID) })
	if err != nil {
		return nil, fmt.Errorf("read executions: %w", err)
	}
	found := make(map[uuid.UUID]Execution, len(rows))
	for _, row := range rows {
		e := ExecutionFrom(row)
		hideOthers(ctx, e.Reason)
		found[e.ID] = e
	}
	list := make([]Execution, 0, len(found))
	for _, id := range ids {
		if e, ok := found[id]; ok {
			list = append(list, e)
		}
	}
	return list, nil
}

// expire sets until when e is kept by the installation's retention.
func (q *Reader) expire(e *Execution) {
	if e.FinishedAt == nil || e.ExpiresAt != nil {
		return
	}
	if ttl, ok := q.config.Retention.After(e.Status == Succeeded); ok {
		e.ExpiresAt = new(e.FinishedAt.Add(ttl))
	}
}
