package schedule

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/schedule/cron"
	"github.com/flowforge/flowforge/typeregistry"
)

// fromRow returns the schedule of a row, without its calendar.
func fromRow(row db.Schedule) (Schedule, error) {
	out := Schedule{
		ID: row.ID, ProjectID: row.ProjectID, WorkflowID: row.WorkflowID, Owner: query.Person{ID: row.OwnerID, Name: row.OwnerName},
		Reason: row.Reason, Message: row.Message, CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), LastAt: utc(row.LastAt), NextAt: utc(row.NextAt),
		Spec: Spec{
			Workflow: row.WorkflowName, Name: row.Name, Version: row.Version, Priority: query.Priority(row.Priority),
			When: When{
				Expressions: row.Expressions, At: utc(row.At), Timezone: row.Timezone, Gap: cron.Gap(row.Gap), Fold: cron.Fold(row.Fold),
				Anchor: row.Anchor.UTC(), Starts: utc(row.StartsAt), Ends: utc(row.EndsAt), BusinessDays: row.BusinessDays,
			},
			Misfire: Misfire(row.Misfire), CatchUp: seconds(row.CatchUp), CatchUpMax: int(row.CatchUpMax), Overlap: Overlap(row.Overlap),
			MaxRunning: int(row.MaxRunning), Jitter: seconds(row.Jitter), PauseAfter: int(row.PauseAfter), Paused: row.Paused,
			Condition: row.Condition, StopWhen: row.StopWhen, KeepSucceeded: number(row.KeepSucceeded), KeepFailed: number(row.KeepFailed),
		},
		Declared: row.DeclaredAs != nil,
	}
	out.Delay = delay(row.ID, out.Jitter)
	v, err := typeregistry.DecodeJSON(row.Inputs)
	if err != nil {
		return out, fmt.Errorf("inputs of schedule %s: %w", row.ID, err)
	}
	out.Inputs, _ = v.(map[string]any)
	if err := json.Unmarshal(row.Exclude, &out.Exclude); err != nil {
		return out, fmt.Errorf("windows of schedule %s: %w", row.ID, err)
	}
	return out, nil
}

func number(n *int32) *int {
	if n == nil {
		return nil
	}
	return new(int(*n))
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}

// facts are the values of a schedule for the audit log.
type facts struct {
	Name        string          `json:"name"`
	Expressions []string        `json:"expressions,omitempty"`
	At          *time.Time      `json:"at,omitempty"`
	Timezone    string          `json:"timezone"`
	Version     string          `json:"version,omitempty"`
	Inputs      json.RawMessage `json:"inputs"`
	Misfire     string          `json:"misfire"`
	Overlap     string          `json:"overlap"`
	Calendar    *uuid.UUID      `json:"calendar,omitempty"`
	Business    bool            `json:"business_days,omitempty"`
	Exclude     json.RawMessage `json:"exclude,omitempty"`
	Condition   string          `json:"when,omitempty"`
	StopWhen    string          `json:"stop_when,omitempty"`
	Paused      bool            `json:"paused"`
	Message     string          `json:"message,omitempty"`
	Owner       string          `json:"owner"`
}

func factsOf(row db.Schedule) facts {
	return facts{
		Name: row.Name, Expressions: row.Expressions, At: row.At, Timezone: row.Timezone, Version: row.Version, Inputs: row.Inputs, Misfire: row.Misfire, Overlap: row.Overlap,
		Calendar: row.CalendarID, Business: row.BusinessDays, Exclude: row.Exclude, Condition: row.Condition, StopWhen: row.StopWhen,
		Paused: row.Paused, Message: row.Message, Owner: row.OwnerName,
	}
}
