//go:build !nochdb

// Package facade serves the ClickHouse HTTP interface over the embedded engine,
// as far as an unmodified clickhouse-go (Protocol: HTTP) uses it: queries with
// parameters and settings, batches in the Native format, streams, compression,
// typed exceptions and cancellation.
package facade

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/flowforge/flowforge/platform/embedded/clickhouse/chdb"
)

// Server is the HTTP interface of the engine of this process. One request holds
// one engine connection; more requests than connections wait.
type Server struct {
	pool     chan *session
	killer   chan *chdb.Conn // the connection that is kept free for KILL QUERY
	all      []*chdb.Conn
	version  string
	timezone string
}

// New starts the engine on its data in path with n connections. args are those
// of clickhouse-local.
func New(lib *chdb.Library, path string, n int, args ...string) (*Server, error) {
	s := &Server{pool: make(chan *session, n), killer: make(chan *chdb.Conn, 1)}
	for i := range n + 1 {
		tag := fmt.Sprintf("connection-%d", i)
		conn, err := lib.Connect(append([]string{"--path=" + path, "--log_comment=" + tag}, args...)...)
		if err != nil {
			s.closeAll()
			return nil, err
		}
		s.all = append(s.all, conn)
		if i == n {
			s.killer <- conn
			break
		}
		s.pool <- &session{conn: conn, tag: tag}
	}
	if err := s.readIdentity(); err != nil {
		s.closeAll()
		return nil, err
	}
	return s, nil
}

func (s *Server) readIdentity() error {
	result, err := s.all[0].Query("SELECT version(), timezone()", "TSV", nil)
	if err != nil {
		return fmt.Errorf("ask the engine for its version: %w", err)
	}
	defer result.Free()
	var ok bool
	s.version, s.timezone, ok = strings.Cut(strings.TrimSpace(string(result.Bytes())), "\t")
	if !ok {
		return errors.New("the engine did not report its version")
	}
	return nil
}

// Version returns the engine's version.
func (s *Server) Version() string { return s.version }

// Close waits for running requests, ends what still runs when ctx does, and
// stops the engine. No request may be served any more.
func (s *Server) Close(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		killer := <-s.killer
		defer func() { s.killer <- killer }()
		// Without an error to report: the connections below tell the end.
		_ = killer.Exec("KILL QUERY WHERE query_id != currentQueryID() ASYNC")
	})
	defer stop()
	for range cap(s.pool) {
		<-s.pool
	}
	<-s.killer
	s.closeAll()
}

func (s *Server) closeAll() {
	for _, conn := range s.all {
		conn.Close()
	}
}

// ServeHTTP answers one statement.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && (r.URL.Path == "/ping" || (r.URL.Path == "/" && r.URL.RawQuery == "")) {
		_, _ = io.WriteString(w, "Ok.\n")
		return
	}
	st, err := parseRequest(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	if st.isHandshake() {
		s.handshake(w, st)
		return
	}
	select {
	case held := <-s.pool:
		s.serve(r.Context(), w, st, held)
	case <-r.Context().Done():
	}
}

// serve runs st on held and returns held to the pool.
func (s *Server) serve(ctx context.Context, w http.ResponseWriter, st *statement, held *session) {
	end := s.cancelWith(ctx, held)
	defer func() {
		end() // first, so that a late cancellation cannot stop the statement of the next request
		held.resetSettings()
		s.pool <- held
	}()
	if err := held.prepare(st); err != nil {
		s.fail(w, err)
		return
	}
	w.Header().Set("X-ClickHouse-Format", st.format)
	w.Header().Set("X-ClickHouse-Timezone", s.timezone)
	switch {
	case st.insertFormat != "":
		s.insert(w, held, st)
	case st.streams():
		s.stream(w, held, st)
	default:
		s.run(w, held, st)
	}
}
