// Package audit records every change: the actor, the origin, the old and the new
// values. The transaction of the change also writes its entry, so neither exists
// without the other.
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
)

// Entry is one change. Action is a noun and a verb ("quota.update"); Kind, ID and Name
// identify the object. TenantID and ProjectID are its scope, uuid.Nil when it has none.
// Old and New become JSON: the values that changed, never a secret; nil for no value.
type Entry struct {
	Action    string
	Kind      string
	ID        string
	Name      string
	TenantID  uuid.UUID
	ProjectID uuid.UUID
	Old, New  any
	Reason    string
	By        *auth.Subject // the actor; nil: that of the context
}

// Record writes e within the transaction of q, which is that of the change. The actor,
// the address and the request id are those of ctx. It does not authorize: the caller
// has authorized the change.
func Record(ctx context.Context, q *db.Queries, e Entry) error {
	return RecordAll(ctx, q, []Entry{e})
}

// RecordAll is Record for several entries.
func RecordAll(ctx context.Context, q *db.Queries, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	rows := make([]entryRow, len(entries))
	for i, e := range entries {
		var err error
		if rows[i], err = rowOf(ctx, e); err != nil {
			return fmt.Errorf("audit %s of %s %s: %w", e.Action, e.Kind, e.ID, err)
		}
	}
	encoded, err := json.Marshal(rows)
	if err == nil {
		err = q.InsertAuditEntries(ctx, encoded)
	}
	if err != nil {
		return fmt.Errorf("audit %d changes, first %s of %s %s: %w", len(entries), entries[0].Action, entries[0].Kind, entries[0].ID, err)
	}
	return nil
}

// entryRow is an entry as InsertAuditEntries reads it.
type entryRow struct {
	ID         uuid.UUID       `json:"id"`
	At         time.Time       `json:"at"`
	TenantID   *uuid.UUID      `json:"tenant_id"`
	ProjectID  *uuid.UUID      `json:"project_id"`
	ActorID    *uuid.UUID      `json:"actor_id"`
	ActorKind  string          `json:"actor_kind"`
	Actor      string          `json:"actor"`
	Credential string          `json:"credential"`
	Address    string          `json:"address"`
	RequestID  string          `json:"request_id"`
	Action     string          `json:"action"`
	ObjectKind string          `json:"object_kind"`
	ObjectID   string          `json:"object_id"`
	ObjectName string          `json:"object_name"`
	OldValue   json.RawMessage `json:"old_value,omitempty"`
	NewValue   json.RawMessage `json:"new_value,omitempty"`
	Reason     string          `json:"reason"`
}

func rowOf(ctx context.Context, e Entry) (entryRow, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return entryRow{}, fmt.Errorf("create its id: %w", err)
	}
	before, err := value(e.Old)
	if err != nil {
		return entryRow{}, fmt.Errorf("old value: %w", err)
	}
	after, err := value(e.New)
	if err != nil {
		return entryRow{}, fmt.Errorf("new value: %w", err)
	}
	subject, ok := auth.SubjectOf(ctx)
	if e.By != nil {
		subject, ok = *e.By, true
	}
	if !ok {
		subject = auth.Subject{Name: "nobody", Role: "anonymous"}
	}
	origin := auth.OriginOf(ctx)
	return entryRow{
		ID: id, At: timeOf(id), TenantID: optional(e.TenantID), ProjectID: optional(e.ProjectID),
		ActorID: optional(subject.ID), ActorKind: string(subject.Role), Actor: subject.Name, Credential: subject.Credential,
		Address: origin.Address, RequestID: origin.RequestID,
		Action: e.Action, ObjectKind: e.Kind, ObjectID: e.ID, ObjectName: e.Name, OldValue: before, NewValue: after, Reason: e.Reason,
	}, nil
}

func value(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	return json.Marshal(v)
}

func optional(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// timeOf returns the time in a UUIDv7, by which the log is partitioned.
func timeOf(id uuid.UUID) time.Time {
	seconds, nanoseconds := id.Time().UnixTime()
	return time.Unix(seconds, nanoseconds).UTC()
}
