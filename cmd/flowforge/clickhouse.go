package main

import (
	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/platform/embedded/clickhouse"
)

// newClickHouseEngineCommand is the child process that runs the server's embedded ClickHouse
// engine. It is not for interactive use.
func newClickHouseEngineCommand() *cobra.Command {
	return &cobra.Command{
		Use:                clickhouse.EngineCommand,
		Hidden:             true,
		DisableFlagParsing: true, // the engine parses its own arguments
		RunE: func(cmd *cobra.Command, args []string) error {
			return clickhouse.RunEngine(cmd.Context(), args)
		},
	}
}
