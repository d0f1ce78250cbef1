package execution

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// Command is a command of a user to a live execution, or to one of its nodes.
type Command string

// The commands. Those of the execution itself are CommandPause and CommandUnpause.
const (
	CommandPause   Command = "PAUSE"   // no node begins; running nodes continue
	CommandUnpause Command = "UNPAUSE" // nodes that wait because of a pause begin
	CommandSkip    Command = "SKIP"    // the node does not run, or is stopped
	CommandSucceed Command = "SUCCEED" // the node is marked as succeeded, with the given outputs
	CommandRetry   Command = "RETRY"   // a node that failed, or did not run, runs again
	CommandHold    Command = "HOLD"    // the node does not begin until it is released
	CommandRelease Command = "RELEASE"
	CommandApprove Command = "APPROVE" // a user approves, with the values of a form
	CommandReject  Command = "REJECT"  // a user rejects: the node fails
)

// NodeCommand is a command about a node. Values are the outputs of CommandSucceed and
// the filled-in form of CommandApprove.
type NodeCommand struct {
	Command Command
	Values  map[string]any
	Reason  string
}

// CommandService stores the commands of people for executions and nodes. Loops apply them.
type CommandService struct {
	*core

	launches *LaunchService // checks the values of approvals
}

// Pause keeps all nodes that have not begun from beginning until Unpause; running nodes
// continue. Pausing twice is a success. It returns Conflict when the execution has ended,
// and Forbidden for the execution of another user without the permission.
func (s *CommandService) Pause(ctx context.Context, id uuid.UUID, reason string) error {
	return s.commandExecution(ctx, id, CommandPause, "execution.pause", reason)
}

// Unpause continues a paused execution.
func (s *CommandService) Unpause(ctx context.Context, id uuid.UUID, reason string) error {
	return s.commandExecution(ctx, id, CommandUnpause, "execution.unpause", reason)
}

func (s *CommandService) commandExecution(ctx context.Context, id uuid.UUID, c Command, action, reason string) error {
	row, err := s.rows.Execution(ctx, id)
	if err != nil {
		return err
	}
	if _, err := auth.AuthorizeOwner(ctx, auth.ExecutionCancel, auth.ExecutionCancelAny, row.ProjectID, row.SubmittedBy, query.Absent(id)); err != nil {
		return err
	}
	return s.command(ctx, row, db.InsertCommandParams{NodeIndex: fair.ExecutionItself, Command: string(c), Reason: clean(reason, maxMessage)}, audit.Entry{
		Action: action, Kind: "execution", ID: id.String(), Name: row.WorkflowName + " " + row.Version,
		Old: map[string]any{"status": row.Status}, New: map[string]any{"command": c},
	})
}

// CommandNode sends a command to a node of a live execution, and returns once it is durable.
// It returns Invalid with fields for invalid values, Conflict when the node is not in a
// state for it or the execution has ended, and Forbidden for the execution of another user
// without the permission. Every user who may launch in the project may approve and reject.
func (s *CommandService) CommandNode(ctx context.Context, t TaskRef, c NodeCommand) error {
	task, err := s.task(ctx, t)
	if err != nil {
		return err
	}
	if c.Command == CommandApprove || c.Command == CommandReject {
		_, err = auth.AuthorizeIn(ctx, auth.ExecutionLaunch, task.row.ProjectID, query.Absent(t.Execution))
	} else {
		_, err = auth.AuthorizeOwner(ctx, auth.ExecutionCancel, auth.ExecutionCancelAny, task.row.ProjectID, task.row.SubmittedBy, query.Absent(t.Execution))
	}
	if err != nil {
		return err
	}
	if err := c.fits(task); err != nil {
		return err
	}
	values, err := s.checkValues(ctx, task, c)
	if err != nil {
		return err
	}
	p := db.InsertCommandParams{NodeIndex: int32(task.node.Index), Command: string(c.Command), Reason: clean(c.Reason, maxMessage)} //nolint:gosec // at most maxNodes
	if values != nil {
		p.Data = mustJSON(values)
	}
	return s.command(ctx, task.row, p, audit.Entry{
		Action: "node." + strings.ToLower(string(c.Command)), Kind: "node", ID: fmt.Sprintf("%s.%d", task.row.ID, task.node.Index), Name: task.node.Name,
		Old: map[string]any{"status": task.node.State}, New: map[string]any{"command": c.Command},
	})
}

// fits returns Conflict when the command is not possible in the node's state.
func (c NodeCommand) fits(k task) error {
	state := k.node.State
	no := func(why string) error { return apperr.New(apperr.Conflict, "The node %s %s.", k.node.Name, why) }
	waits := k.operator.Type == workflow.TypeApproval && state == dag.Running
	switch c.Command {
	case CommandApprove, CommandReject:
		if !waits {
			return no("is not waiting for an approval")
		}
	case CommandRetry:
		if state != dag.Failed && state != dag.Skipped && state != dag.Cancelled {
			return no("has not failed or been skipped, so it cannot be retried")
		}
	case CommandSucceed:
		if state == dag.Succeeded {
			return no("has already succeeded")
		}
	case CommandSkip, CommandHold, CommandRelease:
		if state.Ended() {
			return no("has already ended")
		}
		if c.Command == CommandHold && state.Active() {
			return no("is already running, so it cannot be held")
		}
	case CommandPause, CommandUnpause:
		return apperr.New(apperr.Invalid, "Only an execution can be paused, not a node.")
	default:
		return apperr.New(apperr.Invalid, "Unknown command %q.", c.Command)
	}
	return nil
}

// checkValues returns the checked values of a command; nil when it has none.
func (s *CommandService) checkValues(ctx context.Context, k task, c NodeCommand) (map[string]any, error) {
	var schema typeregistry.Schema
	path := "outputs."
	switch c.Command {
	case CommandApprove:
		schema, path = k.operator.Approval.Form, "answer."
	case CommandSucceed:
		for _, o := range k.operator.Outputs {
			out, _ := k.operator.Produces(o.Name)
			if k.node.Item != nil {
				out = o
			}
			schema.Fields = append(schema.Fields, typeregistry.Field{Name: o.Name, Type: out.Type, Required: o.Required()})
		}
	default:
		if len(c.Values) > 0 {
			return nil, apperr.New(apperr.Invalid, "The command accepts no values.")
		}
		return nil, nil //nolint:nilnil // no values are not an error
	}
	values := c.Values
	if values == nil {
		values = map[string]any{}
	}
	checked, problems := schema.CheckAll(values, s.launches.Env(ctx))
	var fields []apperr.Field
	for _, p := range problems {
		fields = append(fields, apperr.Field{Path: path + p.Path, Message: p.Message})
	}
	return checked, apperr.InvalidFields("Fix the values below.", fields)
}

// command writes a command and requests a drive of the execution.
func (s *CommandService) command(ctx context.Context, row db.Execution, p db.InsertCommandParams, entry audit.Entry) error {
	subject, _ := auth.SubjectOf(ctx)
	p.ExecutionID, p.OrderedBy, p.OrderedAt = row.ID, subject.Name, s.now()
	entry.TenantID, entry.ProjectID, entry.Reason = row.TenantID, row.ProjectID, p.Reason
	err := db.Tx(ctx, s.pool, func(tx pgx.Tx, q *db.Queries) error {
		if _, err := q.LockLive(ctx, row.ID); db.IsNoRows(err) {
			return apperr.New(apperr.Conflict, "The execution has already ended.")
		} else if err != nil {
			return fmt.Errorf("lock execution: %w", err)
		}
		if err := q.InsertCommand(ctx, p); err != nil {
			return fmt.Errorf("write command: %w", err)
		}
		if err := audit.Record(ctx, q, entry); err != nil {
			return err
		}
		return s.requestDrive(ctx, tx, q, row.ID)
	})
	if err != nil {
		return err
	}
	s.config.Crash("command.committed")
	s.sendMessage(row.ID, message{reports: true})
	s.changed(row.ID)
	return nil
}

func decodeValues(raw json.RawMessage) map[string]any {
	values := stored.Object(raw)
	if values == nil {
		return map[string]any{}
	}
	return values
}
