package main

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/web/contract"
)

func newDeleteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete EXECUTION...",
		Short: "Delete ended executions with their logs and metrics, and artifacts that nothing else uses",
		Args:  between(1, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			dry, _ := cmd.Flags().GetBool("dry-run")
			input := contract.BulkInput{Action: "delete", DryRun: dry, IDs: make([]uuid.UUID, len(args))}
			for i, arg := range args {
				var e contract.ExecutionBody
				if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/executions/"+url.PathEscape(arg), nil, &e); err != nil {
					return err
				}
				input.IDs[i] = e.ExecutionID
			}
			var result contract.BulkResult
			if err := c.call(cmd.Context(), http.MethodPost, "/api/v1/executions/bulk", input, &result); err != nil {
				return err
			}
			for _, o := range result.Outcomes {
				fmt.Fprintf(cmd.OutOrStdout(), "%s  %s\n", o.ExecutionID, deleteOutcome(o, dry))
			}
			if result.Done < len(result.Outcomes) {
				return apperr.New(apperr.Conflict, "%d of %d executions cannot be deleted", len(result.Outcomes)-result.Done, len(result.Outcomes))
			}
			return nil
		},
	}
	cmd.Flags().Bool("dry-run", false, "show what would be deleted without deleting it")
	addClientFlags(cmd)
	return cmd
}

func deleteOutcome(o contract.BulkOutcome, dry bool) string {
	switch {
	case !o.Done:
		return "not deleted: " + o.Message
	case dry:
		return "would be deleted"
	default:
		return "deleted"
	}
}
