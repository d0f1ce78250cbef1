// Package migrations embeds the schema changes of Postgres and ClickHouse.
package migrations

import "embed"

// Postgres holds postgres/*.sql in goose's format; sqlc reads the same files.
//
//go:embed postgres/*.sql
var Postgres embed.FS
