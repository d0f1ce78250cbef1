package pickle

import (
	"strconv"
	"strings"
)

func (r *reader) text(op byte) (bool, error) {
	sizes := map[byte]uint64{'X': 4, 0x8c: 1, 0x8d: 8, 'B': 4, 'C': 1, 0x8e: 8, 0x96: 8, 'U': 1, 'T': 4}
	if size, ok := sizes[op]; ok {
		b, err := r.sized(size)
		if err == nil {
			err = r.charge(len(b))
		}
		if err != nil {
			return true, err
		}
		switch op {
		case 'X', 0x8c, 0x8d:
			r.push(strings.ToValidUTF8(string(b), "\uFFFD"))
		default: // U and T are texts of Python 2, whose encoding is unknown
			r.push(Bytes(b))
		}
		return true, nil
	}
	switch op {
	case 'V':
		line, err := r.line()
		if err == nil {
			r.push(escaped(line))
		}
		return true, err
	case 'S':
		line, err := r.line()
		if err == nil && len(line) < 2 {
			err = malformed(r.at, "not a text")
		}
		if err == nil {
			r.push(escaped(line[1 : len(line)-1]))
		}
		return true, err
	}
	return false, nil
}

// escaped replaces the escapes of the textual opcodes; other bytes are Latin-1.
func escaped(line string) string {
	var out strings.Builder
	for line != "" {
		c, rest := rune(line[0]), line[1:]
		if c == '\\' {
			if unquoted, _, after, err := strconv.UnquoteChar(line, 0); err == nil {
				c, rest = unquoted, after
			}
		}
		out.WriteRune(c)
		line = rest
	}
	return out.String()
}

func (r *reader) container(op byte) (bool, error) {
	switch op {
	case ']':
		r.push(&List{})
	case ')':
		r.push(Tuple{})
	case '}':
		r.push(&Dict{})
	case 0x8f:
		r.push(&Set{})
	case 'l', 't', 'd', 0x91:
		values, err := r.popMark()
		if err != nil {
			return true, err
		}
		return true, r.collect(op, values)
	case 0x85, 0x86, 0x87:
		n := int(op) - 0x84
		values := make(Tuple, n)
		for i := n - 1; i >= 0; i-- {
			v, err := r.value()
			if err != nil {
				return true, err
			}
			values[i] = v
		}
		r.push(values)
	case 'a', 'e', 's', 'u', 0x90:
		return true, r.fill(op)
	default:
		return false, nil
	}
	return true, nil
}

// collect pushes a container of values.
func (r *reader) collect(op byte, values []any) error {
	for _, v := range values {
		if err := constructed(v); err != nil {
			return err
		}
	}
	switch op {
	case 'l':
		r.push(&List{Items: values})
	case 't':
		r.push(Tuple(values))
	case 0x91:
		r.push(&Set{Items: values, Frozen: true})
	case 'd':
		d := &Dict{}
		r.push(d)
		return d.add(r.at, values)
	}
	return nil
}

// value pops a value.
func (r *reader) value() (any, error) {
	v, err := r.pop()
	if err == nil {
		err = constructed(v)
	}
	return v, err
}

// fill adds values to the container below them on the stack.
func (r *reader) fill(op byte) error {
	var values []any
	var err error
	switch op {
	case 'a', 's':
		values = make([]any, map[byte]int{'a': 1, 's': 2}[op])
		for i := len(values) - 1; i >= 0 && err == nil; i-- {
			values[i], err = r.pop()
		}
	default:
		values, err = r.popMark()
	}
	if err != nil {
		return err
	}
	for _, v := range values {
		if err := constructed(v); err != nil {
			return err
		}
	}
	to, err := r.top()
	if err != nil {
		return err
	}
	switch c := to.(type) {
	case *List:
		if op == 'a' || op == 'e' {
			c.Items = append(c.Items, values...)
			return nil
		}
	case *Dict:
		if op == 's' || op == 'u' {
			return c.add(r.at, values)
		}
	case *Set:
		if op == 0x90 {
			c.Items = append(c.Items, values...)
			return nil
		}
	}
	return malformed(r.at, "the container has another type")
}

// add adds keys and values in turn.
func (d *Dict) add(at int, values []any) error {
	if len(values)%2 != 0 {
		return malformed(at, "a key has no value")
	}
	for i := 0; i < len(values); i += 2 {
		d.Keys, d.Values = append(d.Keys, values[i]), append(d.Values, values[i+1])
	}
	return nil
}

func (r *reader) memory(op byte) (bool, error) {
	var id uint64
	var err error
	switch op {
	case 0x94: // MEMOIZE
		id = uint64(len(r.memo))
	case 'q', 'h':
		id, err = r.uint(1)
	case 'r', 'j':
		id, err = r.uint(4)
	case 'p', 'g':
		var line string
		if line, err = r.line(); err == nil {
			if id, err = strconv.ParseUint(line, 10, 32); err != nil {
				err = malformed(r.at, "not a number")
			}
		}
	default:
		return false, nil
	}
	if err != nil {
		return true, err
	}
	if op == 'h' || op == 'j' || op == 'g' {
		v, ok := r.memo[id]
		if !ok {
			return true, malformed(r.at, "the memo has no such value")
		}
		r.push(v)
		return true, nil
	}
	v, err := r.top()
	if err == nil {
		r.left -= memoCost
		r.memo[id] = v
	}
	return true, err
}
