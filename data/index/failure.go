package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/flowforge/flowforge/apperr"
)

// Codes of ClickHouse's exceptions.
const (
	codeNoColumn        = 16
	codeUnknownName     = 47
	codeUnknownTable    = 60
	codeUnknownDatabase = 81
	codeTimeout         = 159
	codeTooSlow         = 160
	codeMemory          = 241
)

// bounded is a context for statements with bounds: no query may stop others.
func bounded(ctx context.Context) context.Context {
	return clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"max_execution_time": 30, "max_memory_usage": 2 << 30}))
}

// failure is the error of a search: its own code, or what an exception of ClickHouse means.
func failure(err error) error {
	if apperr.Is(err, apperr.Invalid) || errors.Is(err, context.Canceled) {
		return err
	}
	ex, ok := errors.AsType[*clickhouse.Exception](err)
	err = fmt.Errorf("search executions: %w", err)
	if !ok {
		return unavailable(err)
	}
	switch ex.Code {
	case codeNoColumn, codeUnknownName, codeUnknownTable, codeUnknownDatabase:
		return apperr.Wrap(apperr.Unavailable, err, "The execution index is being rebuilt. Try again in a minute.")
	case codeTimeout, codeTooSlow, codeMemory:
		const message = "The query takes too much time or memory. Add a condition, such as since:30d, or remove columns."
		return &apperr.Error{Code: apperr.Invalid, Message: message, Err: err, Fields: []apperr.Field{{Path: "where", Message: message}}}
	}
	return err
}
