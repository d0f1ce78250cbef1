package quota

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

const (
	denseFor = 7 * 24 * time.Hour  // retention of one sample per minute
	keepFor  = 90 * 24 * time.Hour // retention of one sample per ten minutes
	thinBack = 24 * time.Hour      // how far behind denseFor samples are thinned
)

// sampleRow is the use of one level at one time.
type sampleRow struct {
	Level   uuid.UUID   `json:"node_id"`
	Used    fair.Vector `json:"used"`
	Waiting fair.Vector `json:"waiting"`
}

type historyRow struct {
	Level   uuid.UUID                 `json:"node_id"`
	History map[fair.Resource]float64 `json:"history"`
}

// samples keep the use of levels over time in rows.
type samples struct {
	queries *db.Queries
	fair    *fair.Scheduler
	now     func() time.Time
}

// store stores the current use of every level, for charts, and the decayed use, for
// the next process; it thins old samples.
func (s *samples) store(ctx context.Context) error {
	snapshot := s.fair.Snapshot()
	rows := make([]sampleRow, 0, len(snapshot.Levels))
	for i := range snapshot.Levels {
		l := &snapshot.Levels[i]
		row := sampleRow{Level: l.ID, Used: fair.Vector{}, Waiting: fair.Vector{}}
		for r, state := range l.Resources {
			if state.Used != 0 {
				row.Used[r] = state.Used
			}
			if state.Waiting != 0 {
				row.Waiting[r] = state.Waiting
			}
		}
		rows = append(rows, row)
	}
	samples, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("encode samples: %w", err)
	}
	now := s.now().UTC()
	if err := s.queries.InsertQuotaSamples(ctx, now.Truncate(time.Minute), samples); err != nil {
		return fmt.Errorf("insert samples: %w", err)
	}
	if err := s.storeHistory(ctx); err != nil {
		return err
	}
	before := now.Add(-denseFor)
	if _, err := s.queries.ThinQuotaSamples(ctx, now.Add(-keepFor), before, before.Add(-thinBack)); err != nil {
		return fmt.Errorf("thin samples: %w", err)
	}
	return nil
}

func (s *samples) storeHistory(ctx context.Context) error {
	at, history := s.fair.History()
	rows := make([]historyRow, 0, len(history))
	for id, h := range history {
		rows = append(rows, historyRow{id, h})
	}
	if len(rows) == 0 {
		return nil
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("encode past use: %w", err)
	}
	if err := s.queries.WriteQuotaHistory(ctx, at, encoded); err != nil {
		return fmt.Errorf("keep past use: %w", err)
	}
	return nil
}

// restoreHistory loads the decayed use of former processes.
func (s *samples) restoreHistory(ctx context.Context) error {
	rows, err := s.queries.QuotaUse(ctx)
	if err != nil {
		return fmt.Errorf("read past use: %w", err)
	}
	for _, r := range rows {
		var history map[fair.Resource]float64
		if err := json.Unmarshal(r.History, &history); err != nil {
			return fmt.Errorf("past use of %s: %w", r.NodeID, err)
		}
		if len(history) > 0 {
			s.fair.SetHistory(r.HistoryAt, map[uuid.UUID]map[fair.Resource]float64{r.NodeID: history})
		}
	}
	return nil
}
