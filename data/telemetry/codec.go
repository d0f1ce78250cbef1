package telemetry

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/telemetry/spool"
)

// Kinds of frames in the spool. A frame holds records of one execution, one
// tenant and one project; its group is the execution.
const (
	kindLogs    = 'l'
	kindOldLogs = 'L' // without the pod and the machine; spools of earlier versions contain them
	kindMetrics = 'M'
	kindFacts   = 'F'
)

var errEncoding = errors.New("telemetry: a spooled record cannot be decoded")

// encoder writes varints, strings with their length, and ids.
type encoder struct{ b []byte }

func (e *encoder) int(v int64)     { e.b = binary.AppendVarint(e.b, v) }
func (e *encoder) id(v uuid.UUID)  { e.b = append(e.b, v[:]...) }
func (e *encoder) float(v float64) { e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(v)) }
func (e *encoder) string(v string) {
	e.b = binary.AppendUvarint(e.b, uint64(len(v)))
	e.b = append(e.b, v...)
}

func (e *encoder) bytes(v []byte) {
	e.b = binary.AppendUvarint(e.b, uint64(len(v)))
	e.b = append(e.b, v...)
}

// decoder reads what encoder wrote; bad is set at the first error. Its strings are parts of text, so that
// it copies none of them.
type decoder struct {
	text string
	bad  bool
}

func (d *decoder) uint() uint64 {
	v := uint64(0)
	for i := range min(len(d.text), binary.MaxVarintLen64) {
		b := d.text[i]
		if b >= 0x80 {
			v |= uint64(b&0x7f) << (7 * i)
			continue
		}
		if i == binary.MaxVarintLen64-1 && b > 1 {
			break // more than 64 bits
		}
		d.text = d.text[i+1:]
		return v | uint64(b)<<(7*i)
	}
	d.bad, d.text = true, ""
	return 0
}

func (d *decoder) int() int64 {
	v := d.uint()
	return int64(v>>1) ^ -int64(v&1) // zigzag, as binary.AppendVarint writes it
}

func (d *decoder) take(n uint64) string {
	if n > uint64(len(d.text)) {
		d.bad, d.text = true, ""
		return ""
	}
	v := d.text[:n]
	d.text = d.text[n:]
	return v
}

func (d *decoder) id() (v uuid.UUID) {
	copy(v[:], d.take(uint64(len(v))))
	return v
}

func (d *decoder) fixed() uint64 {
	var b [8]byte
	copy(b[:], d.take(uint64(len(b))))
	return binary.LittleEndian.Uint64(b[:])
}

func (d *decoder) float() float64 { return math.Float64frombits(d.fixed()) }
func (d *decoder) string() string { return d.take(d.uint()) }

// same reads a string that is often that of the record before. It keeps no other text in memory.
func (d *decoder) same(before string) string {
	if v := d.string(); v != before {
		return strings.Clone(v)
	}
	return before
}

// isLogs reports whether a frame holds lines.
func isLogs(kind byte) bool { return kind == kindLogs || kind == kindOldLogs }

// encodeLines encodes lines of one execution, tenant, project, pod and machine.
func encodeLines(lines []*LogLine) spool.Entry {
	size := 64 + len(lines[0].Pod) + len(lines[0].Machine)
	for _, l := range lines {
		size += 48 + len(l.Node) + len(l.Stream) + len(l.Level) + len(l.Message) + len(l.Fields)
	}
	e := encoder{b: make([]byte, 0, size)}
	e.id(lines[0].TenantID)
	e.id(lines[0].ProjectID)
	e.string(lines[0].Pod)
	e.string(lines[0].Machine)
	for _, l := range lines {
		e.int(int64(l.NodeIndex))
		e.string(l.Node)
		e.int(int64(l.Attempt))
		e.string(l.Stream)
		e.int(l.Seq)
		e.int(l.Time.UnixMicro())
		e.string(l.Level)
		e.string(l.Message)
		e.bytes(l.Fields)
	}
	return spool.Entry{Kind: kindLogs, Group: lines[0].ExecutionID, Count: len(lines), Payload: e.b}
}

// lineReader reads the lines of a frame one after the other.
type lineReader struct {
	d    decoder
	line LogLine
	left int
}

func readLines(f spool.Frame) lineReader {
	r := lineReader{d: decoder{text: string(f.Payload)}, left: f.Count}
	r.line = LogLine{TenantID: r.d.id(), ProjectID: r.d.id(), ExecutionID: f.Group}
	if f.Kind != kindOldLogs {
		r.line.Pod, r.line.Machine = r.d.same(""), r.d.same("")
	}
	return r
}

// next reads the next line into r.line. After the last one it returns false.
func (r *lineReader) next() (bool, error) {
	if r.left == 0 {
		return false, nil
	}
	l, d := &r.line, &r.d
	l.NodeIndex = int(d.int())
	l.Node = d.same(l.Node)
	l.Attempt = int(d.int())
	l.Stream = d.same(l.Stream)
	l.Seq = d.int()
	l.Time = time.UnixMicro(d.int()).UTC()
	l.Level = d.same(l.Level)
	l.Message = d.string()
	l.Fields = nil
	if fields := d.string(); fields != "" {
		l.Fields = json.RawMessage(fields)
	}
	if r.left--; d.bad {
		return false, errEncoding
	}
	return true, nil
}

func decodeLines(f spool.Frame) ([]LogLine, error) {
	out := make([]LogLine, 0, f.Count)
	for r := readLines(f); ; {
		more, err := r.next()
		if err != nil {
			return nil, err
		}
		if !more {
			return out, nil
		}
		out = append(out, r.line)
	}
}

// encodePoints encodes points of one execution, tenant and project.
func encodePoints(points []*Point) (spool.Entry, error) {
	e := encoder{b: make([]byte, 0, 64+len(points)*80)}
	e.id(points[0].TenantID)
	e.id(points[0].ProjectID)
	for _, p := range points {
		e.int(int64(p.NodeIndex))
		e.string(p.Node)
		e.int(int64(p.Attempt))
		e.int(p.Seq)
		e.string(p.Name)
		e.string(p.Kind)
		if p.Step == nil {
			e.int(0)
		} else {
			e.int(1)
			e.int(*p.Step)
		}
		e.float(p.Value)
		e.int(p.Time.UnixMicro())
		tags, err := encodeTags(p.Tags)
		if err != nil {
			return spool.Entry{}, err
		}
		e.string(tags)
	}
	return spool.Entry{Kind: kindMetrics, Group: points[0].ExecutionID, Count: len(points), Payload: e.b}, nil
}

// encodeTags is the canonical text of tags: JSON with sorted keys, "" for none.
func encodeTags(tags map[string]string) (string, error) {
	if len(tags) == 0 {
		return "", nil
	}
	b, err := json.Marshal(tags)
	return string(b), err
}

func decodeTags(text string) map[string]string {
	if text == "" {
		return nil
	}
	var tags map[string]string
	if err := json.Unmarshal([]byte(text), &tags); err != nil {
		return map[string]string{"tags": text}
	}
	return tags
}

// point is a Point with its tags in the stored form.
type point struct {
	Point
	tags string
}

func decodePoints(f spool.Frame) ([]point, error) {
	d := decoder{text: string(f.Payload)}
	tenant, project := d.id(), d.id()
	out := make([]point, 0, f.Count)
	texts := map[string]string{}
	text := func() string {
		v := d.string()
		known, ok := texts[v]
		if !ok {
			known = strings.Clone(v)
			texts[known] = known
		}
		return known
	}
	for range f.Count {
		p := point{Point: Point{TenantID: tenant, ProjectID: project, ExecutionID: f.Group}}
		p.NodeIndex = int(d.int())
		p.Node = text()
		p.Attempt = int(d.int())
		p.Seq = d.int()
		p.Name = text()
		p.Kind = text()
		if d.int() == 1 {
			p.Step = new(d.int())
		}
		p.Value = d.float()
		p.Time = time.UnixMicro(d.int()).UTC()
		p.tags = text()
		if d.bad {
			return nil, errEncoding
		}
		out = append(out, p)
	}
	return out, nil
}
