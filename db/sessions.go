package db

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/apperr"
)

const (
	// SharedSessions is the maximum number of sessions in the pool of Sessions.
	SharedSessions = 3

	sharedIdle = 30 * time.Second // after which one of them is closed

	// probes is how often two connections are compared. A pooler gives a connection the session that
	// another one had, or one that it did not have before, unless others use it at the same moment.
	probes = 20
)

// ErrPooler means that an address is that of a connection pooler that does not keep sessions.
var ErrPooler = errors.New("it does not keep the state of a session between two transactions")

// Sessions are sessions with PostgreSQL that keep their state between transactions: notifications,
// locks and temporary tables. Everything else uses a pool that may be behind a connection pooler
// (docs/decisions/054-pgbouncer.md).
type Sessions struct {
	// Pool contains the sessions of migrations and cleanups. What needs a session permanently takes it
	// out of the pool, or connects with its configuration.
	Pool *pgxpool.Pool

	open *atomic.Int64
}

// OpenSessions returns the sessions of a server and checks that the address keeps their state. It
// returns ErrPooler if it does not, and apperr.Unavailable when the server cannot be reached.
func OpenSessions(ctx context.Context, url, application string) (*Sessions, error) {
	s := &Sessions{open: new(atomic.Int64)}
	var err error
	s.Pool, err = open(ctx, url, func(c *pgxpool.Config) {
		setSession(c, application)
		c.MaxConns, c.MinConns, c.MinIdleConns, c.MaxConnIdleTime = SharedSessions, 0, 0, sharedIdle
		c.ConnConfig.DialFunc = counting(c.ConnConfig.DialFunc, s.open)
	})
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && strings.Contains(refused.Message, "unsupported startup parameter") {
		return nil, fmt.Errorf("%w: %w", ErrPooler, err)
	}
	if err != nil {
		return nil, err
	}
	if err := keepsState(ctx, s.Pool); err != nil {
		s.Pool.Close()
		return nil, err
	}
	return s, nil
}

// Count returns the number of open sessions, in and outside the pool.
func (s *Sessions) Count() int64 { return s.open.Load() }

// Close closes the sessions in the pool.
func (s *Sessions) Close() { s.Pool.Close() }

// Serves checks that a pool leads to the database of these sessions.
func (s *Sessions) Serves(ctx context.Context, pool *pgxpool.Pool) error {
	const identity = `SELECT system_identifier::text || ' ' || current_database() || ' ' || pg_is_in_recovery()::text FROM pg_control_system()`
	var ours, theirs string
	if err := s.Pool.QueryRow(ctx, identity).Scan(&ours); err != nil {
		return fmt.Errorf("identify the database: %w", err)
	}
	if err := pool.QueryRow(ctx, identity).Scan(&theirs); err != nil {
		return fmt.Errorf("identify the database: %w", err)
	}
	if ours != theirs {
		return apperr.New(apperr.Invalid, "The two addresses lead to different databases.")
	}
	return nil
}

// keepsState returns ErrPooler if the connections of a pool are not sessions. PostgreSQL reports the ID of
// the process of a session at connect. A pooler makes this number up; then two connections show
// whether they have a process each.
func keepsState(ctx context.Context, pool *pgxpool.Pool) error {
	first, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer first.Release()
	process, err := processOf(ctx, first.Conn())
	if err != nil || process == first.Conn().PgConn().PID() {
		return err
	}
	second, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig.Copy())
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = second.Close(ctx) }()
	for range probes {
		other, err := processOf(ctx, second)
		if err != nil {
			return err
		}
		again, err := processOf(ctx, first.Conn())
		if err != nil {
			return err
		}
		if other == process || again != process {
			return ErrPooler
		}
	}
	return nil
}

// processOf returns the process of PostgreSQL that executes a statement.
func processOf(ctx context.Context, conn *pgx.Conn) (pid uint32, err error) {
	// A prepared statement would be missing in another session.
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&pid); err != nil {
		return 0, fmt.Errorf("identify a session: %w", err)
	}
	return pid, nil
}

// counting returns dial with a counter of open connections.
func counting(dial pgconn.DialFunc, open *atomic.Int64) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		open.Add(1)
		return &countedConn{Conn: conn, closed: sync.OnceFunc(func() { open.Add(-1) })}, nil
	}
}

type countedConn struct {
	net.Conn

	closed func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}
