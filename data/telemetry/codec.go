package telemetry

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
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

// decoder reads what encoder wrote; bad is set at the first error.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) take(n int) []byte {
	if n < 0 || n > len(d.b) {
		d.bad, d.b = true, nil
		return nil
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) id() (v uuid.UUID) {
	copy(v[:], d.take(len(v)))
	return v
}

func (d *decoder) float() float64 {
	b := d.take(8)
	if b == nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

func (d *decoder) string() string {
	n, size := binary.Uvarint(d.b)
	if size <= 0 || n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return ""
	}
	d.b = d.b[size:]
	return string(d.take(int(n))) //nolint:gosec // bounded by the line above
}

// isLogs reports whether a frame holds lines.
func isLogs(kind byte) bool { return kind == kindLogs || kind == kindOldLogs }

// encodeLines encodes lines of one execution, tenant, project, pod and machine.
func encodeLines(lines []*LogLine) spool.Entry {
	e := encoder{b: make([]byte, 0, 64+len(lines)*160)}
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
		e.string(string(l.Fields))
	}
	return spool.Entry{Kind: kindLogs, Group: lines[0].ExecutionID, Count: len(lines), Payload: e.b}
}

func decodeLines(f spool.Frame) ([]LogLine, error) {
	d := decoder{b: f.Payload}
	common := LogLine{TenantID: d.id(), ProjectID: d.id(), ExecutionID: f.Group}
	if f.Kind != kindOldLogs {
		common.Pod, common.Machine = d.string(), d.string()
	}
	out := make([]LogLine, 0, f.Count)
	for range f.Count {
		l := common
		l.NodeIndex = int(d.int())
		l.Node = d.string()
		l.Attempt = int(d.int())
		l.Stream = d.string()
		l.Seq = d.int()
		l.Time = time.UnixMicro(d.int()).UTC()
		l.Level = d.string()
		l.Message = d.string()
		if fields := d.string(); fields != "" {
			l.Fields = json.RawMessage(fields)
		}
		if d.bad {
			return nil, errEncoding
		}
		out = append(out, l)
	}
	return out, nil
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
	d := decoder{b: f.Payload}
	tenant, project := d.id(), d.id()
	out := make([]point, 0, f.Count)
	for range f.Count {
		p := point{Point: Point{TenantID: tenant, ProjectID: project, ExecutionID: f.Group}}
		p.NodeIndex = int(d.int())
		p.Node = d.string()
		p.Attempt = int(d.int())
		p.Seq = d.int()
		p.Name = d.string()
		p.Kind = d.string()
		if d.int() == 1 {
			p.Step = new(d.int())
		}
		p.Value = d.float()
		p.Time = time.UnixMicro(d.int()).UTC()
		p.tags = d.string()
		if d.bad {
			return nil, errEncoding
		}
		out = append(out, p)
	}
	return out, nil
}
