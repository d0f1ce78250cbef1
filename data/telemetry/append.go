package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/telemetry/spool"
)

// MaxMessageBytes is the length at which a log message is truncated.
const MaxMessageBytes = 256 << 10

// frameRecords bounds the records of one frame, so that a reader of a few lines
// does not decode thousands.
const frameRecords = 1000

// AppendLogs stores lines; they are on disk when it returns. It gives them their canonical form. Lines
// that were already appended are dropped silently. Errors: Forbidden for a task that
// writes another attempt's lines, Invalid, and Unavailable when the spool or the disk
// is full: then none of the lines is stored.
func (s *Service) AppendLogs(ctx context.Context, lines []LogLine) error {
	subject, err := auth.Authorize(ctx, auth.TaskReport)
	if err != nil {
		return err
	}
	now := s.cfg.Now()
	records := make([]record, len(lines))
	for i := range lines {
		l := &lines[i]
		if err := checkOwner(subject, l.ExecutionID, l.NodeIndex, l.Attempt); err != nil {
			return err
		}
		l.normalize(now)
		records[i] = record{stream: streamID{kindLogs, l.ExecutionID, l.NodeIndex, l.Attempt, l.Stream}, seq: l.Seq, line: l}
	}
	return s.append(records)
}

// AppendMetrics stores points like AppendLogs stores lines.
func (s *Service) AppendMetrics(ctx context.Context, points []Point) error {
	subject, err := auth.Authorize(ctx, auth.TaskReport)
	if err != nil {
		return err
	}
	now := s.cfg.Now()
	records := make([]record, len(points))
	for i := range points {
		p := points[i]
		if err := checkOwner(subject, p.ExecutionID, p.NodeIndex, p.Attempt); err != nil {
			return err
		}
		if p.Name == "" {
			return apperr.New(apperr.Invalid, "A metric must have a name.")
		}
		p.Time = sane(p.Time, now)
		if p.Kind = strings.ToLower(p.Kind); p.Kind != Counter && p.Kind != Histogram {
			p.Kind = Gauge
		}
		p.Name, p.Node = metricName(p.Name), strings.ToValidUTF8(p.Node, "\uFFFD")
		records[i] = record{stream: streamID{kindMetrics, p.ExecutionID, p.NodeIndex, p.Attempt, p.Name}, seq: p.Seq, point: &p}
	}
	err = s.append(records)
	for i := range points { // also after an error: some may be durable
		s.received.of(points[i].ExecutionID).Add(1)
	}
	return err
}

// metricName is a name as it is stored: text without NUL, which other stores refuse.
func metricName(name string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(name, "\uFFFD"), "\x00", "\uFFFD")
}

// AppendFacts stores facts of executions; only the system may.
func (s *Service) AppendFacts(ctx context.Context, facts []Fact) error {
	if _, err := auth.Authorize(ctx, auth.Administer); err != nil {
		return err
	}
	entries := make([]spool.Entry, len(facts))
	for i := range facts {
		b, err := json.Marshal(&facts[i])
		if err != nil {
			return err
		}
		entries[i] = spool.Entry{Kind: kindFacts, Group: facts[i].ExecutionID, Count: 1, Payload: b}
	}
	return s.write(entries)
}

// checkOwner rejects reports of a task about another attempt, and numbers that no table
// can hold.
func checkOwner(subject auth.Subject, execution uuid.UUID, node, attempt int) error {
	if t := subject.Task; t != nil && (t.ExecutionID != execution || t.NodeIndex != node || t.Attempt != attempt) {
		return apperr.New(apperr.Forbidden, "A task can report only for its own attempt.")
	}
	if node < 0 || node > 1<<31-1 || attempt < 0 || attempt > 1<<16-1 {
		return apperr.New(apperr.Invalid, "Node %d, attempt %d does not exist.", node, attempt)
	}
	return nil
}

// sane returns t in UTC and microseconds, or now when a task's clock is implausible.
func sane(t, now time.Time) time.Time {
	if t.Year() < 1971 || t.After(now.Add(400*day)) {
		t = now
	}
	return t.UTC().Truncate(time.Microsecond)
}

// normalize converts a line of a task to the stored form.
func (l *LogLine) normalize(now time.Time) {
	l.Time = sane(l.Time, now)
	switch level := strings.ToUpper(l.Level); level {
	case "DEBUG", "INFO", "WARN", "ERROR":
		l.Level = level
	case "WARNING":
		l.Level = "WARN"
	case "CRITICAL", "FATAL", "PANIC":
		l.Level = "ERROR"
	case "TRACE":
		l.Level = "DEBUG"
	default:
		l.Level = "INFO"
	}
	if len(l.Message) > MaxMessageBytes {
		cut := MaxMessageBytes
		for cut > 0 && !utf8.RuneStart(l.Message[cut]) {
			cut--
		}
		l.Message = l.Message[:cut] + " … (cut)"
	}
	for _, text := range []*string{&l.Message, &l.Node, &l.Stream, &l.Pod, &l.Machine} {
		if !utf8.ValidString(*text) { // faster than a replacement of nothing
			*text = strings.ToValidUTF8(*text, "\uFFFD")
		}
	}
	if len(l.Fields) > 0 && !json.Valid(l.Fields) || string(l.Fields) == "{}" || string(l.Fields) == "null" {
		l.Fields = nil
	}
}

// record is a line or a point to append to the spool.
type record struct {
	stream streamID
	seq    int64
	line   *LogLine
	point  *Point
}

// scope returns the tenant and the project of the record.
func (r *record) scope() (tenant, project uuid.UUID) {
	if r.line != nil {
		return r.line.TenantID, r.line.ProjectID
	}
	return r.point.TenantID, r.point.ProjectID
}

// append stores the records that are new. It waits for records that another append is
// storing, so that success always means "on disk".
func (s *Service) append(records []record) error {
	for len(records) > 0 {
		repeated, err := s.appendNew(records)
		if err != nil || len(repeated) == 0 {
			return err
		}
		s.appending.Lock() // wait for appends in progress
		//nolint:staticcheck // nothing to do inside: the wait is the purpose
		s.appending.Unlock()
		if repeated = s.unknown(repeated); len(repeated) == 0 {
			return nil
		}
		records = repeated
	}
	return nil
}

// appendNew stores the records that were not seen and returns the others.
func (s *Service) appendNew(records []record) (repeated []record, err error) {
	s.appending.RLock()
	defer s.appending.RUnlock()
	s.seenMu.Lock()
	fresh, repeated := s.seen.divide(records, s.spool.Durable()+1)
	s.seenMu.Unlock()
	if len(fresh) == 0 {
		return repeated, nil
	}
	entries, err := encodeRecords(fresh)
	if err == nil {
		err = s.write(entries)
	}
	if err != nil {
		s.seenMu.Lock()
		for i := range fresh {
			s.seen.remove(fresh[i].stream, fresh[i].seq)
		}
		s.seenMu.Unlock()
		return nil, err
	}
	return repeated, nil
}

// unknown returns the records that are not stored because their append failed.
func (s *Service) unknown(records []record) []record {
	s.seenMu.Lock()
	defer s.seenMu.Unlock()
	var out []record
	for i := range records {
		if r := &records[i]; !s.seen.has(r.stream, r.seq) {
			out = append(out, *r)
		}
	}
	return out
}

// write appends entries to the spool and wakes the flusher and the tails.
func (s *Service) write(entries []spool.Entry) error {
	if _, err := s.spool.Append(entries); err != nil {
		n := int64(0)
		for i := range entries {
			n += int64(entries[i].Count)
		}
		s.statusMu.Lock()
		s.status.Refused += n
		s.status.RefusedAt = s.cfg.Now()
		s.statusMu.Unlock()
		if errors.Is(err, spool.ErrFull) {
			return apperr.Wrap(apperr.Unavailable, err, "The spool for logs and metrics is full, because ClickHouse has been unavailable for too long.")
		}
		return apperr.Wrap(apperr.Unavailable, err, "Logs and metrics cannot be written to disk.")
	}
	s.signal()
	for i := range entries {
		if isLogs(entries[i].Kind) {
			s.hub.notify(entries[i].Group)
		}
	}
	return nil
}

// together reports whether two records may be in one frame.
func (r *record) together(other *record) bool {
	tenant, project := r.scope()
	otherTenant, otherProject := other.scope()
	return r.stream.execution == other.stream.execution && tenant == otherTenant && project == otherProject &&
		(r.line == nil || r.line.Pod == other.line.Pod && r.line.Machine == other.line.Machine)
}

// encodeRecords encodes records as frames of one kind, execution, tenant, project, pod and
// machine, in order.
func encodeRecords(records []record) ([]spool.Entry, error) {
	var entries []spool.Entry
	for len(records) > 0 {
		first, n := &records[0], 1
		for n < len(records) && n < frameRecords && first.together(&records[n]) {
			n++
		}
		entry, err := encodeRun(records[:n])
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
		records = records[n:]
	}
	return entries, nil
}

func encodeRun(records []record) (spool.Entry, error) {
	if records[0].line != nil {
		lines := make([]*LogLine, len(records))
		for i := range records {
			lines[i] = records[i].line
		}
		return encodeLines(lines), nil
	}
	points := make([]*Point, len(records))
	for i := range records {
		points[i] = records[i].point
	}
	return encodePoints(points)
}

// remember registers the records of a frame when the spool is opened.
func (s *Service) remember(f spool.Frame) {
	last := f.First + uint64(f.Count) //nolint:gosec // counts are positive
	switch f.Kind {
	case kindLogs, kindOldLogs:
		lines, err := decodeLines(f)
		if err != nil {
			return // reported when the frame is flushed
		}
		for i := range lines {
			l := &lines[i]
			s.seen.add(streamID{kindLogs, l.ExecutionID, l.NodeIndex, l.Attempt, l.Stream}, l.Seq, last)
		}
	case kindMetrics:
		points, err := decodePoints(f)
		if err != nil {
			return
		}
		for i := range points {
			p := &points[i]
			s.seen.add(streamID{kindMetrics, p.ExecutionID, p.NodeIndex, p.Attempt, p.Name}, p.Seq, last)
		}
	}
}
