// Package migrations embeds the schema changes of Postgres and ClickHouse.
package migrations

import "embed"

// Postgres contains postgres/*.sql in goose's format. sqlc reads the same files.
//
//go:embed postgres/*.sql
var Postgres embed.FS

// ClickHouse contains clickhouse/*.sql. A file is a list of repeatable statements. Each
// statement ends with ";" at the end of a line.
//
//go:embed clickhouse/*.sql
var ClickHouse embed.FS
