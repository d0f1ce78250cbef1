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
		Reason: row.Reason, Message: row.Message, Problem: row.Problem, CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), LastAt: utc(row.LastAt), NextAt: utc(row.NextAt),
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
	Gap         string          `json:"gap"`
	Fold        string          `json:"fold"`
	Anchor      time.Time       `json:"anchor"`
	Starts      *time.Time      `json:"starts_at,omitempty"`
	Ends        *time.Time      `json:"ends_at,omitempty"`
	Version     string          `json:"version,omitempty"`
	Inputs      json.RawMessage `json:"inputs"`
	Priority    int32           `json:"priority"` // query.Declared: that of the workflow
	Misfire     string          `json:"misfire"`
	CatchUp     int32           `json:"catch_up_seconds"`
	CatchUpMax  int32           `json:"catch_up_max"`
	Overlap     string          `json:"overlap"`
	MaxRunning  int32           `json:"max_running"`
	Jitter      int32           `json:"jitter_seconds"`
	PauseAfter  int32           `json:"pause_after_failures"`
	Calendar    *uuid.UUID      `json:"calendar,omitempty"`
	Business    bool            `json:"business_days,omitempty"`
	Exclude     json.RawMessage `json:"exclude,omitempty"`
	Condition   string          `json:"when,omitempty"`
	StopWhen    string          `json:"stop_when,omitempty"`
	Succeeded   *int32          `json:"keep_succeeded,omitempty"`
	Failed      *int32          `json:"keep_failed,omitempty"`
	Paused      bool            `json:"paused"`
	Message     string          `json:"message,omitempty"`
	Owner       string          `json:"owner"`
}

func factsOf(row db.Schedule) facts {
	return facts{
		Name: row.Name, Expressions: row.Expressions, At: utc(row.At), Timezone: row.Timezone, Gap: row.Gap, Fold: row.Fold, Anchor: row.Anchor.UTC(), Starts: utc(row.StartsAt), Ends: utc(row.EndsAt),
		Version: row.Version, Inputs: row.Inputs, Priority: row.Priority, Misfire: row.Misfire, CatchUp: row.CatchUp, CatchUpMax: row.CatchUpMax,
		Overlap: row.Overlap, MaxRunning: row.MaxRunning, Jitter: row.Jitter, PauseAfter: row.PauseAfter,
		Calendar: row.CalendarID, Business: row.BusinessDays, Exclude: row.Exclude, Condition: row.Condition, StopWhen: row.StopWhen, Succeeded: row.KeepSucceeded, Failed: row.KeepFailed,
		Paused: row.Paused, Message: row.Message, Owner: row.OwnerName,
	}
}
