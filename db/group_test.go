package db_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/db/dbtest"
)

// TestGroupsAreDivided: items that violate a constraint are not written. All others are.
func TestGroupsAreDivided(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	exec(t, pool, "CREATE TABLE items (n int CHECK (n % 50 <> 3))")
	items := make([]int, 120)
	for i := range items {
		items[i] = i
	}
	bad := []int{3, 53, 103}
	transactions, failed := 0, []int{}
	written := []int{}
	db.TxGroup(t.Context(), pool, items, func(tx pgx.Tx, _ *db.Queries, items []int) error {
		transactions++
		_, err := tx.Exec(t.Context(), "INSERT INTO items SELECT unnest($1::int[])", items)
		return err
	}, func(items []int, err error) {
		if err == nil {
			written = append(written, items...)
			return
		}
		require.Len(t, items, 1, "an item fails alone")
		require.Equal(t, "items_n_check", db.Constraint(err))
		failed = append(failed, items...)
	})
	require.Equal(t, bad, failed)
	require.Equal(t, slices.DeleteFunc(items, func(n int) bool { return slices.Contains(bad, n) }), written)
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(DISTINCT n) FROM items").Scan(&n))
	require.Equal(t, 117, n)
	require.Less(t, transactions, 45, "about two for each halving around a bad item")
}

// TestGroupsThatMustBeRepeated: a failure that does not depend on the items fails all of them at once.
func TestGroupsThatMustBeRepeated(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	for _, cause := range []error{
		apperr.New(apperr.Unavailable, "The database is not responding."),
		fmt.Errorf("write: %w", &pgconn.PgError{Code: "40P01"}),
		&pgconn.PgError{Code: "57P01"},
	} {
		transactions, ended := 0, 0
		db.TxGroup(t.Context(), pool, []int{1, 2, 3}, func(pgx.Tx, *db.Queries, []int) error {
			transactions++
			return cause
		}, func(items []int, err error) {
			ended++
			require.Equal(t, []int{1, 2, 3}, items)
			require.ErrorIs(t, err, cause)
		})
		require.Equal(t, 1, transactions, "%v", cause)
		require.Equal(t, 1, ended)
	}
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	require.NoError(t, conn.Conn().Close(t.Context()))
	ended := 0
	db.TxGroup(t.Context(), conn, []int{1, 2, 3}, func(pgx.Tx, *db.Queries, []int) error { return nil }, func(items []int, err error) {
		ended++
		require.Len(t, items, 3)
		require.Error(t, err)
	})
	require.Equal(t, 1, ended, "a lost connection")
	db.TxGroup(t.Context(), pool, nil, func(pgx.Tx, *db.Queries, []int) error { return errors.New("no items, no transaction") }, func([]int, error) { t.Error("no items") })
}
