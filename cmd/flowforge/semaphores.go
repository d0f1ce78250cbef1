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
)

// semaphore has the fields of a semaphore that the command line reads.
type semaphore struct {
	Name    string     `json:"name"`
	Permits int        `json:"permits"`
	Set     bool       `json:"set"`
	SetBy   string     `json:"set_by"`
	Held    int        `json:"held"`
	Waiting int        `json:"waiting"`
	Holders []lockUser `json:"holders"`
	Waiters []lockUser `json:"waiters"`
}

type lockUser struct {
	ExecutionID string `json:"execution_id"`
	Node        string `json:"node"`
}

func (u lockUser) String() string { return strings.TrimSpace(u.ExecutionID + " " + u.Node) }

func newSemaphoresCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "semaphores",
		Short: "List mutexes and semaphores with their holders and waiters; set permits",
		Args:  cobra.NoArgs,
		RunE:  runSemaphores,
	}
	cmd.Flags().Bool("json", false, "print the API response as JSON")
	addClientFlags(cmd)
	set := &cobra.Command{
		Use:     "set NAME PERMITS",
		Short:   "Set the permits of a semaphore; this overrides the workflow definitions",
		Example: "  flowforge semaphores set licences 8 --reason 'two more were bought'",
		Args:    arguments("NAME", "PERMITS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[1])
			if err != nil || n < 1 {
				return fmt.Errorf("%q is not a number of permits: write 1 or more", args[1])
			}
			return setSemaphore(cmd, args[0], n)
		},
	}
	unset := &cobra.Command{
		Use:   "unset NAME",
		Short: "Return to the permits that the workflow definitions set",
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
	var all []semaphore
	for next := "/api/v1/semaphores"; next != ""; {
		var page struct {
			Semaphores []semaphore `json:"semaphores"`
			NextPage   string      `json:"next_page"`
		}
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
	first := func(users []lockUser) string {
		if len(users) == 0 {
			return "-"
		}
		return users[0].String()
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
	var s semaphore
	if err := c.call(cmd.Context(), http.MethodPut, "/api/v1/semaphores", map[string]any{"name": name, "permits": permits, "reason": reason}, &s); err != nil {
		return err
	}
	if permits == 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: permits come from the workflow definitions\n", name)
		return nil
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %d permits, %d held, %d waiting\n", name, s.Permits, s.Held, s.Waiting)
	return nil
}
