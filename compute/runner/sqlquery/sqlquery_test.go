package sqlquery

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

func TestPostgresTypes(t *testing.T) {
	t.Parallel()
	r := postgres(t, `SELECT 1::int8 AS z, 2::int2 AS small, 3.5::float8 AS ratio, 12.30::numeric(10,2) AS price, 1e30::numeric AS huge, true AS ok,
		'2026-02-28'::date AS day, '2026-02-28 12:00:00.5+02'::timestamptz AS at, '{"a":1}'::jsonb AS doc, 'é'::text AS name, ARRAY[1,2] AS list, NULL::int4 AS none`)
	if got := run(t, r); got.Rows != 1 || got.Columns != 12 || got.Bytes == 0 {
		t.Errorf("%+v", got)
	}
	columns, rows := table(t, r.Path)
	want := []string{"z INT(64,true)", "small INT(16,true)", "ratio DOUBLE", "price DECIMAL(10,2)", "huge STRING", "ok BOOLEAN",
		"day DATE", "at TIMESTAMP(isAdjustedToUTC=true,unit=MICROS)", "doc JSON", "name STRING", "list STRING", "none INT(32,true)"}
	if diff := cmp.Diff(want, columns); diff != "" {
		t.Error(diff)
	}
	values := [][]string{{"1", "2", "3.5", "1230", "1000000000000000000000000000000", "true", "20512", "1772272800500000", `{"a": 1}`, "é", "{1,2}", "<null>"}}
	if diff := cmp.Diff(values, rows); diff != "" {
		t.Error(diff)
	}
}

func TestPostgresParameters(t *testing.T) {
	t.Parallel()
	r := postgres(t, `SELECT @name::text AS name, @n::int + 1 AS n, 3 = ANY(@ids::int[]) AS found, @none::text IS NULL AS empty, '@name' AS literal -- @other`)
	r.Args = map[string]any{"name": `x'; DROP TABLE y; --`, "n": json.Number("41"), "ids": []any{json.Number("2"), json.Number("3")}, "none": nil, "unused": "u"}
	run(t, r)
	_, rows := table(t, r.Path)
	if diff := cmp.Diff([][]string{{`x'; DROP TABLE y; --`, "42", "true", "true", "@name"}}, rows); diff != "" {
		t.Error(diff)
	}
}

func TestPostgresOnlyReads(t *testing.T) {
	t.Parallel()
	r := postgres(t, "CREATE TABLE t (a int)")
	wantError(t, r, "set read_only: false")
	r.Query = "SELECT set_config('transaction_read_only', 'off', false)"
	wantError(t, r, "read-write mode must be set before any query")
	r.Query = "COMMIT; CREATE TABLE t (a int)"
	wantError(t, r, "cannot insert multiple commands")
	r.ReadOnly, r.Query = false, "CREATE TABLE t (a int)"
	if got := run(t, r); got != (Result{}) {
		t.Errorf("%+v", got)
	}
	r.Query = "INSERT INTO t SELECT generate_series(1, 7)"
	if got := run(t, r); got != (Result{Rows: 7}) {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(r.Path); err == nil {
		t.Error("a statement without rows made a file")
	}
	r.Query, r.MaxRows = "DELETE FROM t RETURNING a", 3
	wantError(t, r, "more than max_rows (3)")
	r.Query, r.ReadOnly = "SELECT count(*) AS n FROM t", true
	run(t, r)
	if _, rows := table(t, r.Path); rows[0][0] != "7" {
		t.Errorf("%v rows are left: the deletion was not rolled back", rows)
	}
}

func TestPostgresLimitsAndErrors(t *testing.T) {
	t.Parallel()
	r := postgres(t, "SELECT generate_series(1, 1001) AS i")
	wantError(t, r, "more than max_rows (1000)")
	r.MaxRows, r.Query = 100_000, "SELECT gen_random_uuid() AS id FROM generate_series(1, 100000)"
	wantError(t, r, "larger than max_size")
	r.Query = "SELECT 1 AS a, 2 AS a"
	wantError(t, r, `two columns of the result are called "a"`)
	r.Query = "SELECT\n  nothing"
	wantError(t, r, "(SQLSTATE 42703) at line 2 of the query")
	r.Query = "SELECT 'infinity'::timestamptz AS t"
	wantError(t, r, "column t, row 1: \"infinity\" cannot be stored as a time")
	r.Timeout, r.Query = 50*time.Millisecond, "SELECT pg_sleep(60)"
	wantError(t, r, "stopped the statement after statement_timeout (50ms)")
}

func TestPostgresStatementEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r := postgres(t, "SELECT pg_sleep(600) AS waited")
	conn, err := pgx.Connect(t.Context(), r.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := Run(ctx, r); done <- err }()
	running := func() (n int) {
		err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'flowforge' AND state = 'active'").Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for running() == 0 {
		select {
		case err := <-done:
			t.Fatal(err)
		case <-t.Context().Done():
			t.Fatal("the statement did not start")
		default:
		}
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("a cancelled statement succeeded")
	}
	for running() > 0 { // the test ends with its own limit
		if t.Context().Err() != nil {
			t.Fatal("the statement still runs in the database")
		}
	}
}

func TestClickHouse(t *testing.T) {
	t.Parallel()
	r := clickhouse(t, "SELECT toInt64({n:Int64} + 1) AS z, {name:String} AS name, has({ids:Array(Int64)}, 3) AS found, toDate('2026-02-28') AS day, CAST(NULL AS Nullable(String)) AS none")
	r.Args = map[string]any{"n": json.Number("41"), "name": "a\t'b' \\ é", "ids": []any{json.Number("2"), json.Number("3")}}
	if got := run(t, r); got.Rows != 1 || got.Columns != 5 {
		t.Errorf("%+v", got)
	}
	columns, rows := table(t, r.Path)
	if columns[0] != "z INT64" && columns[0] != "z INT(64,true)" || columns[1] != "name STRING" {
		t.Errorf("columns %q", columns)
	}
	if len(rows) != 1 || rows[0][0] != "42" || rows[0][1] != "a\t'b' \\ é" || rows[0][4] != "<null>" {
		t.Errorf("rows %q", rows)
	}
}

func TestClickHouseRefusals(t *testing.T) {
	t.Parallel()
	r := clickhouse(t, "CREATE TABLE refused (a Int32) ENGINE = Memory")
	wantError(t, r, "set read_only: false")
	r.Query = "SELECT number FROM numbers(1001)"
	wantError(t, r, "more than max_rows (1000)")
	r.Query = "SELECT number FROM numbers(1001) SETTINGS max_result_rows = 0"
	wantError(t, r, "more than max_rows (1000)")
	r.Query = "SELECT 1 FORMAT CSV"
	wantError(t, r, "remove FORMAT")
	r.Query = "SELECT nothing"
	wantError(t, r, "nothing")
	r.Query, r.MaxRows = "SELECT generateUUIDv4() AS id FROM numbers(200000)", 1_000_000
	wantError(t, r, "larger than max_size")
	r.Query, r.Timeout = "SELECT count() FROM system.numbers", 200*time.Millisecond
	wantError(t, r, "after statement_timeout (200ms)")
}

func TestClickHouseWrites(t *testing.T) {
	t.Parallel()
	r := clickhouse(t, "CREATE OR REPLACE TABLE sqlquery_writes (a Int64) ENGINE = MergeTree ORDER BY a")
	r.ReadOnly = false
	run(t, r)
	r.Query = "INSERT INTO sqlquery_writes SELECT number FROM numbers(7)"
	if got := run(t, r); got != (Result{Rows: 7}) {
		t.Errorf("%+v", got)
	}
	r.Query = "DROP TABLE sqlquery_writes"
	run(t, r)
}
