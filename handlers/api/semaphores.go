package api

import (
	"context"
	"net/http"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/web/contract"
)

type semaphoreQuery struct {
	After string `query:"page" doc:"Cursor: next_page from the previous response" maxLength:"300"`
}

type semaphoreInput struct {
	Body contract.SemaphoreInputBody
}

// semaphoreAPI serves semaphores of a project.
type semaphoreAPI struct {
	Semaphores *execution.SemaphoreService
}

func (h *semaphoreAPI) mount(api *operations) {
	operation(api, get("list-semaphores", "/semaphores", "List the mutexes and semaphores of the project that are in use or overridden", "Executions"), h.apiSemaphores)
	set := post("set-semaphore", "/semaphores", "Set the permits of a semaphore", "Executions")
	set.Method = http.MethodPut
	operation(api, set, h.apiSetSemaphore)
}

func (h *semaphoreAPI) apiSemaphores(ctx context.Context, in *semaphoreQuery) (*body[contract.SemaphoreList], error) {
	page, err := h.Semaphores.List(ctx, in.After)
	if err != nil {
		return nil, err
	}
	out := contract.SemaphoreList{Semaphores: make([]contract.SemaphoreBody, 0, len(page.Semaphores)), NextPage: page.Next}
	for _, s := range page.Semaphores {
		out.Semaphores = append(out.Semaphores, toSemaphoreBody(s))
	}
	return reply(out), nil
}

func (h *semaphoreAPI) apiSetSemaphore(ctx context.Context, in *semaphoreInput) (*body[contract.SemaphoreBody], error) {
	s, err := h.Semaphores.Set(ctx, in.Body.Name, in.Body.Permits, in.Body.Reason)
	if err != nil {
		return nil, err
	}
	return reply(toSemaphoreBody(s)), nil
}

func toSemaphoreBody(s execution.Semaphore) contract.SemaphoreBody {
	users := func(list []execution.LockUser) []contract.LockUserBody {
		out := make([]contract.LockUserBody, len(list))
		for i, u := range list {
			out[i] = contract.LockUserBody{ExecutionID: u.Execution, WorkflowName: u.Workflow, Execution: u.ExecutionName, Node: u.Node, Since: u.Since}
		}
		return out
	}
	return contract.SemaphoreBody{
		Name: s.Name, Workflow: s.Workflow, Permits: s.Holds(), Set: s.Permits > 0, SetAt: s.SetAt, SetBy: s.SetBy, Held: s.Held, Waiting: s.Waiting,
		Holders: users(s.Holders), Waiters: users(s.Waiters),
	}
}
