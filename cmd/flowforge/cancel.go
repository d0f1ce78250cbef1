package main

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

func newCancelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel EXECUTION",
		Short: "Cancel an execution: stop its running nodes and start no others",
		Args:  arguments("EXECUTION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			reason, _ := cmd.Flags().GetString("reason")
			path := "/api/v1/executions/" + url.PathEscape(args[0]) + "/cancel"
			var e execution
			if err := c.call(cmd.Context(), http.MethodPost, path, map[string]string{"reason": reason}, &e); err != nil {
				return err
			}
			wait, _ := cmd.Flags().GetBool("wait")
			if !wait {
				fmt.Fprintf(cmd.OutOrStdout(), "%s is being cancelled\n", e.ID)
				return nil
			}
			return c.follow(cmd, e.ID, "CANCELLED")
		},
	}
	cmd.Flags().String("reason", "", "the reason, recorded in the events of the execution")
	cmd.Flags().Bool("wait", false, "wait until all nodes have stopped")
	addClientFlags(cmd)
	return cmd
}
