package app

import (
	"context"
	"fmt"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/embedded/clickhouse"
	"github.com/flowforge/flowforge/platform/embedded/postgres"
	"github.com/flowforge/flowforge/platform/memory"
)

// engines are the addresses of the two databases.
type engines struct {
	databaseURL   string
	clickhouseURL string             // "": not running; logs and metrics wait in the spool
	clickhouse    *clickhouse.Engine // nil: not embedded, or not running
}

// startEngines starts the engines without a configured address, concurrently. A
// ClickHouse that cannot start never prevents the start of the server.
func (a *App) startEngines(ctx context.Context) (engines, error) {
	e := engines{databaseURL: a.cfg.DatabaseURL, clickhouseURL: a.cfg.ClickHouseURL}
	var database *postgres.Server
	var engine *clickhouse.Engine
	var group errgroup.Group
	if e.databaseURL == "" {
		group.Go(func() (err error) {
			database, err = postgres.Start(ctx, postgres.Config{Dir: a.paths.postgres(), BinDir: a.cfg.PostgresDir, BinDirs: a.cfg.binDirs(), Logger: a.cfg.Log})
			return err
		})
	}
	if e.clickhouseURL == "" {
		group.Go(func() (err error) {
			engine, err = a.startClickHouse(ctx)
			return err
		})
	}
	err := group.Wait()
	if database != nil {
		a.life.onStop(func() { a.life.logError("PostgreSQL did not shut down cleanly", database.Close()) })
		e.databaseURL = database.URL()
	}
	if engine != nil {
		a.life.onStop(func() { a.life.logError("the ClickHouse engine did not shut down cleanly", engine.Close()) })
		e.clickhouseURL, e.clickhouse = engine.URL(), engine
	}
	return e, err
}

// startClickHouse starts the embedded engine. If its library is missing or it cannot
// start, the server logs that and continues; only a second user of the directory is an
// error.
func (a *App) startClickHouse(ctx context.Context) (*clickhouse.Engine, error) {
	library, err := clickhouse.FindLibrary(a.cfg.ChdbLibrary, a.cfg.libraryDirs()...)
	if err == nil {
		var engine *clickhouse.Engine
		engine, err = clickhouse.Start(ctx, clickhouse.Config{
			Dir: a.paths.clickhouse(), Library: library, Executable: a.cfg.Executable, Logger: a.cfg.Log,
			Idle: a.cfg.ClickHouseIdle, Stopped: memory.Return, // this server is idle, too
		})
		if err == nil {
			return engine, nil
		}
	}
	if apperr.Is(err, apperr.Conflict) || ctx.Err() != nil {
		return nil, err
	}
	fmt.Fprintf(a.cfg.Out, "  ClickHouse is not running: %v. Logs and metrics wait on disk in %s.\n", err, a.paths.spool())
	a.cfg.Log.Warn("the ClickHouse engine is not running", "error", err)
	return nil, nil
}

// libraryDirs returns the folders in which `make run` and an installation put the
// engine's library.
func (c Config) libraryDirs() []string {
	binaryDir := filepath.Dir(c.Executable)
	return []string{binaryDir, filepath.Join(binaryDir, "..", "lib"), filepath.Join(binaryDir, "..", ".cache", "chdb"), filepath.Join(".cache", "chdb")}
}

// binDirs returns the folders for PostgreSQL's programs in addition to those of the
// system.
func (c Config) binDirs() []string {
	binaryDir := filepath.Dir(c.Executable)
	inCache := filepath.Join(".cache", "postgres", "native", "bin")
	return []string{filepath.Join(binaryDir, "..", inCache), inCache}
}
