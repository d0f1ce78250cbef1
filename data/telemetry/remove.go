package telemetry

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// removeTimeout is the timeout for removing the records of executions.
const removeTimeout = 5 * time.Minute

// Remove deletes the log lines, metrics and indexed values of executions that have ended; their
// facts stay. It returns apperr.Unavailable while ClickHouse does not respond, and is
// idempotent. Lines in the spool of another server, and later lines, are removed when
// they reach the retention age.
func (s *Service) Remove(ctx context.Context, executions []uuid.UUID) error {
	if _, err := auth.Authorize(ctx, auth.Administer); err != nil {
		return err
	}
	if s.store == nil || len(executions) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	// Records spooled here must not be inserted after the removal.
	if err := s.flush(ctx); err != nil {
		return apperr.Wrap(apperr.Unavailable, err, "ClickHouse is not responding, so logs and metrics cannot be removed right now.")
	}
	ids := make([]string, len(executions))
	for i, id := range executions {
		ids[i] = "toUUID('" + id.String() + "')"
	}
	list := strings.Join(ids, ", ")
	for _, table := range append(tables(), "execution_values") {
		if err := s.store.conn.Exec(ctx, "DELETE FROM "+table+" WHERE execution_id IN ("+list+") SETTINGS lightweight_deletes_sync = 2"); err != nil {
			return apperr.Wrap(apperr.Unavailable, fmt.Errorf("remove from %s: %w", table, err), "ClickHouse is not responding, so logs and metrics cannot be removed right now.")
		}
	}
	return nil
}
