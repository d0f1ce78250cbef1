//go:build !nochdb

package facade

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"

	"github.com/flowforge/flowforge/platform/embedded/clickhouse/chdb"
)

// run answers a statement with its whole result.
func (s *Server) run(w http.ResponseWriter, held *session, st *statement) {
	result, err := held.conn.Query(st.query, st.format, st.params)
	if err != nil {
		s.fail(w, err)
		return
	}
	defer result.Free()
	w.Header().Set("X-ClickHouse-Summary", fmt.Sprintf(`{"read_rows":"%d","written_rows":"%d"}`, result.RowsRead(), result.RowsWritten()))
	if !st.compress {
		w.Header().Set("Content-Length", strconv.Itoa(len(result.Bytes())))
	}
	_, _ = st.writer(w).Write(result.Bytes()) // the reader is gone: nothing to do
}

// insert copies the rows of the body into the engine; a body that ends early
// writes nothing.
func (s *Server) insert(w http.ResponseWriter, held *session, st *statement) {
	insert, err := held.conn.Insert(st.query, st.insertFormat, st.params)
	if err != nil {
		s.fail(w, err)
		return
	}
	if err := copyRows(insert, st.body); err != nil {
		insert.Cancel()
		s.fail(w, err)
		return
	}
	rows, err := insert.Done()
	if err != nil {
		s.fail(w, err)
		return
	}
	w.Header().Set("X-ClickHouse-Summary", fmt.Sprintf(`{"written_rows":"%d"}`, rows))
	w.Header().Set("Content-Length", "0")
}

func copyRows(insert *chdb.Insert, body io.Reader) error {
	buf := make([]byte, 256<<10)
	for {
		n, err := io.ReadFull(body, buf)
		if _, err := insert.Write(buf[:n]); err != nil {
			return err
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) || err == io.ErrUnexpectedEOF: // ReadFull's own short last read is bare; a wrapped one is a body cut off
			return nil
		default:
			return fmt.Errorf("read the rows: %w", err)
		}
	}
}

// stream sends the blocks of a SELECT as they come.
func (s *Server) stream(w http.ResponseWriter, held *session, st *statement) {
	stream, err := held.conn.Stream(st.query, "Native", st.params)
	if err != nil {
		s.fail(w, err)
		return
	}
	sent, err := s.sendBlocks(w, stream, st)
	if err != nil {
		stream.Cancel()
	}
	stream.Close()
	switch {
	case err != nil:
		// A cancelled query stays in system.processes until its connection is
		// used again.
		_ = held.conn.Exec("SELECT 1")
	case !sent:
		s.sendHeader(w, held, st)
	}
}

// sendBlocks sends all blocks and reports whether there was one. An error has
// been told to the client as far as it can be.
func (s *Server) sendBlocks(w http.ResponseWriter, stream *chdb.Stream, st *statement) (sent bool, err error) {
	out, tag := st.writer(w), strings.ToLower(rand.Text()[:16])
	for {
		block, err := stream.Next()
		switch {
		case err != nil && !sent:
			s.fail(w, err)
			return sent, err
		case err != nil: // the status is out: end with the exception block that clients look for
			fmt.Fprintf(w, "\r\n__exception__\r\n%s\r\n%s\n%d %s\r\n__exception__\r\n", tag, err, len(err.Error())+1, tag)
			return sent, err
		case block == nil:
			return sent, nil
		}
		if !sent {
			w.Header().Set("X-ClickHouse-Exception-Tag", tag)
			sent = true
		}
		_, err = out.Write(block.Bytes())
		block.Free()
		if err != nil {
			return sent, err
		}
	}
}

// sendHeader answers an empty result with its column names, as a server does.
func (s *Server) sendHeader(w http.ResponseWriter, held *session, st *statement) {
	result, err := held.conn.Query(st.query, "Native", st.params)
	if err != nil {
		s.fail(w, err)
		return
	}
	defer result.Free()
	_, _ = st.writer(w).Write(result.Bytes())
}

const handshakeQuery = "SELECT displayName(), version(), revision(), timezone()"

func (st *statement) isHandshake() bool { return strings.TrimSpace(st.query) == handshakeQuery }

// handshake answers the driver's first query. It claims revision 0, so that the
// driver reads all later Native blocks as the engine writes them (no block
// information, no custom serialisation); this block is in the driver's revision.
func (s *Server) handshake(w http.ResponseWriter, st *statement) {
	block := proto.NewBlock()
	for _, c := range []struct {
		name string
		kind column.Type
	}{{"displayName()", "String"}, {"version()", "String"}, {"revision()", "UInt32"}, {"timezone()", "String"}} {
		if err := block.AddColumn(c.name, c.kind); err != nil {
			s.fail(w, err)
			return
		}
	}
	buf := new(chproto.Buffer)
	if err := errors.Join(block.Append("embedded", s.version, uint32(0), s.timezone), block.Encode(buf, st.revision)); err != nil {
		s.fail(w, err)
		return
	}
	_, _ = st.writer(w).Write(buf.Buf)
}

var exceptionCode = regexp.MustCompile(`Code: (\d+)\.`)

// fail answers with an exception in the form of a ClickHouse server.
func (s *Server) fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if match := exceptionCode.FindStringSubmatch(err.Error()); match != nil {
		w.Header().Set("X-ClickHouse-Exception-Code", match[1])
		switch match[1] {
		case "16", "47", "60", "81": // unknown column, identifier, table, database
			status = http.StatusNotFound
		case "36", "42", "43", "48", "53", "62", "115", "456", "457": // bad arguments, syntax, types, settings, parameters
			status = http.StatusBadRequest
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "%s (version %s (embedded))\n", err, s.version)
}
