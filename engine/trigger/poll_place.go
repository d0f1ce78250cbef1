package trigger

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/bucket"
	"github.com/flowforge/flowforge/db"
)

// place is where the objects are that a trigger lists. A connection can lead to another place without a change of
// the trigger.
type place struct {
	Endpoint string `json:"endpoint,omitempty"`
	Bucket   string `json:"bucket"`
	Prefix   string `json:"prefix,omitempty"`
}

// visit stores where the trigger lists objects. If it listed others before, it forgets them, and the objects that
// exist already cause no events, as after the trigger is turned on.
func (p *poll) visit(ctx context.Context, at bucket.Location, prefix string) error {
	var was place
	if err := json.Unmarshal(p.state.Cursor, &was); err != nil {
		return fmt.Errorf("cursor of trigger %s: %w", p.row.ID, err)
	}
	is := place{Endpoint: at.Endpoint, Bucket: at.Bucket, Prefix: prefix}
	if was == is {
		return nil
	}
	raw, err := json.Marshal(is)
	if err != nil {
		return fmt.Errorf("encode cursor: %w", err)
	}
	if was == (place{}) {
		return settled(p.queries.NoteBucket(ctx, raw, p.row.ID, p.state.Condition, p.state.Turn))
	}
	p.state.Baseline, p.state.Epoch = true, uuid.Must(uuid.NewV7())
	return settled(p.queries.ChangeBucket(ctx, db.ChangeBucketParams{Cursor: raw, Epoch: p.state.Epoch, TriggerID: p.row.ID, Condition: p.state.Condition, Turn: p.state.Turn}))
}
