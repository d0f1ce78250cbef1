package preview

import (
	"encoding/binary"
	"slices"
)

// delta are integers as differences, in blocks of packed numbers.
type delta struct {
	data    []byte
	perMini uint64 // numbers of a mini block
	minis   uint64 // mini blocks of a block
	left    uint64 // numbers of the page
	value   int64
	started bool

	least  int64
	widths []byte // of the mini blocks that are not begun
	mini   uint64 // numbers left of the mini block
	width  uint64
	bit    uint64
}

// newDelta reads the differences of a page of at most limit values.
func newDelta(data []byte, limit int) (*delta, error) {
	d := &delta{data: data}
	block, ok1 := d.varint()
	minis, ok2 := d.varint()
	count, ok3 := d.varint()
	first, ok4 := d.varint()
	if !ok1 || !ok2 || !ok3 || !ok4 || minis == 0 || minis > 1024 || block > 1<<20 || block%(minis*8) != 0 || block == 0 || count > uint64(limit) { //nolint:gosec // a number of values
		return nil, errPage
	}
	d.minis, d.perMini, d.left, d.value = minis, block/minis, count, zigzag(first)
	return d, nil
}

func (d *delta) varint() (uint64, bool) {
	n, size := binary.Uvarint(d.data)
	if size <= 0 {
		return 0, false
	}
	d.data = d.data[size:]
	return n, true
}

func zigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

func (d *delta) next() (any, error) {
	n, err := d.number()
	return n, err
}

func (d *delta) skip(n int) error {
	for range n {
		if _, err := d.number(); err != nil {
			return err
		}
	}
	return nil
}

func (d *delta) number() (int64, error) {
	if d.left == 0 {
		return 0, errPage
	}
	d.left--
	if !d.started {
		d.started = true
		return d.value, nil
	}
	if d.mini == 0 {
		if err := d.begin(); err != nil {
			return 0, err
		}
	}
	d.mini--
	if (d.bit+d.width+7)/8 > uint64(len(d.data)) {
		return 0, errPage
	}
	d.value += d.least + int64(packedAt(d.data, d.bit, d.width)) //nolint:gosec // arithmetic modulo 2^64
	d.bit += d.width
	return d.value, nil
}

// begin starts the next mini block, and the block before it.
func (d *delta) begin() error {
	d.data, d.bit = d.data[min(d.perMini*d.width/8*boolean(d.bit > 0), uint64(len(d.data))):], 0
	if len(d.widths) == 0 {
		least, ok := d.varint()
		if !ok || d.minis > uint64(len(d.data)) {
			return errPage
		}
		d.least, d.widths, d.data = zigzag(least), d.data[:d.minis], d.data[d.minis:]
	}
	d.width, d.widths, d.mini = uint64(d.widths[0]), d.widths[1:], d.perMini
	if d.width > 64 {
		return errPage
	}
	return nil
}

func boolean(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func packedAt(data []byte, bit, width uint64) uint64 {
	var out uint64
	for i := uint64(0); i < width; {
		b := uint64(data[(bit+i)/8]) >> ((bit + i) % 8)
		take := min(8-(bit+i)%8, width-i)
		out |= b & (1<<take - 1) << i
		i += take
	}
	return out
}

// end returns the bytes after the numbers, which the lengths of texts precede.
func (d *delta) end() ([]byte, error) {
	walk := *d
	for walk.left > 0 {
		if _, err := walk.number(); err != nil {
			return nil, err
		}
	}
	return walk.data[min(walk.perMini*walk.width/8*boolean(walk.bit > 0), uint64(len(walk.data))):], nil
}

// suffixes are byte arrays whose lengths are before them.
type suffixes struct {
	lengths *delta
	data    []byte
}

func (s *suffixes) bytes() ([]byte, error) {
	n, err := s.lengths.number()
	if err != nil {
		return nil, err
	}
	if n < 0 || n > int64(len(s.data)) {
		return nil, errPage
	}
	out := s.data[:n]
	s.data = s.data[n:]
	return out, nil
}

func (s *suffixes) next() (any, error) {
	b, err := s.bytes()
	return b, err
}

func (s *suffixes) skip(n int) error {
	for range n {
		if _, err := s.bytes(); err != nil {
			return err
		}
	}
	return nil
}

// prefixed are byte arrays that share their beginning with the one before.
type prefixed struct {
	prefixes *delta
	suffix   suffixes
	last     []byte
}

// prefixedBytes bounds a value: its prefixes may make it much longer than the page.
const prefixedBytes = 1 << 20

func (p *prefixed) next() (any, error) {
	n, err := p.prefixes.number()
	if err != nil {
		return nil, err
	}
	b, err := p.suffix.bytes()
	if err != nil {
		return nil, err
	}
	if n < 0 || n > int64(len(p.last)) {
		return nil, errPage
	}
	if n+int64(len(b)) > prefixedBytes {
		return nil, bad("A value with the encoding DELTA_BYTE_ARRAY is larger than 1 MiB.")
	}
	p.last = slices.Concat(p.last[:n], b)
	return p.last, nil
}

func (p *prefixed) skip(n int) error {
	for range n {
		if _, err := p.next(); err != nil {
			return err
		}
	}
	return nil
}

// splitStreams are values of fixed size whose first bytes are together, then their second ones.
type splitStreams struct {
	plainValues

	streams []byte
	size    int
	at      int
}

func (s *splitStreams) skip(n int) error {
	s.at += n
	return nil
}

func (s *splitStreams) next() (any, error) {
	count := len(s.streams) / s.size
	if s.at >= count {
		return nil, errPage
	}
	b := make([]byte, s.size)
	for i := range b {
		b[i] = s.streams[i*count+s.at]
	}
	s.at++
	return fixed(s.leaf.physical, b), nil
}
