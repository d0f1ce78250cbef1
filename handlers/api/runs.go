package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/web"
	"github.com/flowforge/flowforge/web/contract"
)

// runPage is the response of /workflows in the design document's API.
type runPage struct {
	Workflows []*dagRun `json:"workflows"`
	Total     int       `json:"total"`
}

// workflowListAnswer is a list of workflows, or of executions.
type workflowListAnswer struct {
	contract.WorkflowPage
	runs *runPage
}

// MarshalJSON writes whichever of the two is set.
func (a workflowListAnswer) MarshalJSON() ([]byte, error) {
	if a.runs != nil {
		return json.Marshal(a.runs)
	}
	return json.Marshal(a.WorkflowPage)
}

// workflowQuery selects workflows. With project_id, offset or a state of executions, it selects
// executions.
type workflowQuery struct {
	Page    string `query:"page" doc:"Cursor: next_page from the previous response; or a page number, counted from 1" maxLength:"400"`
	Limit   int    `query:"limit" doc:"Number of rows per page; defaults to 50 workflows or 20 executions" minimum:"0" maximum:"200"`
	Team    string `query:"team" doc:"Team that owns the workflow" maxLength:"200"`
	Status  string `query:"status" enum:"ACTIVE,ARCHIVED,REGISTERED,PENDING,RUNNING,SUCCEEDED,FAILED,CANCELLED,PAUSED" doc:"For workflows: ACTIVE (alias REGISTERED) or ARCHIVED; defaults to both. With an execution state, executions are listed"`
	Tag     string `query:"tag" maxLength:"100"`
	Text    string `query:"q" doc:"Text to find in the name or description" maxLength:"200"`
	Project string `query:"project_id" doc:"Project ID or name; lists the project's executions, newest first" maxLength:"200"`
	Develop bool   `query:"development" doc:"Include workflows that have only development versions"`
	Offset  int    `query:"offset" doc:"Number of executions to skip" minimum:"0" maximum:"1000000"`
}

// listsRuns reports whether a query selects executions.
func (q *workflowQuery) listsRuns() bool {
	_, err := query.ParseState(q.Status)
	return q.Project != "" || q.Offset > 0 || q.Status != "" && err == nil
}

// pageNumber reads the number of a page. It returns false for a cursor.
func pageNumber(page string) (int, bool) {
	n, err := strconv.Atoi(page)
	return n, err == nil && n > 0 && n < 1_000_000
}

func (h *workflowAPI) apiWorkflows(ctx context.Context, in *workflowQuery) (*body[workflowListAnswer], error) {
	if in.listsRuns() {
		runs, err := h.dag.listRuns(ctx, in)
		return reply(workflowListAnswer{runs: runs}), err
	}
	status := in.Status
	if status == "REGISTERED" {
		status = string(workflow.Active)
	}
	filter := workflow.Filter{Query: in.Text, Tag: in.Tag, Team: in.Team, Status: workflow.Status(status), Development: in.Develop, After: in.Page, Limit: in.Limit}
	if n, ok := pageNumber(in.Page); ok {
		filter.After, filter.Number = "", n
	}
	page, err := h.Workflows.List(ctx, filter)
	if err != nil {
		return nil, err
	}
	out := contract.WorkflowPage{Workflows: make([]contract.WorkflowBody, 0, len(page.Items)), NextPage: page.Next, Total: page.Total}
	for _, s := range page.Items {
		out.Workflows = append(out.Workflows, toWorkflowBody(s))
	}
	return reply(workflowListAnswer{WorkflowPage: out}), nil
}

// runsOfPage is the default number of executions on a page.
const runsOfPage = 20

func (h *dagAPI) listRuns(ctx context.Context, in *workflowQuery) (*runPage, error) {
	ctx, err := h.inProject(ctx, in.Project)
	if err != nil {
		return nil, err
	}
	filter := query.Filter{Query: in.Text, Offset: in.Offset, Limit: in.Limit, Counted: true}
	if filter.Limit == 0 {
		filter.Limit = runsOfPage
	}
	if n, ok := pageNumber(in.Page); ok {
		filter.Offset += (n - 1) * filter.Limit
	} else {
		filter.After = in.Page
	}
	switch state, err := query.ParseState(in.Status); {
	case in.Status == "":
	case err != nil:
		message := apperr.MessageOf(err)
		return nil, apperr.InvalidFields(message, []apperr.Field{{Path: "status", Message: message}})
	default:
		filter.Status = []query.State{state}
	}
	page, err := h.Executions.List(ctx, filter)
	if err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(page.Executions))
	for i, e := range page.Executions {
		ids[i] = e.VersionID
	}
	versions, err := h.Workflows.VersionsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := &runPage{Workflows: make([]*dagRun, 0, len(page.Executions)), Total: page.Total}
	for _, e := range page.Executions {
		run := h.toDagRun(e, versions[e.VersionID])
		run.DagSpec, run.Parameters = nil, nil // as the document has it: these are details
		out.Workflows = append(out.Workflows, run)
	}
	return out, nil
}

// executionOf returns the execution with the ID ref and its version, for requests that name it
// in place of a workflow.
func (h *dagAPI) executionOf(ctx context.Context, ref string) (query.Execution, workflow.Version, error) {
	id, err := request.ParseID(ref, "workflow")
	if err != nil {
		return query.Execution{}, workflow.Version{}, err
	}
	e, err := h.Executions.Get(ctx, id)
	if err != nil {
		return query.Execution{}, workflow.Version{}, err
	}
	v, err := h.Workflows.VersionByID(ctx, e.VersionID)
	return e, v, err
}

// runByID returns an execution whose ID takes the place of a workflow.
func (h *dagAPI) runByID(ctx context.Context, ref string) (*dagRun, error) {
	e, v, err := h.executionOf(ctx, ref)
	if err != nil {
		return nil, err
	}
	run := h.toDagRun(e, v)
	run.Tasks, run.TasksNext, err = h.dagTasks(ctx, e.ID, v, query.NodeFilter{Limit: 100})
	return run, err
}

// taskID is the ID of a task in all of the API. The IDs of its attempts begin with it.
func taskID(id uuid.UUID, node int) string { return id.String() + "." + strconv.Itoa(node) }

// dagTasks reads a page of nodes with one query, and their attempts with another.
func (h *dagAPI) dagTasks(ctx context.Context, id uuid.UUID, v workflow.Version, f query.NodeFilter) ([]dagTask, string, error) {
	nodes, next, err := h.Executions.Nodes.List(ctx, id, f)
	if err != nil || len(nodes) == 0 {
		return []dagTask{}, next, err
	}
	indexes := make([]int, len(nodes))
	for i, n := range nodes {
		indexes[i] = n.Index
	}
	attempts, err := h.Executions.Nodes.Attempts(ctx, id, indexes)
	if err != nil {
		return nil, "", err
	}
	tasks := make([]dagTask, len(nodes))
	for i, n := range nodes {
		tasks[i] = dagTask{
			ID: taskID(id, n.Index), WorkflowID: id, Name: n.Name, Status: string(n.State), Retries: n.Retries,
			StartedAt: n.StartedAt, FinishedAt: n.FinishedAt, Outputs: taskOutputs(n.Outputs),
		}
		if op, ok := query.OperatorOf(v, n); ok {
			tasks[i].Image = op.Code.Image
		}
		if of := attempts[n.Index]; len(of) > 0 {
			last := of[len(of)-1]
			tasks[i].ExitCode, tasks[i].Pod, tasks[i].Machine = last.ExitCode, last.Pod, cmp.Or(last.Machine, last.Host)
		}
	}
	return tasks, next, nil
}

// taskOutputs are the outputs of a task under the names of a dag_spec. What the task printed is
// its result, unless it has an output of that name.
func taskOutputs(outputs map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range outputs {
		plain := strings.TrimPrefix(name, execution.ArtifactPort)
		if name == execution.ResultPort {
			plain = "result"
		}
		if _, taken := outputs[plain]; !taken || plain == name {
			out[plain] = value
		}
	}
	return out
}

func (h *dagAPI) apiDagTasks(ctx context.Context, in *struct {
	WorkflowPath
	PageQuery
}) (*dagTaskList, error) {
	e, v, err := h.executionOf(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	tasks, next, err := h.dagTasks(ctx, e.ID, v, query.NodeFilter{After: in.Page, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	return &dagTaskList{NextPage: next, Body: tasks}, nil
}

func (h *dagAPI) apiDagCancel(ctx context.Context, in *WorkflowPath) (*body[*dagRun], error) {
	id, err := request.ParseID(in.ID, "workflow")
	if err != nil {
		return nil, err
	}
	if err := h.Executions.Commands.Cancel(ctx, id, ""); err != nil {
		return nil, err
	}
	run, err := h.runByID(ctx, in.ID)
	return reply(run), err
}

// dagLogEntry is a log line in the format of the design document's API.
type dagLogEntry struct {
	Timestamp time.Time      `json:"timestamp"`
	TaskID    string         `json:"task_id"`
	Level     string         `json:"level"`
	Message   string         `json:"message"`
	Extra     map[string]any `json:"extra,omitempty"`
	Pod       string         `json:"pod_name,omitempty"`
	Machine   string         `json:"node_name,omitempty"`
}

func dagLogEntries(lines []telemetry.LogLine) []dagLogEntry {
	out := make([]dagLogEntry, 0, len(lines))
	for _, line := range lines {
		extra := map[string]any{}
		if len(line.Fields) > 0 && json.Unmarshal(line.Fields, &extra) != nil {
			extra = map[string]any{"fields": string(line.Fields)}
		}
		extra["task"], extra["attempt"], extra["stream"] = line.Node, line.Attempt, line.Stream
		out = append(out, dagLogEntry{line.Time, taskID(line.ExecutionID, line.NodeIndex), line.Level, line.Message, extra, line.Pod, line.Machine})
	}
	return out
}

// selectTask narrows q to the task in task_id, which is the ID of a task or of one of its
// attempts, or the name of a task.
func (h *dagAPI) selectTask(ctx context.Context, id uuid.UUID, task string, q *telemetry.LogQuery) error {
	if task == "" {
		return nil
	}
	ref, err := execution.ParseTaskID(task)
	if err != nil {
		d, err := h.Executions.Nodes.Get(ctx, id, task)
		q.Nodes = []string{d.Name}
		return err
	}
	name, err := h.Executions.Nodes.Name(ctx, ref.Execution, ref.Node)
	if err == nil && ref.Execution != id {
		err = apperr.New(apperr.NotFound, "The task %s belongs to another execution.", task)
	}
	q.Nodes = []string{name}
	if ref.Attempt > 0 {
		q.Attempt = &ref.Attempt
	}
	return err
}

func (h *dagAPI) routes(r chi.Router) {
	r.Get(request.APIPrefix+"/workflows/{workflow_id}/logs", h.Scope.Page(h.apiDagLogs))
}

// apiDagLogs returns the log of an execution: the present lines, or with follow=true a stream of
// events that ends with the log.
func (h *dagAPI) apiDagLogs(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	id, err := request.ParseID(chi.URLParam(r, "workflow_id"), "workflow")
	if err != nil {
		return err
	}
	if _, err := h.Executions.Get(ctx, id); err != nil {
		return err
	}
	v := r.URL.Query()
	q := telemetry.LogQuery{ExecutionID: id}
	LogSelection{Node: v.Get("task"), Level: v.Get("level"), Text: v.Get("q")}.apply(&q)
	if err := h.selectTask(ctx, id, v.Get("task_id"), &q); err != nil {
		return err
	}
	if v.Get("follow") == "true" {
		from := telemetry.Cursor(web.LastEventID(r))
		if err := from.Check(); err != nil {
			return err
		}
		stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead, auth.LogRead))
		if err != nil {
			return err
		}
		return h.Content.FollowLog(ctx, id, q, from, func(lines []telemetry.LogLine) error {
			data, err := json.Marshal(dagLogEntries(lines))
			if err != nil {
				return err
			}
			return stream.Send("", string(lines[len(lines)-1].Cursor()), data)
		}, stream)
	}
	if q.After = telemetry.Cursor(v.Get("page")); q.After.Check() != nil {
		return q.After.Check()
	}
	page, err := h.Telemetry.Logs(ctx, q)
	if err != nil {
		return err
	}
	if page.Next != "" { // an array has no place for it
		w.Header().Set("X-Next-Page", string(page.Next))
	}
	web.WriteJSON(w, http.StatusOK, "application/json", dagLogEntries(page.Lines))
	return nil
}
