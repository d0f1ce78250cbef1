package main

import (
	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/platform/embedded/clickhouse"
)

// newClickHouseEngineCommand is the child process in which the server keeps its
// ClickHouse engine; people do not call it.
func newClickHouseEngineCommand() *cobra.Command {
	return &cobra.Command{
		Use:                clickhouse.EngineCommand,
		Hidden:             true,
		DisableFlagParsing: true, // the engine's arguments are its own
		RunE: func(cmd *cobra.Command, args []string) error {
			return clickhouse.RunEngine(cmd.Context(), args)
		},
	}
}
