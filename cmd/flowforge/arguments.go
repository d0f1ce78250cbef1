package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// arguments accepts exactly the named arguments; whoever gives others is told
// their names.
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return fmt.Errorf("%s is missing: %s %s", strings.Join(names[len(args):], " and "), cmd.CommandPath(), strings.Join(names, " "))
		case len(args) > len(names) && len(names) == 0:
			return fmt.Errorf("%q is too much: %s takes no argument", args[0], cmd.CommandPath())
		case len(args) > len(names):
			return fmt.Errorf("%q is too much: %s %s", args[len(names)], cmd.CommandPath(), strings.Join(names, " "))
		}
		return nil
	}
}
