// Package migrations embeds the schema changes of Postgres and ClickHouse.
package migrations

import "embed"

// Postgres holds postgres/*.sql in goose's format; sqlc reads the same files.
//
//go:embed postgres/*.sql
var Postgres embed.FS

// ClickHouse holds clickhouse/*.sql. A file is a list of statements that each end
// with ";" at the end of a line, and that may be run again.
//
//go:embed clickhouse/*.sql
var ClickHouse embed.FS
