package preview

import "encoding/binary"

// Bounds of the metadata of a Parquet file, which is encoded with Thrift's compact protocol.
const (
	thriftDepth    = 16
	thriftElements = 200_000 // structures in lists: columns of row groups, parts of the schema
)

// Types of the compact protocol.
const (
	thriftTrue = iota + 1
	thriftFalse
	thriftByte
	thriftInt16
	thriftInt32
	thriftInt64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

var errThrift = bad("The metadata of the Parquet file is damaged.")

// skim walks over one structure and returns its length. It rejects lengths that the bytes
// cannot hold, so that a decoder may trust them.
type skim struct {
	data     []byte
	at       int
	elements int
}

func checkThrift(data []byte) (int, error) {
	s := skim{data: data}
	err := s.structure(0)
	return s.at, err
}

func (s *skim) byte() (byte, error) {
	if s.at >= len(s.data) {
		return 0, errThrift
	}
	s.at++
	return s.data[s.at-1], nil
}

func (s *skim) varint() (uint64, error) {
	n, size := binary.Uvarint(s.data[s.at:])
	if size <= 0 {
		return 0, errThrift
	}
	s.at += size
	return n, nil
}

func (s *skim) skip(n uint64) error {
	if n > uint64(len(s.data)-s.at) { //nolint:gosec // not negative
		return errThrift
	}
	s.at += int(n) //nolint:gosec // not more than the bytes left
	return nil
}

func (s *skim) structure(depth int) error {
	if depth > thriftDepth {
		return errThrift
	}
	for {
		head, err := s.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 { // the number of the field follows
			if _, err := s.varint(); err != nil {
				return err
			}
		}
		if kind := head & 15; kind != thriftTrue && kind != thriftFalse {
			if err := s.value(kind, depth); err != nil {
				return err
			}
		}
	}
}

func (s *skim) value(kind byte, depth int) error {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		return s.skip(1)
	case thriftInt16, thriftInt32, thriftInt64:
		_, err := s.varint()
		return err
	case thriftDouble:
		return s.skip(8)
	case thriftBinary:
		n, err := s.varint()
		if err != nil {
			return err
		}
		return s.skip(n)
	case thriftList, thriftSet:
		return s.list(depth)
	case thriftStruct:
		return s.structure(depth + 1)
	}
	return errThrift // Parquet uses no maps
}

func (s *skim) list(depth int) error {
	head, err := s.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = s.varint(); err != nil {
			return err
		}
	}
	kind := head & 15
	if n > uint64(len(s.data)-s.at) || depth > thriftDepth { //nolint:gosec // not negative
		return errThrift
	}
	if kind >= thriftBinary {
		if s.elements += int(n); s.elements > thriftElements {
			return bad("The Parquet metadata has more than %d parts, which is too many for a preview.", thriftElements)
		}
	}
	for range n {
		if err := s.value(kind, depth+1); err != nil {
			return err
		}
	}
	return nil
}
