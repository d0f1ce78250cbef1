package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

func newSemaphoresCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "semaphores",
		Short: "List mutexes and semaphores with their holders and waiting nodes, and set permits",
		Args:  cobra.NoArgs,
		RunE:  runSemaphores,
	}
	cmd.Flags().Bool("json", false, "print the API response as JSON")
	addClientFlags(cmd)
	set := &cobra.Command{
		Use:     "set NAME PERMITS",
		Short:   "Set the permits of a semaphore; this overrides the workflow definitions",
		Example: "  flowforge semaphores set licenses 8 --reason 'bought two licenses'",
		Args:    arguments("NAME", "PERMITS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[1])
			if err != nil || n < 1 {
				return fmt.Errorf("invalid number of permits %q: enter 1 or more", args[1])
			}
			return setSemaphore(cmd, args[0], n)
		},
	}
	unset := &cobra.Command{
		Use:   "unset NAME",
		Short: "Restore the permits from the workflow definitions",
		Args:  arguments("NAME"),
		RunE:  func(cmd *cobra.Command, args []string) error { return setSemaphore(cmd, args[0], 0) },
	}
	for _, c := range []*cobra.Command{set, unset} {
		c.Flags().String("reason", "", "the reason, recorded in the audit log")
		addClientFlags(c)
		cmd.AddCommand(c)
	}
	return cmd
}

func runSemaphores(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var all []contract.SemaphoreBody
	for next := "/api/v1/semaphores"; next != ""; {
		var page contract.SemaphoreList
		if err := c.call(cmd.Context(), http.MethodGet, next, nil, &page); err != nil {
			return err
		}
		all, next = append(all, page.Semaphores...), ""
		if page.NextPage != "" {
			next = "/api/v1/semaphores?page=" + url.QueryEscape(page.NextPage)
		}
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tHELD\tPERMITS\tWAITING\tHELD LONGEST BY\tNEXT")
	first := func(users []contract.LockUserBody) string {
		if len(users) == 0 {
			return "-"
		}
		return strings.TrimSpace(users[0].ExecutionID.String() + " " + users[0].Node)
	}
	for _, s := range all {
		permits := "-"
		if s.Permits > 0 {
			permits = strconv.Itoa(s.Permits)
		}
		if s.Set {
			permits += " (set by " + s.SetBy + ")"
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%d\t%s\t%s\n", s.Name, s.Held, permits, s.Waiting, first(s.Holders), first(s.Waiters))
	}
	return table.Flush()
}

func setSemaphore(cmd *cobra.Command, name string, permits int) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	reason, _ := cmd.Flags().GetString("reason")
	var s contract.SemaphoreBody
	if err := c.call(cmd.Context(), http.MethodPut, "/api/v1/semaphores", contract.SemaphoreInputBody{Name: name, Permits: permits, Reason: reason}, &s); err != nil {
		return err
	}
	if permits == 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: permits come from the workflow definitions\n", name)
		return nil
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %d permits, %d held, %d waiting\n", name, s.Permits, s.Held, s.Waiting)
	return nil
}
