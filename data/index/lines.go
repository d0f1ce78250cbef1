package index

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/search"
)

const (
	defaultLines = 20
	maxLines     = 200
	linesAround  = 2 // before and after a hit
	logSeconds   = 10
	recentLines  = 24 * time.Hour // of which hits are read first
)

// boundLogs limits a query to executions of the last days, unless it has a beginning.
func (a *resolvedQuery) boundLogs() {
	from, bounded := search.LaunchedFrom(a.where)
	if !bounded {
		from = a.now.Add(-search.LogSpan)
		a.where = search.And{a.where, search.Fact("created", search.AtLeast, search.Value{Type: search.Time, Time: from})}
	}
	a.logsFrom = from
}

// log finds executions with a line that contains a text, in any case.
func (c *compiler) log(text string) string {
	return "execution_id IN (SELECT execution_id FROM logs WHERE " + c.logRange() + " AND " + c.logText(text) + ")"
}

// logRange reads the partitions of the executions since a launch. The hint selects whole partitions:
// ClickHouse does not evaluate it for each line.
func (c *compiler) logRange() string {
	from := fmt.Sprintf("fromUnixTimestamp64Milli(%d, 'UTC')", c.logsFrom.UnixMilli())
	return "project_id = toUUID('" + c.projectID + "') AND indexHint(toMonday(UUIDv7ToDateTime(execution_id, 'UTC')) >= toMonday(" + from + "))"
}

// logText is written as the index of the table logs, so that it is used.
func (c *compiler) logText(text string) string {
	forms := telemetry.Forms(text)
	for i, form := range forms {
		quoted := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(form)
		forms[i] = "lowerUTF8(concat(message, ' ', extra)) LIKE " + c.arg("%"+quoted+"%")
	}
	return "(" + strings.Join(forms, " OR ") + ")"
}

// LineQuery selects lines of the logs of the executions that Query selects.
type LineQuery struct {
	Query Query    // its order, columns and pages do not apply
	Texts []string // a line contains one of them, in any case
	After string   // Lines.Next
	Limit int
}

// Lines are lines that contain a text, newest first.
type Lines struct {
	Hits []Hit
	From time.Time // earliest launch of the executions whose logs were searched
	Next string    // "" on the last page
	// Bare indicates that the lines have no numbers and no lines around them: the logs are too long.
	Bare bool
}

// Line is one line of a log.
type Line struct {
	Number  int // in the log of its attempt, from 1; 0 if it is not known
	Time    time.Time
	Level   string
	Message string
	Fields  json.RawMessage // that the task logged with the message
	Stream  string
	Seq     int64
}

// Hit is a line that contains a text, with the lines around it.
type Hit struct {
	Line
	ExecutionID uuid.UUID
	NodeIndex   int
	Node        string
	Attempt     int
	Before      []Line
	Behind      []Line
}

// Lines returns lines of the logs of many executions. It returns Invalid for a query that cannot be
// read or takes too long, and Unavailable while ClickHouse does not respond.
func (s *Service) Lines(ctx context.Context, q LineQuery) (Lines, error) {
	if _, err := auth.Authorize(ctx, auth.LogRead); err != nil {
		return Lines{}, err
	}
	a, conn, err := s.resolve(ctx, Query{Where: q.Query.Where, And: q.Query.And})
	if err != nil {
		return Lines{}, err
	}
	if len(q.Texts) == 0 {
		if q.Texts = search.LogTexts(a.where); len(q.Texts) == 0 {
			const message = "Enter the text that lines contain, or a query with log ~ \"text\"."
			return Lines{}, apperr.InvalidFields(message, []apperr.Field{{Path: "text", Message: message}})
		}
	}
	if a.logsFrom.IsZero() { // the query has no condition on logs itself
		a.boundLogs()
	}
	limit := PageOfLines(q.Limit)
	out := Lines{From: a.logsFrom}
	if out.Hits, err = a.hits(ctx, conn, q, limit+1); err != nil {
		return Lines{}, failure(err)
	}
	if len(out.Hits) > limit {
		out.Hits = out.Hits[:limit]
		out.Next = lineMark(out.Hits[limit-1])
	}
	if len(out.Hits) == 0 {
		return out, nil
	}
	if err := around(ctx, conn, a.projectID, out.Hits); err != nil {
		if !apperr.Is(failure(err), apperr.Invalid) {
			return Lines{}, failure(err)
		}
		out.Bare = true // it takes too long
	}
	return out, nil
}

// PageOfLines is the number of lines of a page for a requested number; 0 is the default.
func PageOfLines(requested int) int {
	if requested <= 0 {
		return defaultLines
	}
	return min(requested, maxLines)
}

// patient is a context for statements that read logs.
func patient(ctx context.Context) context.Context {
	return clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"max_execution_time": logSeconds, "max_memory_usage": 1 << 30}))
}

// lineKey is the identity of a line in the order of hits.
type lineKey struct {
	Time      int64     `json:"t"` // microseconds
	Execution uuid.UUID `json:"e"`
	Node      int       `json:"n"`
	Attempt   int       `json:"a"`
	Stream    string    `json:"s"`
	Seq       int64     `json:"q"`
}

func (h Hit) key() lineKey {
	return lineKey{h.Time.UnixMicro(), h.ExecutionID, h.NodeIndex, h.Attempt, h.Stream, h.Seq}
}

func lineMark(h Hit) string {
	raw, _ := json.Marshal(h.key()) //nolint:errchkjson // numbers and texts
	return base64.RawURLEncoding.EncodeToString(raw)
}

// readLineMark returns the line before a page, or nil for the first page.
func readLineMark(mark string) (*lineKey, error) {
	if mark == "" {
		return nil, nil //nolint:nilnil // as documented
	}
	raw, err := base64.RawURLEncoding.DecodeString(mark)
	var k lineKey
	if err != nil || json.Unmarshal(raw, &k) != nil {
		return nil, apperr.InvalidFields("The page token is not valid.", []apperr.Field{{Path: "page", Message: "Use the token from the previous page."}})
	}
	return &k, nil
}

const lineOrder = "timestamp, execution_id, node_index, attempt, stream, sequence"

// lineSpan selects lines in the order of hits: older than after, and not older than from.
type lineSpan struct {
	after *lineKey  // nil: the newest
	until time.Time // zero: no bound
	from  time.Time // zero: no bound
}

// hits returns the latest lines with one of the texts, each once. ClickHouse can have a line twice until
// it merges parts. The lines of the last day often suffice, and ClickHouse then leaves out the granules
// of older lines.
func (a resolvedQuery) hits(ctx context.Context, conn driver.Conn, q LineQuery, limit int) ([]Hit, error) {
	after, err := readLineMark(q.After)
	if err != nil {
		return nil, err
	}
	span := lineSpan{after: after, from: a.now.Add(-recentLines)}
	if after != nil && after.Time < span.from.UnixMicro() {
		span.from = time.Time{}
	}
	var list []Hit
	for {
		missing := limit - len(list)
		more, err := a.rawHits(ctx, conn, q.Texts, span, missing)
		if err != nil {
			return nil, err
		}
		for _, h := range more {
			if len(list) == 0 || list[len(list)-1].key() != h.key() {
				list = append(list, h)
			}
		}
		last := len(more) < missing // of the span
		switch {
		case len(list) == limit, last && span.from.IsZero():
			return list, nil
		case last:
			span.until, span.from = span.from, time.Time{}
		default:
			span.after = new(more[len(more)-1].key())
		}
	}
}

// condition is the span in SQL with its arguments.
func (s lineSpan) condition() (string, []any) {
	sql, args := "", []any(nil)
	if !s.from.IsZero() {
		sql += fmt.Sprintf(" AND timestamp >= fromUnixTimestamp64Micro(%d, 'UTC')", s.from.UnixMicro())
	}
	if !s.until.IsZero() {
		sql += fmt.Sprintf(" AND timestamp < fromUnixTimestamp64Micro(%d, 'UTC')", s.until.UnixMicro())
	}
	if k := s.after; k != nil {
		sql += fmt.Sprintf(" AND (%s) < (fromUnixTimestamp64Micro(%d, 'UTC'), toUUID('%s'), %d, %d, ?, %d)", lineOrder, k.Time, k.Execution, k.Node, k.Attempt, k.Seq)
		args = append(args, k.Stream)
	}
	return sql, args
}

// rawHits returns at most limit of the latest lines of a span. Lines that ClickHouse has twice are
// adjacent. LIMIT BY would leave them out, but then ClickHouse reads and sorts all lines with the text.
// It looks up a large set of executions only for lines with the text, not in the primary key.
func (a resolvedQuery) rawHits(ctx context.Context, conn driver.Conn, texts []string, span lineSpan, limit int) ([]Hit, error) {
	c := compiler{projectID: a.projectID, logsFrom: a.logsFrom}
	contains := make([]string, len(texts))
	for i, text := range texts {
		contains[i] = c.logText(text)
	}
	if len(texts) == 1 {
		a.where = search.WithoutLog(a.where, texts[0])
	}
	from, args := a.from()
	between, more := span.condition()
	where := c.logRange() + " AND (" + strings.Join(contains, " OR ") + ") AND execution_id IN (SELECT execution_id" + from + ")" + between
	args = slices.Concat(c.args, args, more)
	rows, err := conn.Query(patient(ctx), "SELECT execution_id, node_index, node, attempt, stream, sequence, timestamp, level, message, extra FROM logs WHERE "+where+
		" ORDER BY "+strings.ReplaceAll(lineOrder, ",", " DESC,")+fmt.Sprintf(" DESC LIMIT %d", limit)+settings+", use_index_for_in_with_subqueries_max_values = 1000", args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []Hit
	for rows.Next() {
		var (
			h       Hit
			node    uint32
			attempt uint16
			fields  string
		)
		if err := rows.Scan(&h.ExecutionID, &node, &h.Node, &attempt, &h.Stream, &h.Seq, &h.Time, &h.Level, &h.Message, &fields); err != nil {
			return nil, err
		}
		h.NodeIndex, h.Attempt, h.Time, h.Fields = int(node), int(attempt), h.Time.UTC(), rawFields(fields)
		list = append(list, h)
	}
	return list, rows.Err()
}

// around adds the numbers of hits and the lines around them. It numbers the lines of the attempts
// without their texts, which it reads for the lines that are shown.
func around(ctx context.Context, conn driver.Conn, projectID string, hits []Hit) error {
	attempts, keys := make([]string, len(hits)), make([]string, len(hits))
	var args []any
	for i, h := range hits {
		attempts[i] = fmt.Sprintf("(toUUID('%s'), %d, %d)", h.ExecutionID, h.NodeIndex, h.Attempt)
		keys[i] = fmt.Sprintf("(toUUID('%s'), %d, %d, ?, %d)", h.ExecutionID, h.NodeIndex, h.Attempt, h.Seq)
		args = append(args, h.Stream)
	}
	const attempt, line = "execution_id, node_index, attempt", "execution_id, node_index, attempt, stream, sequence"
	of := "project_id = toUUID('" + projectID + "') AND (" + attempt + ") IN (" + strings.Join(attempts, ", ") + ")"
	statement := fmt.Sprintf(`SELECT %[2]s, number, timestamp, level, message, extra FROM logs INNER JOIN (
			SELECT %[2]s, number FROM (
				SELECT %[2]s, row_number() OVER log AS number, max((%[2]s) IN (%[4]s)) OVER (log ROWS BETWEEN %[5]d PRECEDING AND %[5]d FOLLOWING) AS shown
				FROM logs FINAL WHERE %[3]s WINDOW log AS (PARTITION BY %[1]s ORDER BY timestamp, stream, sequence))
			WHERE shown) AS numbered USING (%[2]s)
		WHERE %[3]s ORDER BY %[1]s, number LIMIT 1 BY %[1]s, number`, attempt, line, of, strings.Join(keys, ", "), linesAround)
	rows, err := conn.Query(patient(ctx), statement+settings, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	byAttempt := map[string][]Line{}
	for rows.Next() {
		var (
			l       Line
			id      uuid.UUID
			node    uint32
			attempt uint16
			number  uint64
			fields  string
		)
		if err := rows.Scan(&id, &node, &attempt, &l.Stream, &l.Seq, &number, &l.Time, &l.Level, &l.Message, &fields); err != nil {
			return err
		}
		l.Number, l.Time, l.Fields = int(number), l.Time.UTC(), rawFields(fields)
		key := fmt.Sprint(id, node, attempt)
		byAttempt[key] = append(byAttempt[key], l)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for i := range hits {
		hits[i].place(byAttempt[fmt.Sprint(hits[i].ExecutionID, hits[i].NodeIndex, hits[i].Attempt)])
	}
	return nil
}

// rawFields are the stored fields of a line.
func rawFields(stored string) json.RawMessage {
	if stored == "" {
		return nil
	}
	return json.RawMessage(stored)
}

// Text is the message with the fields, as the pages of logs show it.
func (l Line) Text() string { return telemetry.Text(l.Stream, l.Message, l.Fields, "") }

// place finds a hit among numbered lines of its attempt.
func (h *Hit) place(lines []Line) {
	for _, l := range lines {
		if l.Stream == h.Stream && l.Seq == h.Seq {
			h.Number = l.Number
		}
	}
	for _, l := range lines {
		switch {
		case h.Number == 0:
		case l.Number < h.Number && l.Number >= h.Number-linesAround:
			h.Before = append(h.Before, l)
		case l.Number > h.Number && l.Number <= h.Number+linesAround:
			h.Behind = append(h.Behind, l)
		}
	}
}
