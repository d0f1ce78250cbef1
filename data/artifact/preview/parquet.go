package preview

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	parquetMagic = "PAR1"
	footerBytes  = 32 << 20
)

// parquetFile is a Parquet file. Only its footer is read when it is opened. Pages are decoded
// here and not by the library, whose decoders allocate what a file declares.
type parquetFile struct {
	file   File
	meta   format.FileMetaData
	leaves []leaf
	rows   int64
}

// leaf is a column with values. A list of values is one text.
type leaf struct {
	Column

	index          int // among the columns of a row group
	physical       format.Type
	length         int // of fixed-length values, in bytes
	maxRep, maxDef int
	listDef        int           // from this definition level on, a list has items
	convert        func(any) any // from the physical value
}

func openParquet(f File) (*parquetFile, error) {
	var tail [8]byte
	if err := f.read(tail[:], f.Size-8, "the end of the Parquet file"); err != nil {
		return nil, err
	}
	size := int64(binary.LittleEndian.Uint32(tail[:4]))
	switch magic := string(tail[4:]); {
	case magic == "PARE":
		return nil, bad("The Parquet file is encrypted.")
	case magic != parquetMagic:
		return nil, bad("The file is not a Parquet file, or it is truncated: it does not end with %s.", parquetMagic)
	case size > footerBytes:
		return nil, bad("The footer of the Parquet file has %d bytes; a preview reads up to %d.", size, footerBytes)
	}
	footer := make([]byte, min(size, max(f.Size, 0)))
	if err := f.read(footer, f.Size-8-size, "the footer of the Parquet file"); err != nil {
		return nil, err
	}
	p := &parquetFile{file: f}
	if err := decodeThrift(footer, &p.meta); err != nil {
		return nil, err
	}
	if p.meta.EncryptionAlgorithm.Value != nil {
		return nil, bad("The Parquet file has encrypted columns.")
	}
	if err := p.schema(); err != nil {
		return nil, err
	}
	for i, g := range p.meta.RowGroups {
		if g.NumRows < 0 || len(g.Columns) != len(p.leaves) {
			return nil, bad("Row group %d of the Parquet file does not match its schema.", i+1)
		}
		p.rows += g.NumRows
	}
	return p, nil
}

// decodeThrift decodes a structure whose lengths were checked.
func decodeThrift(data []byte, into any) error {
	n, err := checkThrift(data)
	if err != nil {
		return err
	}
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), data[:n], into); err != nil {
		return bad("The metadata of the Parquet file is damaged: %s.", err)
	}
	return nil
}

// schemaNode is the state of the walk over the schema, which is a tree in depth-first order.
type schemaNode struct {
	path     []string
	rep, def int
	listDef  int
	children int
}

func (p *parquetFile) schema() error {
	elements := p.meta.Schema
	if len(elements) == 0 {
		return errThrift
	}
	stack := []schemaNode{{children: int(elements[0].NumChildren.V)}}
	for i := range elements[1:] {
		for len(stack) > 0 && stack[len(stack)-1].children <= 0 {
			stack = stack[:len(stack)-1]
		}
		if len(stack) == 0 || len(stack) > thriftDepth*2 {
			return bad("The schema of the Parquet file is damaged.")
		}
		e := &elements[1+i]
		parent := &stack[len(stack)-1]
		parent.children--
		n := schemaNode{path: append(slices.Clone(parent.path), e.Name), rep: parent.rep, def: parent.def, listDef: parent.listDef, children: int(e.NumChildren.V)}
		switch e.RepetitionType.V {
		case format.Optional:
			n.def++
		case format.Repeated:
			n.def++
			if n.rep++; n.rep == 1 {
				n.listDef = n.def
			}
		}
		if n.children > 0 {
			stack = append(stack, n)
			continue
		}
		if !e.Type.Valid {
			if n.children == 0 && e.NumChildren.Valid {
				continue // a group without fields has no values
			}
			return bad("Column %s of the Parquet file has no type.", e.Name)
		}
		p.leaves = append(p.leaves, newLeaf(e, n, len(p.leaves)))
	}
	if len(p.leaves) == 0 {
		return bad("The Parquet file has no columns.")
	}
	return nil
}

func newLeaf(e *format.SchemaElement, n schemaNode, index int) leaf {
	l := leaf{index: index, physical: e.Type.V, length: int(e.TypeLength.V), maxRep: n.rep, maxDef: n.def, listDef: n.listDef}
	l.Name = columnName(n.path)
	l.Type, l.convert = logical(e)
	if l.maxRep > 0 {
		l.Type = List
	}
	return l
}

// columnName joins a path without the groups that only form a list.
func columnName(path []string) string {
	var out []string
	for i := 0; i < len(path); i++ {
		if i > 0 && i+1 < len(path) && slices.Contains([]string{"list", "bag", "array"}, path[i]) &&
			slices.Contains([]string{"element", "item", "array", "array_element"}, path[i+1]) {
			i++
			continue
		}
		out = append(out, path[i])
	}
	return strings.Join(out, ".")
}

func (p *parquetFile) columns() []Column {
	out := make([]Column, len(p.leaves))
	for i, l := range p.leaves {
		out[i] = l.Column
	}
	return out
}

func (p *parquetFile) total() int64 { return p.rows }

// cursors open the columns of a row group at a row of it.
func (p *parquetFile) cursors(b *budget, group int, row int64, cols []int) ([]*cursor, error) {
	out := make([]*cursor, len(cols))
	for i, c := range cols {
		l := &p.leaves[c]
		chunk := &p.meta.RowGroups[group].Columns[l.index]
		if chunk.FilePath != "" {
			return nil, bad("Column %s is stored in another file, %q, which the preview cannot read.", l.Name, chunk.FilePath)
		}
		out[i] = newCursor(p.file, l, &chunk.MetaData, b)
		if err := out[i].skip(row); err != nil {
			return nil, within(err, "Column %s", l.Name)
		}
	}
	return out, nil
}

// find returns the row group of a row, and the row within it.
func (p *parquetFile) find(row int64) (group int, in int64) {
	for i, g := range p.meta.RowGroups {
		if row < g.NumRows {
			return i, row
		}
		row -= g.NumRows
	}
	return len(p.meta.RowGroups), 0
}

func (p *parquetFile) scan(b *budget, from Position, cols []int, visit func(Position, []any) bool) (Position, bool, error) {
	at := from.Row
	row := make([]any, len(cols))
	group, in := p.find(at)
	for ; group < len(p.meta.RowGroups); group, in = group+1, 0 {
		cursors, err := p.cursors(b, group, in, cols)
		if err != nil {
			return Position{Row: at}, false, err
		}
		for ; in < p.meta.RowGroups[group].NumRows; in++ {
			if b.spent() {
				return Position{Row: at}, false, nil
			}
			if err := values(cursors, row); err != nil {
				return Position{Row: at}, false, within(err, "Row %d", at+1)
			}
			at++
			if !visit(Position{Row: at - 1}, row) {
				return Position{Row: at}, at >= p.rows, nil
			}
		}
	}
	return Position{Row: at}, true, nil
}

func values(cursors []*cursor, row []any) error {
	for i, c := range cursors {
		v, err := c.next()
		if err != nil {
			return within(err, "Column %s", c.leaf.Name)
		}
		row[i] = v
	}
	return nil
}

// fetch reads single rows in ascending order, and skips pages between them.
func (p *parquetFile) fetch(b *budget, t *Table, order []int) error {
	var cursors []*cursor
	opened, at := -1, int64(0)
	for _, i := range order {
		if b.spent() {
			return errTooSlow
		}
		group, in := p.find(t.At[i].Row)
		var err error
		if group != opened {
			cursors, err = p.cursors(b, group, in, t.Shown)
			opened = group
		} else {
			for _, c := range cursors {
				if err = c.skip(in - at); err != nil {
					break
				}
			}
		}
		if err != nil {
			return err
		}
		t.Rows[i], at = make([]any, len(t.Shown)), in+1
		if err := values(cursors, t.Rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// logical returns the type of a column and how its physical values become values.
func logical(e *format.SchemaElement) (Type, func(any) any) {
	if t, convert := annotated(e); convert != nil {
		return t, convert
	}
	same := func(v any) any { return v }
	switch e.Type.V {
	case format.Boolean:
		return Boolean, same
	case format.Int32, format.Int64:
		return Integer, same
	case format.Float, format.Double:
		return Float, same
	case format.Int96:
		return Datetime, int96
	}
	return Binary, hexadecimal
}

func annotated(e *format.SchemaElement) (Type, func(any) any) {
	switch l := e.LogicalType.Value.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType:
		return String, text
	case *format.DateType:
		return Date, days
	case *format.UUIDType:
		return String, uuidText
	case *format.Float16Type:
		return Float, float16
	case *format.DecimalType:
		return Float, decimal(int(l.Scale))
	case *format.TimestampType:
		return Datetime, since(unitOf(l.Unit))
	case *format.TimeType:
		return Time, timeOfDay(unitOf(l.Unit))
	case *format.IntType:
		if !l.IsSigned {
			return Integer, unsigned
		}
	}
	if !e.ConvertedType.Valid {
		return "", nil
	}
	switch e.ConvertedType.V {
	case deprecated.UTF8, deprecated.Enum, deprecated.Json:
		return String, text
	case deprecated.Date:
		return Date, days
	case deprecated.Decimal:
		return Float, decimal(int(e.Scale.V))
	case deprecated.TimestampMillis:
		return Datetime, since(1e6)
	case deprecated.TimestampMicros:
		return Datetime, since(1e3)
	case deprecated.TimeMillis:
		return Time, timeOfDay(1e6)
	case deprecated.TimeMicros:
		return Time, timeOfDay(1e3)
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		return Integer, unsigned
	}
	return "", nil
}

// unitOf is a unit in nanoseconds.
func unitOf(u format.TimeUnit) int64 {
	switch u.Value.(type) {
	case *format.MilliSeconds:
		return 1e6
	case *format.MicroSeconds:
		return 1e3
	}
	return 1
}
