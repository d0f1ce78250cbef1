package preview

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/parquet-go/parquet-go/format"
)

// Bounds of one page of a column.
const (
	pageBytes       = 64 << 20
	pageHeaderBytes = 16 << 10
	maxPageHeader   = 1 << 20
	dictionarySize  = 1_000_000
)

// cursor reads the values of a column in one row group, in their order.
type cursor struct {
	file   File
	leaf   *leaf
	budget *budget
	codec  format.CompressionCodec
	at     int64 // of the next page header
	end    int64
	head   []byte // the header window

	dictionary []any
	left       int // values of the page that are not read, with nulls
	rep, def   *hybrid
	body       values1
	pending    int  // the repetition level that was read ahead
	ahead      bool // pending is valid
}

func newCursor(f File, l *leaf, meta *format.ColumnMetaData, b *budget) *cursor {
	at := meta.DataPageOffset
	if d := meta.DictionaryPageOffset; d > 0 && d < at {
		at = d
	}
	return &cursor{file: f, leaf: l, budget: b, codec: meta.Codec, at: at, end: at + meta.TotalCompressedSize}
}

// header reads the next page header, and places the cursor at the bytes of the page.
func (c *cursor) header() (*format.PageHeader, error) {
	for size := int64(pageHeaderBytes); ; size = maxPageHeader {
		window := min(size, c.file.Size-c.at)
		if c.at < 4 || c.at >= c.end || window <= 0 {
			return nil, bad("There are fewer values than the footer declares.")
		}
		if int64(cap(c.head)) < window {
			c.head = make([]byte, window)
		}
		data := c.head[:window]
		if err := c.file.read(data, c.at, "a page"); err != nil {
			return nil, err
		}
		n, err := checkThrift(data)
		if err != nil && size < maxPageHeader {
			continue
		}
		if err != nil {
			return nil, bad("A page header at byte %d is damaged.", c.at)
		}
		h := new(format.PageHeader)
		if err := decodeThrift(data[:n], h); err != nil {
			return nil, err
		}
		if h.CompressedPageSize < 0 || h.UncompressedPageSize < 0 || h.CompressedPageSize > pageBytes || h.UncompressedPageSize > pageBytes {
			return nil, bad("A page at byte %d has %d bytes (%d compressed); a preview reads pages of up to 64 MiB.", c.at, h.UncompressedPageSize, h.CompressedPageSize)
		}
		c.at += int64(n)
		return h, nil
	}
}

// page opens the next page with values. The values of flat pages within skip are passed over
// without being read; page returns how many.
func (c *cursor) page(skip int64) (passed int64, err error) {
	for {
		if c.budget.late() {
			return passed, errTooSlow
		}
		h, err := c.header()
		if err != nil {
			return passed, err
		}
		n := int64(h.DataPageHeader.V.NumValues)
		if h.Type == format.DataPageV2 {
			n = int64(h.DataPageHeaderV2.V.NumValues)
		}
		if n < 0 {
			return passed, bad("A page has %d values.", n)
		}
		data := h.Type == format.DataPage || h.Type == format.DataPageV2
		if !data && h.Type != format.DictionaryPage || data && c.leaf.maxRep == 0 && n <= skip-passed {
			if data {
				passed += n
			}
			c.at += int64(h.CompressedPageSize)
			if data && passed == skip {
				return passed, nil
			}
			continue
		}
		raw := make([]byte, min(int64(h.CompressedPageSize), c.file.Size))
		if err := c.file.read(raw, c.at, "a page"); err != nil {
			return passed, err
		}
		c.at += int64(h.CompressedPageSize)
		c.budget.bytes -= int64(h.UncompressedPageSize) + int64(h.CompressedPageSize) + pageHeaderBytes
		switch h.Type {
		case format.DictionaryPage:
			if err := c.readDictionary(h, raw); err != nil {
				return passed, err
			}
			continue
		case format.DataPage:
			return passed, c.open1(h, raw)
		default:
			return passed, c.open2(h, raw)
		}
	}
}

func (c *cursor) readDictionary(h *format.PageHeader, raw []byte) error {
	data, err := decompress(c.codec, raw, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	n := int(h.DictionaryPageHeader.V.NumValues)
	if n < 0 || n > dictionarySize {
		return bad("The dictionary has %d values; a preview reads up to %d.", n, dictionarySize)
	}
	body := &plainValues{data: data, leaf: c.leaf}
	c.dictionary = make([]any, 0, min(n, len(data)+1))
	for range n {
		v, err := body.next()
		if err != nil {
			return err
		}
		c.dictionary = append(c.dictionary, c.leaf.convert(v))
	}
	return nil
}

// open1 opens a page of version 1: levels and values are compressed together.
func (c *cursor) open1(h *format.PageHeader, raw []byte) error {
	data, err := decompress(c.codec, raw, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	d := h.DataPageHeader.V
	c.left, c.rep, c.def = int(d.NumValues), nil, nil
	levels := func(top int) (*hybrid, error) {
		if top == 0 {
			return nil, nil
		}
		if len(data) < 4 {
			return nil, errPage
		}
		n := int64(data[0]) | int64(data[1])<<8 | int64(data[2])<<16 | int64(data[3])<<24
		if n > int64(len(data)-4) {
			return nil, errPage
		}
		l := newHybrid(data[4:4+n], bits.Len(uint(top)))
		data = data[4+n:]
		return l, nil
	}
	if c.rep, err = levels(c.leaf.maxRep); err != nil {
		return err
	}
	if c.def, err = levels(c.leaf.maxDef); err != nil {
		return err
	}
	return c.openBody(d.Encoding, data)
}

// open2 opens a page of version 2: only its values are compressed.
func (c *cursor) open2(h *format.PageHeader, raw []byte) error {
	d := h.DataPageHeaderV2.V
	r, f := int64(d.RepetitionLevelsByteLength), int64(d.DefinitionLevelsByteLength)
	if r < 0 || f < 0 || r+f > int64(len(raw)) {
		return errPage
	}
	c.left, c.rep, c.def = int(d.NumValues), nil, nil
	if c.leaf.maxRep > 0 {
		c.rep = newHybrid(raw[:r], bits.Len(uint(c.leaf.maxRep)))
	}
	if c.leaf.maxDef > 0 {
		c.def = newHybrid(raw[r:r+f], bits.Len(uint(c.leaf.maxDef)))
	}
	data := raw[r+f:]
	if !d.IsCompressed.Valid || d.IsCompressed.V {
		var err error
		if data, err = decompress(c.codec, data, int(int64(h.UncompressedPageSize)-r-f)); err != nil {
			return err
		}
	}
	return c.openBody(d.Encoding, data)
}

var errPage = bad("A page is damaged.")

// passAtOnce is how many values are passed over between two checks of the clock.
const passAtOnce = 1 << 16

// skip passes over rows.
func (c *cursor) skip(rows int64) error {
	for rows > 0 {
		if c.leaf.maxRep > 0 {
			if c.budget.tick++; c.budget.tick%clockEvery == 0 && c.budget.late() {
				return errTooSlow
			}
			if _, err := c.next(); err != nil {
				return err
			}
			rows--
			continue
		}
		if c.left == 0 {
			passed, err := c.page(rows)
			if err != nil {
				return err
			}
			rows -= passed
			continue
		}
		if c.budget.late() {
			return errTooSlow
		}
		n := int(min(rows, int64(c.left), passAtOnce))
		if err := c.pass(n); err != nil {
			return err
		}
		rows -= int64(n)
	}
	return nil
}

// pass passes over n values of the page.
func (c *cursor) pass(n int) error {
	present := n
	if c.def != nil {
		present = 0
		for range n {
			d, err := c.def.next()
			if err != nil {
				return err
			}
			if int(d) == c.leaf.maxDef {
				present++
			}
		}
	}
	c.left -= n
	return c.body.skip(present)
}

// next is the value of the next row.
func (c *cursor) next() (any, error) {
	if c.leaf.maxRep > 0 {
		return c.list()
	}
	v, _, err := c.value()
	return v, err
}

// value is the next value with its definition level; its repetition level was read.
func (c *cursor) value() (any, int, error) {
	for c.left == 0 {
		if _, err := c.page(0); err != nil {
			return nil, 0, err
		}
	}
	c.left--
	if c.def != nil {
		d, err := c.def.next()
		if err != nil || int(d) != c.leaf.maxDef {
			return nil, int(d), err
		}
	}
	v, err := c.body.next()
	return v, c.leaf.maxDef, err
}

// listShown is how many items of a list are shown.
const listShown = 20

// list is the next list as a text.
func (c *cursor) list() (any, error) {
	var items []string
	count := 0
	for first := true; ; first = false {
		level, err := c.level()
		if err != nil && (first || !errors.Is(err, errNoPage)) {
			return nil, err
		}
		if err != nil || level == 0 && !first {
			break
		}
		c.ahead = false
		v, def, err := c.value()
		if err != nil {
			return nil, err
		}
		if def < c.leaf.listDef && first {
			if def < c.leaf.listDef-1 {
				return nil, c.rest()
			}
			return "[]", c.rest()
		}
		if count++; count%passAtOnce == 0 && c.budget.late() {
			return nil, errTooSlow
		}
		if count <= listShown {
			if v == nil {
				v = "null"
			}
			items = append(items, Text(v))
		}
	}
	if count > listShown {
		items = append(items, fmt.Sprintf("… (%d items)", count))
	}
	return "[" + strings.Join(items, ", ") + "]", nil
}

// rest fails when a null list has further items.
func (c *cursor) rest() error {
	level, err := c.level()
	if err == nil && level != 0 {
		return errPage
	}
	if errors.Is(err, errNoPage) {
		return nil
	}
	return err
}

var errNoPage = errors.New("the column has no more pages")

// level is the repetition level of the next value, which stays next.
func (c *cursor) level() (int, error) {
	if c.ahead {
		return c.pending, nil
	}
	for c.left == 0 {
		if c.at >= c.end {
			return 0, errNoPage
		}
		if _, err := c.page(0); err != nil {
			return 0, err
		}
	}
	n, err := c.rep.next()
	c.pending, c.ahead = int(n), err == nil
	return c.pending, err
}
