package preview

import (
	"encoding/binary"
	"math"

	"github.com/parquet-go/parquet-go/format"
)

// values1 are the values of one page that are not null. They are decoded one by one, so that
// lengths which a page declares allocate nothing.
type values1 interface {
	next() (any, error)
	skip(n int) error
}

func (c *cursor) openBody(e format.Encoding, data []byte) error {
	l := c.leaf
	switch e {
	case format.Plain:
		c.body = &converted{&plainValues{data: data, leaf: l}, l}
	case format.PlainDictionary, format.RLEDictionary: //nolint:staticcheck // old files have the former
		if len(data) == 0 {
			c.body = &dictionaryValues{newHybrid(nil, 0), c.dictionary}
			return nil
		}
		if data[0] > 32 {
			return errPage
		}
		c.body = &dictionaryValues{newHybrid(data[1:], int(data[0])), c.dictionary}
	case format.RLE:
		if len(data) < 4 || l.physical != format.Boolean {
			return errPage
		}
		c.body = &converted{&runs{newHybrid(data[4:], 1)}, l}
	case format.DeltaBinaryPacked:
		d, err := newDelta(data, c.left)
		c.body = &converted{d, l}
		return err
	case format.DeltaLengthByteArray:
		lengths, err := newDelta(data, c.left)
		if err != nil {
			return err
		}
		rest, err := lengths.end()
		c.body = &converted{&suffixes{lengths: lengths, data: rest}, l}
		return err
	case format.DeltaByteArray:
		return c.openPrefixes(data)
	case format.ByteStreamSplit:
		size := width(l)
		if size == 0 || len(data)%size != 0 {
			return errPage
		}
		c.body = &converted{&splitStreams{plainValues{leaf: l}, data, size, 0}, l}
	default:
		return bad("The values use the encoding %s, which the preview does not support.", e)
	}
	return nil
}

func (c *cursor) openPrefixes(data []byte) error {
	prefixes, err := newDelta(data, c.left)
	if err != nil {
		return err
	}
	rest, err := prefixes.end()
	if err != nil {
		return err
	}
	lengths, err := newDelta(rest, c.left)
	if err != nil {
		return err
	}
	rest, err = lengths.end()
	c.body = &converted{&prefixed{prefixes: prefixes, suffix: suffixes{lengths: lengths, data: rest}}, c.leaf}
	return err
}

// converted are physical values as values.
type converted struct {
	from values1
	leaf *leaf
}

func (c *converted) skip(n int) error { return c.from.skip(n) }

func (c *converted) next() (any, error) {
	v, err := c.from.next()
	if err != nil {
		return nil, err
	}
	return c.leaf.convert(v), nil
}

// width is the size of values of fixed size, or 0.
func width(l *leaf) int {
	switch l.physical {
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	case format.Int96:
		return 12
	case format.FixedLenByteArray:
		return max(l.length, 0)
	}
	return 0
}

// plainValues are values one after the other.
type plainValues struct {
	data []byte
	leaf *leaf
	bit  uint
}

func (p *plainValues) skip(n int) error {
	if w := width(p.leaf); w > 0 {
		if n > len(p.data)/w {
			return errPage
		}
		p.data = p.data[n*w:]
		return nil
	}
	for range n {
		if _, err := p.next(); err != nil {
			return err
		}
	}
	return nil
}

func (p *plainValues) take(n int) ([]byte, error) {
	if n < 0 || n > len(p.data) {
		return nil, errPage
	}
	out := p.data[:n]
	p.data = p.data[n:]
	return out, nil
}

func (p *plainValues) next() (any, error) {
	switch p.leaf.physical {
	case format.Boolean:
		if len(p.data) == 0 {
			return nil, errPage
		}
		v := p.data[0]>>p.bit&1 == 1
		if p.bit++; p.bit == 8 {
			p.bit, p.data = 0, p.data[1:]
		}
		return v, nil
	case format.ByteArray:
		n, err := p.take(4)
		if err != nil {
			return nil, err
		}
		b, err := p.take(int(binary.LittleEndian.Uint32(n)))
		return b, err
	}
	w := width(p.leaf)
	if w == 0 {
		return nil, errPage
	}
	b, err := p.take(w)
	if err != nil {
		return nil, err
	}
	return fixed(p.leaf.physical, b), nil
}

// fixed is a value of fixed size.
func fixed(t format.Type, b []byte) any {
	switch t {
	case format.Int32:
		return int64(int32(binary.LittleEndian.Uint32(b))) //nolint:gosec // any 32 bits
	case format.Int64:
		return int64(binary.LittleEndian.Uint64(b)) //nolint:gosec // any 64 bits
	case format.Float:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case format.Double:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return b
}

// dictionaryValues are indexes of a dictionary.
type dictionaryValues struct {
	index  *hybrid
	values []any
}

func (d *dictionaryValues) skip(n int) error { return d.index.skip(n) }

func (d *dictionaryValues) next() (any, error) {
	i, err := d.index.next()
	if err != nil {
		return nil, err
	}
	if int64(i) >= int64(len(d.values)) {
		return nil, bad("A value refers to entry %d of a dictionary of %d.", i, len(d.values))
	}
	return d.values[i], nil
}

// runs are booleans in runs.
type runs struct{ *hybrid }

func (r *runs) next() (any, error) {
	n, err := r.hybrid.next()
	return n == 1, err
}

// hybrid are numbers of up to 32 bits, in runs of one number and in groups of packed numbers.
type hybrid struct {
	data  []byte
	width int
	run   uint64 // numbers left of the run
	value uint32
	group uint64 // numbers left of the group
	bit   uint64 // of the next number in data
}

func newHybrid(data []byte, width int) *hybrid { return &hybrid{data: data, width: width} }

// begin starts the next run or group.
func (h *hybrid) begin() error {
	if h.bit > 0 {
		h.data, h.bit = h.data[min((h.bit+7)/8, uint64(len(h.data))):], 0
	}
	head, n := binary.Uvarint(h.data)
	if n <= 0 {
		return errPage
	}
	h.data = h.data[n:]
	if head&1 == 1 {
		h.group = head >> 1 * 8
		return nil
	}
	size := (h.width + 7) / 8
	if size > len(h.data) {
		return errPage
	}
	var word [4]byte
	copy(word[:], h.data[:size])
	h.data, h.run, h.value = h.data[size:], head>>1, binary.LittleEndian.Uint32(word[:])
	return nil
}

func (h *hybrid) next() (uint32, error) {
	for {
		switch {
		case h.run > 0:
			h.run--
			return h.value, nil
		case h.group > 0:
			h.group--
			return h.packed()
		}
		if err := h.begin(); err != nil {
			return 0, err
		}
	}
}

func (h *hybrid) packed() (uint32, error) {
	at, shift := h.bit/8, h.bit%8
	h.bit += uint64(h.width) //nolint:gosec // at most 32
	if (h.bit+7)/8 > uint64(len(h.data)) {
		return 0, errPage
	}
	var word uint64
	for i := uint64(0); i < 5 && at+i < uint64(len(h.data)); i++ {
		word |= uint64(h.data[at+i]) << (8 * i)
	}
	return uint32(word >> shift & (1<<h.width - 1)), nil //nolint:gosec // masked to at most 32 bits
}

func (h *hybrid) skip(n int) error {
	for n > 0 {
		if h.run > 0 {
			take := min(h.run, uint64(n))
			h.run, n = h.run-take, n-int(take) //nolint:gosec // at most n
			continue
		}
		if h.group > 0 {
			take := min(h.group, uint64(n))
			h.group, n = h.group-take, n-int(take) //nolint:gosec // at most n
			h.bit += take * uint64(h.width)        //nolint:gosec // at most 32
			if h.bit > uint64(len(h.data))*8 {
				return errPage
			}
			continue
		}
		if err := h.begin(); err != nil {
			return err
		}
	}
	return nil
}
