//go:build nochdb

package clickhouse

import (
	"context"

	"github.com/flowforge/flowforge/apperr"
)

const engineBuiltIn = false

// RunEngine returns an error: this build is fully static and cannot load a library.
func RunEngine(context.Context, []string) error {
	return apperr.New(apperr.Unavailable, "this build has no ClickHouse engine: set FLOWFORGE_CLICKHOUSE_URL")
}
