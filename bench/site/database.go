package site

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/flowforge/flowforge/platform/embedded/postgres"
)

// StartDatabase starts a PostgreSQL in a folder of dir, with the settings and the durability of the
// embedded one apart from settings. Close it.
func StartDatabase(ctx context.Context, dir, cache string, settings map[string]string) (*postgres.Server, error) {
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL may run as another account
		return nil, fmt.Errorf("open %s to other accounts: %w", dir, err)
	}
	return postgres.Start(ctx, postgres.Config{ //nolint:wrapcheck // it names the program
		Dir: filepath.Join(dir, "postgres"), BinDirs: []string{filepath.Join(cache, "postgres", "native", "bin")},
		Settings: settings, Logger: slog.New(slog.DiscardHandler),
	})
}
