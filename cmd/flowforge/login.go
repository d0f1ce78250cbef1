package main

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

func newLoginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Print a new one-time login link of the server on this machine",
		Args:  arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			var answer struct {
				URL string `json:"url"`
			}
			if err := c.call(cmd.Context(), http.MethodPost, "/api/v1/login-links", nil, &answer); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), answer.URL)
			return nil
		},
	}
	addClientFlags(cmd)
	return cmd
}
