package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/execution"
)

type semaphoreBody struct {
	Name     string         `json:"name"`
	Workflow string         `json:"workflow,omitempty" doc:"Workflow whose max_running it implements"`
	Permits  int            `json:"permits,omitempty" doc:"Number of permits, if known"`
	Set      bool           `json:"set" doc:"True if a user overrode the permits of definitions"`
	SetAt    *time.Time     `json:"set_at,omitempty"`
	SetBy    string         `json:"set_by,omitempty"`
	Held     int            `json:"held"`
	Waiting  int            `json:"waiting"`
	Holders  []lockUserBody `json:"holders" doc:"The longest first, at most 20"`
	Waiters  []lockUserBody `json:"waiters" doc:"The next first, at most 20"`
}

type lockUserBody struct {
	ExecutionID  uuid.UUID `json:"execution_id"`
	WorkflowName string    `json:"workflow_name"`
	Execution    string    `json:"execution,omitempty" doc:"Its name"`
	Node         string    `json:"node,omitempty" doc:"Absent for the execution as a whole"`
	Since        time.Time `json:"since"`
}

type semaphoreList struct {
	Semaphores []semaphoreBody `json:"semaphores"`
	NextPage   string          `json:"next_page,omitempty"`
}

type semaphoreQuery struct {
	After string `query:"page" doc:"next_page of the page before" maxLength:"300"`
}

type semaphoreInput struct {
	Body struct {
		Name    string `json:"name" doc:"As definitions name it" minLength:"1" maxLength:"200" pattern:"^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$" patternDescription:"letters, digits, . _ / and -, beginning with a letter or a digit"`
		Permits int    `json:"permits" doc:"Number of permits, overriding definitions; 0 removes the override" minimum:"0" maximum:"1000000"`
		Reason  string `json:"reason,omitempty" doc:"For the audit log" maxLength:"4000"`
	}
}

func (h *API) semaphoreAPI(api huma.API) {
	operation(h, api, get("list-semaphores", "/semaphores", "List the mutexes and semaphores of the project that are in use or overridden", "Executions"), h.apiSemaphores)
	set := post("set-semaphore", "/semaphores", "Set the permits of a semaphore", "Executions")
	set.Method = http.MethodPut
	operation(h, api, set, h.apiSetSemaphore)
}

func (h *API) apiSemaphores(ctx context.Context, in *semaphoreQuery) (*body[semaphoreList], error) {
	page, err := h.Executions.Semaphores(ctx, in.After)
	if err != nil {
		return nil, err
	}
	out := semaphoreList{Semaphores: make([]semaphoreBody, 0, len(page.Semaphores)), NextPage: page.Next}
	for _, s := range page.Semaphores {
		out.Semaphores = append(out.Semaphores, toSemaphoreBody(s))
	}
	return reply(out), nil
}

func (h *API) apiSetSemaphore(ctx context.Context, in *semaphoreInput) (*body[semaphoreBody], error) {
	s, err := h.Executions.SetSemaphore(ctx, in.Body.Name, in.Body.Permits, in.Body.Reason)
	if err != nil {
		return nil, err
	}
	return reply(toSemaphoreBody(s)), nil
}

func toSemaphoreBody(s execution.Semaphore) semaphoreBody {
	users := func(list []execution.LockUser) []lockUserBody {
		out := make([]lockUserBody, len(list))
		for i, u := range list {
			out[i] = lockUserBody{ExecutionID: u.Execution, WorkflowName: u.Workflow, Execution: u.ExecutionName, Node: u.Node, Since: u.Since}
		}
		return out
	}
	return semaphoreBody{
		Name: s.Name, Workflow: s.Workflow, Permits: s.Holds(), Set: s.Permits > 0, SetAt: s.SetAt, SetBy: s.SetBy, Held: s.Held, Waiting: s.Waiting,
		Holders: users(s.Holders), Waiters: users(s.Waiters),
	}
}
