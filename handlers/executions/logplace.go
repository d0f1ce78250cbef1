package executions

import (
	"context"

	"github.com/flowforge/flowforge/data/telemetry"
)

// logPlace is the part of a log that the viewer shows: the lines before or after a cursor, or those
// around one. The zero place is the end of the log.
type logPlace struct{ before, after, at telemetry.Cursor }

// readLog returns the lines of a place.
func (h *Pages) readLog(ctx context.Context, q telemetry.LogQuery, place logPlace, limit int) (telemetry.LogPage, error) {
	q.Limit = limit
	switch {
	case place.at != "":
		return h.readAround(ctx, q, place.at)
	case place.after != "":
		q.After = place.after
	default:
		q.Last, q.Before = true, place.before
	}
	return h.Telemetry.Logs(ctx, q)
}

// readAround returns the lines around a line, as many before it as from it on.
func (h *Pages) readAround(ctx context.Context, q telemetry.LogQuery, at telemetry.Cursor) (telemetry.LogPage, error) {
	q.Limit = max(1, q.Limit/2)
	before, behind := q, q
	before.Last, before.Before = true, at
	behind.After = at.Preceding()
	first, err := h.Telemetry.Logs(ctx, before)
	if err != nil {
		return telemetry.LogPage{}, err
	}
	second, err := h.Telemetry.Logs(ctx, behind)
	if err != nil {
		return telemetry.LogPage{}, err
	}
	return telemetry.LogPage{Lines: append(first.Lines, second.Lines...), Prev: first.Prev, Next: second.Next, Partial: first.Partial || second.Partial}, nil
}
