// Package pickle reads the values that Python has pickled, without running anything: it constructs
// numbers, texts, bytes, lists, tuples, dictionaries, sets and times. A pickle that names anything
// else is refused, because unpickling it would call it.
//
// A Reader of untrusted bytes needs no other protection: everything that a pickle makes is charged
// to one budget, nothing is recursive, and values that contain themselves are cut when they are
// printed. Several pickles at once each have a budget: callers limit how many.
package pickle

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// MaxBytes is the maximum size of a pickle.
const MaxBytes = 4 << 20

// budget is how much memory a pickle may use, in bytes: what it makes and drops again counts too, so
// it bounds the work as well.
const budget = 32 << 20

// What values cost, in bytes, with the lists that grow with them.
const (
	valueCost     = 32 // on the stack and in a container
	containerCost = 64
	memoCost      = 96
	markCost      = 16
)

// maxInteger is the maximum size of an integer in bytes or digits: their conversion takes
// quadratic time.
const maxInteger = 4096

// Values are nil, bool, int64, *big.Int, float64, string, Bytes, *List, Tuple, *Dict, *Set and
// Call.
type (
	// Bytes are bytes or a bytearray.
	Bytes []byte
	// List is a list, which other values can contain more than once.
	List struct{ Items []any }
	// Tuple is a tuple.
	Tuple []any
	// Dict is a dictionary with its pairs in order. A later pair replaces an earlier one.
	Dict struct{ Keys, Values []any }
	// Set is a set, or a frozenset.
	Set struct {
		Items  []any
		Frozen bool
	}
	// Call is a time, a duration or a decimal number as Python writes it, such as
	// datetime.date(2026, 1, 31).
	Call string
)

// OtherError means that the value is not one that this package constructs.
type OtherError struct {
	Name string // the class or function that the pickle names, or ""
}

// Error implements error.
func (e *OtherError) Error() string {
	if e.Name == "" {
		return "the value is an object of another kind"
	}
	return "the value needs " + e.Name
}

// Errors of Decode.
var (
	ErrMalformed = errors.New("not a pickle")
	ErrTooLarge  = errors.New("the pickle makes too many values")
)

func malformed(at int, what string) error {
	return fmt.Errorf("%w: byte %d: %s", ErrMalformed, at, what)
}

// global is a class or function that the package knows.
type global string

// reader is the machine that a pickle is a program for.
type reader struct {
	data  []byte
	at    int
	stack []any
	marks []int // positions on the stack
	memo  map[uint64]any
	left  int // of the budget
}

// charge takes n bytes of the budget.
func (r *reader) charge(n int) error {
	if r.left -= n; r.left < 0 {
		return ErrTooLarge
	}
	return nil
}

// Decode returns the value of a pickle. Errors: *OtherError, ErrMalformed, ErrTooLarge and that of
// ctx.
func Decode(ctx context.Context, data []byte) (any, error) {
	if len(data) > MaxBytes {
		return nil, malformed(0, "too large")
	}
	r := &reader{data: data, memo: map[uint64]any{}, left: budget}
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("read a pickle: %w", ctx.Err())
		}
		op, err := r.byte()
		if err != nil {
			return nil, err
		}
		if op == '.' {
			v, err := r.pop()
			if err == nil {
				err = constructed(v)
			}
			return v, err
		}
		if err := r.run(op); err != nil {
			return nil, err
		}
		if err := r.charge(0); err != nil { // for what the opcode has pushed
			return nil, err
		}
	}
}

// constructed rejects what is not a value.
func constructed(v any) error {
	if name, ok := v.(global); ok {
		return &OtherError{string(name)}
	}
	return nil
}

func (r *reader) byte() (byte, error) {
	b, err := r.take(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

func (r *reader) take(n uint64) ([]byte, error) {
	if n > uint64(len(r.data)-r.at) { //nolint:gosec // not negative
		return nil, malformed(r.at, "ends early")
	}
	b := r.data[r.at : r.at+int(n)] //nolint:gosec // at most the rest of the data
	r.at += int(n)                  //nolint:gosec // same
	return b, nil
}

// uint reads a little-endian number of size bytes.
func (r *reader) uint(size uint64) (uint64, error) {
	b, err := r.take(size)
	if err != nil {
		return 0, err
	}
	var full [8]byte
	copy(full[:], b)
	return binary.LittleEndian.Uint64(full[:]), nil
}

// sized reads bytes after their number, which has size bytes.
func (r *reader) sized(size uint64) ([]byte, error) {
	n, err := r.uint(size)
	if err != nil {
		return nil, err
	}
	return r.take(n)
}

func (r *reader) line() (string, error) {
	end := bytes.IndexByte(r.data[r.at:min(len(r.data), r.at+maxInteger)], '\n')
	if end < 0 {
		return "", malformed(r.at, "a line is too long")
	}
	b, err := r.take(uint64(end) + 1)
	return string(b[:max(0, len(b)-1)]), err
}

// push puts a value on the stack. Decode checks the budget after each opcode.
func (r *reader) push(v any) {
	r.left -= valueCost
	switch v := v.(type) {
	case *List, *Dict, *Set:
		r.left -= containerCost
	case Tuple:
		r.left -= len(v) * valueCost
	}
	r.stack = append(r.stack, v)
}

func (r *reader) pop() (any, error) {
	floor := 0
	if n := len(r.marks); n > 0 {
		floor = r.marks[n-1]
	}
	if len(r.stack) <= floor {
		return nil, malformed(r.at, "the stack is empty")
	}
	v := r.stack[len(r.stack)-1]
	r.stack = r.stack[:len(r.stack)-1]
	return v, nil
}

// top is the last value, which stays on the stack.
func (r *reader) top() (any, error) {
	v, err := r.pop()
	if err == nil {
		r.push(v)
	}
	return v, err
}

// popMark returns the values after the last mark.
func (r *reader) popMark() ([]any, error) {
	n := len(r.marks)
	if n == 0 {
		return nil, malformed(r.at, "there is no mark")
	}
	from := r.marks[n-1]
	r.marks = r.marks[:n-1]
	values := append([]any(nil), r.stack[from:]...)
	r.stack = r.stack[:from]
	return values, nil
}

// run runs one opcode.
func (r *reader) run(op byte) error {
	for _, group := range []func(byte) (bool, error){r.constant, r.number, r.text, r.container, r.memory, r.object} {
		if known, err := group(op); known || err != nil {
			return err
		}
	}
	return malformed(r.at-1, fmt.Sprintf("unknown opcode 0x%02x", op))
}

func (r *reader) constant(op byte) (bool, error) {
	switch op {
	case 'N':
		r.push(nil)
	case 0x88:
		r.push(true)
	case 0x89:
		r.push(false)
	case '(':
		r.left -= markCost
		r.marks = append(r.marks, len(r.stack))
	case '0':
		if n := len(r.marks); n > 0 && r.marks[n-1] == len(r.stack) {
			r.marks = r.marks[:n-1]
			return true, nil
		}
		_, err := r.pop()
		return true, err
	case '1':
		_, err := r.popMark()
		return true, err
	case '2':
		v, err := r.top()
		r.push(v)
		return true, err
	case 0x80: // PROTO
		version, err := r.byte()
		if err == nil && version > 5 {
			err = malformed(r.at, "a later version")
		}
		return true, err
	case 0x95: // FRAME
		_, err := r.uint(8)
		return true, err
	default:
		return false, nil
	}
	return true, nil
}

func (r *reader) number(op byte) (bool, error) {
	switch op {
	case 'K', 'M':
		n, err := r.uint(map[byte]uint64{'K': 1, 'M': 2}[op])
		r.push(int64(n)) //nolint:gosec // two bytes
		return true, err
	case 'J':
		n, err := r.uint(4)
		r.push(int64(int32(uint32(n)))) //nolint:gosec // four bytes with a sign
		return true, err
	case 0x8a, 0x8b:
		raw, err := r.sized(map[byte]uint64{0x8a: 1, 0x8b: 4}[op])
		if err == nil && len(raw) > maxInteger {
			err = &OtherError{"a very large integer"}
		}
		if err == nil {
			r.push(integer(raw))
		}
		return true, err
	case 'I', 'L':
		line, err := r.line()
		if err != nil {
			return true, err
		}
		return true, r.decimal(op, line)
	case 'G':
		b, err := r.take(8)
		if err == nil {
			r.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
		}
		return true, err
	case 'F':
		line, err := r.line()
		if err != nil {
			return true, err
		}
		f, err := strconv.ParseFloat(line, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return true, malformed(r.at, "not a number")
		}
		r.push(f)
		return true, nil
	}
	return false, nil
}

// decimal pushes an integer of the textual opcodes, in which 00 and 01 are truth values.
func (r *reader) decimal(op byte, line string) error {
	if op == 'I' && (line == "00" || line == "01") {
		r.push(line == "01")
		return nil
	}
	n, ok := new(big.Int).SetString(strings.TrimSuffix(line, "L"), 10)
	if !ok {
		return malformed(r.at, "not a number")
	}
	r.push(small(n))
	return nil
}

// integer is a little-endian number in two's complement.
func integer(raw []byte) any {
	reversed := make([]byte, len(raw))
	for i, b := range raw {
		reversed[len(raw)-1-i] = b
	}
	n := new(big.Int).SetBytes(reversed)
	if len(raw) > 0 && raw[len(raw)-1]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(len(raw))*8))
	}
	return small(n)
}

// small is n as int64 if it fits.
func small(n *big.Int) any {
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}
