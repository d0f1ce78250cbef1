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
}

// Record writes e within the transaction of q, which is that of the change. The actor,
// the address and the request id are those of ctx. It does not authorize: the caller
// has authorized the change.
func Record(ctx context.Context, q *db.Queries, e Entry) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("create id of audit entry: %w", err)
	}
	before, err := value(e.Old)
	if err != nil {
		return fmt.Errorf("audit %s of %s %s: old value: %w", e.Action, e.Kind, e.ID, err)
	}
	after, err := value(e.New)
	if err != nil {
		return fmt.Errorf("audit %s of %s %s: new value: %w", e.Action, e.Kind, e.ID, err)
	}
	subject, ok := auth.SubjectOf(ctx)
	if !ok {
		subject = auth.Subject{Name: "nobody", Role: "anonymous"}
	}
	origin := auth.OriginOf(ctx)
	err = q.InsertAuditEntry(ctx, db.InsertAuditEntryParams{
		ID: id, At: timeOf(id), TenantID: optional(e.TenantID), ProjectID: optional(e.ProjectID),
		ActorID: optional(subject.ID), ActorKind: string(subject.Role), Actor: subject.Name, Credential: subject.Credential,
		Address: origin.Address, RequestID: origin.RequestID,
		Action: e.Action, ObjectKind: e.Kind, ObjectID: e.ID, ObjectName: e.Name, OldValue: before, NewValue: after, Reason: e.Reason,
	})
	if err != nil {
		return fmt.Errorf("audit %s of %s %s: %w", e.Action, e.Kind, e.ID, err)
	}
	return nil
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
