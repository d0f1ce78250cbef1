package telemetry

import (
	"encoding/base64"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/flowforge/flowforge/apperr"
)

// Cursor is an opaque position in a log. "" is the beginning.
type Cursor string

// marks holds, by writer, the position up to which lines were read.
type marks map[uint64]uint64

func (m marks) clone() marks { return maps.Clone(m) }

// logPosition is the content of a cursor: the last line read in time order, the end of
// the log when reading began, or both. With Key, the reader is in the history, the
// lines up to Marks; with only Marks, the history has been read.
type logPosition struct {
	Key   *lineKey
	Marks marks
}

const (
	cursorKey   = 1 << iota // the cursor has a key
	cursorMarks             // the cursor has marks
)

func (p logPosition) cursor() Cursor {
	e := encoder{b: make([]byte, 1, 64)}
	if p.Key != nil {
		e.b[0] |= cursorKey
		e.int(p.Key.Time)
		e.int(int64(p.Key.Node))
		e.int(int64(p.Key.Attempt))
		e.string(p.Key.Stream)
		e.int(p.Key.Seq)
	}
	if p.Marks != nil {
		e.b[0] |= cursorMarks
		for _, writer := range slices.Sorted(maps.Keys(p.Marks)) {
			e.b = binary.LittleEndian.AppendUint64(e.b, writer)
			e.b = binary.AppendUvarint(e.b, p.Marks[writer])
		}
	}
	return Cursor(base64.RawURLEncoding.EncodeToString(e.b))
}

// Check returns an Invalid error when c is not a valid cursor.
func (c Cursor) Check() error {
	_, err := c.parse()
	return err
}

// parse returns the position of a cursor, or an Invalid error.
func (c Cursor) parse() (logPosition, error) {
	if c == "" {
		return logPosition{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(string(c))
	if err != nil || len(b) == 0 || b[0]&^(cursorKey|cursorMarks) != 0 {
		return logPosition{}, errCursor()
	}
	var p logPosition
	d := decoder{text: string(b[1:])}
	if b[0]&cursorKey != 0 {
		p.Key = &lineKey{Time: d.int(), Node: int(d.int()), Attempt: int(d.int()), Stream: d.string(), Seq: d.int()}
	}
	if b[0]&cursorMarks != 0 {
		p.Marks = marks{}
		for len(d.text) > 0 {
			writer, at := d.fixed(), d.uint()
			p.Marks[writer] = at
		}
	}
	if d.bad || len(d.text) > 0 {
		return logPosition{}, errCursor()
	}
	return p, nil
}

func errCursor() error { return apperr.New(apperr.Invalid, "This is not a valid log cursor.") }
