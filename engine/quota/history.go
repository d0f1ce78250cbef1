package quota

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// Change is an entry of the audit log about the limits of a node.
type Change struct {
	ID     uuid.UUID
	At     time.Time
	Actor  string
	Node   fair.LevelRef
	Old    fair.Limits
	New    fair.Limits
	Reason string
}

// Sample is the use of one resource at a time. Limit is nil when the node had no limit
// of its own.
type Sample struct {
	At            time.Time
	Used, Waiting float64
	Limit         *int64
}

// History is the use of one resource by a node over time, in steps of equal length.
type History struct {
	Step     time.Duration
	From, To time.Time
	Samples  []Sample
}

// historySteps is the approximate number of samples in a History.
const historySteps = 180

// History returns the use of a resource by a node over the last span. It requires
// quota.read at the node.
func (rd *Reader) History(ctx context.Context, node uuid.UUID, resource fair.Resource, span time.Duration) (History, error) {
	if _, err := auth.AuthorizeIn(ctx, auth.QuotaRead, node, absent(node)); err != nil {
		return History{}, err
	}
	level, ok := rd.fair.Tree().Level(node)
	if !ok {
		return History{}, absent(node)
	}
	h := History{Step: max((span / historySteps).Round(time.Minute), time.Minute), To: rd.now()}
	h.From = h.To.Add(-span)
	q := db.New(rd.pool)
	rows, err := q.ReadQuotaSamples(ctx, db.ReadQuotaSamplesParams{
		Step: h.Step, Origin: h.From.Truncate(h.Step), Resource: string(resource), NodeID: node, Since: h.From, Until: h.To,
	})
	if err != nil {
		return History{}, fmt.Errorf("read use of %s: %w", node, err)
	}
	changes, err := rd.changes(ctx, q, []uuid.UUID{node}, false, h.From, historySteps)
	if err != nil {
		return History{}, err
	}
	limit := limitsOver(level.Limits, changes, resource)
	for _, r := range rows {
		h.Samples = append(h.Samples, Sample{At: r.At.UTC(), Used: r.Used, Waiting: r.Waiting, Limit: limit(r.At)})
	}
	return h, nil
}

// limitsOver returns a function that reports the limit at a time, from the current
// limits and the changes since, newest first.
func limitsOver(now fair.Limits, changes []Change, resource fair.Resource) func(time.Time) *int64 {
	return func(at time.Time) *int64 {
		limits := now
		for _, c := range changes {
			if c.At.Before(at) {
				break
			}
			limits = c.Old
		}
		if v, ok := limits.Limit[resource]; ok {
			return &v
		}
		return nil
	}
}

// Changes returns the latest changes of limits that the subject may read, newest first.
// It requires quota.read anywhere in the tree.
func (rd *Reader) Changes(ctx context.Context, limit int) ([]Change, error) {
	subject, err := rd.authorize(ctx, auth.QuotaRead, uuid.Nil)
	if err != nil {
		return nil, err
	}
	var nodes []uuid.UUID
	for _, l := range rd.fair.Tree().Levels() {
		if subject.May(auth.QuotaRead, l.ID) {
			nodes = append(nodes, l.ID)
		}
	}
	return rd.changes(ctx, db.New(rd.pool), nodes, subject.Role == auth.RoleAdmin, time.Time{}, limit)
}

func (rd *Reader) changes(ctx context.Context, q *db.Queries, nodes []uuid.UUID, everything bool, since time.Time, limit int) ([]Change, error) {
	ids := make([]string, len(nodes))
	for i, id := range nodes {
		ids[i] = id.String()
	}
	rows, err := q.ListQuotaChanges(ctx, everything, ids, since, int32(limit)) //nolint:gosec // a small number of rows
	if err != nil {
		return nil, fmt.Errorf("list changes of limits: %w", err)
	}
	changes := make([]Change, 0, len(rows))
	for _, r := range rows {
		id, err := uuid.Parse(r.ObjectID)
		if err != nil {
			return nil, fmt.Errorf("audit entry %s: %w", r.ID, err)
		}
		c := Change{ID: r.ID, At: r.At.UTC(), Actor: r.Actor, Reason: r.Reason, Node: fair.LevelRef{ID: id, Kind: r.ObjectKind, Name: r.ObjectName}}
		for _, part := range []struct {
			raw json.RawMessage
			to  *fair.Limits
		}{{r.OldValue, &c.Old}, {r.NewValue, &c.New}} {
			if len(part.raw) == 0 {
				continue
			}
			if err := json.Unmarshal(part.raw, part.to); err != nil {
				return nil, fmt.Errorf("audit entry %s: %w", r.ID, err)
			}
		}
		changes = append(changes, c)
	}
	return slices.Clip(changes), nil
}
