package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/content"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/web/contract"
)

// In the API of the design document a workflow is what FlowForge calls an execution:
// POST /workflows with a dag_spec registers it and launches it at once, and the paths
// below /workflows/{id} answer for it by the id of the execution.

// dagSpecRequest is the body that registers a workflow with a dag_spec and launches it.
type dagSpecRequest struct {
	ProjectID   string                     `json:"project_id"`
	Name        string                     `json:"name"`
	Description string                     `json:"description"`
	DagSpec     json.RawMessage            `json:"dag_spec"`
	Parameters  map[string]json.RawMessage `json:"parameters"`
	Priority    *int                       `json:"priority"`
	Labels      map[string]string          `json:"labels"`
}

// dagRun is an execution in the format of the design document's API.
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
	DagSpec    any               `json:"dag_spec,omitempty"`
	Parameters map[string]any    `json:"parameters,omitempty"`
	Tasks      []dagTask         `json:"tasks,omitempty"`
	TasksNext  string            `json:"tasks_next_page,omitempty" doc:"Cursor for the next tasks; pass it as page to /workflows/{id}/tasks"`
	Error      string            `json:"error_message,omitempty"`
	URL        string            `json:"ui_url"`
}

// dagTask is a node in the format of the design document's API.
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

// dagTaskList is an array, so it has no room for the cursor of the next page.
type dagTaskList struct {
	NextPage string `header:"X-Next-Page" doc:"Cursor for the next page; pass it as page. Absent on the last page"`
	Body     []dagTask
}

// workflowAnswer is a workflow, or an execution if the ID is one of an execution.
type workflowAnswer struct {
	contract.WorkflowBody
	run *dagRun
}

// MarshalJSON writes whichever of the two is set.
func (a workflowAnswer) MarshalJSON() ([]byte, error) {
	if a.run != nil {
		return json.Marshal(a.run)
	}
	return json.Marshal(a.WorkflowBody)
}

// registerAnswer is the registered workflows, or the launched execution.
type registerAnswer struct {
	contract.Registered
	run *dagRun
}

// MarshalJSON writes whichever of the two is set.
func (a registerAnswer) MarshalJSON() ([]byte, error) {
	if a.run != nil {
		return json.Marshal(a.run)
	}
	return json.Marshal(a.Registered)
}

// dagAPI serves executions of dag_spec documents below /workflows.
type dagAPI struct {
	Workflows  *workflow.Service
	Executions *execution.Service
	Policies   *auth.Policies
	Telemetry  *telemetry.Service
	Quotas     *quota.Service
	Scope      request.Scope
	Content    *content.Content
}

func (h *dagAPI) mount(api *operations) {
	cancel := get("delete-workflow", "/workflows/{workflow_id}", "Cancel an execution, with its ID as workflow_id", "Workflows")
	cancel.Method = http.MethodDelete
	operation(api, cancel, h.apiDagCancel)
	operation(api, get("list-tasks", "/workflows/{workflow_id}/tasks", "List the tasks of an execution, with its ID as workflow_id", "Workflows"), h.apiDagTasks)
}

// isDagSpec reports whether a body requests a registration and a launch in one.
func isDagSpec(doc []byte) bool {
	text := bytes.TrimLeft(doc, " \t\r\n")
	if len(text) == 0 || text[0] != '{' || !bytes.Contains(doc, []byte(`"dag_spec"`)) {
		return false
	}
	var probe map[string]json.RawMessage
	return json.Unmarshal(doc, &probe) == nil && probe["dag_spec"] != nil
}

// runDagSpec registers and launches the workflow of a request with a dag_spec.
func (h *dagAPI) runDagSpec(ctx context.Context, doc []byte, key string) (*dagRun, error) {
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
		Workflow: v.WorkflowID.String(), Version: v.Version, Inputs: textInputs(request.Parameters), Priority: query.Normal, IdempotencyKey: key,
	}
	if request.Priority != nil {
		launch.Priority = query.Priority(*request.Priority)
	}
	e, _, err := h.Executions.Launches.Launch(ctx, launch)
	if err != nil {
		return nil, h.overQuota(ctx, err)
	}
	return h.toDagRun(e, v), nil
}

// textInputs converts parameters to strings, because all parameters of Argo are strings.
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
func (h *dagAPI) inProject(ctx context.Context, project string) (context.Context, error) {
	subject, err := auth.SignedIn(ctx)
	if err != nil || project == "" || project == subject.ProjectID.String() {
		return ctx, err
	}
	var found []auth.ProjectRef
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
			message = "Several projects are called %q; use its ID."
		}
		return nil, apperr.InvalidFields("The request does not specify a project.", []apperr.Field{{Path: "project_id", Message: fmt.Sprintf(message, project)}})
	}
	subject.TenantID, subject.ProjectID = found[0].TenantID, found[0].ID
	return auth.WithSubject(ctx, subject), nil
}

func (h *dagAPI) toDagRun(e query.Execution, v workflow.Version) *dagRun {
	run := &dagRun{
		ID: e.ID, ProjectID: e.ProjectID, Name: cmp.Or(e.Name, e.WorkflowName), Status: string(e.Status), CreatedAt: e.CreatedAt,
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
	raw := v.Definition.Document()
	if raw == nil || json.Unmarshal(raw, &doc) != nil {
		return run
	}
	run.Labels, run.DagSpec = doc.Metadata.Labels, doc.Spec
	if spec, ok := argo.DagSpec(raw); ok {
		run.DagSpec = spec
	}
	return run
}
