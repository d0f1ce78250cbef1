package sqlquery

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

const (
	connectLimit = 20 * time.Second
	// cancelLimit bounds how long a cancelled statement may take to end.
	cancelLimit = 10 * time.Second
)

func connectPostgres(ctx context.Context, r Request) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(r.URL)
	if err != nil {
		return nil, errors.New("the fields of the connection do not form a valid database address")
	}
	config.ConnectTimeout = connectLimit
	config.RuntimeParams["application_name"] = "flowforge"
	config.RuntimeParams["statement_timeout"] = strconv.FormatInt(r.Timeout.Milliseconds(), 10)
	config.RuntimeParams["timezone"] = "UTC"
	config.RuntimeParams["datestyle"] = "ISO"
	config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: cancelLimit}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("the connection failed: %w", err)
	}
	return conn, nil
}

// runPostgres runs the statement in a transaction, which is rolled back when it fails or returns too
// much. In a read-only transaction no statement can allow writes again.
func runPostgres(ctx context.Context, r Request) (Result, error) {
	conn, err := connectPostgres(ctx, r)
	if err != nil {
		return Result{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	mode := pgx.ReadWrite
	if r.ReadOnly {
		mode = pgx.ReadOnly
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{AccessMode: mode})
	if err != nil {
		return Result{}, postgresError(r, err)
	}
	result, err := queryPostgres(ctx, tx, r)
	if err != nil {
		return Result{}, err // closing the connection rolls back
	}
	if err := tx.Commit(ctx); err != nil {
		return Result{}, postgresError(r, err)
	}
	return result, nil
}

func queryPostgres(ctx context.Context, tx pgx.Tx, r Request) (Result, error) {
	args, err := postgresArgs(r.Args)
	if err != nil {
		return Result{}, err
	}
	// All values arrive as text, which is exact for every type.
	rows, err := tx.Query(ctx, r.Query, pgx.QueryResultFormats{pgx.TextFormatCode}, args)
	if err != nil {
		return Result{}, postgresError(r, err)
	}
	defer rows.Close()
	columns, err := postgresColumns(rows.FieldDescriptions())
	if err != nil {
		return Result{}, err
	}
	if len(columns) == 0 {
		rows.Close()
		return Result{Rows: rows.CommandTag().RowsAffected()}, postgresError(r, rows.Err())
	}
	file, err := newFile(r, columns)
	if err != nil {
		return Result{}, err
	}
	defer file.close()
	for rows.Next() {
		if err := file.add(rows.RawValues()); err != nil {
			return Result{}, err
		}
	}
	if err := rows.Err(); err != nil {
		return Result{}, postgresError(r, err)
	}
	return file.finish()
}

// postgresArgs returns the values of parameters. The database reads a text as a value of the type that
// it expects there.
func postgresArgs(values map[string]any) (pgx.NamedArgs, error) {
	args := pgx.NamedArgs{}
	for name, value := range values {
		switch v := value.(type) {
		case nil:
			args[name] = nil
		case []any:
			list := make([]*string, len(v))
			for i, item := range v {
				if item == nil {
					continue
				}
				t, ok := text(item)
				if !ok {
					return nil, fmt.Errorf("the parameter %s is a list of lists or objects; use a list of numbers or strings", name)
				}
				list[i] = &t
			}
			args[name] = list
		case map[string]any:
			encoded, err := document(v)
			if err != nil {
				return nil, err
			}
			args[name] = encoded
		default:
			args[name], _ = text(v)
		}
	}
	return args, nil
}

// SQLSTATE codes.
const (
	codeReadOnly  = "25006"
	codeCancelled = "57014"
)

func postgresError(r Request, err error) error {
	if err == nil {
		return nil
	}
	of, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok:
		return fmt.Errorf("the statement failed: %w", err)
	case of.Code == codeReadOnly:
		return fmt.Errorf("%s: set read_only: false on the operator to change data", of.Message)
	case of.Code == codeCancelled && strings.Contains(of.Message, "statement timeout"):
		return r.tooSlow()
	}
	message := fmt.Sprintf("%s (SQLSTATE %s)", of.Message, of.Code)
	if line := lineOf(r.Query, int(of.Position)); line > 0 {
		message += fmt.Sprintf(" at line %d of the query", line)
	}
	return errors.New(message)
}

// lineOf is the line of a character of the query, counted from 1; 0 when it is unknown. The numbers of
// parameters can be shorter than their names, but never span lines.
func lineOf(query string, position int) int {
	if position < 1 {
		return 0
	}
	runes := []rune(query)
	return 1 + strings.Count(string(runes[:min(position-1, len(runes))]), "\n")
}
