package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/expression"
)

// errRepeated means that the event was received before.
var errRepeated = errors.New("the event was received before")

// event is an event that triggers receive.
type event struct {
	key     string // identifies it within its trigger
	subject string
	env     map[string]any // what expressions read
	source  *uuid.UUID
	depth   int  // triggers in the chain up to the one that receives it
	own     bool // the trigger launched the execution that the event is about
	// condition is the condition of a join that receives the event, "" if the trigger itself does.
	condition string
	// within, if not nil, writes what goes with the event in the transaction that decides about it.
	within func(ctx context.Context, q *db.Queries) error
}

// of returns the event as a condition of a join receives it.
func (ev event) of(c Condition) event {
	ev.key, ev.subject, ev.condition = ev.key+"/"+c.Name, c.Name+": "+ev.subject, c.Name
	return ev
}

// writeWithin writes what goes with the event.
func (ev event) writeWithin(ctx context.Context, q *db.Queries) error {
	if ev.within == nil {
		return nil
	}
	return ev.within(ctx, q)
}

// ExecutionEnded launches the workflows whose triggers wait for the end of an execution. Callers
// can repeat the call for the same end, and must do so after an error. Runs of sweeps and
// executions that list options launch nothing.
func (s *Service) ExecutionEnded(ctx context.Context, e query.Execution) error {
	if _, err := auth.Authorize(ctx, auth.Administer); err != nil {
		return err
	}
	if e.FinishedAt == nil || e.Purpose == query.ListOptions {
		return nil
	}
	rows, err := s.queries.TriggersOfExecutions(ctx, e.ProjectID)
	if err != nil || len(rows) == 0 {
		return wrap("find triggers", err)
	}
	sweep, err := s.queries.IsRunOfSweep(ctx, e.ID)
	if err != nil || sweep {
		return wrap("find the sweep of an execution", err)
	}
	depth, err := s.depthAfter(ctx, e.ID)
	if err != nil {
		return err
	}
	ev := event{
		// A user can retry nodes of an ended execution, which then ends again.
		key: fmt.Sprintf("end/%s/%d", e.ID, e.FinishedAt.UnixMicro()), subject: e.WorkflowName + " " + strings.ToLower(string(e.Status)),
		env: map[string]any{"execution": executionEnv(e)}, source: &e.ID, depth: depth,
	}
	var failures []error
	for _, row := range rows {
		if e.FinishedAt.Before(row.EnabledAt) {
			continue
		}
		failures = append(failures, s.executionEnded(ctx, row, e, ev))
	}
	return errors.Join(failures...)
}

// executionEnded passes the end of an execution to a trigger.
func (s *Service) executionEnded(ctx context.Context, row db.Trigger, e query.Execution, ev event) error {
	ends := func(sources, states []string) bool {
		return slices.Contains(states, string(e.Status)) && covers(sources, e.WorkflowName)
	}
	if Kind(row.Kind) == OnExecution {
		if !ends(row.Sources, row.States) {
			return nil
		}
		return s.deliverOrDefer(ctx, row, ev)
	}
	return joining{s}.joinMatching(ctx, row, ev, *e.FinishedAt, func(c Condition) bool { return c.Kind == OnExecution && ends(c.Sources, c.States) })
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

func covers(patterns []string, workflow string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, workflow)
		return err == nil && ok
	})
}

// depthAfter returns the depth of a trigger that an execution causes.
func (s *Service) depthAfter(ctx context.Context, id uuid.UUID) (int, error) {
	row, err := s.queries.TriggerOfExecution(ctx, id)
	if db.IsNoRows(err) {
		return 1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("trigger of execution %s: %w", id, err)
	}
	return int(row.Depth) + 1, nil
}

// executionEnv returns the values of an ended execution that expressions can read.
func executionEnv(e query.Execution) map[string]any {
	env := map[string]any{
		"id": e.ID.String(), "workflow": e.WorkflowName, "version": e.Version, "name": e.Name, "state": string(e.Status),
		"inputs": e.Inputs, "outputs": e.Outputs, "submitted_by": e.SubmittedBy.Name, "error": nil, "seconds": nil,
	}
	if e.Error != nil {
		env["error"] = e.Error.Message
	}
	if e.StartedAt != nil && e.FinishedAt != nil {
		env["seconds"] = e.FinishedAt.Sub(*e.StartedAt).Seconds()
	}
	return env
}

// decision is the decision of a trigger about an event.
type decision struct {
	outcome         Outcome
	reason, message string
	inputs          map[string]any // of Launched
}

// decide evaluates the filter and the inputs of a trigger.
func decide(t Trigger, ev event) decision {
	if ev.own {
		return decision{outcome: Skipped, reason: ReasonLoop, message: "This trigger launched the execution that the event is about."}
	}
	if ev.depth > MaxDepth {
		return decision{outcome: Skipped, reason: ReasonDepth, message: fmt.Sprintf("The event follows %d triggers in a chain, the maximum.", MaxDepth)}
	}
	if t.Filter != "" {
		e, err := expression.Parse(t.Filter)
		ok := false
		if err == nil {
			ok, err = e.Bool(ev.env)
		}
		switch {
		case err != nil:
			return decision{outcome: Failed, reason: ReasonFilter, message: "The filter cannot be evaluated: " + apperr.MessageOf(err)}
		case !ok:
			return decision{outcome: Skipped, reason: ReasonFilter, message: "The filter is false: " + t.Filter}
		}
	}
	inputs, fields := render(t.Inputs, ev.env)
	if len(fields) > 0 {
		return decision{outcome: Failed, reason: ReasonInputs, message: apperr.TextOf(apperr.InvalidFields("The inputs cannot be evaluated.", fields))}
	}
	return decision{outcome: Launched, inputs: inputs}
}

// deliver decides about an event and records it, once. An error means that the event must be
// delivered again.
func (s *Service) deliver(ctx context.Context, row db.Trigger, ev event) (Delivery, error) {
	if d, err := s.queries.DeliveryOfKey(ctx, row.ID, ev.key); err == nil {
		if ev.within != nil { // an earlier transaction recorded it without what goes with it
			err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error { return ev.within(ctx, q) })
		}
		return repeated(d), err
	} else if !db.IsNoRows(err) {
		return Delivery{}, fmt.Errorf("find delivery of trigger %s: %w", row.ID, err)
	}
	t, err := triggerOf(row)
	if err != nil {
		return Delivery{}, err
	}
	dec := decide(t, ev)
	if dec.outcome == Launched {
		err = s.launch(ctx, row, t, ev, dec.inputs)
		if err == nil || errors.Is(err, errRepeated) {
			return s.recorded(ctx, row.ID, ev.key)
		}
		if dec, err = refusal(err); err != nil {
			return Delivery{}, fmt.Errorf("launch for trigger %s: %w", row.ID, err)
		}
	}
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error { return s.record(ctx, q, row, ev, dec, nil) })
	if err != nil && !errors.Is(err, errRepeated) {
		return Delivery{}, err
	}
	return s.recorded(ctx, row.ID, ev.key)
}

// owner returns a context in which the owner of a trigger acts, with their current permissions.
func (s *Service) owner(ctx context.Context, row db.Trigger) (context.Context, error) {
	subject, err := s.config.Acting(row.OwnerID, row.OwnerName, row.ProjectID)
	if err != nil {
		return nil, err
	}
	return auth.WithSubject(ctx, subject), nil
}

// launch launches the workflow of a trigger and records the delivery in the same transaction.
func (s *Service) launch(ctx context.Context, row db.Trigger, t Trigger, ev event, inputs map[string]any) error {
	owner, err := s.owner(ctx, row)
	if err != nil {
		return err
	}
	priority := query.Declared
	if t.Priority != nil {
		priority = query.Priority(*t.Priority)
	}
	s.config.Crash("launch.begin")
	_, _, err = s.config.Executions.Launch(owner, execution.LaunchRequest{
		Workflow: row.WorkflowID.String(), Version: row.Version, Inputs: inputs, Priority: priority, Name: execution.RunName(row.Name, ev.subject), By: "trigger " + row.Name,
		Within: func(ctx context.Context, q *db.Queries, id uuid.UUID) error {
			s.config.Crash("launch.within")
			return s.record(ctx, q, row, ev, decision{outcome: Launched}, &id)
		},
	})
	s.config.Crash("launch.committed")
	return err
}

// refusal returns the decision about an event whose launch was refused permanently. It returns
// other errors unchanged.
func refusal(err error) (decision, error) {
	d := decision{outcome: Failed, message: apperr.TextOf(err)}
	switch apperr.CodeOf(err) { //nolint:exhaustive // the others are temporary
	case apperr.Invalid:
		d.reason = ReasonInputs
	case apperr.Forbidden, apperr.NotFound, apperr.Unauthenticated, apperr.Conflict:
		d.reason = ReasonAccess
	default:
		return d, err
	}
	return d, nil
}

// record writes a delivery and its related rows, or returns errRepeated. q is a transaction. The
// delivery is written first, because it locks the trigger like changes of the trigger do.
func (s *Service) record(ctx context.Context, q *db.Queries, row db.Trigger, ev event, dec decision, launched *uuid.UUID) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make delivery id: %w", err)
	}
	var payload []byte
	if ev.env != nil {
		if payload, err = json.Marshal(ev.env); err != nil {
			return fmt.Errorf("encode payload: %w", err)
		}
	}
	n, err := q.InsertDelivery(ctx, db.InsertDeliveryParams{
		ID: id, TriggerID: row.ID, Condition: ev.condition, Key: ev.key, Subject: ev.subject, Outcome: string(dec.outcome), Reason: dec.reason, Message: dec.message,
		Payload: payload, SourceID: ev.source, ExecutionID: launched, Depth: int32(ev.depth), At: s.now(), //nolint:gosec // at most MaxDepth+1
	})
	if err != nil {
		return fmt.Errorf("record delivery of trigger %s: %w", row.ID, err)
	}
	if n == 0 {
		return errRepeated
	}
	if dec.outcome == Failed {
		if err := noteFailed(ctx, q, row, ev, dec, id); err != nil {
			return err
		}
	}
	return ev.writeWithin(ctx, q)
}

// noteFailed records a failed delivery in the audit log, which causes notifications, if it is
// the first one since a launch.
func noteFailed(ctx context.Context, q *db.Queries, row db.Trigger, ev event, dec decision, id uuid.UUID) error {
	before, err := q.OutcomeBeforeDelivery(ctx, row.ID, id)
	if err != nil {
		return fmt.Errorf("last delivery of trigger %s: %w", row.ID, err)
	}
	if Outcome(before) == Failed {
		return nil
	}
	return audit.Record(auth.AsSystem(ctx), q, entry("trigger.fail", row, nil, map[string]string{"workflow": row.WorkflowName, "run": ev.subject, "message": dec.message}))
}

// recorded returns the delivery of an event, and removes deliveries that are no longer kept.
func (s *Service) recorded(ctx context.Context, trigger uuid.UUID, key string) (Delivery, error) {
	d, err := s.queries.DeliveryOfKey(ctx, trigger, key)
	if err != nil {
		return Delivery{}, fmt.Errorf("find delivery of trigger %s: %w", trigger, err)
	}
	prune(ctx, s, trigger)
	return deliveryOf(d), nil
}

// pruned is how many of the newest deliveries of a trigger prune reads.
const pruned = 10 * KeptPayload

// prune removes deliveries of a trigger that are no longer kept.
func prune(ctx context.Context, s *Service, trigger uuid.UUID) {
	if err := s.queries.PruneDeliveries(ctx, KeptPayload, trigger, s.now().Add(-KeepFor), pruned); err != nil {
		s.config.Logger.Warn("old deliveries could not be removed", "trigger", trigger, "error", err)
	}
}

func repeated(row db.TriggerDelivery) Delivery {
	d := deliveryOf(row)
	d.Repeated = true
	return d
}
