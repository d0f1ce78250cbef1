package pickle

import (
	"fmt"
	"strings"
)

// The classes and functions that the package knows. It does not call them.
const (
	dateTime    global = "datetime.datetime"
	date        global = "datetime.date"
	clockTime   global = "datetime.time"
	timeDelta   global = "datetime.timedelta"
	timeZone    global = "datetime.timezone"
	decimal     global = "decimal.Decimal"
	set         global = "builtins.set"
	frozenSet   global = "builtins.frozenset"
	plainBytes  global = "builtins.bytes"
	byteArray   global = "builtins.bytearray"
	orderedDict global = "collections.OrderedDict"
	encode      global = "_codecs.encode" // how protocol 2 writes bytes
)

// globalOf returns a known class or function.
func globalOf(module, name string) (global, error) {
	if module == "__builtin__" {
		module = "builtins"
	}
	switch g := global(module + "." + name); g {
	case dateTime, date, clockTime, timeDelta, timeZone, decimal, set, frozenSet, plainBytes, byteArray, orderedDict, encode:
		return g, nil
	default:
		return "", &OtherError{shownName(string(g))}
	}
}

// shownName is a name with which a page can describe an unknown class.
func shownName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	if len(name) > 100 {
		name = strings.ToValidUTF8(name[:100], "") + "…"
	}
	return name
}

// object rejects what constructs objects, except the known classes.
func (r *reader) object(op byte) (bool, error) {
	switch op {
	case 'c':
		module, err := r.line()
		if err != nil {
			return true, err
		}
		name, err := r.line()
		if err != nil {
			return true, err
		}
		return true, r.pushGlobal(module, name)
	case 0x93: // STACK_GLOBAL
		name, err := r.pop()
		if err != nil {
			return true, err
		}
		module, err := r.pop()
		if err != nil {
			return true, err
		}
		m, ok := module.(string)
		n, also := name.(string)
		if !ok || !also {
			return true, malformed(r.at, "a name is not a text")
		}
		return true, r.pushGlobal(m, n)
	case 'R':
		return true, r.reduce()
	case 'i', 'o', 'b', 0x81, 0x92, 'P', 'Q', 0x82, 0x83, 0x84, 0x97, 0x98:
		return true, &OtherError{}
	}
	return false, nil
}

func (r *reader) pushGlobal(module, name string) error {
	g, err := globalOf(module, name)
	if err == nil {
		r.push(g)
	}
	return err
}

// reduce replaces a known class and its arguments by their value.
func (r *reader) reduce() error {
	arguments, err := r.value()
	if err != nil {
		return err
	}
	callable, err := r.pop()
	if err != nil {
		return err
	}
	args, ok := arguments.(Tuple)
	g, known := callable.(global)
	if !ok || !known {
		return &OtherError{}
	}
	for _, a := range args { // a text of the memo can be read again and again
		if text, ok := a.(string); ok {
			if err := r.charge(len(text)); err != nil {
				return err
			}
		}
	}
	v, ok := construct(g, args)
	if !ok {
		return &OtherError{string(g)}
	}
	r.push(v)
	return nil
}

// construct returns the value of a known class; false for arguments that its own pickles do not
// have.
func construct(g global, args Tuple) (any, bool) {
	switch g {
	case set, frozenSet:
		s := &Set{Frozen: g == frozenSet}
		if len(args) == 1 {
			list, ok := args[0].(*List)
			if !ok {
				return nil, false
			}
			s.Items = list.Items
		}
		return s, len(args) <= 1
	case orderedDict:
		return &Dict{}, len(args) == 0
	case decimal:
		if len(args) != 1 {
			return nil, false
		}
		text, ok := args[0].(string)
		return Call("Decimal('" + shownName(text) + "')"), ok && !strings.ContainsAny(text, `'\`)
	case encode:
		return latin(args)
	case plainBytes, byteArray:
		return rawBytes(args)
	case timeDelta:
		return delta(args)
	case timeZone:
		return zone(args)
	case dateTime, date, clockTime:
		return moment(g, args)
	}
	return nil, false
}

// rawBytes are the arguments of bytes and bytearray.
func rawBytes(args Tuple) (any, bool) {
	switch len(args) {
	case 0:
		return Bytes{}, true
	case 1:
		b, ok := args[0].(Bytes)
		return b, ok
	}
	return latin(args)
}

// latin is the bytes that protocol 2 writes as a text.
func latin(args Tuple) (any, bool) {
	if len(args) != 2 || args[1] != any("latin1") && args[1] != any("latin-1") {
		return nil, false
	}
	text, ok := args[0].(string)
	if !ok {
		return nil, false
	}
	b := make(Bytes, 0, len(text))
	for _, c := range text {
		if c > 0xff {
			return nil, false
		}
		b = append(b, byte(c)) //nolint:gosec // checked above
	}
	return b, true
}

func delta(args Tuple) (any, bool) {
	if len(args) != 3 {
		return nil, false
	}
	var parts []string
	for i, name := range []string{"days", "seconds", "microseconds"} {
		n, ok := args[i].(int64)
		if !ok {
			return nil, false
		}
		if n != 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", name, n))
		}
	}
	if len(parts) == 0 {
		parts = []string{"0"}
	}
	return Call("datetime.timedelta(" + strings.Join(parts, ", ") + ")"), true
}

func zone(args Tuple) (any, bool) {
	if len(args) != 1 {
		return nil, false
	}
	offset, ok := args[0].(Call)
	if !ok || !strings.HasPrefix(string(offset), "datetime.timedelta(") || len(offset) > 100 {
		return nil, false
	}
	if offset == "datetime.timedelta(0)" {
		return Call("datetime.timezone.utc"), true
	}
	return Call("datetime.timezone(" + string(offset) + ")"), true
}

// moment is a date or time, whose pickles have the bytes of its fields.
func moment(g global, args Tuple) (any, bool) {
	size := map[global]int{dateTime: 10, date: 4, clockTime: 6}[g]
	if len(args) < 1 || len(args) > 2 || g == date && len(args) > 1 {
		return nil, false
	}
	b, ok := args[0].(Bytes)
	if !ok || len(b) != size {
		return nil, false
	}
	var fields []int
	var fold bool
	if g != clockTime {
		fold = b[2]&0x80 != 0
		fields = append(fields, int(b[0])<<8|int(b[1]), int(b[2]&0x7f), int(b[3]))
		b = b[4:]
	} else {
		fold = b[0]&0x80 != 0
		b = append(Bytes{b[0] & 0x7f}, b[1:]...)
	}
	if g != date {
		fields = append(fields, int(b[0]), int(b[1]), int(b[2]), int(b[3])<<16|int(b[4])<<8|int(b[5]))
		for len(fields) > map[global]int{dateTime: 5, clockTime: 2}[g] && fields[len(fields)-1] == 0 {
			fields = fields[:len(fields)-1]
		}
	}
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(fields), " ", ", "), "[]")
	if fold {
		text += ", fold=1"
	}
	if len(args) == 2 {
		z, ok := args[1].(Call)
		if !ok || !strings.HasPrefix(string(z), "datetime.timezone") {
			return nil, false
		}
		text += ", tzinfo=" + string(z)
	}
	return Call(string(g) + "(" + text + ")"), true
}
