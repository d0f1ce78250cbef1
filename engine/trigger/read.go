package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/typeregistry"
)

func isRepeated(err error) bool { return errors.Is(err, errRepeated) }

// Activity is the recent activity of a trigger.
type Activity struct {
	Last     []Delivery // at most 10, newest first, without messages and payload
	Launches int        // in the last 7 days
}

// lastDeliveries is how many deliveries Activities returns of each trigger.
const lastDeliveries = 10

// Activities returns the recent activity of the triggers of the current project, by their ID.
func (s *Service) Activities(ctx context.Context) (map[uuid.UUID]Activity, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	last, err := s.queries.LastDeliveries(ctx, lastDeliveries, subject.ProjectID)
	if err != nil {
		return nil, fmt.Errorf("last deliveries: %w", err)
	}
	counts, err := s.queries.LaunchedByTriggers(ctx, subject.ProjectID, s.now().Add(-7*24*time.Hour))
	if err != nil {
		return nil, fmt.Errorf("count deliveries: %w", err)
	}
	out := map[uuid.UUID]Activity{}
	for _, d := range last {
		a := out[d.TriggerID]
		a.Last = append(a.Last, Delivery{ID: d.ID, Subject: d.Subject, Outcome: Outcome(d.Outcome), At: d.At})
		out[d.TriggerID] = a
	}
	for _, c := range counts {
		a := out[c.TriggerID]
		a.Launches = int(c.Launches)
		out[c.TriggerID] = a
	}
	return out, nil
}

// Page is a page of deliveries, newest first. Next is nil on the last page.
type Page struct {
	Deliveries []Delivery
	Next       *uuid.UUID
}

// MaxPage is the maximum number of deliveries of a page.
const MaxPage = 200

// Deliveries returns deliveries of a trigger of the current project. before is the Next of the
// previous page.
func (s *Service) Deliveries(ctx context.Context, name string, before *uuid.UUID, limit int) (Page, error) {
	t, err := s.Get(ctx, name)
	if err != nil {
		return Page{}, err
	}
	limit = min(max(limit, 1), MaxPage)
	rows, err := s.queries.ListDeliveries(ctx, t.ID, before, int32(limit+1))
	if err != nil {
		return Page{}, fmt.Errorf("list deliveries of trigger %s: %w", t.ID, err)
	}
	page := Page{Deliveries: []Delivery{}}
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = &rows[limit-1].ID
	}
	for _, row := range rows {
		page.Deliveries = append(page.Deliveries, deliveryOf(row))
	}
	return page, nil
}

// Origin is the trigger that launched an execution.
type Origin struct {
	ID       uuid.UUID
	Trigger  string
	SourceID *uuid.UUID // the execution that ended
}

// OriginOf returns the trigger that launched an execution, or nil. The caller must be able to read
// the execution.
func (s *Service) OriginOf(ctx context.Context, execution uuid.UUID) (*Origin, error) {
	row, err := s.queries.TriggerOfExecution(ctx, execution)
	if db.IsNoRows(err) {
		return nil, nil //nolint:nilnil // no trigger launched it
	}
	if err != nil {
		return nil, fmt.Errorf("trigger of execution %s: %w", execution, err)
	}
	return &Origin{ID: row.TriggerID, Trigger: row.Name, SourceID: row.SourceID}, nil
}

// Trial is what a trigger would do with an event.
type Trial struct {
	Outcome Outcome
	Reason  string
	Message string
	Inputs  map[string]any // of the launch
}

// Try evaluates a trigger with an event, without launching anything. The event has the names
// that expressions read: those of the kind or, for OnAll, of the conditions. It returns Invalid
// for other names.
func (s *Service) Try(ctx context.Context, name string, env map[string]any) (Trial, error) {
	t, err := s.Get(ctx, name)
	if err != nil {
		return Trial{}, err
	}
	return s.try(ctx, t, env)
}

func (s *Service) try(ctx context.Context, t Trigger, env map[string]any) (Trial, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return Trial{}, err
	}
	if err := checkEnv(t.names(), env); err != nil {
		return Trial{}, err
	}
	dec := decide(t, event{env: env, depth: 1})
	trial := Trial{Outcome: dec.outcome, Reason: dec.reason, Message: dec.message, Inputs: dec.inputs}
	if dec.outcome != Launched {
		return trial, nil
	}
	version, err := s.config.Workflows.Version(auth.WithSubject(ctx, subject), t.WorkflowID.String(), t.Version)
	if err != nil {
		trial.Outcome, trial.Reason, trial.Message = Failed, ReasonAccess, apperr.MessageOf(err)
		return trial, nil
	}
	_, problems := version.Definition.Inputs.CheckAll(dec.inputs, typeregistry.Env{Now: s.now(), Exists: s.config.Executions.References(ctx)})
	if len(problems) > 0 {
		trial.Outcome, trial.Reason, trial.Message = Failed, ReasonInputs, "The workflow does not accept the inputs."
		for _, p := range problems {
			trial.Message += " inputs." + p.Path + ": " + p.Message
		}
	}
	return trial, nil
}

func checkEnv(known []string, env map[string]any) error {
	var fields []apperr.Field
	for name := range env {
		if !slices.Contains(known, name) {
			fields = append(fields, apperr.Field{Path: "event." + name, Message: "Unknown name. The event of this trigger has " + strings.Join(known, ", ") + "."})
		}
	}
	if raw, err := json.Marshal(env); err != nil || len(raw) > MaxPayload+64<<10 {
		fields = append(fields, apperr.Field{Path: "event", Message: "The event is too large."})
	}
	return apperr.InvalidFields("The event is invalid.", fields)
}

// Redeliver delivers the event of a delivery again, regardless of its outcome. An event that a condition
// received goes to the condition. It requires the permission to change the trigger. It returns Conflict
// if the payload is no longer stored, or if the trigger no longer has the condition.
func (s *Service) Redeliver(ctx context.Context, name string, id uuid.UUID) (Delivery, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionLaunch)
	if err != nil {
		return Delivery{}, err
	}
	row, err := s.changeable(ctx, s.queries, subject, name)
	if err != nil {
		return Delivery{}, err
	}
	d, err := s.queries.GetDelivery(ctx, row.ID, id)
	if db.IsNoRows(err) {
		return Delivery{}, apperr.New(apperr.NotFound, "The trigger %s has no delivery %s.", row.Name, id)
	}
	if err != nil {
		return Delivery{}, fmt.Errorf("get delivery %s: %w", id, err)
	}
	if d.Payload == nil {
		return Delivery{}, apperr.New(apperr.Conflict, "The event of this delivery is no longer stored, so it cannot be delivered again.")
	}
	var env map[string]any
	if err := decode(d.Payload, &env); err != nil {
		return Delivery{}, err
	}
	ev := event{key: "again/" + uuid.Must(uuid.NewV7()).String(), subject: d.Subject, env: env, source: d.SourceID, depth: int(d.Depth), condition: d.Condition}
	if d.Condition == "" {
		return s.deliver(ctx, row, ev)
	}
	return joining{s}.rejoin(ctx, row, ev)
}
