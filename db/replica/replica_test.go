package replica_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/db/replica"
	"github.com/flowforge/flowforge/platform/embedded/postgres/replicatest"
)

// bench is a primary with a replica, and a table of numbers.
type bench struct {
	*replica.Replica

	t       *testing.T
	servers replicatest.Pair
	primary *pgxpool.Pool
	standby *pgxpool.Pool
	now     time.Time
}

// TestReplica shares the servers among its parts. Each part starts with an empty table, and with a
// replica that has caught up and was measured by a new Replica.
func TestReplica(t *testing.T) {
	servers := replicatest.Start(t)
	primary, err := db.Open(t.Context(), servers.Primary.URL())
	require.NoError(t, err)
	t.Cleanup(primary.Close)
	require.NoError(t, db.Migrate(t.Context(), primary))
	standby, err := db.NewReadOnly(t.Context(), servers.Replica.URL(), "flowforge test", false)
	require.NoError(t, err)
	t.Cleanup(standby.Close)
	for _, part := range []struct {
		name string
		run  func(*bench)
	}{
		{"reads use the replica within its bound", readsUseTheReplicaWithinItsBound},
		{"a measurement that stops ages the replica", aMeasurementThatStopsAgesTheReplica},
		{"a row that the replica lacks is read from the primary", aMissingRowIsReadFromThePrimary},
		{"a write that cannot be recorded stops reads of the replica", anUnrecordedWriteStopsReads},
		{"rows decode like those of the primary", rowsDecodeAlike},
		{"a read in a recovery conflict is repeated on the primary", aConflictIsRepeatedOnThePrimary},
		{"reads move to the primary when the replica dies", readsMoveWhenTheReplicaDies},
		{"reads move to the primary when the replica vanishes", readsMoveWhenTheReplicaVanishes},
		{"a server that is no replica is not read", aServerThatIsNoReplicaIsNotRead},
	} {
		if !t.Run(part.name, func(t *testing.T) {
			b := &bench{t: t, servers: servers, primary: primary, standby: standby, now: time.Unix(1_700_000_000, 0)}
			b.write("DROP TABLE IF EXISTS numbers")
			b.write("CREATE TABLE numbers (n int)")
			b.Replica = replica.New(replica.Config{Primary: primary, Replica: standby, MaxLag: 5 * time.Second, Now: func() time.Time { return b.now }})
			b.caughtUp()
			part.run(b)
		}) {
			return // the servers may be in any state
		}
	}
}

func (b *bench) write(sql string, args ...any) {
	b.t.Helper()
	_, err := b.primary.Exec(b.t.Context(), sql, args...)
	require.NoError(b.t, err)
}

// caughtUp waits until a measurement finds that the replica has replayed everything.
func (b *bench) caughtUp() {
	b.t.Helper()
	var end int64
	require.NoError(b.t, b.primary.QueryRow(b.t.Context(), "SELECT (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint").Scan(&end))
	require.Eventually(b.t, func() bool {
		var replayed int64
		err := b.standby.QueryRow(b.t.Context(), "SELECT (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::bigint").Scan(&replayed)
		if err != nil || replayed < end {
			return false
		}
		b.Measure(b.t.Context())
		state := b.State()
		return state.Known && state.Lag == 0
	}, time.Minute, 10*time.Millisecond)
}

// control runs a statement on the replica.
func (b *bench) control(sql string) {
	b.t.Helper()
	_, err := b.standby.Exec(b.t.Context(), sql)
	require.NoError(b.t, err)
}

// count reads the table for a reader, and tells which server answered.
func (b *bench) count(reader uuid.UUID) (n int, stale bool) {
	b.t.Helper()
	ctx := b.Allow(b.t.Context(), reader)
	return b.countIn(ctx), replica.Stale(ctx)
}

func (b *bench) countIn(ctx context.Context) (n int) {
	b.t.Helper()
	require.NoError(b.t, b.Reader().QueryRow(ctx, "SELECT count(*) FROM numbers").Scan(&n))
	return n
}

func readsUseTheReplicaWithinItsBound(b *bench) {
	t := b.t
	author, other := uuid.New(), uuid.New()
	n, stale := b.count(other)
	require.Zero(t, n)
	require.True(t, stale)
	require.Zero(t, b.countIn(t.Context()))
	require.Equal(t, int64(1), b.State().Reads.Replica, "a read without permission uses the primary, and is not counted")

	b.control("SELECT pg_wal_replay_pause()")
	b.write("INSERT INTO numbers VALUES (1)")
	b.Wrote(t.Context(), author)
	b.Measure(t.Context())
	n, stale = b.count(author)
	require.Equal(t, 1, n, "an author sees the own write at once")
	require.False(t, stale)
	n, stale = b.count(other)
	require.Zero(t, n, "others may read what is not older than the bound")
	require.True(t, stale)

	b.now = b.now.Add(6 * time.Second)
	b.Measure(t.Context())
	n, stale = b.count(other)
	require.Equal(t, 1, n, "beyond the bound, everyone reads the primary")
	require.False(t, stale)
	state := b.State()
	require.False(t, state.Usable)
	require.Equal(t, 6*time.Second, state.Lag)
	require.ErrorContains(t, b.Ready(t.Context()), "more than 5s")

	b.control("SELECT pg_wal_replay_resume()")
	b.caughtUp()
	n, stale = b.count(author)
	require.Equal(t, 1, n)
	require.True(t, stale, "the replica has the write of the author")
	require.NoError(t, b.Ready(t.Context()))
	require.Equal(t, replica.Reads{Replica: 3, Primary: map[replica.Reason]int64{replica.OwnWrite: 1, replica.Behind: 1, replica.Down: 0, replica.Failed: 0}}, b.State().Reads)
}

func aMeasurementThatStopsAgesTheReplica(b *bench) {
	t := b.t
	b.now = b.now.Add(5 * time.Second)
	_, stale := b.count(uuid.New())
	require.True(t, stale)
	b.now = b.now.Add(time.Millisecond)
	_, stale = b.count(uuid.New())
	require.False(t, stale)
}

// readWhile runs during while a read waits on the replica, and returns the numbers that the read found.
func (b *bench) readWhile(ctx context.Context, during func()) []int32 {
	b.t.Helper()
	type result struct {
		numbers []int32
		err     error
	}
	ended := make(chan result, 1)
	go func() {
		rows, err := b.Reader().Query(ctx, "SELECT n FROM numbers, pg_sleep(CASE WHEN pg_is_in_recovery() THEN 600 ELSE 0 END) ORDER BY n")
		if err != nil {
			ended <- result{err: err}
			return
		}
		numbers, err := pgx.CollectRows(rows, pgx.RowTo[int32])
		ended <- result{numbers, err}
	}()
	require.Eventually(b.t, func() bool {
		var n int
		err := b.standby.QueryRow(b.t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'").Scan(&n)
		return err == nil && n == 1
	}, time.Minute, 10*time.Millisecond)
	during()
	r := <-ended
	require.NoError(b.t, r.err)
	require.False(b.t, replica.Stale(ctx), "the remaining reads of the request use the primary")
	require.Equal(b.t, int64(1), b.State().Reads.Primary[replica.Failed])
	return r.numbers
}

func readsMoveWhenTheReplicaDies(b *bench) {
	t := b.t
	b.write("INSERT INTO numbers VALUES (1), (2)")
	b.caughtUp()
	numbers := b.readWhile(b.Allow(t.Context(), uuid.New()), func() {
		require.NoError(t, syscall.Kill(b.servers.Replica.PID(), syscall.SIGQUIT)) // ends at once, with its sessions
	})
	require.Equal(t, []int32{1, 2}, numbers)
	require.Eventually(t, func() bool { // its supervisor starts it again
		b.Measure(t.Context())
		return b.State().Usable
	}, time.Minute, 10*time.Millisecond)
	b.caughtUp()
	n, stale := b.count(uuid.New())
	require.Equal(t, 2, n)
	require.True(t, stale)
}

func readsMoveWhenTheReplicaVanishes(b *bench) {
	t := b.t
	b.write("INSERT INTO numbers VALUES (1)")
	b.caughtUp()
	var frozen []int
	numbers := b.readWhile(b.Allow(t.Context(), uuid.New()), func() {
		rows, err := b.standby.Query(t.Context(), "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'")
		require.NoError(t, err)
		frozen, err = pgx.CollectRows(rows, pgx.RowTo[int])
		require.NoError(t, err)
		frozen = append(frozen, b.servers.Replica.PID())
		for _, pid := range frozen {
			require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
		}
		b.Measure(t.Context()) // gets no response
	})
	require.Equal(t, []int32{1}, numbers)
	require.ErrorContains(t, b.Ready(t.Context()), "does not respond")
	n, stale := b.count(uuid.New())
	require.Equal(t, 1, n)
	require.False(t, stale)
	for _, pid := range frozen {
		require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
	}
	b.caughtUp()
	_, stale = b.count(uuid.New())
	require.True(t, stale)
}

func aConflictIsRepeatedOnThePrimary(b *bench) {
	b.write("INSERT INTO numbers VALUES (1), (2), (3)")
	b.caughtUp()
	numbers := b.readWhile(b.Allow(b.t.Context(), uuid.New()), func() {
		b.write("TRUNCATE numbers") // its replay has to break the lock of the read
		b.write("INSERT INTO numbers VALUES (4)")
	})
	require.Equal(b.t, []int32{4}, numbers)
}

func aServerThatIsNoReplicaIsNotRead(b *bench) {
	t := b.t
	wrong := replica.New(replica.Config{Primary: b.primary, Replica: b.primary, MaxLag: time.Second, Now: time.Now})
	wrong.Measure(t.Context())
	require.ErrorContains(t, wrong.Ready(t.Context()), "not a replica")
	b.control("SELECT pg_promote()")
	b.Measure(t.Context())
	require.ErrorContains(t, b.Ready(t.Context()), "not a replica")
	_, stale := b.count(uuid.New())
	require.False(t, stale)
}

func aMissingRowIsReadFromThePrimary(b *bench) {
	t := b.t
	b.control("SELECT pg_wal_replay_pause()")
	b.write("INSERT INTO numbers VALUES (7)")
	ctx := b.Allow(t.Context(), uuid.New())
	var n int
	require.NoError(t, b.Reader().QueryRow(ctx, "SELECT n FROM numbers").Scan(&n))
	require.Equal(t, 7, n)
	require.Zero(t, b.countIn(ctx), "lists still use the replica")
	b.control("SELECT pg_wal_replay_resume()")
	require.ErrorContains(t, b.Reader().QueryRow(ctx, "SELECT n FROM numbers WHERE n = 8").Scan(&n), "no rows")
}

func anUnrecordedWriteStopsReads(b *bench) {
	t := b.t
	b.write("ALTER TABLE recent_writes RENAME TO gone")
	b.Wrote(t.Context(), uuid.New())
	b.write("ALTER TABLE gone RENAME TO recent_writes")
	b.caughtUp()
	_, stale := b.count(uuid.New())
	require.False(t, stale)
	b.now = b.now.Add(5 * time.Second)
	b.caughtUp()
	_, stale = b.count(uuid.New())
	require.True(t, stale)
}

func rowsDecodeAlike(b *bench) {
	t := b.t
	q := db.New(b.Reader())
	ctx := b.Allow(t.Context(), uuid.New())
	stale, err := q.ListLeases(ctx)
	require.NoError(t, err)
	current, err := q.ListLeases(t.Context())
	require.NoError(t, err)
	require.Equal(t, current, stale)
	rows, err := b.Reader().Query(ctx, "SELECT 1, NULL::text, ARRAY['a','b'], '{\"x\": 1}'::jsonb, now() > '2020-01-01'")
	require.NoError(t, err)
	require.True(t, rows.Next())
	values, err := rows.Values()
	require.NoError(t, err)
	require.Equal(t, []any{int32(1), nil, []any{"a", "b"}, map[string]any{"x": float64(1)}, true}, values)
	require.False(t, rows.Next())
	require.NoError(t, rows.Err())
	require.True(t, replica.Stale(ctx))
}
