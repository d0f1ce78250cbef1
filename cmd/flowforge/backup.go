package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/app"
	"github.com/flowforge/flowforge/platform/units"
)

func newBackupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Write the data directory of a stopped server to a file",
		Long: "Write the data directory (FLOWFORGE_DATA_DIR) to FILE, a compressed tar archive: databases, artifacts, keys,\n" +
			"logs and metrics. Stop the server first. FILE contains secrets: anyone who can read it can sign in as an administrator.",
		Args: arguments("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := configFrom(os.Environ())
			if err != nil {
				return err
			}
			outside := app.OutsideBackup(config)
			if config.DatabaseURL != "" {
				return fmt.Errorf("the data is not in a single directory. Back up each part separately:\n  %s", strings.Join(outside, "\n  "))
			}
			began := time.Now()
			s, err := app.Backup(cmd.Context(), config.DataDir, args[0])
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "backed up %s, %s, to %s in %.1f s\n", units.Plural(s.Files, "file", "files"), units.Bytes(s.Bytes), args[0], time.Since(began).Seconds())
			for _, part := range outside {
				fmt.Fprintf(cmd.OutOrStdout(), "not included: %s\n", part)
			}
			return nil
		},
	}
}

func newRestoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE",
		Short: "Write a backup to an empty data directory",
		Long: "Write the backup in FILE to the data directory (FLOWFORGE_DATA_DIR), which must be missing or empty.\n" +
			"Use the same version of FlowForge or a later one. Tasks that ran during the backup are retried.",
		Args: arguments("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := app.Restore(cmd.Context(), args[0], dataDir())
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "restored %s, %s, to %s. Start the server with `flowforge serve`.\n", units.Plural(s.Files, "file", "files"), units.Bytes(s.Bytes), dataDir())
			return nil
		},
	}
}
