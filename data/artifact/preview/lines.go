package preview

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of texts and JSON Lines.
const (
	TextBytes    = 256 << 10 // of one page of a text
	TextLines    = 5000      // of one page of a text
	DocumentRows = 20        // of one page of JSON Lines

	lineBytes = 1 << 20 // of one line of JSON Lines
	lineNodes = 40      // shown of one line of JSON Lines
)

// TextPage is a part of a text, at line breaks where that is possible.
type TextPage struct {
	Text  string    `json:"text"`
	From  Position  `json:"-"`
	Next  *Position `json:"-"` // nil at the end
	First int64     `json:"first_line" doc:"Number of the first line, counted from 1"`
	Valid bool      `json:"-"` // it is UTF-8
}

// Documents are lines of a JSON Lines file.
type Documents struct {
	Rows    []Document `json:"rows"`
	From    Position   `json:"-"`
	Next    *Position  `json:"-"`                      // nil at the end
	Scanned int64      `json:"scanned_rows,omitempty"` // that a search looked at
}

// Document is one line of a JSON Lines file.
type Document struct {
	Number  int64    `json:"number" doc:"Line number, counted from 1"`
	At      Position `json:"-"`
	Root    *Node    `json:"root,omitempty"`
	Text    string   `json:"text,omitempty" doc:"Beginning of a line that is not JSON"`
	Problem string   `json:"problem,omitempty"`
}

// ReadText reads one page of a text that begins at a byte. Bytes that are not UTF-8 are replaced.
func ReadText(f File, from Position) (TextPage, error) {
	from.Byte = min(max(from.Byte, 0), f.Size)
	p := make([]byte, min(int64(TextBytes), f.Size-from.Byte))
	if err := f.read(p, from.Byte, "this page"); err != nil {
		return TextPage{}, err
	}
	more := from.Byte+int64(len(p)) < f.Size
	lines := 0
	for i, c := range p {
		if c == '\n' {
			if lines++; lines == TextLines {
				p, more = p[:i+1], from.Byte+int64(i)+1 < f.Size
				break
			}
		}
	}
	if more && lines < TextLines {
		if end := bytes.LastIndexByte(p, '\n'); end >= 0 {
			p = p[:end+1]
		} else {
			p = wholeRunes(p)
		}
	}
	out := TextPage{Text: strings.ToValidUTF8(string(p), "\uFFFD"), From: from, First: from.Row + 1, Valid: utf8.Valid(p)}
	if more {
		out.Next = &Position{Row: from.Row + int64(bytes.Count(p, []byte{'\n'})), Byte: from.Byte + int64(len(p))}
	}
	return out, nil
}

// wholeRunes cuts off a character that continues after p.
func wholeRunes(p []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax, len(p)); i++ {
		if utf8.RuneStart(p[len(p)-i]) {
			if !utf8.FullRune(p[len(p)-i:]) {
				return p[:len(p)-i]
			}
			break
		}
	}
	return p
}

// ReadDocuments reads one page of a JSON Lines file; with find, the lines that contain a text.
func ReadDocuments(ctx context.Context, f File, from Position, find string) (out Documents, err error) {
	defer recovered(&err, "JSON Lines file")
	from.Byte = min(max(from.Byte, 0), f.Size)
	out.From = from
	b := &budget{ctx: ctx, rows: scanRows, bytes: scanBytes, until: time.Now().Add(treeTime)}
	r := bufio.NewReaderSize(io.NewSectionReader(f, from.Byte, f.Size-from.Byte), 64<<10)
	at, needle := from, []byte(strings.ToLower(find))
	for {
		if b.spent() || len(out.Rows) == DocumentRows {
			if at.Byte < f.Size {
				out.Next = &at
			}
			return out, nil
		}
		line, size, err := readLine(r)
		if size == 0 && errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return out, err
		}
		place := at
		at = Position{at.Row + 1, at.Byte + size}
		b.bytes -= size
		out.Scanned++
		if line = bytes.TrimSpace(line); len(line) == 0 || len(needle) > 0 && !bytes.Contains(bytes.ToLower(line), needle) {
			continue
		}
		out.Rows = append(out.Rows, documentOf(ctx, line, size, place))
	}
}

// readLine reads a line of any length and keeps its first lineBytes.
func readLine(r *bufio.Reader) (line []byte, size int64, err error) {
	for {
		part, err := r.ReadSlice('\n')
		size += int64(len(part))
		line = append(line, part[:min(len(part), max(lineBytes-len(line), 0))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, size, err //nolint:wrapcheck // io.EOF is compared by the caller
		}
	}
}

func documentOf(ctx context.Context, line []byte, size int64, at Position) Document {
	d := Document{Number: at.Row + 1, At: at}
	t, err := ReadTreeOf(ctx, line, "", 0, lineNodes)
	switch {
	case err != nil || t.Root == nil:
		d.Text, _ = cutRunes(strings.ToValidUTF8(string(line[:min(len(line), 4*treeText)]), "\uFFFD"), treeText)
		d.Problem = "This line is not JSON."
	case size > lineBytes+1:
		d.Root, d.Problem = t.Root, "The line is longer than 1 MiB. Only its beginning is shown."
	default:
		d.Root, d.Problem = t.Root, t.Problem
	}
	return d
}

// ReadDocument reads the value at a path of one line.
func ReadDocument(ctx context.Context, f File, line Position, at string, from int64) (Tree, error) {
	line.Byte = min(max(line.Byte, 0), f.Size)
	text, _, err := readLine(bufio.NewReaderSize(io.NewSectionReader(f, line.Byte, f.Size-line.Byte), 64<<10))
	if err != nil && !errors.Is(err, io.EOF) {
		return Tree{}, err
	}
	return ReadTreeOf(ctx, text, at, from, treeNodes)
}

// ReadTreeOf reads a document in memory and keeps at most nodes values.
func ReadTreeOf(ctx context.Context, text []byte, at string, from int64, nodes int) (t Tree, err error) {
	defer recovered(&err, "JSON document")
	trail, err := parsePath(at)
	if err != nil {
		return t, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	r := &treeReader{
		d: d, b: &budget{ctx: ctx, until: time.Now().Add(treeTime)}, trail: trail, from: max(from, 0),
		left: nodes, children: int64(min(nodes, TreeChildren)),
	}
	r.t.trail, r.t.From = trail, r.from
	err = r.document()
	r.t.Read, r.t.Complete = int64(len(text)), err == nil
	if err != nil && r.t.Root == nil {
		return r.t, bad("The text is not JSON: %s.", err)
	}
	if err != nil {
		r.t.Problem = "The document is damaged. The part before the damage is shown."
	}
	return r.t, nil
}
