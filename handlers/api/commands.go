package api

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/web/contract"
)

// commandAPI serves commands to executions and nodes.
type commandAPI struct {
	Executions *execution.Service
}

func (h *commandAPI) mount(api *operations) {
	operation(api, post("pause-execution", "/executions/{execution_id}/pause", "Pause an execution: no further nodes start", "Executions"), h.apiPause(h.Executions.Commands.Pause))
	operation(api, post("unpause-execution", "/executions/{execution_id}/unpause", "Resume a paused execution", "Executions"), h.apiPause(h.Executions.Commands.Unpause))
	operation(api, post("command-node", "/executions/{execution_id}/commands", "Send a command to a node: hold, release, skip, succeed, retry, approve or reject", "Executions"), h.apiCommand)
}

type pauseInput struct {
	ExecutionPath
	Body *contract.CancelInput
}

func (h *commandAPI) apiPause(do func(context.Context, uuid.UUID, string) error) func(context.Context, *pauseInput) (*body[contract.ExecutionBody], error) {
	return func(ctx context.Context, in *pauseInput) (*body[contract.ExecutionBody], error) {
		id, err := in.id()
		if err != nil {
			return nil, err
		}
		reason := ""
		if in.Body != nil {
			reason = in.Body.Reason
		}
		if err := do(ctx, id, reason); err != nil {
			return nil, err
		}
		e, err := h.Executions.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		return reply(toExecutionBody(e)), nil
	}
}

type commandInput struct {
	ExecutionPath
	Body contract.CommandInputBody
}

func (h *commandAPI) apiCommand(ctx context.Context, in *commandInput) (*body[contract.NodeBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	d, err := h.Executions.Nodes.Get(ctx, id, in.Body.Node)
	if err != nil {
		return nil, err
	}
	values, err := decodeInputs(in.Body.Values)
	if err != nil {
		return nil, err
	}
	err = h.Executions.Commands.CommandNode(ctx, execution.TaskRef{Execution: id, Node: d.Index}, execution.NodeCommand{
		Command: execution.Command(strings.ToUpper(in.Body.Command)), Values: values, Reason: in.Body.Reason,
	})
	if err != nil {
		return nil, err
	}
	if d, err = h.Executions.Nodes.Get(ctx, id, in.Body.Node); err != nil {
		return nil, err
	}
	return reply(toNodeBodies([]query.Node{d.Node})[0]), nil
}
