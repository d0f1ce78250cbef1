package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/compute/runner"
)

func newMembersCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "members JSON",
		Short: "Run the containers of an attempt with several containers",
		Long: "Run the containers of an attempt with several containers, inside their pod or as processes\n" +
			"of this machine. The JSON lists the containers and their dependencies.",
		Hidden: true,
		Args:   arguments("JSON"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var members runner.Members
			if err := json.Unmarshal([]byte(args[0]), &members); err != nil {
				return fmt.Errorf("members: %w", err)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			code, err := runner.RunMembers(ctx, members, os.Environ(), os.Stdout, os.Stderr)
			if err == nil && code != 0 {
				err = &exitError{code: code, message: fmt.Sprintf("the containers exited with code %d", code)}
			}
			return err
		},
	}
}
