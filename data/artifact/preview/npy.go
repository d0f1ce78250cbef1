package preview

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// dtype is a NumPy type whose values are shown.
type dtype struct {
	name  string // as NumPy prints it
	kind  byte   // b, i, u, f, c, S, U; 0: values are not shown
	size  int64  // bytes of one element
	order binary.ByteOrder
}

// npyHeader describes the array of a NumPy file.
type npyHeader struct {
	dtype   dtype
	shape   []int64
	fortran bool
	data    int64 // where the elements begin
	count   int64
	note    string // why values are not shown
}

// npyHeaderBytes is the maximum size of the description of an array.
const npyHeaderBytes = 1 << 20

// maxElements is the maximum number of elements of an array and of bytes of a shape.
const maxElements = 1 << 50

// bytes is the size of the elements. The size of a type that is not shown can be any number.
func (h npyHeader) bytes() int64 {
	if h.dtype.size > 0 && h.count > math.MaxInt64/h.dtype.size {
		return math.MaxInt64
	}
	return h.count * h.dtype.size
}

func readNpy(f File) (h npyHeader, err error) {
	var start [12]byte
	if err := f.read(start[:10], 0, "the description of the array"); err != nil {
		return h, err
	}
	if string(start[:6]) != "\x93NUMPY" {
		return h, bad("The file is not a NumPy array: it does not begin with \\x93NUMPY.")
	}
	at, size := int64(10), int64(binary.LittleEndian.Uint16(start[8:]))
	if start[6] >= 2 {
		if err := f.read(start[:], 0, "the description of the array"); err != nil {
			return h, err
		}
		at, size = 12, int64(binary.LittleEndian.Uint32(start[8:]))
	}
	if size > npyHeaderBytes {
		return h, bad("The description of the array is larger than 1 MiB.")
	}
	text := make([]byte, size)
	if err := f.read(text, at, "the end of the description of the array"); err != nil {
		return h, err
	}
	h.data = at + size
	return h, h.describe(string(text), f.Size)
}

func (h *npyHeader) describe(text string, size int64) error {
	v, ok := parseLiteral(text)
	fields, isDict := v.(map[string]any)
	dims, hasShape := fields["shape"].([]any)
	if !ok || !isDict || !hasShape {
		return bad("The description of the array is damaged.")
	}
	h.fortran, _ = fields["fortran_order"].(bool)
	h.count = 1
	if len(dims) > 64 {
		return bad("The array has %d dimensions. NumPy has at most 64.", len(dims))
	}
	for _, d := range dims {
		n, ok := d.(int64)
		if !ok || n < 0 || n > maxElements || n > 0 && h.count > maxElements/n {
			return bad("The array's shape is not valid.")
		}
		h.shape, h.count = append(h.shape, n), h.count*n
	}
	descr, ok := fields["descr"].(string)
	if !ok {
		h.dtype.name = structured(fields["descr"])
		h.note = "The elements are records of several fields. Their values are not shown."
		return nil
	}
	h.dtype = dtypeOf(descr)
	switch {
	case h.dtype.kind == 'O':
		h.note = "The elements are Python objects in a pickle. They are not loaded, because loading a pickle can run code."
	case h.dtype.kind == 0:
		h.note = "Values of this type are not shown."
	case h.dtype.size > 0 && h.count > (size-h.data)/h.dtype.size:
		return bad("The file is truncated: it has %d bytes of data, but the array's shape requires %d elements of %d bytes.", size-h.data, h.count, h.dtype.size)
	}
	return nil
}

// structured writes the fields of records.
func structured(v any) string {
	fields, _ := v.([]any)
	var parts []string
	for _, f := range fields {
		pair, _ := f.([]any)
		if len(pair) < 2 {
			continue
		}
		name, _ := pair[0].(string)
		kind, ok := pair[1].(string)
		if ok {
			kind = dtypeOf(kind).name
		} else {
			kind = "record"
		}
		parts = append(parts, clean(name)+": "+kind)
	}
	text, cut := cutRunes(strings.Join(parts, ", "), 500)
	if cut {
		text += "…"
	}
	return "record {" + text + "}"
}

func dtypeOf(descr string) dtype {
	t := dtype{name: clean(descr), order: binary.LittleEndian}
	rest := descr
	if rest != "" && strings.IndexByte("<>|=", rest[0]) >= 0 {
		if rest[0] == '>' {
			t.order = binary.BigEndian
		}
		rest = rest[1:]
	}
	if rest == "" {
		return t
	}
	kind := rest[0]
	digits, unit, _ := strings.Cut(rest[1:], "[")
	size, err := strconv.ParseInt(digits, 10, 32)
	if kind == 'O' {
		t.kind, t.name = 'O', "object"
		return t
	}
	if err != nil || size < 0 {
		return t
	}
	t.size = size
	switch {
	case kind == 'b' && size == 1:
		t.kind, t.name = 'b', "bool"
	case kind == 'i' && powerOfTwo(size), kind == 'u' && powerOfTwo(size):
		t.kind, t.name = kind, map[byte]string{'i': "int", 'u': "uint"}[kind]+strconv.FormatInt(8*size, 10)
	case kind == 'f' && size >= 2 && powerOfTwo(size):
		t.kind, t.name = 'f', "float"+strconv.FormatInt(8*size, 10)
	case kind == 'c' && (size == 8 || size == 16):
		t.kind, t.name = 'c', "complex"+strconv.FormatInt(8*size, 10)
	case (kind == 'M' || kind == 'm') && size == 8:
		t.kind, t.name = 'i', map[byte]string{'M': "datetime64", 'm': "timedelta64"}[kind]
		if unit != "" {
			t.name += "[" + clean(unit)
		}
	case kind == 'S' && size > 0 && size <= 1<<20:
		t.kind, t.name = 'S', "bytes"+strconv.FormatInt(8*size, 10)
	case kind == 'U' && size > 0 && size <= 1<<18:
		t.kind, t.name, t.size = 'U', fmt.Sprintf("text of %d characters", size), 4*size
	}
	if t.order == binary.BigEndian && t.kind != 'S' && t.size > 1 {
		t.name += " (big-endian)"
	}
	return t
}

func powerOfTwo(n int64) bool { return n == 1 || n == 2 || n == 4 || n == 8 }

// numeric reports whether elements have a place on a scale.
func (t dtype) numeric() bool { return t.kind != 0 && t.kind != 'S' && t.kind != 'U' && t.kind != 'O' }

// value is one element: bool, int64, uint64, float64 or string.
func (t dtype) value(p []byte) any {
	switch t.kind {
	case 'b':
		return p[0] != 0
	case 'i':
		return t.signed(p)
	case 'u':
		return t.unsigned(p)
	case 'f':
		return t.float(p)
	case 'c':
		half := dtype{kind: 'f', size: t.size / 2, order: t.order}
		re, im := half.float(p), half.float(p[half.size:])
		return strconv.FormatFloat(re, 'g', -1, 64) + fmt.Sprintf("%+gj", im)
	case 'U':
		var out strings.Builder
		for i := int64(0); i < t.size; i += 4 {
			if c := t.order.Uint32(p[i:]); c != 0 {
				out.WriteRune(rune(c)) //nolint:gosec // characters that do not exist are replaced
			}
		}
		text, _ := cutRunes(out.String(), treeText)
		return text
	}
	text, _ := cutRunes(strings.ToValidUTF8(strings.TrimRight(string(p), "\x00"), "\uFFFD"), treeText)
	return text
}

// number is one element on a scale; of complex numbers, the magnitude.
func (t dtype) number(p []byte) float64 {
	switch t.kind {
	case 'b':
		if p[0] != 0 {
			return 1
		}
		return 0
	case 'i':
		return float64(t.signed(p))
	case 'u':
		return float64(t.unsigned(p))
	case 'c':
		half := dtype{kind: 'f', size: t.size / 2, order: t.order}
		return math.Hypot(half.float(p), half.float(p[half.size:]))
	}
	return t.float(p)
}

func (t dtype) unsigned(p []byte) uint64 {
	switch t.size {
	case 1:
		return uint64(p[0])
	case 2:
		return uint64(t.order.Uint16(p))
	case 4:
		return uint64(t.order.Uint32(p))
	}
	return t.order.Uint64(p)
}

func (t dtype) signed(p []byte) int64 {
	n := t.unsigned(p)
	shift := 64 - 8*t.size
	return int64(n<<shift) >> shift //nolint:gosec // extends the sign
}

func (t dtype) float(p []byte) float64 {
	switch t.size {
	case 2:
		return half(t.order.Uint16(p))
	case 4:
		return float64(math.Float32frombits(t.order.Uint32(p)))
	}
	return math.Float64frombits(t.order.Uint64(p))
}
