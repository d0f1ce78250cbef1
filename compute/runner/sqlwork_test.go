package runner

import (
	"fmt"
	"strings"
	"testing"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"

	"github.com/flowforge/flowforge/db/dbtest"
)

// statement is an attempt of an sql operator. The address of its database is a secret.
func (b *testBundle) statement(t *testing.T, id, query string) *flowforgev1.AttemptSpec {
	t.Helper()
	spec := secretive(id, "", "connection/db/url")
	spec.InputsJson = `{"db": {"$connection": "db", "kind": "postgres", "fields": {}, "url": {"$secret": "connection/db/url"}}, "n": 41}`
	spec.Secrets[0].Pointer = "/db/url"
	spec.Work = &flowforgev1.AttemptSpec_Sql{Sql: &flowforgev1.Sql{Connection: "db", Query: query, ReadOnly: true, MaxRows: 1000, MaxBytes: 1 << 20, TimeoutMs: 60_000}}
	spec.Outputs = []*flowforgev1.OutputSpec{{Name: "result", Kind: "Table"}, {Name: "rows", Kind: "Integer", Inline: true}}
	return spec
}

func TestSQLWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	address := dbtest.NewURL(t)
	b.server.secrets = map[string]string{"connection/db/url": address}
	f := b.run(t, b.statement(t, "read", "SELECT @n::int + 1 AS answer"))
	wantOutcome(t, f, succeeded)
	if got := values(f); got["result"] != "result.parquet application/vnd.apache.parquet" || got["rows"] != "1" {
		t.Errorf("outputs %v", got)
	}
	if log := strings.Join(b.server.lines("read", "system"), "\n"); !strings.Contains(log, "returned 1 rows with 1 columns") {
		t.Errorf("log %q", log)
	}

	f = b.run(t, b.statement(t, "wrong", "SELECT nothing"))
	wantOutcome(t, f, failed)
	if !strings.Contains(f.Message, "(SQLSTATE 42703) at line 1 of the query.") {
		t.Errorf("message %q", f.Message)
	}

	// A message of the database that repeats the address of the connection does not leave the runner.
	f = b.run(t, b.statement(t, "leak", fmt.Sprintf("SELECT '%s'::int", strings.ReplaceAll(address, "'", "''"))))
	wantOutcome(t, f, failed)
	if strings.Contains(f.Message, address) || !strings.Contains(f.Message, "nvalid input syntax") {
		t.Errorf("message %q", f.Message)
	}

	slow := b.statement(t, "slow", "SELECT pg_sleep(600)")
	slow.TimeoutMs = 50
	wantOutcome(t, b.run(t, slow), timedOut)
}
