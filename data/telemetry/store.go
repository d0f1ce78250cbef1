package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/flowforge/flowforge/migrations"
	"github.com/flowforge/flowforge/platform/unixsocket"
)

// errNotReady is returned to readers until the tables exist.
var errNotReady = errors.New("telemetry: ClickHouse is not connected yet")

// store is the ClickHouse side: connection and tables.
type store struct {
	conn driver.Conn // of readers of telemetry
	// The others are separate, so that no one waits for the readers of many open pages.
	inserts    driver.Conn // of records
	searches   driver.Conn // of readers of other tables
	background driver.Conn // of what keeps other tables up to date

	options  clickhouse.Options
	await    await // nil: ClickHouse is not started on demand
	database string
	migrated atomic.Bool
}

// dialTimeout limits the wait for a connection to a ClickHouse that is started. Readers then continue
// without it.
const dialTimeout = 3 * time.Second

// openStore prepares a connection; nothing is dialled yet.
func openStore(cfg Config) (*store, error) {
	o, err := parseAddress(cfg.ClickHouseURL)
	if err != nil {
		return nil, err
	}
	if o.Auth.Database == "" {
		o.Auth.Database = cfg.Database
	}
	o.DialTimeout, o.ReadTimeout = dialTimeout, time.Minute
	if cfg.Transport != nil {
		o.TransportFunc = cfg.Transport
	}
	st := &store{options: *o, await: cfg.Await, database: o.Auth.Database}
	for _, pool := range []struct {
		conn       *driver.Conn
		open, idle int
	}{{&st.conn, 12, 6}, {&st.inserts, 2, 1}, {&st.searches, 6, 2}, {&st.background, 2, 1}} {
		options := *o
		options.MaxOpenConns, options.MaxIdleConns = pool.open, pool.idle
		if *pool.conn, err = st.await.open(&options); err != nil {
			return nil, errors.Join(fmt.Errorf("ClickHouse: %w", err), st.close())
		}
	}
	return st, nil
}

// parseAddress reads the forms of FLOWFORGE_CLICKHOUSE_URL.
func parseAddress(address string) (*clickhouse.Options, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address of ClickHouse is not a URL") // the parser's message may show a password
	}
	if u.Scheme == "http+unix" || u.Scheme == "unix" {
		socket := u.Path
		return &clickhouse.Options{
			Addr: []string{"localhost:8123"}, Protocol: clickhouse.HTTP,
			DialContext: func(ctx context.Context, _ string) (net.Conn, error) { return unixsocket.Dial(ctx, socket) },
		}, nil
	}
	if u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "clickhouse" {
		return nil, fmt.Errorf("the address of ClickHouse must begin with http://, https://, clickhouse:// or http+unix://, not %q", u.Scheme+"://")
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), map[string]string{"http": "8123", "https": "8443", "clickhouse": "9000"}[u.Scheme])
	}
	if u.Scheme == "https" {
		query := u.Query()
		query.Set("secure", "true")
		u.RawQuery = query.Encode()
	}
	o, err := clickhouse.ParseDSN(u.String())
	if err != nil {
		return nil, errors.New("the address of ClickHouse is not valid")
	}
	if u.Path == "" || u.Path == "/" {
		o.Auth.Database = ""
	}
	return o, nil
}

func (s *store) close() error {
	var err error
	for _, conn := range []driver.Conn{s.conn, s.inserts, s.searches, s.background} {
		if conn != nil { // opened
			err = errors.Join(err, conn.Close())
		}
	}
	return err
}

// migrate creates the database and the tables, and applies the retention. It may run at
// any time and on several servers at once: every statement can be repeated.
func (s *store) migrate(ctx context.Context, retentionDays int) error {
	if err := s.createDatabase(ctx); err != nil {
		return err
	}
	const versions = `CREATE TABLE IF NOT EXISTS schema_migrations (version UInt32, name String, applied_at DateTime DEFAULT now())
		ENGINE = ReplacingMergeTree ORDER BY version`
	if err := s.conn.Exec(ctx, versions); err != nil {
		return fmt.Errorf("ClickHouse migrations: %w", err)
	}
	var done []uint32
	if err := s.conn.QueryRow(ctx, "SELECT groupArray(version) FROM schema_migrations").Scan(&done); err != nil {
		return fmt.Errorf("ClickHouse migrations: %w", err)
	}
	applied := map[uint32]bool{}
	for _, v := range done {
		applied[v] = true
	}
	files, err := fs.Glob(migrations.ClickHouse, "clickhouse/*.sql") // sorted
	if err != nil {
		return err
	}
	for _, file := range files {
		name := path.Base(file)
		version, err := strconv.ParseUint(name[:5], 10, 32)
		if err != nil {
			return fmt.Errorf("ClickHouse migration %s: %w", name, err)
		}
		if applied[uint32(version)] {
			continue
		}
		if err := s.apply(ctx, file, uint32(version)); err != nil {
			return fmt.Errorf("ClickHouse migration %s: %w", name, err)
		}
	}
	for _, table := range tables() {
		if err := s.retain(ctx, table, retentionDays); err != nil {
			return fmt.Errorf("ClickHouse retention of %s: %w", table, err)
		}
	}
	s.migrated.Store(true)
	return nil
}

// createDatabase connects to the server's own database, since ours may be missing.
func (s *store) createDatabase(ctx context.Context) error {
	o := s.options
	o.Auth.Database = "default"
	conn, err := s.await.open(&o)
	if err != nil {
		return fmt.Errorf("ClickHouse: %w", err)
	}
	defer func() { _ = conn.Close() }() // nothing is pending on it
	if err := conn.Exec(ctx, "CREATE DATABASE IF NOT EXISTS `"+strings.ReplaceAll(s.database, "`", "")+"`"); err != nil {
		return fmt.Errorf("ClickHouse: %w", err)
	}
	return nil
}

func (s *store) apply(ctx context.Context, file string, version uint32) error {
	text, err := migrations.ClickHouse.ReadFile(file)
	if err != nil {
		return err
	}
	for statement := range strings.SplitSeq(string(text), ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if err := s.conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return s.conn.Exec(ctx, "INSERT INTO schema_migrations (version, name) VALUES (?, ?)", version, path.Base(file))
}

// retain sets the age at which rows are dropped, if it differs.
func (s *store) retain(ctx context.Context, table string, days int) error {
	var definition string
	err := s.conn.QueryRow(ctx, "SELECT create_table_query FROM system.tables WHERE database = ? AND name = ?", s.database, table).Scan(&definition)
	if err != nil {
		return err
	}
	rule := fmt.Sprintf("received_at + toIntervalDay(%d)", days)
	if strings.Contains(definition, "TTL "+rule) {
		return nil
	}
	// Old parts follow at their next merge, so that the start rewrites no data.
	return s.conn.Exec(ctx, "ALTER TABLE "+table+" MODIFY TTL "+rule+" SETTINGS materialize_ttl_after_modify = 0")
}

// Codes of exceptions for missing tables, as after the engine's data was removed while
// the server ran.
const (
	codeUnknownTable    = 60
	codeUnknownDatabase = 81
)

// isMissing reports whether err means that our tables do not exist.
func isMissing(err error) bool {
	ex, ok := errors.AsType[*clickhouse.Exception](err)
	return ok && (ex.Code == codeUnknownTable || ex.Code == codeUnknownDatabase)
}

// tables lists the tables with records of tasks, which Remove deletes from.
func tables() []string { return []string{"logs", "logs_by_level", "metrics", "metrics_1m"} }
