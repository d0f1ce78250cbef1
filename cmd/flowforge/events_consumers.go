package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/web/contract"
)

func newEventsConsumersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "consumers",
		Short: "List consumers of events and their lag; create and delete them",
		Args:  arguments(),
		RunE:  runEventsConsumers,
	}
	cmd.Flags().Bool("json", false, "print the API response as JSON")
	addClientFlags(cmd)
	create := &cobra.Command{
		Use: "create NAME", Short: "Create a consumer",
		Example: "  flowforge events consumers create mirror --type 'model.*' --start oldest",
		Args:    arguments("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			return createConsumer(cmd, c, args[0], false)
		},
	}
	addConsumerFlags(create)
	remove := &cobra.Command{
		Use: "delete NAME", Short: "Delete a consumer with its cursor and its dead letters", Args: arguments("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			if err := c.call(cmd.Context(), http.MethodDelete, consumerPath(args[0])+everyProject(cmd), nil, nil); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "consumer %s deleted\n", args[0])
			return nil
		},
	}
	for _, c := range []*cobra.Command{create, remove} {
		c.Flags().Bool("all-projects", false, "a consumer of all projects (administrators)")
		addClientFlags(c)
		cmd.AddCommand(c)
	}
	return cmd
}

func consumerPath(name string) string { return "/api/v1/events/consumers/" + url.PathEscape(name) }

// everyProject is the query of requests about a consumer of all projects.
func everyProject(cmd *cobra.Command) string {
	if all, _ := cmd.Flags().GetBool("all-projects"); all {
		return "?all_projects=true"
	}
	return ""
}

// createConsumer creates a consumer from the flags of a command. An existing one is an error unless may.
func createConsumer(cmd *cobra.Command, c *client, name string, may bool) error {
	flags := cmd.Flags()
	in := contract.EventConsumerInput{Name: name}
	in.Topics, _ = flags.GetStringArray("topic")
	in.Types, _ = flags.GetStringArray("type")
	in.Start, _ = flags.GetString("start")
	in.MaxTries, _ = flags.GetInt("max-tries")
	in.AllProjects, _ = flags.GetBool("all-projects")
	if may {
		err := c.call(cmd.Context(), http.MethodGet, consumerPath(name)+everyProject(cmd), nil, &contract.EventConsumer{})
		if err == nil || !refusedWith(err, http.StatusNotFound) {
			return err
		}
	}
	var made contract.EventConsumer
	err := c.call(cmd.Context(), http.MethodPost, "/api/v1/events/consumers", in, &made)
	if may && refusedWith(err, http.StatusConflict) { // another process created it
		return nil
	}
	if err == nil && !may {
		fmt.Fprintf(cmd.OutOrStdout(), "consumer %s created, after event %s\n", made.Name, made.Cursor)
	}
	return err
}

func runEventsConsumers(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var list contract.EventConsumerList
	if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/events/consumers", nil, &list); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, list.Consumers)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tPROJECTS\tLAG\tBEHIND\tDEAD LETTERS\tLAST ACKNOWLEDGED\tPROBLEM")
	for _, e := range list.Consumers {
		scope, lag, behind, last := "this", strconv.FormatInt(e.Lag, 10), "-", "never"
		if e.AllProjects {
			scope = "all"
		}
		if e.LagMore {
			lag += "+"
		}
		if e.OldestAt != nil {
			behind = units.Period(time.Since(*e.OldestAt).Round(time.Second))
		}
		if e.AcknowledgedAt != nil {
			last = e.AcknowledgedAt.Local().Format("2006-01-02 15:04:05")
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", e.Name, scope, lag, behind, e.DeadLetters, last, problemOf(e))
	}
	return table.Flush()
}

// problemOf says what is wrong with a consumer.
func problemOf(e contract.EventConsumer) string {
	switch {
	case e.Problem != "":
		return e.Problem
	case e.Stopped:
		return "stopped, because it has too many dead letters"
	case e.Missed > 0:
		return fmt.Sprintf("may have missed some of %d events that the feed removed before they were read", e.Missed)
	}
	return ""
}

func newEventsDeadLettersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dead-letters NAME [EVENT...]",
		Short: "List, redeliver or discard the events that a consumer could not process",
		Example: "  flowforge events dead-letters mirror\n" +
			"  flowforge events dead-letters mirror 01a20ed6-0642-7cf9-a767-37d43b5c9263.4 --redeliver",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("missing argument NAME; usage: %s NAME [EVENT...]", cmd.CommandPath())
			}
			return nil
		},
		RunE: runEventsDeadLetters,
	}
	cmd.Flags().Bool("redeliver", false, "redeliver these events; without EVENT, redeliver all dead letters")
	cmd.Flags().Bool("discard", false, "remove these events; without EVENT, remove all dead letters")
	cmd.Flags().Bool("all-projects", false, "a consumer of all projects (administrators)")
	cmd.Flags().Bool("json", false, "print each event as a line of JSON")
	cmd.MarkFlagsMutuallyExclusive("redeliver", "discard")
	addClientFlags(cmd)
	return cmd
}

func runEventsDeadLetters(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	path := consumerPath(args[0]) + "/dead-letters"
	for flag, done := range map[string]string{"redeliver": "will be delivered again", "discard": "discarded"} {
		if on, _ := cmd.Flags().GetBool(flag); !on {
			continue
		}
		var a contract.EventAnswer
		if err := c.call(cmd.Context(), http.MethodPost, path+"/"+flag+everyProject(cmd), contract.SettleEvents{Events: args[1:]}, &a); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", units.Plural(len(a.Events), "event", "events"), done)
		if len(a.Absent) > 0 {
			return fmt.Errorf("%q is not a dead letter of %s", a.Absent[0], args[0])
		}
		return nil
	}
	if len(args) > 1 {
		return fmt.Errorf("set --redeliver or --discard")
	}
	query := url.Values{"limit": {"1000"}}
	if everyProject(cmd) != "" {
		query.Set("all_projects", "true")
	}
	for {
		var page contract.DeadEventList
		if err := c.call(cmd.Context(), http.MethodGet, path+"?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		if err := printDeadEvents(cmd, page.Events); err != nil {
			return err
		}
		if page.Next == "" {
			return nil
		}
		query.Set("after", page.Next)
	}
}

func printDeadEvents(cmd *cobra.Command, events []contract.DeadEvent) error {
	asJSON, _ := cmd.Flags().GetBool("json")
	for _, e := range events {
		if asJSON {
			if err := printLine(cmd, e); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s  %s  %s  %s: %s\n", e.ID, e.Type, e.Subject, units.Plural(e.Tries, "try", "tries"), e.LastError)
	}
	return nil
}
