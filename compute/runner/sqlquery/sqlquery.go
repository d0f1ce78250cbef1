// Package sqlquery runs one statement in a database and writes its result as a Parquet file. The
// database enforces that a statement only reads and how long it may run; the package enforces how
// much it may return.
package sqlquery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Kinds of databases.
const (
	Postgres   = "postgres"
	ClickHouse = "clickhouse"
)

// Request is a statement and where it runs.
type Request struct {
	Kind   string
	URL    string         // the address of the database; for Postgres with its user and password
	Fields map[string]any // the other fields of the connection, for ClickHouse
	Query  string
	// Args are the values of the parameters, as decoded JSON with numbers as json.Number. Those that
	// the statement does not name are ignored.
	Args     map[string]any
	ReadOnly bool
	MaxRows  int64
	MaxBytes int64 // size of the file
	Timeout  time.Duration
	Path     string // the file of the result; it is created only for a statement that returns rows
}

// Result says what a statement returned.
type Result struct {
	Rows    int64 // returned rows; without columns the changed ones
	Columns int   // 0: the statement returns no rows
	Bytes   int64 // size of the file
}

// Run runs a statement. When ctx ends, the database stops the statement. Errors are sentences without
// a full stop.
func Run(ctx context.Context, r Request) (Result, error) {
	switch r.Kind {
	case Postgres:
		return runPostgres(ctx, r)
	case ClickHouse:
		return runClickHouse(ctx, r)
	}
	return Result{}, fmt.Errorf("a connection of kind %q cannot run SQL; use postgres or clickhouse", r.Kind)
}

func (r Request) tooManyRows() error {
	return fmt.Errorf("the result has more than max_rows (%d) rows; add LIMIT to the query, or raise max_rows", r.MaxRows)
}

func (r Request) tooManyBytes() error {
	return fmt.Errorf("the result is larger than max_size (%d bytes); select less, or raise max_size", r.MaxBytes)
}

func (r Request) tooSlow() error {
	return fmt.Errorf("the database stopped the statement after statement_timeout (%s)", r.Timeout)
}

// text writes a scalar as text; false for null, lists and objects.
func text(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		if v {
			return "true", true
		}
		return "false", true
	}
	return "", false
}

// document writes an object as JSON.
func document(value any) (string, error) {
	encoded, err := json.Marshal(value)
	return string(encoded), err
}

var errNotParquet = errors.New("the result is not in the Parquet format; remove FORMAT from the query")
