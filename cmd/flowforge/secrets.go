package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/app"
)

func newSecretsCommand() *cobra.Command {
	secrets := &cobra.Command{
		Use:   "secrets",
		Short: "Manage the keys that servers with the same database share (FLOWFORGE_SECRETS_DIR)",
		Args:  arguments(),
	}
	secrets.AddCommand(&cobra.Command{
		Use:   "init FOLDER",
		Short: "Create the keys that do not exist yet in a folder",
		Args:  arguments("folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := app.InitSecrets(args[0])
			if err != nil {
				return err
			}
			for _, name := range names {
				fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(args[0], name))
			}
			return nil
		},
	})
	return secrets
}
