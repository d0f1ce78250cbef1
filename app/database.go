package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/handlers"
	"github.com/flowforge/flowforge/platform/election"
)

// The settings with addresses of the database.
const (
	databaseURL = "FLOWFORGE_DATABASE_URL"
	sessionURL  = "FLOWFORGE_DATABASE_SESSION_URL"
)

// oneLineError removes the line breaks between the addresses that pgx tried.
type oneLineError struct{ error }

func (e oneLineError) Error() string {
	return strings.ReplaceAll(strings.Join(strings.Fields(e.error.Error()), " "), ".: ", ": ")
}

func (e oneLineError) Unwrap() error { return e.error }

// sessionProblems checks the direct address of a database behind a connection pooler.
func (c Config) sessionProblems() (problems []error) {
	if c.DatabaseURL == "" {
		problems = append(problems, fmt.Errorf("%s is set, and %s is not: set it to the address of the connection pooler", sessionURL, databaseURL))
	}
	if _, err := pgx.ParseConfig(c.DatabaseSessionURL); err != nil {
		problems = append(problems, fmt.Errorf("%s is not an address such as postgres://user:password@host/database", sessionURL))
	}
	return problems
}

// openDatabase connects to the database and migrates it.
func (a *App) openDatabase(ctx context.Context, p *parts, url string) error {
	name, direct := election.ApplicationName(p.holder), a.cfg.DatabaseSessionURL
	sessions, err := openSessions(ctx, url, direct, name)
	if err != nil {
		return err
	}
	a.life.onStop(sessions.Close)
	p.direct = sessions
	open := db.OpenNamed
	if direct != "" {
		open = db.OpenPooled
	}
	if p.pool, err = open(ctx, url, name); err != nil {
		return fmt.Errorf("%s: %w", databaseURL, oneLineError{err})
	}
	a.life.onStop(p.pool.Close)
	if direct != "" {
		if err := sessions.Serves(ctx, p.pool); err != nil {
			return fmt.Errorf("%s and %s: %w", databaseURL, sessionURL, oneLineError{err})
		}
	}
	if err := db.Migrate(ctx, sessions.Pool); err != nil {
		return err
	}
	p.watch = db.NewWatch(p.pool, a.cfg.Log)
	a.life.background("the watch of the database", p.watch.Run)
	return nil
}

// openSessions opens the sessions of the direct address, or of url if there is none.
func openSessions(ctx context.Context, url, direct, name string) (*db.Sessions, error) {
	sessions, err := db.OpenSessions(ctx, cmp.Or(direct, url), name)
	switch {
	case errors.Is(err, db.ErrPooler) && direct == "":
		return nil, fmt.Errorf("%s is the address of a connection pooler: set %s to the address of PostgreSQL itself (docs/administration.md): %w", databaseURL, sessionURL, oneLineError{err})
	case errors.Is(err, db.ErrPooler):
		return nil, fmt.Errorf("%s is the address of a connection pooler: set it to the address of PostgreSQL itself (docs/administration.md): %w", sessionURL, oneLineError{err})
	case err != nil && direct == "":
		return nil, fmt.Errorf("%s: %w", databaseURL, oneLineError{err})
	case err != nil:
		return nil, fmt.Errorf("%s: %w", sessionURL, oneLineError{err})
	}
	return sessions, nil
}

// maxSessions is the maximum number of sessions of this server: those that migrations and cleanups
// share, one for the notifications of the engine and one for those of jobs, and one for each lease.
func (c Config) maxSessions() int64 {
	leases := c.Leases != LeasesKubernetes
	n := int64(db.SharedSessions + 1)
	for _, used := range []bool{
		c.Roles.Have(Worker) || c.Roles.Have(Scheduler),
		c.Roles.Have(Scheduler) && leases,
		c.Roles.Have(Launcher) && leases && c.Kube != nil,
	} {
		if used {
			n++
		}
	}
	return n
}

// sessionChecks is the optional check of the direct address.
func sessionChecks(c Config, p *parts) []handlers.Check {
	if c.DatabaseSessionURL == "" {
		return nil
	}
	return []handlers.Check{{Name: "postgres_sessions", Ready: p.direct.Pool.Ping}}
}

// Migrate brings the schema of the database at url up to date. direct is its direct address if url is
// that of a connection pooler.
func Migrate(ctx context.Context, url, direct string) error {
	sessions, err := openSessions(ctx, url, direct, "flowforge")
	if err != nil {
		return err
	}
	defer sessions.Close()
	return db.Migrate(ctx, sessions.Pool)
}
