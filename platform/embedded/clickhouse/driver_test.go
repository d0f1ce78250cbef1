package clickhouse_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
)

// open connects the unmodified driver to an engine.
func open(t *testing.T, address, database, compression string) driver.Conn {
	t.Helper()
	options := &ch.Options{Auth: ch.Auth{Database: database}}
	switch compression {
	case "lz4":
		options.Compression = &ch.Compression{Method: ch.CompressionLZ4}
	case "gzip":
		options.Compression = &ch.Compression{Method: ch.CompressionGZIP, Level: 1}
	}
	return openWith(t, address, options)
}

// openWith completes options for the engine at address.
func openWith(t *testing.T, address string, options *ch.Options) driver.Conn {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http+unix" {
		t.Fatalf("address %q: %v", address, err)
	}
	options.Protocol, options.Addr, options.MaxOpenConns = ch.HTTP, []string{"engine:80"}, 16
	options.DialContext = func(ctx context.Context, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", u.Path)
	}
	conn, err := ch.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

const logsTable = `CREATE TABLE logs (
	tenant LowCardinality(String), task UUID, ts DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
	level LowCardinality(String), message String CODEC(ZSTD(1)),
	INDEX by_message message TYPE tokenbf_v1(10240, 3, 0) GRANULARITY 4
) ENGINE = MergeTree PARTITION BY toYYYYMM(ts) ORDER BY (tenant, task, ts) TTL toDateTime(ts) + INTERVAL 30 DAY`

const insertLogs = "INSERT INTO logs (tenant, task, ts, level, message)"

// endless is a query that only ends when it is stopped.
const endless = "SELECT count() FROM system.numbers WHERE NOT ignore(sipHash64(number))"

// driverCheck is one thing that clickhouse-go does with a server.
type driverCheck struct {
	name string
	run  func(t *testing.T, conn driver.Conn, task uuid.UUID, now time.Time)
}

// TestDriver does with the engine what telemetry does with any server, in every
// form of compression. The checks of one form share 500 lines of one task.
func TestDriver(t *testing.T) {
	t.Parallel()
	engine := start(t, config(t, t.TempDir()))
	for _, compression := range []string{"none", "lz4", "gzip"} {
		t.Run(compression, func(t *testing.T) {
			t.Parallel()
			mustExec(t, open(t, engine.URL(), "default", compression), "CREATE DATABASE logs_"+compression)
			conn := open(t, engine.URL(), "logs_"+compression, compression)
			mustExec(t, conn, logsTable)
			task, now := uuid.New(), time.Now().UTC().Truncate(time.Microsecond)
			sendLines(t, t.Context(), conn, task, now, 500)
			for _, check := range slices.Concat(readChecks(), failureChecks(), writeChecks()) {
				t.Run(check.name, func(t *testing.T) { check.run(t, conn, task, now) }) //nolint:paralleltest // they share the lines and count what is left running
			}
		})
	}
}

func sendLines(t *testing.T, ctx context.Context, conn driver.Conn, task uuid.UUID, now time.Time, n int) { //nolint:revive // t first, as in every helper here
	t.Helper()
	batch, err := conn.PrepareBatch(ctx, insertLogs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		message := fmt.Sprintf("it's line %d ✓ \n tab\t\\", i)
		if err := batch.Append("t", task, now.Add(time.Duration(i)*time.Microsecond), "INFO", message); err != nil {
			t.Fatal(err)
		}
	}
	if err := batch.Send(); err != nil {
		t.Fatal(err)
	}
}

func readChecks() []driverCheck {
	return []driverCheck{
		{"version", func(t *testing.T, conn driver.Conn, _ uuid.UUID, _ time.Time) {
			version, err := conn.ServerVersion()
			if err != nil || version.Version.Major < 26 {
				t.Fatalf("version %v, %v", version, err)
			}
		}},
		{"named parameter", func(t *testing.T, conn driver.Conn, task uuid.UUID, _ time.Time) {
			if n := count(t, conn, "SELECT count() FROM logs WHERE task = {k:UUID}", ch.Named("k", task.String())); n != 500 {
				t.Errorf("%d lines, want 500", n)
			}
		}},
		{"positional parameter", func(t *testing.T, conn driver.Conn, task uuid.UUID, _ time.Time) {
			if n := count(t, conn, "SELECT count() FROM logs WHERE task = ? AND level IN ?", task, []string{"INFO", "WARN"}); n != 500 {
				t.Errorf("%d lines, want 500", n)
			}
		}},
		{"special characters", func(t *testing.T, conn driver.Conn, _ uuid.UUID, _ time.Time) {
			ctx := ch.Context(t.Context(), ch.WithParameters(ch.Parameters{"m": `it's line 3 ✓ \n tab\t\\`}))
			var n uint64
			if err := conn.QueryRow(ctx, "SELECT count() FROM logs WHERE message = {m:String}").Scan(&n); err != nil || n != 1 {
				t.Errorf("%d lines, %v, want 1", n, err)
			}
		}},
		{"structs", checkStructs},
		{"empty result", func(t *testing.T, conn driver.Conn, _ uuid.UUID, _ time.Time) {
			rows, err := conn.Query(t.Context(), "SELECT ts, level FROM logs WHERE task = ?", uuid.New())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = rows.Close() }()
			if rows.Next() || rows.Err() != nil {
				t.Errorf("an empty result has a row, or %v", rows.Err())
			}
		}},
		{"stream of 3 million rows", func(t *testing.T, conn driver.Conn, _ uuid.UUID, _ time.Time) {
			if n, err := drain(t.Context(), conn, "SELECT number, toString(number) FROM system.numbers LIMIT 3000000"); n != 3_000_000 || err != nil {
				t.Errorf("%d rows, %v", n, err)
			}
		}},
		{"concurrent queries", checkConcurrent},
	}
}

func checkStructs(t *testing.T, conn driver.Conn, task uuid.UUID, now time.Time) {
	var lines []struct {
		TS      time.Time `ch:"ts"`
		Message string    `ch:"message"`
		Task    uuid.UUID `ch:"task"`
	}
	err := conn.Select(t.Context(), &lines, "SELECT ts, message, task FROM logs WHERE task = ? ORDER BY ts LIMIT 3", task)
	if err != nil || len(lines) != 3 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	if !lines[0].TS.Equal(now) || lines[0].Task != task || lines[2].Message != "it's line 2 ✓ \n tab\t\\" {
		t.Errorf("lines %+v do not come back as sent", lines)
	}
}

func checkConcurrent(t *testing.T, conn driver.Conn, _ uuid.UUID, _ time.Time) {
	var wg sync.WaitGroup
	for worker := range 20 {
		wg.Go(func() {
			for i := range 20 {
				want := uint64(worker*100 + i)
				var got uint64
				err := conn.QueryRow(t.Context(), "SELECT toUInt64({a:UInt64})", ch.Named("a", fmt.Sprint(want))).Scan(&got)
				if err != nil || got != want {
					t.Errorf("got %d, %v, want %d", got, err, want)
				}
			}
		})
	}
	wg.Wait()
}

func failureChecks() []driverCheck {
	return []driverCheck{
		{"typed exception", func(t *testing.T, conn driver.Conn, _ uuid.UUID, _ time.Time) {
			wantException(t, conn.Exec(t.Context(), "SELECT * FROM nope"), 60)
		}},
		{"exception in mid-stream", func(t *testing.T, conn driver.Conn, _ uuid.UUID, _ time.Time) {
			n, err := drain(t.Context(), conn, "SELECT throwIf(number = 2000000) FROM system.numbers LIMIT 3000000")
			if err == nil || n >= 3_000_000 {
				t.Errorf("%d rows, %v, want an error", n, err)
			}
		}},
		{"setting of one query", func(t *testing.T, conn driver.Conn, _ uuid.UUID, _ time.Time) {
			ctx := ch.Context(t.Context(), ch.WithSettings(ch.Settings{"max_execution_time": 1}))
			wantException(t, conn.Exec(ctx, endless), 159)
			if n := count(t, conn, "SELECT toUInt64(value) FROM system.settings WHERE name = 'max_execution_time'"); n != 0 {
				t.Errorf("the setting stayed at %d on its connection", n)
			}
		}},
		{"unknown setting", func(t *testing.T, conn driver.Conn, _ uuid.UUID, _ time.Time) {
			ctx := ch.Context(t.Context(), ch.WithSettings(ch.Settings{"no_such_setting": 1, "max_threads": 1}))
			wantException(t, conn.Exec(ctx, "SELECT 1"), 115)
		}},
		{"cancelled query is stopped", checkCancel},
		{"stream left early is stopped", func(t *testing.T, conn driver.Conn, _ uuid.UUID, _ time.Time) {
			ctx, cancel := context.WithCancel(t.Context())
			rows, err := conn.Query(ctx, "SELECT number FROM system.numbers")
			if err != nil || !rows.Next() {
				t.Fatalf("no first row: %v", err)
			}
			cancel()
			_ = rows.Close()
			idle(t, conn)
		}},
		{"batch cut off writes nothing", func(t *testing.T, conn driver.Conn, _ uuid.UUID, now time.Time) {
			ctx, cancel := context.WithCancel(t.Context())
			task := uuid.New()
			batch, err := conn.PrepareBatch(ctx, insertLogs)
			if err != nil {
				t.Fatal(err)
			}
			if err := batch.Append("t", task, now, "INFO", "lost"); err != nil {
				t.Fatal(err)
			}
			cancel()
			if err := batch.Send(); err == nil {
				t.Error("a cancelled batch was sent")
			}
			if n := count(t, conn, "SELECT count() FROM logs WHERE task = ?", task); n != 0 {
				t.Errorf("%d lines of a cancelled batch", n)
			}
		}},
	}
}

func checkCancel(t *testing.T, conn driver.Conn, _ uuid.UUID, _ time.Time) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := conn.Exec(ctx, endless); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	idle(t, conn)
}

// idle waits until no query runs but the one that asks.
func idle(t *testing.T, conn driver.Conn) {
	t.Helper()
	eventually(t, 10*time.Second, func() bool {
		return count(t, conn, "SELECT count() FROM system.processes WHERE query LIKE '%system.numbers%' AND query NOT LIKE '%system.processes%' AND current_database = currentDatabase()") == 0
	})
}

func writeChecks() []driverCheck {
	return []driverCheck{
		{"asynchronous insert", func(t *testing.T, conn driver.Conn, _ uuid.UUID, _ time.Time) {
			ctx, task := ch.Context(t.Context(), ch.WithAsync(true)), uuid.New()
			if err := conn.Exec(ctx, insertLogs+" VALUES ('t', ?, now64(6), 'INFO', 'async')", task); err != nil {
				t.Fatal(err)
			}
			if n := count(t, conn, "SELECT count() FROM logs WHERE task = ?", task); n != 1 {
				t.Errorf("%d lines, want 1", n)
			}
		}},
		{"batch with asynchronous settings", func(t *testing.T, conn driver.Conn, _ uuid.UUID, now time.Time) {
			task := uuid.New()
			sendLines(t, ch.Context(t.Context(), ch.WithAsync(true)), conn, task, now, 3)
			if n := count(t, conn, "SELECT count() FROM logs WHERE task = ?", task); n != 3 {
				t.Errorf("%d lines, want 3", n)
			}
		}},
		{"column types", checkTypes},
	}
}

func checkTypes(t *testing.T, conn driver.Conn, _ uuid.UUID, now time.Time) {
	mustExec(t, conn, `CREATE TABLE kinds (id UInt64, m Map(String, Float64), a Array(LowCardinality(String)), n Nullable(Float64),
		d Date, e Enum8('a' = 1, 'b' = 2), dec Decimal(18, 4), b Bool, tup Tuple(x Int32, y String), ip IPv4) ENGINE = MergeTree ORDER BY id`)
	batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO kinds")
	if err != nil {
		t.Fatal(err)
	}
	err = batch.Append(uint64(1), map[string]float64{"loss": 0.5}, []string{"x", "y"}, nil, now, "b", "12.5", true, []any{int32(1), "z"}, "10.0.0.1")
	if err = errors.Join(err, batch.Send()); err != nil {
		t.Fatal(err)
	}
	var (
		m map[string]float64
		a []string
		n *float64
		e string
	)
	if err := conn.QueryRow(t.Context(), "SELECT m, a, n, e FROM kinds").Scan(&m, &a, &n, &e); err != nil {
		t.Fatal(err)
	}
	if m["loss"] != 0.5 || !slices.Equal(a, []string{"x", "y"}) || n != nil || e != "b" {
		t.Errorf("read %v %v %v %v", m, a, n, e)
	}
}

func drain(ctx context.Context, conn driver.Conn, query string) (n int, err error) {
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		n++
	}
	return n, rows.Err()
}

func wantException(t *testing.T, err error, code int32) {
	t.Helper()
	exception, ok := errors.AsType[*ch.Exception](err)
	if !ok || exception.Code != code {
		t.Errorf("error %v, want exception %d", err, code)
	}
}
