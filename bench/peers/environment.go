package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/bench/site"
)

// environment is where a peer is installed and started.
type environment struct {
	cache       string // folder of virtual environments
	folder      string // for the data of one turn
	python      string
	binary      string
	databaseURL string // of a PostgreSQL server with the durability of the embedded server
}

// in returns the environment of one turn.
func (e environment) in(name string) environment {
	e.folder = filepath.Join(e.folder, name)
	return e
}

// newEnvironment starts the PostgreSQL server that the peers share. FlowForge starts its own.
func newEnvironment(ctx context.Context, o options) (e environment, stop func(), err error) {
	cache, err := cacheFolder()
	if err != nil {
		return e, nil, err
	}
	if e.binary, err = filepath.Abs(o.binary); err != nil {
		return e, nil, err
	}
	interpreter, err := exec.CommandContext(ctx, o.python, "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return e, nil, fmt.Errorf("%s: %w", o.python, err)
	}
	e.cache, e.python = filepath.Join(cache, "peers"), strings.TrimSpace(string(interpreter))
	if e.folder, err = os.MkdirTemp("", "ffpeers-"); err != nil {
		return e, nil, err
	}
	remove := func() { _ = os.RemoveAll(e.folder) }
	server, err := site.StartDatabase(ctx, e.folder, cache, map[string]string{"max_connections": "300"})
	if err != nil {
		remove()
		return e, nil, err
	}
	e.databaseURL = server.URL()
	return e, func() { _ = server.Close(); remove() }, nil
}

// createDatabase creates a database and returns its address for a driver of SQLAlchemy.
func (e environment) createDatabase(ctx context.Context, name, driver string) (string, error) {
	admin, err := pgx.Connect(ctx, e.databaseURL)
	if err != nil {
		return "", err
	}
	defer admin.Close(context.WithoutCancel(ctx))
	quoted := pgx.Identifier{name}.Sanitize()
	if _, err := admin.Exec(ctx, "DROP DATABASE IF EXISTS "+quoted+" WITH (FORCE)"); err != nil {
		return "", err
	}
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+quoted); err != nil {
		return "", err
	}
	return driverURL(admin.Config().User, admin.Config().Host, name, driver), nil
}

// driverURL returns the address of a database on a socket in a folder.
func driverURL(user, folder, database, driver string) string {
	return (&url.URL{Scheme: driver, User: url.User(user), Path: "/" + database, RawQuery: "host=" + folder}).String()
}
