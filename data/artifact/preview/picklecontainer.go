package preview

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// container makes tuples, lists, dictionaries and sets.
func (u *unpickler) container(op byte) (bool, error) {
	switch op {
	case '(':
		u.push(pickleMark{})
	case '0':
		_, err := u.pop()
		return true, err
	case '1':
		_, err := u.popMark()
		return true, err
	case '2':
		v, err := u.pop()
		u.push(v)
		u.push(v)
		return true, err
	case ')', ']', 0x8f:
		u.push(&pickleList{})
	case '}':
		u.push(&pickleDict{})
	case 0x85, 0x86, 0x87:
		n := int(op - 0x84)
		if len(u.stack) < n {
			return true, damagedPickle(u.at)
		}
		items := append([]any{}, u.stack[len(u.stack)-n:]...)
		u.stack = append(u.stack[:len(u.stack)-n], &pickleList{items})
	case 't', 'l', 0x91:
		items, err := u.popMark()
		u.push(&pickleList{items[:min(len(items), pickleItems)]})
		return true, err
	case 'd':
		items, err := u.popMark()
		d := &pickleDict{}
		u.push(d)
		if err == nil {
			d.add(items)
		}
		return true, err
	case 'a', 'e', 0x90, 's', 'u':
		return true, u.fill(op)
	default:
		return false, nil
	}
	return true, nil
}

// fill adds items to the container below them.
func (u *unpickler) fill(op byte) error {
	var items []any
	var err error
	switch op {
	case 'a', 's':
		n := map[byte]int{'a': 1, 's': 2}[op]
		if len(u.stack) <= n {
			return damagedPickle(u.at)
		}
		items = append(items, u.stack[len(u.stack)-n:]...)
		u.stack = u.stack[:len(u.stack)-n]
	default:
		items, err = u.popMark()
	}
	if err != nil || len(u.stack) == 0 {
		return errors.Join(err, errIf(err == nil, u.at))
	}
	switch to := u.stack[len(u.stack)-1].(type) {
	case *pickleList:
		to.items = append(to.items, items[:min(len(items), max(pickleItems-len(to.items), 0))]...)
	case *pickleDict:
		to.add(items)
	case *pickleObject: // a subclass of a dictionary or list
		if d, ok := to.args.(*pickleDict); ok {
			d.add(items)
		} else if op == 's' || op == 'u' {
			d := &pickleDict{}
			d.add(items)
			to.args = d
		}
	}
	return nil
}

func errIf(condition bool, at int64) error {
	if condition {
		return damagedPickle(at)
	}
	return nil
}

func (d *pickleDict) add(items []any) {
	for i := 0; i+1 < len(items) && len(d.keys) < pickleItems; i += 2 {
		d.keys, d.values = append(d.keys, items[i]), append(d.values, items[i+1])
	}
}

// get is the value of a text as a key.
func (d *pickleDict) get(key string) any {
	for i, k := range d.keys {
		if k == any(key) {
			return d.values[i]
		}
	}
	return nil
}

// memoized stores and reads values by number.
func (u *unpickler) memoized(op byte) (bool, error) {
	var n int64
	var err error
	switch op {
	case 'q', 'h':
		n, err = u.number(1)
	case 'r', 'j':
		n, err = u.number(4)
	case 'p', 'g':
		var text string
		if text, err = u.line(); err == nil {
			n, err = strconv.ParseInt(text, 10, 64)
		}
		if err != nil {
			return true, damagedPickle(u.at)
		}
	case 0x94:
		n = int64(len(u.memo))
	default:
		return false, nil
	}
	if err != nil {
		return true, err
	}
	if op == 'h' || op == 'j' || op == 'g' {
		v, ok := u.memo[n]
		if !ok {
			return true, damagedPickle(u.at)
		}
		u.push(v)
		return true, nil
	}
	if len(u.stack) == 0 {
		return true, damagedPickle(u.at)
	}
	u.memo[n] = u.stack[len(u.stack)-1]
	return true, nil
}

func (u *unpickler) number(size int64) (int64, error) {
	p, err := u.next(size)
	if err != nil {
		return 0, err
	}
	return int64(dtype{size: size, order: binary.LittleEndian}.unsigned(p)), nil //nolint:gosec // at most four bytes
}
