package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/flowforge/flowforge/db"
)

const (
	retryPause   = 200 * time.Millisecond // after a failure
	queryLimit   = 3 * time.Second        // of a query that is not a renewal
	leaseChannel = "flowforge_leases"
)

// Postgres is an Elector on the database. The lease is an advisory lock of its own
// session, which Postgres releases at once when the holder's process dies, and a row
// with the term and an expiry, after which the sessions of a frozen or disconnected
// holder are ended.
type Postgres struct {
	config Config
}

// NewPostgres returns an Elector; call Run to start it.
func NewPostgres(c Config) *Postgres { return &Postgres{config: c.WithDefaults()} }

// Run implements Elector.
func (p *Postgres) Run(ctx context.Context, lead Lead) error {
	failing := false
	for ctx.Err() == nil {
		err := p.session(ctx, lead)
		if err != nil && ctx.Err() == nil {
			if !failing {
				p.config.Logger.Warn("cannot hold a lease; retrying", "lease", p.config.Name, "error", err)
			}
			pause(ctx, retryPause)
		}
		failing = err != nil
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// session runs one session with the database: it ends with an error, or after one term.
func (p *Postgres) session(ctx context.Context, lead Lead) error {
	config := p.config.Pool.Config().ConnConfig.Copy()
	config.RuntimeParams["application_name"] = ApplicationName(p.config.Holder)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing)
	}()
	if err := p.exec(ctx, conn, "LISTEN "+leaseChannel); err != nil {
		return err
	}
	for {
		began := time.Now()
		row, err := p.try(ctx, conn)
		switch {
		case err == nil:
			return p.hold(ctx, conn, began, row, lead)
		case !db.IsNoRows(err):
			return fmt.Errorf("take: %w", err)
		}
		p.config.OnOther()
		ended, err := p.evictExpired(ctx, conn)
		if err != nil {
			return err
		}
		if ended > 0 {
			continue
		}
		if err := await(ctx, conn, p.config.Timing.Poll); err != nil {
			return err
		}
	}
}

func (p *Postgres) exec(ctx context.Context, conn *pgx.Conn, command string) error {
	ctx, cancel := context.WithTimeout(ctx, queryLimit)
	defer cancel()
	if _, err := conn.Exec(ctx, command); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	return nil
}

func (p *Postgres) try(ctx context.Context, conn *pgx.Conn) (db.TakeLeaseRow, error) {
	ctx, cancel := context.WithTimeout(ctx, queryLimit)
	defer cancel()
	return db.New(conn).TakeLease(ctx, p.config.Name, p.config.Holder, p.config.Address, p.config.Timing.TTL.Seconds())
}

// evictExpired ends the sessions of a holder whose lease has expired but who still has
// the lock. It returns their number.
func (p *Postgres) evictExpired(ctx context.Context, conn *pgx.Conn) (int32, error) {
	ctx, cancel := context.WithTimeout(ctx, queryLimit)
	defer cancel()
	ended, err := db.New(conn).EvictExpired(ctx, p.config.Name, p.config.Holder)
	if err != nil {
		return 0, fmt.Errorf("end the sessions of a frozen holder: %w", err)
	}
	if ended > 0 {
		p.config.Logger.Warn("the holder of a lease did not renew it; its sessions are ended", "lease", p.config.Name, "sessions", ended)
	}
	return ended, nil
}

// await waits at most d for the release of the lease. It returns an error when the
// session has ended.
func await(ctx context.Context, conn *pgx.Conn, d time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	_, err := conn.WaitForNotification(waiting)
	if err == nil || pgconn.Timeout(err) && ctx.Err() == nil {
		return nil
	}
	return err
}

// hold leads until lead returns or the lease is lost.
func (p *Postgres) hold(ctx context.Context, conn *pgx.Conn, began time.Time, row db.TakeLeaseRow, lead Lead) error {
	term := Term{Name: p.config.Name, Number: row.Term, Holder: p.config.Holder}
	leading, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	// Timers keep running while the process is frozen, and fire before it writes much.
	watchdog := time.AfterFunc(time.Until(began.Add(p.lifetime())), func() { lose(errLost) })
	defer watchdog.Stop()
	result := make(chan error, 1)
	over, done := context.WithCancel(context.WithoutCancel(ctx))
	defer done()
	go func() {
		defer done()
		if err := p.evictFormer(leading, row.Former); err != nil {
			result <- err
			return
		}
		p.config.Logger.Info("took a lease", "lease", term.Name, "term", term.Number)
		result <- lead(leading, term)
	}()
	err := p.renew(over, conn, term, watchdog)
	if err != nil {
		lose(errLost)
		_ = conn.Close(over) // the successor need not wait until lead returns
		p.config.Logger.Warn("a lease is lost", "lease", term.Name, "term", term.Number, "error", err)
	}
	if failed := <-result; failed != nil && !errors.Is(failed, context.Canceled) {
		return fmt.Errorf("lead: %w", failed)
	}
	if err != nil || context.Cause(leading) == errLost { //nolint:errorlint // it is never wrapped
		return errLost
	}
	return p.releaseLease(ctx, conn, term)
}

// lifetime is how long a holder leads without a renewal.
func (p *Postgres) lifetime() time.Duration { return p.config.Timing.TTL - p.config.Timing.Margin() }

// evictFormer ends the sessions of the former holder through the pool, because the
// session of the lease must keep renewing.
func (p *Postgres) evictFormer(ctx context.Context, former string) error {
	if former == "" || former == p.config.Holder {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryLimit)
	defer cancel()
	if _, err := db.New(p.config.Pool).EndSessions(ctx, former); err != nil {
		return fmt.Errorf("end the sessions of the former holder: %w", err)
	}
	return nil
}

// renew keeps the lease until ctx ends; an error means that it is lost. Between
// renewals it waits on the session, so that it detects its end at once.
func (p *Postgres) renew(ctx context.Context, conn *pgx.Conn, term Term, watchdog *time.Timer) error {
	// A renewal need not survive a crash of the database, which ends the session and so
	// the lease, and a slow disk must not cost the lease.
	if err := p.exec(context.WithoutCancel(ctx), conn, "SET synchronous_commit = off"); err != nil {
		return err
	}
	for {
		if err := await(ctx, conn, p.config.Timing.Renew()); err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // leadership ended, not the lease
			}
			return fmt.Errorf("the session of the lease ended: %w", err)
		}
		began := time.Now()
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.lifetime()-p.config.Timing.Renew())
		n, err := db.New(conn).RenewLease(limited, p.config.Timing.TTL.Seconds(), term.Name, term.Holder, term.Number)
		cancel()
		if err != nil {
			return fmt.Errorf("renew: %w", err)
		}
		if n == 0 || !watchdog.Reset(time.Until(began.Add(p.lifetime()))) {
			return errLost
		}
	}
}

// releaseLease releases the lease, so that the next candidate can start at once.
func (p *Postgres) releaseLease(ctx context.Context, conn *pgx.Conn, term Term) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryLimit)
	defer cancel()
	if err := db.New(conn).ReleaseLeadership(ctx, term.Name, term.Holder, term.Number); err != nil {
		return fmt.Errorf("give back: %w", err)
	}
	p.config.Logger.Info("released a lease", "lease", term.Name, "term", term.Number)
	return nil
}
