package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// triggerFlags returns the flags that belong to some kinds of triggers, with the flags that choose these kinds. "all"
// comes last.
func triggerFlags() map[string][]string {
	return map[string][]string{
		"state": {"after"}, "stage": {"model"}, "secret": {"webhook"}, "appears": {"http", "all"}, "connection": {"http", "s3"}, "pattern": {"s3", "all"},
		"every": {"http", "s3", "all"}, "existing": {"http", "s3", "all"}, "within": {"all"}, "by": {"all"},
	}
}

// checkTriggerFlags refuses flags that belong to another kind than the one that the flag source chooses, and with
// --all those about polls without a condition that polls.
func checkTriggerFlags(cmd *cobra.Command, kind, source string) error {
	conditions, _ := cmd.Flags().GetStringArray("all")
	polls := func(kind string) bool {
		return slices.ContainsFunc(conditions, func(c string) bool {
			_, rest, _ := strings.Cut(c, "=")
			return strings.HasPrefix(rest, kind+":")
		})
	}
	all := triggerFlags()
	for _, flag := range slices.Sorted(maps.Keys(all)) {
		owners := all[flag]
		switch {
		case !cmd.Flags().Changed(flag):
		case !slices.Contains(owners, source):
			return fmt.Errorf("--%s does not apply to triggers of the kind %s: it belongs to --%s", flag, kind, strings.Join(owners, ", --"))
		case source == "all" && len(owners) > 1 && !slices.ContainsFunc(owners, polls):
			return fmt.Errorf("--%s does not apply: no condition of --all has the kind %s", flag, strings.Join(owners[:len(owners)-1], " or "))
		}
	}
	return nil
}
