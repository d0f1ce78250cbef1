package ha_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/app"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/platform/election"
)

const (
	poolerKills   = 4
	poolerFreezes = 3
	poolerSize    = 5 // sessions of all servers together, except those of the direct address
)

// TestBehindPgBouncer: all servers connect through PgBouncer in transaction mode. Executions, schedules
// and live pages work, leaders are killed, frozen and replaced, and the number of sessions is bounded.
func TestBehindPgBouncer(t *testing.T) {
	t.Parallel()
	in := setup(t)
	in.pooled = startPooler(t, in.url, "transaction")
	front, second := in.start("web,worker"), in.start("web,worker")
	in.start("scheduler,launcher")
	in.start("scheduler,launcher")
	in.register(front, chain)
	in.register(front, holding)
	in.register(front, "{name: tick, version: 1.0.0, operators: [{name: one, type: noop}]}")
	in.witness()

	held := in.launch(front, "holding")
	watching := in.watch(front, held)
	in.until("it runs", func() bool { return in.tasks.running() == 1 })
	require.Equal(t, http.StatusCreated, in.call(front, http.MethodPost, "/api/v1/schedules", map[string]any{
		"workflow": "tick", "name": "tick", "every": "2s", "overlap": "allow", "misfire": "all", "catch_up_max": 1000,
	}, nil))
	load := in.load(second, "chain")
	for range poolerKills {
		in.kill(in.leader())
		in.checkSessions()
	}
	for range poolerFreezes {
		in.freeze(in.leader())
		in.checkSessions()
	}
	load()
	fires := in.number("SELECT count(*) FROM schedule_occurrences")
	in.until("another run of the schedule", func() bool { return in.number("SELECT count(*) FROM schedule_occurrences") > fires })
	_, err := in.pool.Exec(t.Context(), "UPDATE schedules SET paused = true, updated_at = now()")
	require.NoError(t, err)
	in.tasks.openAll()
	in.until("the page says that the execution has succeeded", func() bool { return strings.Contains(watching(), "Succeeded") })
	in.until("each run of the schedule has an execution", func() bool {
		return in.number("SELECT count(*) FROM schedule_occurrences WHERE execution_id IS NULL") == 0
	})
	in.checkAll(in.number("SELECT count(*) FROM executions"), "SUCCEEDED")
	in.checkWitness()
}

// checkSessions checks the number of sessions with PostgreSQL (docs/administration.md), and that every
// server receives notifications in a session that no other one uses.
func (in *installation) checkSessions() {
	in.t.Helper()
	in.until("every server listens", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		return len(in.servers) == in.number(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND application_name LIKE 'flowforge/%' AND application_name NOT LIKE '%/pooled' AND query ~ '^LISTEN flowforge_(changed|drive)$'`)
	})
	require.LessOrEqual(in.t, in.number("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'flowforge/%/pooled'"), poolerSize)
	for role, most := range map[string]int{"web-worker": 5, "scheduler-launcher": 6} {
		n := in.number(fmt.Sprintf(`SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM pg_stat_activity
			WHERE datname = current_database() AND application_name LIKE 'flowforge/%s-%%' AND application_name NOT LIKE '%%/pooled' GROUP BY application_name) s`, role))
		require.LessOrEqual(in.t, n, most, role)
		require.NotZero(in.t, n, role)
	}
}

// TestPoolerNeedsDirectAddress: a server refuses to start if its sessions do not keep their state, and
// names the setting.
func TestPoolerNeedsDirectAddress(t *testing.T) {
	t.Parallel()
	direct := dbtest.NewURL(t)
	const ignore = "ignore_startup_parameters = idle_in_transaction_session_timeout"
	strict, lenient := startPooler(t, direct, "transaction"), startPooler(t, direct, "transaction", ignore)
	balanced, keeping := startPooler(t, direct, "transaction", ignore, "server_round_robin = 1"), startPooler(t, direct, "session", ignore)
	for name, pooled := range map[string]string{"refuses parameters": strict, "ignores parameters": lenient, "round robin": balanced} {
		require.ErrorContains(t, app.Migrate(t.Context(), pooled, ""), "set FLOWFORGE_DATABASE_SESSION_URL to the address of PostgreSQL itself", name)
		require.ErrorContains(t, app.Migrate(t.Context(), pooled, pooled), "FLOWFORGE_DATABASE_SESSION_URL is the address of a connection pooler", name)
		require.NoError(t, app.Migrate(t.Context(), pooled, direct), name)
	}
	require.NoError(t, app.Migrate(t.Context(), keeping, ""), "a pooler in session mode keeps sessions")
}

// TestAddressesOfTwoDatabases: the direct address must lead to the database behind the pooler.
func TestAddressesOfTwoDatabases(t *testing.T) {
	t.Parallel()
	first, second := dbtest.NewURL(t), dbtest.NewURL(t)
	sessions, err := db.OpenSessions(t.Context(), first, "flowforge test")
	require.NoError(t, err)
	defer sessions.Close()
	for target, works := range map[string]bool{first: true, second: false} {
		pool, err := db.OpenPooled(t.Context(), startPooler(t, target, "transaction"), "flowforge test")
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		if err = sessions.Serves(t.Context(), pool); works {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "different databases")
		}
	}
}

// TestFrozenServerBehindPooler: the sessions of a frozen server end with the locks of their transactions.
// A session without a transaction stays, because the next one may be that of another server.
func TestFrozenServerBehindPooler(t *testing.T) {
	t.Parallel()
	ctx, direct := t.Context(), dbtest.NewURL(t)
	admin, err := pgx.Connect(ctx, direct)
	require.NoError(t, err)
	defer admin.Close(ctx)
	holder := election.NewHolder(strings.Repeat("long", 20))
	pool, err := db.OpenPooled(ctx, startPooler(t, direct, "transaction"), election.ApplicationName(holder))
	require.NoError(t, err)
	defer pool.Close()

	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "SELECT pg_advisory_xact_lock(1)")
	require.NoError(t, err)
	ended, err := db.New(admin).EndSessions(ctx, holder)
	require.NoError(t, err)
	require.Equal(t, int32(1), ended)
	var free bool
	require.NoError(t, admin.QueryRow(ctx, "SELECT pg_try_advisory_lock(1)").Scan(&free))
	require.True(t, free, "the lock of the transaction is released")
	require.Error(t, tx.Commit(ctx))

	require.NoError(t, pool.QueryRow(ctx, "SELECT true").Scan(&free))
	idle := func() (n int) {
		require.NoError(t, admin.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 || '/pooled' AND state = 'idle'", election.ApplicationName(holder)).Scan(&n))
		return n
	}
	require.Equal(t, 1, idle())
	ended, err = db.New(admin).EndSessions(ctx, holder)
	require.NoError(t, err)
	require.Zero(t, ended)
	require.Equal(t, 1, idle())
}

// documented is the pgbouncer.ini in the documentation.
var documented = regexp.MustCompile("(?s)```ini\n; pgbouncer.ini\n(.*?)```")

// startPooler runs PgBouncer in front of a database until the end of the test, with the documented
// settings and these, and returns its address.
func startPooler(t *testing.T, database, mode string, settings ...string) string {
	t.Helper()
	program := os.Getenv("FLOWFORGE_TEST_PGBOUNCER")
	if program == "" {
		t.Fatal("there is no PgBouncer for tests: run `scripts/setup pooler`, and the test by scripts/environment")
	}
	guide, err := os.ReadFile("../../docs/administration.md")
	require.NoError(t, err)
	block := documented.FindSubmatch(guide)
	require.NotNil(t, block, "docs/administration.md contains a pgbouncer.ini")

	dir, err := os.MkdirTemp("", "ffpool") // short, because paths of unix sockets are limited
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o777)) // PgBouncer runs as another account if this one is root
	target, err := pgx.ParseConfig(database)
	require.NoError(t, err)
	forward(t, filepath.Join(dir, ".s.PGSQL.5432"), target)
	server := fmt.Sprintf("* = host=%s port=5432 user=%s", dir, target.User)
	if target.Password != "" {
		server += " password=" + target.Password
	}
	settings = append([]string{
		"auth_type = any", "auth_file =", "listen_addr =", "unix_socket_dir = " + dir, "pool_mode = " + mode,
		fmt.Sprintf("default_pool_size = %d", poolerSize), "log_connections = 0", "log_disconnections = 0",
	}, settings...)
	if os.Getuid() == 0 {
		settings = append(settings, "user = daemon")
	}
	ini := filepath.Join(dir, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(ini, []byte(strings.Replace(string(block[1]), "[databases]", "[databases]\n"+server, 1)+strings.Join(settings, "\n")+"\n"), 0o600))

	// The shell ends PgBouncer when its input ends, even if this process is killed.
	cmd := exec.Command("sh", "-c", `"$0" "$1" </dev/null & read -r line; kill $!; wait $!`, program, ini)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = input.Close()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	address := url.URL{Scheme: "postgres", Path: "/" + target.Database, RawQuery: url.Values{
		"host": {dir}, "port": {"6432"}, "user": {target.User}, "timezone": {target.RuntimeParams["timezone"]},
	}.Encode()}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := pgx.Connect(t.Context(), address.String())
		if err == nil {
			require.NoError(t, conn.Close(t.Context()))
			return address.String()
		}
		require.True(t, time.Now().Before(deadline), "PgBouncer does not respond: %v", err)
	}
}

// forward makes a database available on a socket that every account can reach.
func forward(t *testing.T, socket string, target *pgx.ConnConfig) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(socket, 0o777)) // as above
	t.Cleanup(func() { _ = listener.Close() })
	network, address := pgconn.NetworkAddress(target.Host, target.Port)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, address)
			if err != nil {
				_ = client.Close()
				continue
			}
			for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				}()
			}
		}
	}()
}
