package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/telemetry/spool"
)

// rows are the decoded records of a batch with their positions.
type rows struct {
	logs    lineColumns
	points  []point
	pointAt []uint64
	facts   []Fact
}

// newRows has space for the lines of a batch.
func newRows(batch *spool.Batch) *rows {
	n := 0
	for i := range batch.Refs {
		if isLogs(batch.Refs[i].Kind) {
			n += batch.Refs[i].Count
		}
	}
	return &rows{logs: newLineColumns(n)}
}

// add decodes one frame. A frame that cannot be decoded is logged and skipped, because
// it would block all later frames.
func (r *rows) add(f spool.Frame, report func(string, ...any)) error {
	var err error
	switch f.Kind {
	case kindLogs, kindOldLogs:
		err = r.logs.add(f)
	case kindMetrics:
		var points []point
		points, err = decodePoints(f)
		for i := range points {
			r.points, r.pointAt = append(r.points, points[i]), append(r.pointAt, f.First+uint64(i))
		}
	case kindFacts:
		var fact Fact
		if err = json.Unmarshal(f.Payload, &fact); err == nil {
			r.facts = append(r.facts, fact)
		}
	default:
		err = errEncoding
	}
	if err != nil {
		report("a spooled frame cannot be decoded and is skipped", "position", f.First, "records", f.Count, "error", err)
	}
	return nil
}

// lineColumns are lines by column, because the driver takes a column at once and does not check the type
// of every value.
type lineColumns struct {
	tenants, projects, executions    []uuid.UUID
	nodeIndexes                      []uint32
	attempts                         []uint16
	sequences                        []int64
	times                            []time.Time
	nodes, streams, levels           []string
	messages, extras, pods, machines []string
	positions                        []uint64
}

func newLineColumns(n int) lineColumns {
	return lineColumns{
		tenants: make([]uuid.UUID, 0, n), projects: make([]uuid.UUID, 0, n), executions: make([]uuid.UUID, 0, n),
		nodeIndexes: make([]uint32, 0, n), attempts: make([]uint16, 0, n), sequences: make([]int64, 0, n), times: make([]time.Time, 0, n),
		nodes: make([]string, 0, n), streams: make([]string, 0, n), levels: make([]string, 0, n), messages: make([]string, 0, n),
		extras: make([]string, 0, n), pods: make([]string, 0, n), machines: make([]string, 0, n), positions: make([]uint64, 0, n),
	}
}

// add appends the lines of a frame, or none if one of them cannot be decoded.
func (c *lineColumns) add(f spool.Frame) error {
	before := c.rows()
	r := readLines(f)
	for at := f.First; ; at++ {
		more, err := r.next()
		if err != nil {
			c.truncate(before)
			return err
		}
		if !more {
			return nil
		}
		l := &r.line
		c.tenants, c.projects, c.executions = append(c.tenants, l.TenantID), append(c.projects, l.ProjectID), append(c.executions, l.ExecutionID)
		c.nodeIndexes = append(c.nodeIndexes, uint32(l.NodeIndex)) //nolint:gosec // checked at append
		c.attempts = append(c.attempts, uint16(l.Attempt))         //nolint:gosec // checked at append
		c.sequences, c.times = append(c.sequences, l.Seq), append(c.times, l.Time)
		c.nodes, c.streams, c.levels = append(c.nodes, l.Node), append(c.streams, l.Stream), append(c.levels, l.Level)
		c.messages, c.extras = append(c.messages, l.Message), append(c.extras, string(l.Fields))
		c.pods, c.machines = append(c.pods, l.Pod), append(c.machines, l.Machine)
		c.positions = append(c.positions, at)
	}
}

func (c *lineColumns) rows() int { return len(c.positions) }

func (c *lineColumns) truncate(n int) {
	c.tenants, c.projects, c.executions = c.tenants[:n], c.projects[:n], c.executions[:n]
	c.nodeIndexes, c.attempts, c.sequences, c.times = c.nodeIndexes[:n], c.attempts[:n], c.sequences[:n], c.times[:n]
	c.nodes, c.streams, c.levels = c.nodes[:n], c.streams[:n], c.levels[:n]
	c.messages, c.extras, c.pods, c.machines = c.messages[:n], c.extras[:n], c.pods[:n], c.machines[:n]
	c.positions = c.positions[:n]
}

// column is a column of an insert with its values.
type column struct {
	name, kind string
	values     any
}

// columns returns the columns of the table of lines. Texts with few different values are sent as plain
// text, which ClickHouse converts faster than the driver.
func (c *lineColumns) columns(writer uint64) []column {
	writers := make([]uint64, c.rows())
	for i := range writers {
		writers[i] = writer
	}
	return []column{
		{"tenant_id", "UUID", c.tenants}, {"project_id", "UUID", c.projects}, {"execution_id", "UUID", c.executions},
		{"node_index", "UInt32", c.nodeIndexes}, {"node", "String", c.nodes}, {"attempt", "UInt16", c.attempts}, {"stream", "String", c.streams},
		{"sequence", "Int64", c.sequences}, {"timestamp", "DateTime64(6, 'UTC')", c.times}, {"level", "String", c.levels},
		{"message", "String", c.messages}, {"extra", "String", c.extras}, {"pod", "String", c.pods}, {"machine", "String", c.machines},
		{"writer", "UInt64", writers}, {"position", "UInt64", c.positions},
	}
}

// insertLines sends lines in one block.
func (s *store) insertLines(ctx context.Context, token string, writer uint64, lines *lineColumns) error {
	if lines.rows() == 0 {
		return nil
	}
	columns := lines.columns(writer)
	statement, types := "INSERT INTO logs (", make([]clickhouse.ColumnNameAndType, len(columns))
	for i, c := range columns {
		if i > 0 {
			statement += ", "
		}
		statement += c.name
		types[i] = clickhouse.ColumnNameAndType{Name: c.name, Type: c.kind}
	}
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(insertSettings("logs", token)), clickhouse.WithColumnNamesAndTypes(types))
	b, err := s.inserts.PrepareBatch(ctx, statement+")")
	if err != nil {
		return fmt.Errorf("insert into logs: %w", err)
	}
	defer b.Close()
	for i, c := range columns {
		if err := b.Column(i).Append(c.values); err != nil {
			_ = b.Abort()
			return fmt.Errorf("insert into logs: column %s: %w", c.name, err)
		}
	}
	if err := b.Send(); err != nil {
		return fmt.Errorf("insert into logs: %w", err)
	}
	return nil
}
