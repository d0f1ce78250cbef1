package quota

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// EventUpdated is the kind of the event of changed limits.
const EventUpdated = "quota.updated"

// updated is the data of EventUpdated.
type updated struct {
	Name    string      `json:"name"`
	Kind    string      `json:"entity_type"`
	Version int64       `json:"version"`
	Old     fair.Limits `json:"old"`
	New     fair.Limits `json:"new"`
}

// publish adds the event of changed limits to the outbox, in the transaction of q.
func publish(ctx context.Context, q *db.Queries, level fair.Level, entry audit.Entry, u updated, at time.Time) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("create id of event: %w", err)
	}
	data, err := json.Marshal(u)
	if err != nil {
		return fmt.Errorf("encode event of limits of %s: %w", level.ID, err)
	}
	event := db.InsertQuotaEventParams{ID: id, At: at, NodeID: level.ID, Kind: EventUpdated, Data: data}
	if entry.TenantID != uuid.Nil {
		event.TenantID = &entry.TenantID
	}
	if entry.ProjectID != uuid.Nil {
		event.ProjectID = &entry.ProjectID
	}
	if err := q.InsertQuotaEvent(ctx, event); err != nil {
		return fmt.Errorf("record event of limits of %s: %w", level.ID, err)
	}
	return nil
}
