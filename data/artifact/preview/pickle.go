package preview

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of pickles. They are never loaded: opcodes are followed as far as names, numbers and
// containers, and nothing is imported or called.
const (
	pickleOpcodes = 5_000_000
	pickleValues  = 1_000_000 // on the stack and in the memo
	pickleItems   = 20_000    // kept of a container
	pickleText    = 4 << 10   // kept of a text
	pickleTime    = 2 * time.Second
	pickleNested  = 64 // pickles of arrays of objects in a pickle
)

// Values of a pickle are nil, bool, int64, float64, string, and these.
type (
	pickleBytes  int64 // their number
	pickleList   struct{ items []any }
	pickleDict   struct{ keys, values []any }
	pickleGlobal struct{ module, name string }
	pickleObject struct {
		class       any
		args, state any
	}
	pickleMark struct{}
)

func (g *pickleGlobal) String() string { return g.module + "." + g.name }

// unpickler follows the opcodes of a pickle.
type unpickler struct {
	f       File
	at      int64
	b       *budget
	buffer  []byte
	begin   int64 // of the buffer
	stack   []any
	memo    map[int64]any
	nested  int
	globals map[string]bool
}

var errPickleEnd = errors.New("the pickle has ended")

func damagedPickle(at int64) error { return bad("The pickle is damaged at byte %d.", at) }

// next returns n bytes, at most 64 KiB.
func (u *unpickler) next(n int64) ([]byte, error) {
	if n < 0 || n > 64<<10 || u.at+n > u.f.Size {
		return nil, damagedPickle(u.at)
	}
	if u.at < u.begin || u.at+n > u.begin+int64(len(u.buffer)) {
		u.buffer = make([]byte, min(64<<10, u.f.Size-u.at))
		if err := u.f.read(u.buffer, u.at, "the end of the pickle"); err != nil {
			return nil, err
		}
		u.begin = u.at
	}
	p := u.buffer[u.at-u.begin:][:n]
	u.at += n
	return p, nil
}

// skip passes over bytes without reading them.
func (u *unpickler) skip(n int64) error {
	if n < 0 || n > u.f.Size-u.at {
		return bad("The pickle is truncated: byte %d is needed, but the file has only %d bytes.", u.at+max(n, 0), u.f.Size)
	}
	u.at += n
	return nil
}

func (u *unpickler) line() (string, error) {
	var out []byte
	for {
		c, err := u.next(1)
		if err != nil {
			return "", err
		}
		if c[0] == '\n' {
			return string(out), nil
		}
		if len(out) < pickleText {
			out = append(out, c[0])
		}
	}
}

// size reads a size of some bytes.
func (u *unpickler) size(bytes int64) (int64, error) {
	p, err := u.next(bytes)
	if err != nil {
		return 0, err
	}
	var full [8]byte
	copy(full[:], p)
	n := binary.LittleEndian.Uint64(full[:])
	if n > uint64(max(u.f.Size, 0)) {
		return 0, bad("The pickle declares a size of %d bytes at byte %d, which is more than the file contains.", n, u.at)
	}
	return int64(n), nil //nolint:gosec // at most the size of the file
}

func (u *unpickler) text(sizeBytes int64) error {
	n, err := u.size(sizeBytes)
	if err != nil {
		return err
	}
	p, err := u.next(min(n, pickleText))
	if err != nil {
		return err
	}
	u.push(string(p))
	return u.skip(n - int64(len(p)))
}

func (u *unpickler) bytes(sizeBytes int64) error {
	n, err := u.size(sizeBytes)
	if err != nil {
		return err
	}
	u.push(pickleBytes(n))
	return u.skip(n)
}

func (u *unpickler) push(v any) { u.stack = append(u.stack, v) }

func (u *unpickler) pop() (any, error) {
	if len(u.stack) == 0 {
		return nil, damagedPickle(u.at)
	}
	v := u.stack[len(u.stack)-1]
	u.stack = u.stack[:len(u.stack)-1]
	return v, nil
}

// popMark returns what is above the last mark.
func (u *unpickler) popMark() ([]any, error) {
	for i, v := range slices.Backward(u.stack) {
		if _, ok := v.(pickleMark); ok {
			items := append([]any{}, u.stack[i+1:]...)
			u.stack = u.stack[:i]
			return items, nil
		}
	}
	return nil, damagedPickle(u.at)
}

// run follows one pickle to its end and returns its value.
func (u *unpickler) run() (any, error) {
	for {
		if u.b.spent() || len(u.stack) > pickleValues || len(u.memo) > pickleValues {
			return nil, errFields
		}
		op, err := u.next(1)
		if err != nil {
			return nil, err
		}
		err = u.opcode(op[0])
		if errors.Is(err, errPickleEnd) {
			return u.pop()
		}
		if err != nil {
			return nil, err
		}
	}
}

func (u *unpickler) opcode(op byte) error {
	if op == '.' {
		if u.nested == 0 {
			return errPickleEnd
		}
		u.nested--
		_, err := u.pop()
		return err
	}
	for _, group := range []func(byte) (bool, error){u.scalar, u.container, u.object, u.memoized} {
		if done, err := group(op); done || err != nil {
			return err
		}
	}
	return damagedPickle(u.at - 1)
}

// scalar pushes numbers, texts and bytes.
func (u *unpickler) scalar(op byte) (bool, error) {
	switch op {
	case 0x80:
		return true, u.skip(1)
	case 0x95:
		return true, u.skip(8)
	case 'N':
		u.push(nil)
	case 0x88, 0x89:
		u.push(op == 0x88)
	case 'K', 'M', 'J':
		return true, u.integer(map[byte]int64{'K': 1, 'M': 2, 'J': 4}[op])
	case 'G':
		p, err := u.next(8)
		if err == nil {
			u.push(dtype{size: 8, order: binary.BigEndian}.float(p))
		}
		return true, err
	case 'I', 'L', 'F':
		text, err := u.line()
		if n, bad := strconv.ParseInt(strings.TrimSuffix(text, "L"), 10, 64); bad == nil {
			u.push(n)
		} else {
			u.push(shortText(text))
		}
		return true, err
	case 0x8a, 0x8b:
		return true, u.long(map[byte]int64{0x8a: 1, 0x8b: 4}[op])
	case 'S', 'V':
		text, err := u.line()
		u.push(strings.Trim(text, `'"`))
		return true, err
	case 'U', 'T', 'X', 0x8c, 0x8d:
		return true, u.text(map[byte]int64{'U': 1, 'T': 4, 'X': 4, 0x8c: 1, 0x8d: 8}[op])
	case 'B', 'C', 0x8e, 0x96:
		return true, u.bytes(map[byte]int64{'B': 4, 'C': 1, 0x8e: 8, 0x96: 8}[op])
	case 0x97:
		u.push(pickleBytes(-1))
	case 0x98:
	default:
		return false, nil
	}
	return true, nil
}

func (u *unpickler) integer(size int64) error {
	p, err := u.next(size)
	if err != nil {
		return err
	}
	n := dtype{size: size, order: binary.LittleEndian}.unsigned(p)
	if size == 4 {
		u.push(int64(int32(uint32(n)))) //nolint:gosec // the sign is the highest bit
	} else {
		u.push(int64(n)) //nolint:gosec // at most two bytes
	}
	return nil
}

func (u *unpickler) long(sizeBytes int64) error {
	n, err := u.size(sizeBytes)
	if err != nil {
		return err
	}
	if n > 8 {
		u.push("a large number")
		return u.skip(n)
	}
	p, err := u.next(n)
	if err != nil {
		return err
	}
	var full [8]byte
	copy(full[:], p)
	v := int64(binary.LittleEndian.Uint64(full[:])) //nolint:gosec // the sign is extended below
	if n > 0 && n < 8 {
		shift := 64 - 8*n
		v = v << shift >> shift
	}
	u.push(v)
	return nil
}

// newUnpickler reads a pickle, or one that zlib or gzip has compressed.
func newUnpickler(ctx context.Context, f File) (*unpickler, error) {
	head := make([]byte, min(2, f.Size))
	_, _ = f.ReadAt(head, 0)
	var packed io.Reader
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		r, _, err := decompressed(ctx, f, "gz")
		if err != nil {
			return nil, err
		}
		packed = r
	case len(head) == 2 && head[0] == 0x78 && (int(head[0])<<8|int(head[1]))%31 == 0:
		r, err := zlib.NewReader(packedOf(ctx, f))
		if err != nil {
			return nil, bad("The file is not compressed with zlib: %s.", err)
		}
		packed = &bounded{r, ctx, unpackedBytes, time.Now().Add(archiveTime)}
	case string(head) == "BZ", string(head) == "\xfd7", string(head) == "\x04\x22":
		return nil, bad("The pickle is compressed with bzip2, LZMA or LZ4, which the preview does not support. It supports uncompressed pickles, zlib and gzip.")
	}
	if packed != nil {
		inner, cut, err := unpack(packed)
		if err != nil {
			return nil, err
		}
		if f = inner; cut {
			return nil, bad("The pickle is larger than 32 MiB unpacked. Save it without compression to see what it contains.")
		}
	}
	return &unpickler{
		f: f, memo: map[int64]any{}, globals: map[string]bool{},
		b: &budget{ctx: ctx, rows: pickleOpcodes, bytes: 1, until: time.Now().Add(pickleTime)},
	}, nil
}
