//go:build !nochdb

// Package chdb binds libchdb, the ClickHouse engine as a shared library, without
// cgo. A process has one engine with one data directory, any number of
// connections to it, and one statement at a time on each connection.
package chdb

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
)

// statementFunc is the common shape of the calls that begin a statement: the
// connection, query, format, and parallel arrays of parameter names and values.
type statementFunc func(conn, query unsafe.Pointer, queryLen uintptr, format unsafe.Pointer, formatLen uintptr,
	names, nameLens, values, valueLens unsafe.Pointer, count uintptr) unsafe.Pointer

// Library is the loaded libchdb.
type Library struct {
	setSignalHandlers func(enabled int32)
	connect           func(argc int32, argv unsafe.Pointer) unsafe.Pointer
	closeConn         func(conn unsafe.Pointer)

	query  statementFunc
	stream statementFunc
	insert statementFunc

	streamFetch  func(conn, stream unsafe.Pointer) unsafe.Pointer
	streamCancel func(conn, stream unsafe.Pointer)

	insertAppend  func(insert, data unsafe.Pointer, n uintptr) int32
	insertDone    func(insert unsafe.Pointer) unsafe.Pointer
	insertCancel  func(insert unsafe.Pointer)
	insertError   func(insert unsafe.Pointer) string
	insertDestroy func(insert unsafe.Pointer)

	resultBuffer      func(result unsafe.Pointer) unsafe.Pointer
	resultLength      func(result unsafe.Pointer) uintptr
	resultError       func(result unsafe.Pointer) string
	resultRowsRead    func(result unsafe.Pointer) uint64
	resultRowsWritten func(result unsafe.Pointer) uint64
	resultDestroy     func(result unsafe.Pointer)
}

// Load loads libchdb from path. Call it once in a process, before anything else
// of this package.
func Load(path string) (*Library, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, fmt.Errorf("load ClickHouse library: %w", err)
	}
	l := &Library{}
	var missing []error
	for name, fn := range l.symbols() {
		if _, err := purego.Dlsym(handle, name); err != nil {
			missing = append(missing, fmt.Errorf("%s has no %s, it is of another version: %w", path, name, err))
			continue
		}
		purego.RegisterLibFunc(fn, handle, name)
	}
	if err := errors.Join(missing...); err != nil {
		return nil, err
	}
	// Before the first connect: the Go runtime needs its own signal handlers.
	l.setSignalHandlers(0)
	return l, nil
}

func (l *Library) symbols() map[string]any {
	return map[string]any{
		"chdb_set_signal_handlers_enabled": &l.setSignalHandlers,
		"chdb_connect":                     &l.connect,
		"chdb_close_conn":                  &l.closeConn,
		"chdb_query_with_params_n":         &l.query,
		"chdb_stream_query_with_params_n":  &l.stream,
		"chdb_stream_insert_with_params_n": &l.insert,
		"chdb_stream_fetch_result":         &l.streamFetch,
		"chdb_stream_cancel_query":         &l.streamCancel,
		"chdb_stream_append":               &l.insertAppend,
		"chdb_stream_done":                 &l.insertDone,
		"chdb_stream_cancel_insert":        &l.insertCancel,
		"chdb_stream_insert_error":         &l.insertError,
		"chdb_destroy_insert_stream":       &l.insertDestroy,
		"chdb_result_buffer":               &l.resultBuffer,
		"chdb_result_length":               &l.resultLength,
		"chdb_result_error":                &l.resultError,
		"chdb_result_rows_read":            &l.resultRowsRead,
		"chdb_result_rows_written":         &l.resultRowsWritten,
		"chdb_destroy_query_result":        &l.resultDestroy,
	}
}
