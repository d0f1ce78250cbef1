package clickhouse_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/flowforge/flowforge/platform/embedded/clickhouse"
)

// TestMain lets the test binary be its own engine process, as flowforge is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == clickhouse.EngineCommand {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		_ = stop // the process ends with the engine
		if err := clickhouse.RunEngine(ctx, os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
