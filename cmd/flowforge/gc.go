package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/views/ui"
)

func newGCCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove executions whose time is over and bytes that nothing names, now",
		Long: "Remove executions whose time is over and bytes that nothing names, now. The server does it by itself every hour\n" +
			"(FLOWFORGE_RETENTION_SWEEP). For administrators of the installation.",
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			dry, _ := cmd.Flags().GetBool("dry-run")
			var s struct {
				Executions   int    `json:"executions"`
				Artifacts    int    `json:"artifacts"`
				ProjectBytes int64  `json:"project_bytes"`
				Blobs        int    `json:"blobs"`
				Bytes        int64  `json:"bytes"`
				Error        string `json:"error"`
			}
			if err := c.call(cmd.Context(), http.MethodPost, "/api/v1/sweeps", map[string]bool{"dry_run": dry}, &s); err != nil {
				return err
			}
			verb := "removed"
			if dry {
				verb = "would remove"
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s and %s of %s; projects count %s less\n", verb, ui.Plural(s.Executions, "execution", "executions"),
				ui.Plural(s.Blobs, "file", "files"), ui.Bytes(s.Bytes), ui.Bytes(s.ProjectBytes))
			if s.Error != "" {
				return errors.New("not everything could be done: " + s.Error)
			}
			return nil
		},
	}
	cmd.Flags().Bool("dry-run", false, "only count what would go")
	addClientFlags(cmd)
	return cmd
}
