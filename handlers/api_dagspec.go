package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/auth"
	"github.com/flowforge/flowforge/execution"
	"github.com/flowforge/flowforge/telemetry"
	"github.com/flowforge/flowforge/web"
	"github.com/flowforge/flowforge/workflow"
)

// In the API of the design document a workflow is what FlowForge calls an execution:
// POST /workflows with a dag_spec registers it and launches it at once, and the paths
// below /workflows/{id} answer for it by the id of the execution.

// dagSpecRequest is such a request.
type dagSpecRequest struct {
	ProjectID  string                     `json:"project_id"`
	Name       string                     `json:"name"`
	DagSpec    json.RawMessage            `json:"dag_spec"`
	Parameters map[string]json.RawMessage `json:"parameters"`
	Priority   *int                       `json:"priority"`
	Labels     map[string]string          `json:"labels"`
}

// dagRun is an execution as the design document's API has it.
type dagRun struct {
	ID         uuid.UUID         `json:"id"`
	ProjectID  uuid.UUID         `json:"project_id"`
	Name       string            `json:"name"`
	Status     string            `json:"status" enum:"PENDING,RUNNING,SUCCEEDED,FAILED,CANCELLED,PAUSED"`
	CreatedAt  time.Time         `json:"created_at"`
	StartedAt  *time.Time        `json:"started_at,omitempty"`
	FinishedAt *time.Time        `json:"finished_at,omitempty"`
	Priority   int               `json:"priority"`
	Labels     map[string]string `json:"labels,omitempty"`
	DagSpec    json.RawMessage   `json:"dag_spec,omitempty"`
	Parameters map[string]any    `json:"parameters,omitempty"`
	Tasks      []dagTask         `json:"tasks,omitempty"`
	Error      string            `json:"error_message,omitempty"`
	URL        string            `json:"ui_url"`
}

// dagTask is a node as the design document's API has it.
type dagTask struct {
	ID         string         `json:"id"`
	WorkflowID uuid.UUID      `json:"workflow_id"`
	Name       string         `json:"name"`
	Status     string         `json:"status"`
	Image      string         `json:"image,omitempty"`
	Retries    int            `json:"retry_count"`
	ExitCode   *int           `json:"exit_code,omitempty"`
	StartedAt  *time.Time     `json:"started_at,omitempty"`
	FinishedAt *time.Time     `json:"finished_at,omitempty"`
	Pod        string         `json:"pod_name,omitempty"`
	Machine    string         `json:"node_name,omitempty"`
	Outputs    map[string]any `json:"outputs,omitempty"`
}

type dagTaskList struct {
	Tasks    []dagTask `json:"tasks"`
	NextPage string    `json:"next_page,omitempty"`
}

// workflowAnswer is a workflow, or an execution by its id.
type workflowAnswer struct {
	workflowBody
	run *dagRun
}

// MarshalJSON writes the one that it is.
func (a workflowAnswer) MarshalJSON() ([]byte, error) {
	if a.run != nil {
		return json.Marshal(a.run)
	}
	return json.Marshal(a.workflowBody)
}

// registerAnswer is registered, or the execution that was launched.
type registerAnswer struct {
	registered
	run *dagRun
}

// MarshalJSON writes the one that it is.
func (a registerAnswer) MarshalJSON() ([]byte, error) {
	if a.run != nil {
		return json.Marshal(a.run)
	}
	return json.Marshal(a.registered)
}

func (h *Handlers) dagSpecAPI(api huma.API) {
	cancel := get("delete-workflow", "/workflows/{workflow_id}", "Cancel an execution, by its id", "Workflows")
	cancel.Method, cancel.DefaultStatus = http.MethodDelete, http.StatusNoContent
	operation(h, api, cancel, h.apiDagCancel)
	operation(h, api, get("list-tasks", "/workflows/{workflow_id}/tasks", "List the tasks of an execution, by its id", "Workflows"), h.apiDagTasks)
}

// isDagSpec reports whether a body asks for a registration and a launch in one.
func isDagSpec(doc []byte) bool {
	text := bytes.TrimLeft(doc, " \t\r\n")
	if len(text) == 0 || text[0] != '{' || !bytes.Contains(doc, []byte(`"dag_spec"`)) {
		return false
	}
	var probe map[string]json.RawMessage
	return json.Unmarshal(doc, &probe) == nil && probe["dag_spec"] != nil
}

// runDagSpec registers and launches what a request with a dag_spec asks for.
func (h *Handlers) runDagSpec(ctx context.Context, doc []byte, key string) (*dagRun, error) {
	var request dagSpecRequest
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return nil, apperr.Wrap(apperr.Invalid, err, fmt.Sprintf("The request cannot be read: %s.", strings.TrimPrefix(err.Error(), "json: ")))
	}
	ctx, err := h.inProject(ctx, request.ProjectID)
	if err != nil {
		return nil, err
	}
	v, _, err := h.Workflows.Register(ctx, doc)
	if err != nil {
		return nil, err
	}
	launch := execution.LaunchRequest{
		Workflow: v.WorkflowID.String(), Version: v.Version, Inputs: textInputs(request.Parameters), Priority: execution.Normal, IdempotencyKey: key,
	}
	if request.Priority != nil {
		launch.Priority = execution.Priority(*request.Priority)
	}
	e, _, err := h.Executions.Launch(ctx, launch)
	if err != nil {
		return nil, err
	}
	return h.toDagRun(e, v), nil
}

// textInputs are parameters as texts, which Argo's are.
func textInputs(parameters map[string]json.RawMessage) map[string]any {
	inputs := map[string]any{}
	for name, raw := range parameters {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		inputs[name] = text
	}
	return inputs
}

// inProject moves ctx into the project that a request names by its id or its name.
func (h *Handlers) inProject(ctx context.Context, project string) (context.Context, error) {
	subject, err := auth.SignedIn(ctx)
	if err != nil || project == "" || project == subject.ProjectID.String() {
		return ctx, err
	}
	var found []auth.Place
	if h.Policies != nil {
		for _, place := range h.Policies.AllProjects() {
			if (place.ID.String() == project || place.Name == project) && (place.ID == subject.ProjectID || subject.May(auth.TenancyRead, place.ID)) {
				found = append(found, place)
			}
		}
	}
	if len(found) != 1 {
		message := "There is no project %q that you may work in."
		if len(found) > 1 {
			message = "Several projects are called %q; give the id."
		}
		return nil, apperr.InvalidFields("The request names no project.", []apperr.Field{{Path: "project_id", Message: fmt.Sprintf(message, project)}})
	}
	subject.TenantID, subject.ProjectID = found[0].TenantID, found[0].ID
	return auth.WithSubject(ctx, subject), nil
}

func (h *Handlers) toDagRun(e execution.Execution, v workflow.Version) *dagRun {
	run := &dagRun{
		ID: e.ID, ProjectID: e.ProjectID, Name: firstOf(e.Name, e.WorkflowName), Status: string(e.Status), CreatedAt: e.CreatedAt,
		StartedAt: e.StartedAt, FinishedAt: e.FinishedAt, Priority: int(e.Priority), Parameters: e.Inputs, URL: "/executions/" + e.ID.String(),
	}
	if e.Error != nil {
		run.Error = e.Error.Message
	}
	var doc struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
		Spec json.RawMessage `json:"spec"`
	}
	if raw := v.Definition.Document(); raw != nil && json.Unmarshal(raw, &doc) == nil {
		run.Labels, run.DagSpec = doc.Metadata.Labels, doc.Spec
	}
	return run
}

// runByID answers for an execution where a workflow is asked for.
func (h *Handlers) runByID(ctx context.Context, ref string) (*dagRun, error) {
	id, err := parseID(ref, "workflow")
	if err != nil {
		return nil, err
	}
	e, err := h.Executions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	v, err := h.Workflows.VersionByID(ctx, e.VersionID)
	if err != nil {
		return nil, err
	}
	run := h.toDagRun(e, v)
	tasks, _, err := h.dagTasks(ctx, e.ID, execution.NodeFilter{Limit: 100})
	run.Tasks = tasks
	return run, err
}

func (h *Handlers) dagTasks(ctx context.Context, id uuid.UUID, f execution.NodeFilter) ([]dagTask, string, error) {
	nodes, next, err := h.Executions.Nodes(ctx, id, f)
	if err != nil {
		return nil, "", err
	}
	tasks := make([]dagTask, len(nodes))
	for i, n := range nodes {
		tasks[i] = dagTask{
			ID: fmt.Sprintf("%s.%d", id, n.Index), WorkflowID: id, Name: n.Name, Status: string(n.State), Retries: n.Retries,
			StartedAt: n.StartedAt, FinishedAt: n.FinishedAt, Outputs: n.Outputs,
		}
		d, err := h.Executions.Node(ctx, id, n.Name)
		if err != nil {
			return nil, "", err
		}
		tasks[i].Image = d.Operator.Code.Image
		if k := len(d.Attempts); k > 0 {
			last := d.Attempts[k-1]
			tasks[i].ExitCode, tasks[i].Pod, tasks[i].Machine = last.ExitCode, last.Pod, firstOf(last.Machine, last.Host)
		}
	}
	return tasks, next, nil
}

func (h *Handlers) apiDagTasks(ctx context.Context, in *struct {
	WorkflowPath
	PageQuery
}) (*body[dagTaskList], error) {
	id, err := parseID(in.ID, "workflow")
	if err != nil {
		return nil, err
	}
	tasks, next, err := h.dagTasks(ctx, id, execution.NodeFilter{After: in.Page, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	return reply(dagTaskList{Tasks: tasks, NextPage: next}), nil
}

func (h *Handlers) apiDagCancel(ctx context.Context, in *WorkflowPath) (*struct{}, error) {
	id, err := parseID(in.ID, "workflow")
	if err != nil {
		return nil, err
	}
	return nil, h.Executions.Cancel(ctx, id, "")
}

// dagLogEntry is a line as the design document's API has it.
type dagLogEntry struct {
	Timestamp time.Time      `json:"timestamp"`
	TaskID    string         `json:"task_id"`
	Level     string         `json:"level"`
	Message   string         `json:"message"`
	Extra     map[string]any `json:"extra,omitempty"`
}

func toDagLog(id uuid.UUID, lines []telemetry.LogLine) []dagLogEntry {
	out := make([]dagLogEntry, 0, len(lines))
	for _, l := range lines {
		e := dagLogEntry{Timestamp: l.Time, TaskID: id.String() + "/" + l.Node, Level: l.Level, Message: l.Message, Extra: map[string]any{"task": l.Node, "attempt": l.Attempt, "stream": l.Stream}}
		out = append(out, e)
	}
	return out
}

// apiDagLogs answers with the log of an execution: the lines as they are, or with
// follow=true a stream of events that ends with it.
func (h *Handlers) apiDagLogs(w http.ResponseWriter, r *http.Request) error {
	id, err := parseID(chi.URLParam(r, "workflow_id"), "workflow")
	if err != nil {
		return err
	}
	if _, err := h.Executions.Get(r.Context(), id); err != nil {
		return err
	}
	v := r.URL.Query()
	q := telemetry.LogQuery{ExecutionID: id}
	LogSelection{Node: v.Get("task"), Level: v.Get("level")}.apply(&q)
	if v.Get("follow") == "true" {
		from := telemetry.Cursor(web.LastEventID(r))
		if err := from.Check(); err != nil {
			return err
		}
		stream, err := web.NewStream(w, r)
		if err != nil {
			return err
		}
		return h.followLog(r.Context(), id, q, from, func(lines []telemetry.LogLine) error {
			data, err := json.Marshal(toDagLog(id, lines))
			if err != nil {
				return err
			}
			return stream.Send("", string(lines[len(lines)-1].Cursor()), data)
		}, stream)
	}
	if q.After = telemetry.Cursor(v.Get("page")); q.After.Check() != nil {
		return q.After.Check()
	}
	page, err := h.Telemetry.Logs(r.Context(), q)
	if err != nil {
		return err
	}
	if page.Next != "" { // an array has no place for it
		w.Header().Set("X-Next-Page", string(page.Next))
	}
	web.WriteJSON(w, http.StatusOK, "application/json", toDagLog(id, page.Lines))
	return nil
}
