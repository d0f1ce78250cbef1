package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/web/contract"
)

func newGCCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove expired executions, sweeps and unreferenced files now",
		Long: "Remove expired executions, sweeps and unreferenced files now. The server does the same every hour\n" +
			"(FLOWFORGE_RETENTION_SWEEP). Only administrators of the installation can run this command.",
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			dry, _ := cmd.Flags().GetBool("dry-run")
			var s contract.RetentionSweepBody
			if err := c.call(cmd.Context(), http.MethodPost, "/api/v1/retention/sweeps", contract.RetentionSweepInput{DryRun: dry}, &s); err != nil {
				return err
			}
			verb := "removed"
			if dry {
				verb = "would remove"
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s, %s and %s (%s); this reduces the storage usage of projects by %s\n", verb, units.Plural(s.Executions, "execution", "executions"),
				units.Plural(s.InputSweeps, "sweep", "sweeps"), units.Plural(s.Blobs, "file", "files"), units.Bytes(s.Bytes), units.Bytes(s.ProjectBytes))
			for _, name := range s.InputSweepNames {
				fmt.Fprintf(cmd.OutOrStdout(), "  sweep %s\n", name)
			}
			if more := s.InputSweeps - int64(len(s.InputSweepNames)); more > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "  and %s\n", units.Plural(more, "more sweep", "more sweeps"))
			}
			if s.Error != "" {
				return errors.New("the cleanup is incomplete: " + s.Error)
			}
			return nil
		},
	}
	cmd.Flags().Bool("dry-run", false, "count what would be removed without removing it")
	addClientFlags(cmd)
	return cmd
}
