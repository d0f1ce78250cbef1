package index

import (
	"context"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
)

// fill reads the values of rows.
func (a resolvedQuery) fill(ctx context.Context, conn driver.Conn, rows []Row) error {
	if len(rows) == 0 || len(a.columns) == 0 {
		return nil
	}
	var expressions []string
	for _, c := range a.columns {
		numbers, texts := a.sql(c)
		expressions = append(expressions, orNull(numbers, "Float64"), orNull(texts, "String"))
	}
	ids, at := make([]uuid.UUID, len(rows)), make([]time.Time, len(rows))
	places := map[uuid.UUID]int{}
	for i, r := range rows {
		ids[i], at[i], places[r.ID] = r.ID, r.at, i
	}
	found, err := conn.Query(ctx, byKey(a.projectID, expressions, ids, at))
	if err != nil {
		return err
	}
	defer func() { _ = found.Close() }()
	for found.Next() {
		var id uuid.UUID
		numbers, texts := make([]*float64, len(a.columns)), make([]*string, len(a.columns))
		into := []any{&id}
		for i := range a.columns {
			into = append(into, &numbers[i], &texts[i])
		}
		if err := found.Scan(into...); err != nil {
			return err
		}
		values := make([]any, len(a.columns))
		for i, c := range a.columns {
			values[i] = c.value(numbers[i], texts[i])
		}
		rows[places[id]].Values = values
	}
	return found.Err()
}

// value is what a cell of the column contains.
func (c Column) value(number *float64, text *string) any {
	switch {
	case c.Type == "time" && number != nil:
		return time.UnixMicro(int64(*number)).UTC()
	case c.Type == tagsType:
		if text == nil || *text == "" {
			return nil
		}
		return strings.Split(*text, "\n")
	case number != nil:
		return *number
	case text != nil:
		return *text
	}
	return nil
}
