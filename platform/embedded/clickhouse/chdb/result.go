//go:build !nochdb

package chdb

import (
	"errors"
	"unsafe"
)

// Result is a whole result, or one block of a stream.
type Result struct {
	lib    *Library
	handle unsafe.Pointer
}

// Bytes returns the formatted rows. They live in the engine: valid until Free.
func (r *Result) Bytes() []byte {
	n := r.lib.resultLength(r.handle)
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(r.lib.resultBuffer(r.handle)), n)
}

// RowsRead returns how many rows the engine read for the result.
func (r *Result) RowsRead() uint64 { return r.lib.resultRowsRead(r.handle) }

// RowsWritten returns how many rows the statement wrote.
func (r *Result) RowsWritten() uint64 { return r.lib.resultRowsWritten(r.handle) }

// Free gives the memory of the result back.
func (r *Result) Free() {
	r.lib.resultDestroy(r.handle)
	r.handle = nil
}

// Stream is a running SELECT.
type Stream struct {
	conn   *Conn
	result *Result
}

// Next returns the next block, to be freed, or nil at the end.
func (s *Stream) Next() (*Result, error) {
	block, err := s.conn.result(s.conn.lib.streamFetch(s.conn.conn, s.result.handle))
	if err != nil {
		return nil, err
	}
	if s.conn.lib.resultLength(block.handle) == 0 {
		block.Free()
		return nil, nil
	}
	return block, nil
}

// Cancel stops a stream before its end; Close it as well.
func (s *Stream) Cancel() { s.conn.lib.streamCancel(s.conn.conn, s.result.handle) }

// Close gives the stream's memory back.
func (s *Stream) Close() { s.result.Free() }

// Insert is a running INSERT.
type Insert struct {
	lib    *Library
	handle unsafe.Pointer
}

// Write hands formatted rows to the engine; a block may end anywhere.
func (i *Insert) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if i.lib.insertAppend(i.handle, unsafe.Pointer(&p[0]), uintptr(len(p))) != 0 {
		return 0, errors.New(i.lib.insertError(i.handle))
	}
	return len(p), nil
}

// Done commits the rows and returns how many they were.
func (i *Insert) Done() (rows uint64, err error) {
	defer i.lib.insertDestroy(i.handle)
	handle := i.lib.insertDone(i.handle)
	if handle == nil {
		return 0, errors.New("the ClickHouse engine returned no result for the insert")
	}
	defer i.lib.resultDestroy(handle)
	if message := i.lib.resultError(handle); message != "" {
		return 0, errors.New(message)
	}
	return i.lib.resultRowsWritten(handle), nil
}

// Cancel ends the insert without writing its rows.
func (i *Insert) Cancel() {
	i.lib.insertCancel(i.handle)
	i.lib.insertDestroy(i.handle)
}
