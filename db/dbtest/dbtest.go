// Package dbtest gives every test its own Postgres database: a copy of a template that is
// migrated once per state of the migrations.
package dbtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/migrations"
)

// EnvURL names the variable with the address of a server on which the tests may
// create and drop databases.
const EnvURL = "FLOWFORGE_TEST_DATABASE_URL"

// timezone is unusual on purpose: code that relies on the session's zone fails.
const timezone = "Asia/Kathmandu"

// New returns a pool on a new, migrated database. The database is dropped if the test
// succeeds, and kept, with its name in the log, if it fails.
func New(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), NewURL(t))
	if err != nil {
		t.Fatalf("open the test database: %v", err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// NewSingle returns a pool of one connection to the database of pool. A method that requires a second
// connection during a transaction waits for it until its context ends.
func NewSingle(t testing.TB, pool *pgxpool.Pool) *pgxpool.Pool {
	t.Helper()
	config := pool.Config()
	config.MaxConns, config.MinConns = 1, 0
	single, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatalf("open a pool of one connection: %v", err)
	}
	t.Cleanup(single.Close)
	return single
}

// NewURL is New for tests that open connections themselves, for example in another
// process.
func NewURL(t testing.TB) string {
	t.Helper()
	base := os.Getenv(EnvURL)
	if base == "" {
		t.Fatalf("there is no PostgreSQL for tests: run `make services` and use the exports that it prints, or set %s", EnvURL)
	}
	ctx := context.Background()
	admin, err := pgx.Connect(ctx, base)
	if err != nil {
		t.Fatalf("connect to %s: %v", EnvURL, err)
	}
	defer admin.Close(ctx)
	template, err := ensureTemplate(ctx, admin, base)
	if err != nil {
		t.Fatalf("create the template database: %v", err)
	}
	name := fmt.Sprintf("fftest_%s", strings.ToLower(rand.Text()[:16]))
	if err := copyTemplate(ctx, admin, name, template); err != nil {
		t.Fatalf("create the test database: %v", err)
	}
	dsn, err := withDatabase(base, name)
	if err != nil {
		t.Fatalf("address of the test database: %v", err)
	}
	t.Cleanup(func() { drop(t, base, name) })
	return dsn
}

// drop removes the database of a successful test.
func drop(t testing.TB, base, name string) {
	if t.Failed() {
		t.Logf("the database of the failed test is kept: %s", name)
		return
	}
	ctx := context.Background()
	admin, err := pgx.Connect(ctx, base)
	if err != nil {
		t.Logf("drop %s: %v", name, err)
		return
	}
	defer admin.Close(ctx)
	if _, err := admin.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
		t.Logf("drop %s: %v", name, err)
	}
}

// templateLock is the advisory lock under which one process creates the template. Copies
// take no lock: a template is complete when it gets its final name, and no session
// connects to it after that.
const templateLock = 0x66667465

// copyTemplate copies the files of the template. By default, PostgreSQL writes each page to its log,
// which takes four times as long on a server without sync.
func copyTemplate(ctx context.Context, admin *pgx.Conn, name, template string) error {
	_, err := admin.Exec(ctx, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY FILE_COPY", name, template))
	if err != nil {
		return fmt.Errorf("copy %s: %w", template, err)
	}
	_, err = admin.Exec(ctx, fmt.Sprintf("ALTER DATABASE %s SET timezone TO '%s'", name, timezone))
	return err
}

// ensureTemplate returns the name of the template database for the current migrations,
// and creates it if it does not exist.
func ensureTemplate(ctx context.Context, admin *pgx.Conn, base string) (string, error) {
	hash, err := migrationsHash()
	if err != nil {
		return "", err
	}
	name := "fftemplate_" + hash
	if ok, err := exists(ctx, admin, name); err != nil || ok {
		return name, err
	}
	if _, err := admin.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(templateLock)); err != nil {
		return "", err
	}
	defer func() { _, _ = admin.Exec(ctx, "SELECT pg_advisory_unlock($1)", int64(templateLock)) }()
	if ok, err := exists(ctx, admin, name); err != nil || ok {
		return name, err
	}
	return name, makeTemplate(ctx, admin, base, name)
}

// makeTemplate migrates a database under a temporary name and renames it at the end, so
// that a template with its final name is always complete.
func makeTemplate(ctx context.Context, admin *pgx.Conn, base, name string) error {
	building := name + "_building"
	if _, err := admin.Exec(ctx, "DROP DATABASE IF EXISTS "+building+" WITH (FORCE)"); err != nil {
		return err
	}
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+building); err != nil {
		return err
	}
	dsn, err := withDatabase(base, building)
	if err != nil {
		return err
	}
	pool, err := db.Open(ctx, dsn)
	if err != nil {
		return err
	}
	err = db.Migrate(ctx, pool)
	pool.Close()
	if err != nil {
		return err
	}
	_, err = admin.Exec(ctx, fmt.Sprintf("ALTER DATABASE %s RENAME TO %s", building, name))
	return err
}

func exists(ctx context.Context, admin *pgx.Conn, name string) (bool, error) {
	var ok bool
	err := admin.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)", name).Scan(&ok)
	return ok, err
}

// migrationsHash returns a hash of the migrations.
func migrationsHash() (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(migrations.Postgres, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := migrations.Postgres.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %d\n", path, len(data))
		sum.Write(data)
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil))[:16], err
}

// withDatabase returns the address base with another database name.
func withDatabase(base, name string) (string, error) {
	if !strings.HasPrefix(base, "postgres://") && !strings.HasPrefix(base, "postgresql://") {
		return "", fmt.Errorf("%s must be an address like postgres://…", EnvURL)
	}
	u, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	query := u.Query()
	query.Set("timezone", timezone)
	u.RawQuery = query.Encode()
	return u.String(), nil
}
