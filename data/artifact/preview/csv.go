package preview

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of CSV files.
const (
	recordBytes = 1 << 20 // one row
	sampleRows  = 1000    // the rows that give columns their types
	sampleBytes = 1 << 20
)

// csvFile is a CSV file with a header. Its columns have the types that the first rows show.
type csvFile struct {
	file  File
	comma rune
	cols  []Column
	body  int64 // where the rows begin
}

func openCSV(f File, comma rune) (*csvFile, error) {
	c := &csvFile{file: f, comma: comma}
	var mark [3]byte
	if n, _ := f.ReadAt(mark[:], 0); n == len(mark) && string(mark[:]) == "\ufeff" {
		c.body = int64(n)
	}
	r := c.reader(c.body)
	header, _, err := r.next()
	if errors.Is(err, io.EOF) {
		return nil, bad("The file is empty.")
	}
	if err != nil {
		return nil, err
	}
	c.body += r.csv.InputOffset()
	for i, name := range header {
		if !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
			return nil, bad("The first row is not UTF-8 text.")
		}
		c.cols = append(c.cols, Column{Name: unique(c.cols, name, i)})
	}
	return c, c.types()
}

// unique is the name of a column; an empty or repeated name gets its number.
func unique(before []Column, name string, i int) string {
	name = strings.TrimSpace(name)
	if name == "" {
		return "column " + strconv.Itoa(i+1)
	}
	if i < 200 && slices.ContainsFunc(before, func(c Column) bool { return c.Name == name }) {
		return name + " (" + strconv.Itoa(i+1) + ")"
	}
	return name
}

// types finds the narrowest type that all values of the sample have.
func (c *csvFile) types() error {
	can := make([]typeSet, len(c.cols))
	r := c.reader(c.body)
	for range sampleRows {
		row, _, err := r.next()
		if errors.Is(err, io.EOF) || r.csv.InputOffset() > sampleBytes {
			break
		}
		if err != nil {
			return err
		}
		for i, cell := range row[:min(len(row), len(can))] {
			can[i].add(strings.TrimSpace(cell))
		}
	}
	for i := range c.cols {
		c.cols[i].Type = can[i].narrowest()
	}
	return nil
}

// typeSet remembers which types the values of a column rule out.
type typeSet struct{ filled, notInteger, notFloat, notBoolean, notTime, hasTime bool }

func (s *typeSet) add(cell string) {
	if cell == "" {
		return
	}
	s.filled = true
	if _, err := strconv.ParseInt(cell, 10, 64); err != nil {
		s.notInteger = true
	}
	if s.notInteger && !s.notFloat {
		_, err := strconv.ParseFloat(cell, 64)
		s.notFloat = err != nil
	}
	if !s.notBoolean {
		lower := strings.ToLower(cell)
		s.notBoolean = lower != "true" && lower != "false"
	}
	if !s.notTime {
		_, err := parseTime(cell)
		s.notTime = err != nil
		s.hasTime = s.hasTime || len(cell) > len("2006-01-02")
	}
}

func (s *typeSet) narrowest() Type {
	switch {
	case !s.filled:
		return String
	case !s.notInteger:
		return Integer
	case !s.notFloat:
		return Float
	case !s.notBoolean:
		return Boolean
	case !s.notTime && s.hasTime:
		return Datetime
	case !s.notTime:
		return Date
	}
	return String
}

// valueOf is a cell as a value of type t; a cell that is not one stays text.
func valueOf(cell string, t Type) any {
	trimmed := strings.TrimSpace(cell)
	if trimmed == "" {
		return nil
	}
	switch t {
	case Integer:
		if n, err := strconv.ParseInt(trimmed, 10, 64); err == nil {
			return n
		}
		fallthrough
	case Float:
		if n, err := strconv.ParseFloat(trimmed, 64); err == nil {
			return n
		}
	case Boolean:
		if b, err := strconv.ParseBool(strings.ToLower(trimmed)); err == nil {
			return b
		}
	case Date, Datetime:
		if at, err := parseTime(trimmed); err == nil {
			return at
		}
	}
	return strings.ToValidUTF8(cell, "\uFFFD")
}

func (c *csvFile) columns() []Column { return c.cols }

func (c *csvFile) total() int64 { return -1 }

func (c *csvFile) scan(b *budget, from Position, cols []int, visit func(Position, []any) bool) (Position, bool, error) {
	at := max(from.Byte, c.body)
	skip := int64(0)
	if from.Byte == 0 {
		skip = from.Row
	}
	r, number := c.reader(at), from.Row-skip
	row := make([]any, len(cols))
	for {
		place := Position{number, at + r.csv.InputOffset()}
		if b.spent() {
			return place, false, nil
		}
		cells, size, err := r.next()
		if errors.Is(err, io.EOF) {
			return place, true, nil
		}
		if err != nil {
			return place, false, within(err, "Row %d", number+1)
		}
		b.bytes -= size
		if number++; skip > 0 {
			skip--
			continue
		}
		for i, col := range cols {
			row[i] = nil
			if col < len(cells) {
				row[i] = valueOf(cells[col], c.cols[col].Type)
			}
		}
		if !visit(place, row) {
			end := at + r.csv.InputOffset()
			return Position{number, end}, end >= c.file.Size, nil
		}
	}
}

// csvRows reads records, none of which may be longer than recordBytes: a quote that is never
// closed would otherwise read the whole file as one value.
type csvRows struct {
	csv  *csv.Reader
	left *limited
	last int64
}

type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, bad("A row is longer than 1 MiB. A quotation mark may be missing.")
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err //nolint:wrapcheck // io.EOF is compared by readers
}

func (c *csvFile) reader(at int64) *csvRows {
	l := &limited{r: io.NewSectionReader(c.file, at, max(c.file.Size-at, 0))}
	r := csv.NewReader(l)
	r.Comma, r.LazyQuotes, r.FieldsPerRecord, r.ReuseRecord = c.comma, true, -1, true
	return &csvRows{csv: r, left: l}
}

func (r *csvRows) next() (cells []string, size int64, err error) {
	r.left.left = recordBytes
	cells, err = r.csv.Read()
	end := r.csv.InputOffset()
	size, r.last = end-r.last, end
	if err != nil && errors.As(err, new(*csv.ParseError)) {
		return nil, size, bad("The file is not valid CSV: %s.", err)
	}
	return cells, size, err //nolint:wrapcheck // io.EOF is compared by the caller
}
