package db

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/apperr"
)

// Beginner begins transactions: a pool, or one of its connections.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Database runs statements and transactions: a pool, or one of its connections.
type Database interface {
	DBTX
	Beginner
}

// TxGroup runs f in one transaction for all items. If it fails because of the items, each half of them
// gets its own transaction, and so on: an item that cannot be written does not prevent the others. done
// is called with items whose transaction has ended, and its error.
func TxGroup[T any](ctx context.Context, in Beginner, items []T, f func(tx pgx.Tx, q *Queries, items []T) error, done func(items []T, err error)) {
	if len(items) == 0 {
		return
	}
	began := false
	err := pgx.BeginFunc(ctx, in, func(tx pgx.Tx) error {
		began = true
		return f(tx, New(tx), items)
	})
	if half := len(items) / 2; err != nil && half > 0 && began && dependsOnItems(ctx, err) {
		TxGroup(ctx, in, items[:half], f, done)
		TxGroup(ctx, in, items[half:], f, done)
		return
	}
	done(items, err)
}

// dependsOnItems reports whether the transaction can succeed with fewer items. That is not the case if
// the database is not available, or if the transaction must only be repeated (class 40: a deadlock).
func dependsOnItems(ctx context.Context, err error) bool {
	return ctx.Err() == nil && !apperr.Is(err, apperr.Unavailable) && !repeatable(err)
}
