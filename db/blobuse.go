package db

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// TouchEvery is the maximum age of a blob's last request before it is updated. Code that
// relies on that time must allow for this inaccuracy.
const TouchEvery = 10 * time.Minute

// FindBlobs returns which of the hashes project has, with their sizes, and records the
// request: the grace period of a sweep protects these blobs, so that the caller can
// reference them.
func (q *Queries) FindBlobs(ctx context.Context, project uuid.UUID, hashes [][]byte, now time.Time) (map[string]int64, error) {
	rows, err := q.ProjectBlobs(ctx, project, hashes)
	if err != nil {
		return nil, fmt.Errorf("blobs of project %s: %w", project, err)
	}
	found := make(map[string]int64, len(rows))
	var stale [][]byte
	for _, r := range rows {
		found[string(r.Sha256)] = r.Size
		if now.Sub(r.UsedAt) > TouchEvery {
			stale = append(stale, r.Sha256)
		}
	}
	if len(stale) == 0 {
		return found, nil
	}
	there, err := q.TouchProjectBlobs(ctx, now, project, stale)
	if err != nil {
		return nil, fmt.Errorf("touch blobs of project %s: %w", project, err)
	}
	kept := make(map[string]bool, len(there))
	for _, raw := range there {
		kept[string(raw)] = true
	}
	for _, raw := range stale {
		if !kept[string(raw)] { // a sweep removed it first
			delete(found, string(raw))
		}
	}
	return found, nil
}
