package execution

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/flowforge/flowforge/db"
)

// begins writes which attempts have begun, after all other components.
type begins struct {
	feature
	noPart
}

// write writes which attempts have begun.
func (be *begins) write(ctx context.Context, q *db.Queries) error {
	if len(be.loop.batch.started) == 0 {
		return nil
	}
	rows := slices.Collect(maps.Values(be.loop.batch.started))
	if err := q.FlushStarted(ctx, be.loop.id, indexes(rows, func(r startedRow) int { return r.Node }), recordSet(rows)); err != nil {
		return fmt.Errorf("flush begins: %w", err)
	}
	return nil
}
