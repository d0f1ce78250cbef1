package telemetry

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/telemetry/spool"
)

// LogQuery selects lines of one execution. Empty fields select everything.
type LogQuery struct {
	ExecutionID uuid.UUID
	Nodes       []string // including their items and inner nodes: train matches train[3] and train/fit
	Attempt     *int
	Streams     []string
	Levels      []string
	Text        string    // in the message or the fields; upper and lower case alike
	From, To    time.Time // From ≤ time < To

	// After and Before are cursors of lines in the order of time. Last takes the
	// newest lines that match instead of the oldest.
	After, Before Cursor
	Last          bool
	Limit         int
}

// filter is a query with the reader's scope and the excluded lines.
type filter struct {
	LogQuery
	project *uuid.UUID
	text    string // Text in lower case
	forms   []string
	// upTo excludes later lines of its writers; strict excludes all other writers.
	upTo   marks
	strict bool
	// after excludes earlier lines of its writers.
	after marks
}

// span of keys: after < line < before; newest first when desc.
type keySpan struct {
	after, before *lineKey
	desc          bool
	limit         int
}

func newFilter(q LogQuery, project *uuid.UUID) *filter {
	return &filter{LogQuery: q, project: project, text: strings.ToLower(q.Text), forms: Forms(q.Text)}
}

// whole reports whether all lines of the execution match.
func (f *filter) whole() bool {
	return f.text == "" && len(f.Nodes)+len(f.Streams)+len(f.Levels) == 0 && f.Attempt == nil && f.From.IsZero() && f.To.IsZero()
}

// onlyNodes reports whether all lines of the execution or of some nodes match, and returns these nodes
// as text.
func (f *filter) onlyNodes() (nodes string, ok bool) {
	all := *f
	all.Nodes = nil
	return strings.Join(f.Nodes, "\n"), all.whole()
}

// where returns the condition in SQL and its arguments.
func (f *filter) where() (string, []any) {
	var c conditions
	c.add("execution_id = ?", f.ExecutionID)
	if f.project != nil {
		c.add("project_id = ?", *f.project)
	}
	c.within(f.Nodes)
	c.in("stream", f.Streams)
	c.in("level", f.Levels)
	if f.Attempt != nil {
		c.add("attempt = ?", *f.Attempt)
	}
	if !f.From.IsZero() {
		c.add("timestamp >= fromUnixTimestamp64Micro(?, 'UTC')", f.From.UnixMicro())
	}
	if !f.To.IsZero() {
		c.add("timestamp < fromUnixTimestamp64Micro(?, 'UTC')", f.To.UnixMicro())
	}
	if f.text != "" {
		patterns := make([]any, len(f.forms))
		for i, form := range f.forms {
			patterns[i] = "%" + likeEscape(form) + "%"
		}
		like := "lowerUTF8(concat(message, ' ', extra)) LIKE ?"
		c.add("("+like+strings.Repeat(" OR "+like, len(patterns)-1)+")", patterns...)
	}
	var known []uint64
	for w, at := range f.upTo {
		c.add("NOT (writer = ? AND position > ?)", w, at)
		known = append(known, w)
	}
	if f.strict {
		c.add("writer IN (?)", known)
	}
	for w, at := range f.after {
		c.add("NOT (writer = ? AND position <= ?)", w, at)
	}
	return c.String(), c.args
}

// likeEscape quotes the wildcards of LIKE.
func likeEscape(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}

// match evaluates the same condition for a line of the spool.
func (f *filter) match(l *LogLine) bool {
	switch {
	case f.project != nil && l.ProjectID != *f.project,
		len(f.Nodes) > 0 && !within(f.Nodes, l.Node),
		len(f.Streams) > 0 && !slices.Contains(f.Streams, l.Stream),
		len(f.Levels) > 0 && !slices.Contains(f.Levels, l.Level),
		f.Attempt != nil && l.Attempt != *f.Attempt,
		!f.From.IsZero() && l.Time.Before(f.From),
		!f.To.IsZero() && !l.Time.Before(f.To):
		return false
	}
	if at, ok := f.upTo[l.writer]; ok && l.position > at {
		return false
	}
	if at, ok := f.after[l.writer]; ok && l.position <= at {
		return false
	}
	return f.text == "" || l.contains(f.forms)
}

// conditions are joined with AND.
type conditions struct {
	sql  []string
	args []any
}

func (c *conditions) add(sql string, args ...any) {
	c.sql = append(c.sql, sql)
	c.args = append(c.args, args...)
}

func (c *conditions) in(column string, values []string) {
	if len(values) > 0 {
		c.add(column+" IN (?)", values)
	}
}

// within selects the nodes with these names, their items and inner nodes.
func (c *conditions) within(nodes []string) {
	if len(nodes) == 0 {
		return
	}
	parts, args := []string{"node IN (?)"}, []any{nodes}
	for _, n := range nodes {
		parts = append(parts, "startsWith(node, ?)", "startsWith(node, ?)")
		args = append(args, n+"[", n+"/")
	}
	c.add("("+strings.Join(parts, " OR ")+")", args...)
}

// within evaluates the same condition for the name of one node.
func within(nodes []string, name string) bool {
	return slices.ContainsFunc(nodes, func(n string) bool {
		rest, ok := strings.CutPrefix(name, n)
		return ok && (rest == "" || rest[0] == '[' || rest[0] == '/')
	})
}

func (c *conditions) String() string { return strings.Join(c.sql, " AND ") }

func compareKeys(a, b lineKey) int {
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Attempt, b.Attempt),
		cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Seq, b.Seq))
}

// order compares two lines in the direction of the span.
func (k keySpan) order(a, b LogLine) int {
	if k.desc {
		a, b = b, a
	}
	return compareKeys(keyOf(&a), keyOf(&b))
}

func (k keySpan) contains(l *LogLine) bool {
	key := keyOf(l)
	return (k.after == nil || compareKeys(key, *k.after) > 0) && (k.before == nil || compareKeys(key, *k.before) < 0)
}

// spooled returns the lines of the frames that match, at most the first
// span.limit of them in the span's order, sorted.
func (s *Service) spooled(refs []spool.Ref, f *filter, span keySpan) ([]LogLine, error) {
	var out []LogLine
	err := s.spool.Read(refs, func(frame spool.Frame) error {
		if !isLogs(frame.Kind) {
			return nil
		}
		lines, err := decodeLines(frame)
		if err != nil {
			return err
		}
		for i := range lines {
			l := &lines[i]
			l.writer, l.position = s.spool.Writer(), frame.First+uint64(i)
			if f.match(l) && span.contains(l) {
				out = append(out, *l)
			}
		}
		if len(out) > 8*span.limit { // memory stays bounded for any size of the spool
			slices.SortFunc(out, span.order)
			out = out[:span.limit]
		}
		return nil
	})
	slices.SortFunc(out, span.order)
	return out[:min(len(out), span.limit)], err
}

// storedIn returns the first span.limit lines in ClickHouse that match and are in a window.
func (s *Service) storedIn(ctx context.Context, f *filter, span keySpan, w window) ([]LogLine, error) {
	where, args := f.where()
	if w.from != nil {
		where += " AND timestamp > fromUnixTimestamp64Micro(?, 'UTC')"
		args = append(args, *w.from)
	}
	if w.to != nil {
		where += " AND timestamp <= fromUnixTimestamp64Micro(?, 'UTC')"
		args = append(args, *w.to)
	}
	const key = "(timestamp, node_index, attempt, stream, sequence)"
	bound := func(op string, k *lineKey) {
		if k != nil {
			where += " AND " + key + " " + op + " (fromUnixTimestamp64Micro(?, 'UTC'), ?, ?, ?, ?)"
			args = append(args, k.Time, k.Node, k.Attempt, k.Stream, k.Seq)
		}
	}
	bound(">", span.after)
	bound("<", span.before)
	direction := " ASC"
	if span.desc {
		direction = " DESC"
	}
	order := strings.ReplaceAll(strings.Trim(key, "()"), ",", direction+",") + direction
	return s.query(ctx, f, where+" ORDER BY "+order+" LIMIT ?", append(args, span.limit))
}

// query reads lines from ClickHouse; rest is the SQL after WHERE.
func (s *Service) query(ctx context.Context, f *filter, rest string, args []any) ([]LogLine, error) {
	if s.store == nil || !s.store.migrated.Load() {
		return nil, errNotReady
	}
	rows, err := s.store.conn.Query(ctx, "SELECT tenant_id, project_id, node_index, node, attempt, stream, sequence, timestamp, "+
		"level, message, extra, pod, machine, writer, position FROM logs WHERE "+rest, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err describes what went wrong
	var out []LogLine
	for rows.Next() {
		var (
			l       = LogLine{ExecutionID: f.ExecutionID}
			node    uint32
			attempt uint16
			extra   string
		)
		if err := rows.Scan(&l.TenantID, &l.ProjectID, &node, &l.Node, &attempt, &l.Stream, &l.Seq, &l.Time,
			&l.Level, &l.Message, &extra, &l.Pod, &l.Machine, &l.writer, &l.position); err != nil {
			return nil, err
		}
		l.NodeIndex, l.Attempt, l.Time = int(node), int(attempt), l.Time.UTC()
		if extra != "" {
			l.Fields = json.RawMessage(extra)
		}
		out = append(out, l)
	}
	return out, rows.Err()
}
