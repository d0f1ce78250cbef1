package election_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/platform/election"
)

const patience = 20 * time.Second

// candidate is one process of a test.
type candidate struct {
	t      *testing.T
	pool   *pgxpool.Pool
	holder string
	leads  chan election.Term // each time it begins to lead
	lost   chan struct{}      // each time its context of leading has ended
	cancel context.CancelFunc
	ended  chan struct{}
}

// run starts a candidate, which leads until its context ends.
func run(t *testing.T, url, instance string, timing election.Timing) *candidate {
	t.Helper()
	holder := election.NewHolder(instance)
	pool, err := db.OpenNamed(t.Context(), url, election.ApplicationName(holder))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	c := &candidate{t: t, pool: pool, holder: holder, leads: make(chan election.Term, 10), lost: make(chan struct{}, 10), ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	elector := election.NewPostgres(election.Config{Pool: pool, Name: "test", Holder: holder, Address: "http://" + instance, Timing: timing})
	go func() {
		defer close(c.ended)
		_ = elector.Run(ctx, func(ctx context.Context, term election.Term) error {
			c.leads <- term
			<-ctx.Done()
			c.lost <- struct{}{}
			return nil
		})
	}()
	t.Cleanup(c.stop)
	return c
}

func (c *candidate) stop() {
	c.cancel()
	<-c.ended
}

func (c *candidate) term() election.Term {
	c.t.Helper()
	select {
	case term := <-c.leads:
		return term
	case <-time.After(patience):
		c.t.Fatalf("%s does not lead", c.holder)
		return election.Term{}
	}
}

func (c *candidate) idle() {
	c.t.Helper()
	select {
	case <-c.leads:
		c.t.Fatalf("%s leads beside another", c.holder)
	default:
	}
}

func TestReleasedLeaseGoesToTheNext(t *testing.T) {
	t.Parallel()
	url := dbtest.NewURL(t)
	a := run(t, url, "a", election.Timing{})
	first := a.term()
	require.Equal(t, int64(1), first.Number)
	b := run(t, url, "b", election.Timing{})
	leader, err := election.Find(t.Context(), b.pool, "test")
	require.NoError(t, err)
	require.Equal(t, election.Leader{Term: first, Address: "http://a"}, leader)
	b.idle()

	a.stop()
	require.Len(t, a.lost, 1)
	require.Equal(t, int64(2), b.term().Number)
	require.NoError(t, a.pool.Ping(t.Context()), "who gave back keeps its sessions")

	b.stop()
	_, err = election.Find(t.Context(), a.pool, "test")
	require.True(t, apperr.Is(err, apperr.Unavailable))
}

func TestLostSessionEndsLeading(t *testing.T) {
	t.Parallel()
	url := dbtest.NewURL(t)
	a := run(t, url, "a", election.Timing{})
	a.term()
	b := run(t, url, "b", election.Timing{})
	b.idle()
	ended, err := db.New(b.pool).EndSessions(t.Context(), a.holder)
	require.NoError(t, err)
	require.NotZero(t, ended)
	<-a.lost
	// Either may be the next; there is one, of a later term.
	select {
	case term := <-a.leads:
		require.Equal(t, int64(2), term.Number)
	case term := <-b.leads:
		require.Equal(t, int64(2), term.Number)
	case <-time.After(patience):
		t.Fatal("no candidate was elected")
	}
}

// A holder that does not renew while its session lives is frozen: its sessions are
// ended with all their locks.
func TestSilentHolderIsEvicted(t *testing.T) {
	t.Parallel()
	url := dbtest.NewURL(t)
	frozen := election.NewHolder("frozen")
	pool, err := db.OpenNamed(t.Context(), url, election.ApplicationName(frozen))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	row, err := db.New(conn).TakeLease(t.Context(), "test", frozen, "http://frozen", 0.3)
	require.NoError(t, err)
	require.Equal(t, int64(1), row.Term)
	other, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = other.Exec(t.Context(), "LOCK TABLE quotas IN EXCLUSIVE MODE")
	require.NoError(t, err)

	b := run(t, url, "b", election.Timing{})
	require.Equal(t, int64(2), b.term().Number)
	require.NoError(t, db.Tx(t.Context(), b.pool, func(tx pgx.Tx, _ *db.Queries) error {
		_, err := tx.Exec(t.Context(), "LOCK TABLE quotas IN EXCLUSIVE MODE NOWAIT")
		return err
	}), "its locks are gone")
	n, err := db.New(b.pool).RenewLease(t.Context(), 10, "test", frozen, 1)
	require.NoError(t, err)
	require.Zero(t, n, "its term is over")
	require.Error(t, other.Commit(t.Context()), "its transaction is rolled back")
	conn.Conn().Close(t.Context())
	conn.Release()
}

func TestFailingLeadIsTriedAgain(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	var terms []int64
	elector := election.NewPostgres(election.Config{Pool: pool, Name: "test", Holder: election.NewHolder("a"), Address: "http://a"})
	err := elector.Run(ctx, func(_ context.Context, term election.Term) error {
		if terms = append(terms, term.Number); len(terms) == 3 {
			cancel()
			return nil
		}
		return errors.New("no")
	})
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2, 3}, terms)
}

func TestHolderFitsTheNameOfAnApplication(t *testing.T) {
	t.Parallel()
	long := election.NewHolder("a-pod-with-a-name-that-is-as-long-as-kubernetes-permits-it-to-be")
	require.LessOrEqual(t, len(election.ApplicationName(long)), 63)
	first, second := election.NewHolder("a"), election.NewHolder("a")
	require.NotEqual(t, first, second)
}
