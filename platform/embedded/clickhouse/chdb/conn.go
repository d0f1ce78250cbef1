//go:build !nochdb

package chdb

import (
	"errors"
	"runtime"
	"unsafe"
)

// Conn is a connection to the engine: a session with its own database and
// settings. It runs one statement at a time and is not safe for concurrent use.
type Conn struct {
	lib    *Library
	handle unsafe.Pointer // chdb_connection *
	conn   unsafe.Pointer // chdb_connection
}

// Connect opens a connection. The first one starts the engine with args, which
// are those of clickhouse-local (--path=…, --max_server_memory_usage=…).
func (l *Library) Connect(args ...string) (*Conn, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	argv := make([]unsafe.Pointer, 0, len(args)+2)
	for _, arg := range append([]string{"clickhouse"}, args...) {
		b := cString(arg)
		pin.Pin(&b[0])
		argv = append(argv, unsafe.Pointer(&b[0]))
	}
	argv = append(argv, nil)
	pin.Pin(&argv[0])
	handle := l.connect(int32(len(argv)-1), unsafe.Pointer(&argv[0])) //nolint:gosec // a handful
	if handle == nil {
		return nil, errors.New("the ClickHouse engine cannot open its data")
	}
	return &Conn{lib: l, handle: handle, conn: *(*unsafe.Pointer)(handle)}, nil
}

// Close ends the connection; with the last one the engine stops.
func (c *Conn) Close() {
	c.lib.closeConn(c.handle)
	c.handle, c.conn = nil, nil
}

// Param is the value of a {name:Type} placeholder, in ClickHouse's text form.
type Param struct{ Name, Value string }

// Query runs a statement to its end. Free the result.
func (c *Conn) Query(query, format string, params []Param) (*Result, error) {
	return c.result(c.begin(c.lib.query, query, format, params))
}

// Exec runs a statement and drops its result.
func (c *Conn) Exec(query string) error {
	result, err := c.Query(query, "Null", nil)
	if err != nil {
		return err
	}
	result.Free()
	return nil
}

// Stream starts a SELECT whose result is fetched block by block. Close it.
func (c *Conn) Stream(query, format string, params []Param) (*Stream, error) {
	result, err := c.result(c.begin(c.lib.stream, query, format, params))
	if err != nil {
		return nil, err
	}
	return &Stream{conn: c, result: result}, nil
}

// Insert starts an INSERT whose rows follow by Write, in format. End it with
// Done or Cancel.
func (c *Conn) Insert(query, format string, params []Param) (*Insert, error) {
	handle := c.begin(c.lib.insert, query, format, params)
	if handle == nil {
		return nil, errors.New("the ClickHouse engine returned no insert")
	}
	if message := c.lib.insertError(handle); message != "" {
		c.lib.insertDestroy(handle)
		return nil, errors.New(message)
	}
	return &Insert{lib: c.lib, handle: handle}, nil
}

func (c *Conn) begin(call statementFunc, query, format string, params []Param) unsafe.Pointer {
	var pin runtime.Pinner
	defer pin.Unpin()
	n := len(params)
	names, values := make([]unsafe.Pointer, n), make([]unsafe.Pointer, n)
	nameLens, valueLens := make([]uintptr, n), make([]uintptr, n)
	for i, p := range params {
		name, value := cString(p.Name), cString(p.Value)
		pin.Pin(&name[0])
		pin.Pin(&value[0])
		names[i], nameLens[i] = unsafe.Pointer(&name[0]), uintptr(len(p.Name))
		values[i], valueLens[i] = unsafe.Pointer(&value[0]), uintptr(len(p.Value))
	}
	q, f := cString(query), cString(format)
	result := call(c.conn, unsafe.Pointer(&q[0]), uintptr(len(query)), unsafe.Pointer(&f[0]), uintptr(len(format)),
		array(names), array(nameLens), array(values), array(valueLens), uintptr(n))
	runtime.KeepAlive(q)
	runtime.KeepAlive(f)
	runtime.KeepAlive(names)
	runtime.KeepAlive(values)
	runtime.KeepAlive(nameLens)
	runtime.KeepAlive(valueLens)
	return result
}

func (c *Conn) result(handle unsafe.Pointer) (*Result, error) {
	if handle == nil {
		return nil, errors.New("the ClickHouse engine returned no result")
	}
	if message := c.lib.resultError(handle); message != "" {
		c.lib.resultDestroy(handle)
		return nil, errors.New(message)
	}
	return &Result{lib: c.lib, handle: handle}, nil
}

func cString(s string) []byte { return append([]byte(s), 0) }

func array[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }
