package workflow

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowforge/flowforge/typeregistry"
)

const sqlYAML = `
name: sales
version: 1.0.0
inputs:
  - {name: db, type: Connection<postgres>}
  - {name: since, type: Date}
operators:
  - name: extract
    type: sql
    inputs:
      - {name: db, from: inputs.db}
      - {name: since, from: inputs.since}
    outputs:
      - {name: result, type: Table}
      - {name: rows, type: Integer}
    sql: {query: "SELECT '@literal' FROM sales WHERE day >= @since -- @comment"}
outputs:
  - {name: table, type: Table, from: extract.result}
`

func TestSQLOperator(t *testing.T) {
	t.Parallel()
	d := mustParse(t, sqlYAML)
	got := d.Operators[0].SQL
	want := &SQL{Connection: "db", Query: "SELECT '@literal' FROM sales WHERE day >= @since -- @comment", ReadOnly: true, MaxRows: 1_000_000, MaxMiB: 1024, Timeout: defaultStatement}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	first, _, err := d.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	again, _, _ := mustParse(t, string(first)).Canonical()
	if diff := cmp.Diff(string(first), string(again)); diff != "" {
		t.Error(diff)
	}
	other := mustParse(t, strings.Replace(sqlYAML, "day >=", "day >", 1))
	if d.Operators[0].Fingerprint() == other.Operators[0].Fingerprint() {
		t.Error("another query has the same fingerprint, so its cached result would be used")
	}
}

func TestSQLMistakes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ old, now, path, message string }{
		"no query":       {`{query: "SELECT '@literal' FROM sales WHERE day >= @since -- @comment"}`, "{read_only: true}", "operators[0].sql.query", "Set the statement to run."},
		"parameter":      {"@since", "@sinse", "operators[0].sql.query", `no input of that name. Did you mean "since"?`},
		"kind":           {"type: Connection<postgres>", "type: Connection<s3>", "operators[0].sql.connection", "use Connection<postgres> or Connection<clickhouse>"},
		"no connection":  {"- {name: db, from: inputs.db}", "- {name: db, type: String, value: x}", "operators[0].sql", "Add an input of type Connection<postgres>"},
		"named":          {"sql: {query", "sql: {connection: dbb, query", "operators[0].sql.connection", `no input called "dbb"`},
		"type of result": {"{name: result, type: Table}", "{name: result, type: JSON}", "operators[0].outputs[0].type", "use the type Table"},
		"type of rows":   {"{name: rows, type: Integer}", "{name: rows, type: String}", "operators[0].outputs[1].type", "use the type Integer"},
		"other output":   {"{name: rows, type: Integer}", "{name: count, type: Integer}", "operators[0].outputs[1].name", "the outputs result and rows"},
		"rows limit":     {"sql: {query", "sql: {max_rows: 0, query", "operators[0].sql.max_rows", "whole number from 1"},
		"timeout":        {"sql: {query", "sql: {statement_timeout: 0, query", "operators[0].sql.statement_timeout", "at least 1ms"},
		"unknown field":  {"sql: {query", "sql: {rows: 1, query", "operators[0].sql.rows", ""},
		"section":        {"type: sql", "type: noop", "operators[0].sql", "Only operators of type sql"},
		"file":           {"{name: since, type: Date}", "{name: since, type: File}", "operators[0].inputs[1].type", "cannot be one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(sqlYAML, test.old, test.now, 1)
			if text == sqlYAML {
				t.Fatal("nothing was replaced")
			}
			_, found := Parse([]byte(text), typeregistry.Builtin())
			for _, f := range found {
				if f.Path == test.path && strings.Contains(f.Message, test.message) {
					return
				}
			}
			t.Errorf("no problem at %s with %q among %v", test.path, test.message, found)
		})
	}
}

func TestClickHouseParameters(t *testing.T) {
	t.Parallel()
	got := clickHouseParameters("SELECT '{a:String}', `{b:Int8}`, {c:Array(Int64)}, { d : String } -- {e:Int8}\n/* {f:Int8}\n */ WHERE x = {c:Array(Int64)}")
	if diff := cmp.Diff([]string{"c", "d"}, got); diff != "" {
		t.Error(diff)
	}
}
