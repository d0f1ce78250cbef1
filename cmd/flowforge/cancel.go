package main

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

func newCancelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel EXECUTION",
		Short: "Cancel an execution: stop its running nodes and start no new ones",
		Args:  arguments("EXECUTION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			reason, _ := cmd.Flags().GetString("reason")
			path := "/api/v1/executions/" + url.PathEscape(args[0]) + "/cancel"
			var e contract.ExecutionBody
			if err := c.call(cmd.Context(), http.MethodPost, path, contract.CancelInput{Reason: reason}, &e); err != nil {
				return err
			}
			wait, _ := cmd.Flags().GetBool("wait")
			if !wait {
				fmt.Fprintf(cmd.OutOrStdout(), "%s is being cancelled\n", e.ExecutionID)
				return nil
			}
			return c.follow(cmd, e.ExecutionID.String(), "CANCELLED")
		},
	}
	cmd.Flags().String("reason", "", "the reason, recorded in the execution's events")
	cmd.Flags().Bool("wait", false, "wait until all nodes have stopped")
	addClientFlags(cmd)
	return cmd
}
