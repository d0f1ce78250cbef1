package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// arguments accepts exactly the named arguments. The error for any other number lists
// their names.
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return fmt.Errorf("missing argument %s; usage: %s %s", strings.Join(names[len(args):], " and "), cmd.CommandPath(), strings.Join(names, " "))
		case len(args) > len(names) && len(names) == 0:
			return fmt.Errorf("unexpected argument %q: %s accepts no arguments", args[0], cmd.CommandPath())
		case len(args) > len(names):
			return fmt.Errorf("unexpected argument %q; usage: %s %s", args[len(names)], cmd.CommandPath(), strings.Join(names, " "))
		}
		return nil
	}
}

// between accepts from least to most arguments; with most 0, it accepts any larger number. The error
// states the usage.
func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		usage := strings.TrimSuffix(cmd.UseLine(), " [flags]")
		switch {
		case len(args) < least:
			return fmt.Errorf("missing argument; usage: %s", usage)
		case most > 0 && len(args) > most:
			return fmt.Errorf("unexpected argument %q; usage: %s", args[most], usage)
		}
		return nil
	}
}

// versionArgument splits NAME@VERSION.
func versionArgument(arg string) (name, version string, err error) {
	name, version, _ = strings.Cut(arg, "@")
	if name == "" || version == "" {
		return "", "", fmt.Errorf("%q is not NAME@VERSION: write %s@VERSION", arg, cmp.Or(name, "NAME"))
	}
	return name, version, nil
}
