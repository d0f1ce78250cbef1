// Package db provides access to Postgres: pools, migrations of the schema, transactions,
// and the queries that sqlc generates from db/queries.
package db

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/apperr"
)

const (
	connectTimeout = 5 * time.Second // of one new connection
	idleConnection = time.Minute     // after which a connection is closed: its process has several MiB
)

// Open returns a pool for url and checks that the server responds. Every session uses UTC.
// It returns apperr.Unavailable when the server cannot be reached.
func Open(ctx context.Context, url string) (*pgxpool.Pool, error) {
	return OpenNamed(ctx, url, "flowforge")
}

// idleInTransaction is the time after which the server ends a session that is idle in a
// transaction: its process is frozen or disconnected, and its locks block others.
const idleInTransaction = "10s"

// OpenNamed is Open with an application name for its sessions, of at most 63 bytes.
func OpenNamed(ctx context.Context, url, application string) (*pgxpool.Pool, error) {
	return open(ctx, url, func(c *pgxpool.Config) { setSession(c, application) })
}

// pooledName ends the application names of connections to a pooler (end_sessions in migrations).
const pooledName = "/pooled"

// OpenPooled is OpenNamed for the address of a connection pooler in transaction mode, which gives every
// transaction another session.
func OpenPooled(ctx context.Context, url, application string) (*pgxpool.Pool, error) {
	return open(ctx, url, func(c *pgxpool.Config) { setPooled(c, url, application) })
}

// NewReadOnly returns a pool for the address of a replica. It connects when it is used, so the server
// may be down. Sessions cannot write; if the address is a pooler, the replica itself rejects writes.
func NewReadOnly(ctx context.Context, url, application string, pooled bool) (*pgxpool.Pool, error) {
	return newPool(ctx, url, func(c *pgxpool.Config) {
		if pooled {
			setPooled(c, url, application)
			return
		}
		setSession(c, application)
		c.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	})
}

// setSession sets the parameters of sessions with PostgreSQL itself.
func setSession(c *pgxpool.Config, application string) {
	c.ConnConfig.RuntimeParams["application_name"] = application
	setDefault(c, "timezone", "UTC")
	setDefault(c, "idle_in_transaction_session_timeout", idleInTransaction)
}

// setPooled sets only parameters that poolers restore for every transaction, and prepares no
// statements, because the next transaction may have another session.
func setPooled(c *pgxpool.Config, url, application string) {
	c.ConnConfig.RuntimeParams["application_name"] = application + pooledName
	setDefault(c, "timezone", "UTC")
	if !strings.Contains(url, "default_query_exec_mode") {
		c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
}

// open returns a new pool if its server responds.
func open(ctx context.Context, url string, set func(*pgxpool.Config)) (*pgxpool.Pool, error) {
	pool, err := newPool(ctx, url, set)
	if err != nil {
		return nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, apperr.Wrap(apperr.Unavailable, err, "The database is not responding.")
	}
	return pool, nil
}

// newPool returns a pool that has no connection yet.
func newPool(ctx context.Context, url string, set func(*pgxpool.Config)) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, apperr.Wrap(apperr.Invalid, err, "The database address is not valid.")
	}
	config.ConnConfig.ConnectTimeout = connectTimeout
	if !strings.Contains(url, "pool_max_conn_idle_time") {
		config.MaxConnIdleTime = idleConnection
	}
	set(config)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open pool: %w", err)
	}
	return pool, nil
}

// setDefault sets a run-time parameter that the address does not set.
func setDefault(config *pgxpool.Config, name, value string) {
	if _, ok := config.ConnConfig.RuntimeParams[name]; !ok {
		config.ConnConfig.RuntimeParams[name] = value
	}
}

// Tx runs f in a transaction, which commits when f returns nil and rolls back
// otherwise.
func Tx(ctx context.Context, in Beginner, f func(tx pgx.Tx, q *Queries) error) error {
	return pgx.BeginFunc(ctx, in, func(tx pgx.Tx) error { return f(tx, New(tx)) })
}

// Constraint returns the name of the constraint that err violates, or "".
func Constraint(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.ConstraintName
	}
	return ""
}

// InvalidPattern reports whether err means that a regular expression or a pattern of LIKE is not
// valid.
func InvalidPattern(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "2201B" || e.Code == "22025")
}

// repeatable reports whether a transaction failed only because of others that ran at the same time.
func repeatable(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && strings.HasPrefix(e.Code, "40")
}

// IsNoRows reports whether err means that a query found no rows.
func IsNoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }
