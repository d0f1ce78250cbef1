package spool

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// A segment file is the magic and then frames:
//
//	length  uint32  of the body
//	check   uint32  CRC-32C of the body
//	body    kind uint8, group [16]byte, first uint64, count uint32, payload
//
// All numbers are little-endian. A frame with a wrong length or check ends the file: it
// was being written when the process or the machine stopped, and was never confirmed.
const (
	magic       = "FFSPOOL1"
	frameHeader = 8
	bodyHeader  = 1 + 16 + 8 + 4
	maxBody     = 64 << 20
)

var errDamaged = errors.New("damaged frame")

// Entry is what a caller appends: Count records of one kind and group, encoded.
type Entry struct {
	Kind    byte
	Group   [16]byte
	Count   int
	Payload []byte
}

// Frame is an entry that was read back; its records have the positions First,
// First+1, … First+Count-1.
type Frame struct {
	Entry
	First uint64
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func frameSize(e *Entry) int { return frameHeader + bodyHeader + len(e.Payload) }

// appendFrame appends the encoded frame to b.
func appendFrame(b []byte, e *Entry, first uint64) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(bodyHeader+len(e.Payload))) //nolint:gosec // bounded by maxBody
	check := len(b)
	b = append(b, 0, 0, 0, 0)
	body := len(b)
	b = append(b, e.Kind)
	b = append(b, e.Group[:]...)
	b = binary.LittleEndian.AppendUint64(b, first)
	b = binary.LittleEndian.AppendUint32(b, uint32(e.Count)) //nolint:gosec // a count of records in memory
	b = append(b, e.Payload...)
	binary.LittleEndian.PutUint32(b[check:], crc32.Checksum(b[body:], castagnoli()))
	return b
}

// readFrame reads one frame. It returns io.EOF at the clean end of the file and
// errDamaged for anything that is not a complete frame.
func readFrame(r io.Reader) (Frame, int, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return Frame{}, 0, io.EOF
		}
		return Frame{}, 0, errDamaged
	}
	length := binary.LittleEndian.Uint32(header[:])
	if length < bodyHeader || length > maxBody {
		return Frame{}, 0, errDamaged
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return Frame{}, 0, errDamaged
	}
	f, err := parseBody(header[4:], body)
	return f, frameHeader + int(length), err
}

// parseFrame reads the frame in b, which has nothing else. Its payload is a part of b.
func parseFrame(b []byte) (Frame, error) {
	if len(b) < frameHeader+bodyHeader || int64(binary.LittleEndian.Uint32(b)) != int64(len(b)-frameHeader) {
		return Frame{}, errDamaged
	}
	return parseBody(b[4:frameHeader], b[frameHeader:])
}

// parseBody reads the body of a frame after its check.
func parseBody(check, body []byte) (Frame, error) {
	if crc32.Checksum(body, castagnoli()) != binary.LittleEndian.Uint32(check) {
		return Frame{}, errDamaged
	}
	f := Frame{First: binary.LittleEndian.Uint64(body[17:])}
	f.Kind = body[0]
	copy(f.Group[:], body[1:17])
	f.Count = int(binary.LittleEndian.Uint32(body[25:]))
	f.Payload = body[bodyHeader:]
	return f, nil
}
