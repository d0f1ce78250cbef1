package index

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/search"
)

// youngest is the age from which metric points may have been removed: they are kept for at least a
// day.
const youngest = 24 * time.Hour

// carry adds the metrics of the earlier entries that points are missing for: points have a
// retention, and the index keeps what it knows.
func (s *Service) carry(ctx context.Context, conn driver.Conn, all slots, entries []entry) error {
	old := map[uuid.UUID][]*entry{}
	for i := range entries {
		if e := &entries[i]; !e.removed && s.cfg.Now().Sub(e.row.CreatedAt) > youngest {
			old[e.row.ProjectID] = append(old[e.row.ProjectID], e)
		}
	}
	for project, list := range old {
		var keys []key
		for k := range all[project].columns {
			if k.part == search.Metrics {
				keys = append(keys, k)
			}
		}
		if len(keys) == 0 {
			continue
		}
		if err := carryOver(ctx, conn, project, all[project], keys, list); err != nil {
			return fmt.Errorf("read earlier entries: %w", err)
		}
	}
	return nil
}

func carryOver(ctx context.Context, conn driver.Conn, project uuid.UUID, a assigned, keys []key, entries []*entry) error {
	columns, ids, at := make([]string, len(keys)), make([]uuid.UUID, len(entries)), make([]time.Time, len(entries))
	for i, k := range keys {
		columns[i] = fmt.Sprintf("%s%d", letter(k.kind), a.columns[k])
	}
	places := map[uuid.UUID]*entry{}
	for i, e := range entries {
		ids[i], at[i], places[e.row.ID] = e.row.ID, e.row.CreatedAt, e
	}
	rows, err := conn.Query(ctx, byKey(project.String(), columns, ids, at))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id uuid.UUID
		numbers := make([]*float64, len(keys))
		into := []any{&id}
		for i := range numbers {
			into = append(into, &numbers[i])
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, k := range keys {
			if numbers[i] != nil {
				places[id].keep(k, *numbers[i])
			}
		}
	}
	return rows.Err()
}

// keep merges a metric's earlier number into an entry.
func (e *entry) keep(k key, earlier float64) {
	i := slices.IndexFunc(e.values, func(v value) bool { return v.key == k })
	switch {
	case i < 0:
		e.values = append(e.values, value{key: k, number: earlier})
	case k.stat == search.Least:
		e.values[i].number = min(e.values[i].number, earlier)
	case k.stat == search.Most:
		e.values[i].number = max(e.values[i].number, earlier)
	}
}
