package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/app"
)

// rolesFromEnvironment reads the settings for several servers on one database.
func rolesFromEnvironment(c *app.Config) error {
	roles, err := app.ParseRoles(os.Getenv("FLOWFORGE_ROLES"))
	if err != nil {
		return fmt.Errorf("FLOWFORGE_ROLES: %w", err)
	}
	drain, err := number("FLOWFORGE_DRAIN_SECONDS", 0)
	if err != nil {
		return err
	}
	c.Roles, c.DrainDelay = roles, time.Duration(drain)*time.Second
	c.Instance, c.SecretsDir = os.Getenv("FLOWFORGE_INSTANCE"), os.Getenv("FLOWFORGE_SECRETS_DIR")
	c.AdvertiseAddr, c.Leases = os.Getenv("FLOWFORGE_ADVERTISE_ADDR"), os.Getenv("FLOWFORGE_LEASES")
	c.TaskAddr, c.TaskURL = os.Getenv("FLOWFORGE_TASK_ADDR"), os.Getenv("FLOWFORGE_TASK_URL")
	c.Kubernetes = app.KubernetesLeases{Kubeconfig: os.Getenv("FLOWFORGE_KUBE_CONFIG"), Namespace: os.Getenv("FLOWFORGE_LEASE_NAMESPACE")}
	return nil
}

func newSecretsCommand() *cobra.Command {
	secrets := &cobra.Command{
		Use:   "secrets",
		Short: "Manage the keys that servers on one database share (FLOWFORGE_SECRETS_DIR)",
		Args:  arguments(),
	}
	secrets.AddCommand(&cobra.Command{
		Use:   "init <folder>",
		Short: "Create the missing keys in a folder",
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
