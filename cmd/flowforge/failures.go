package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/web/contract"
)

const (
	deadLettersPath    = "/api/v1/dead-letters"
	deadDeliveriesPath = "/api/v1/dead-deliveries"
)

func newFailuresCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "failures",
		Short: "List, retry and dismiss tasks that failed after their last retry, and undelivered events",
		Args:  arguments(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{Use: "list", Short: "List tasks that failed after their last retry, newest first", Args: arguments(), RunE: runFailuresList}
	list.Flags().String("class", "", "only failures of this class: user_error, out_of_memory, preempted, node_lost, image, start, timeout or network")
	list.Flags().String("execution", "", "only failures of this execution")
	list.Flags().Int("limit", 50, "number of tasks")
	list.Flags().Bool("json", false, "print the API response as JSON")
	retry := &cobra.Command{
		Use: "retry ID", Short: "Run a failed task again, in a new execution if its execution has ended", Args: arguments("ID"), RunE: runFailuresRetry,
	}
	dismiss := &cobra.Command{
		Use: "dismiss [ID...]", Short: "Dismiss failed tasks without running them again",
		Example: "  flowforge failures dismiss 0192f0c4-7a6e-7cc1-9a51-3f6f8a1f2b12\n  flowforge failures dismiss --all --class network --reason 'the proxy was down'",
		RunE:    runFailuresDismiss,
	}
	dismiss.Flags().Bool("all", false, "dismiss all failed tasks of the project")
	dismiss.Flags().String("class", "", "with --all: only failures of this class")
	undelivered := &cobra.Command{
		Use: "undelivered [ID...]", Short: "List, redeliver or dismiss the events that could not be delivered",
		Example: "  flowforge failures undelivered\n  flowforge failures undelivered 41 --redeliver",
		RunE:    runFailuresUndelivered,
	}
	undelivered.Flags().Bool("redeliver", false, "deliver these events again")
	undelivered.Flags().Bool("dismiss", false, "dismiss these events, which are then never delivered")
	undelivered.Flags().Bool("json", false, "print the API response as JSON")
	undelivered.MarkFlagsMutuallyExclusive("redeliver", "dismiss")
	for _, c := range []*cobra.Command{retry, dismiss, undelivered} {
		c.Flags().String("reason", "", "the reason, recorded in the audit log")
	}
	for _, c := range []*cobra.Command{list, retry, dismiss, undelivered} {
		addClientFlags(c)
		cmd.AddCommand(c)
	}
	return cmd
}

func settleReason(cmd *cobra.Command) contract.SettleReason {
	reason, _ := cmd.Flags().GetString("reason")
	return contract.SettleReason{Reason: reason}
}

func runFailuresList(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	limit, _ := cmd.Flags().GetInt("limit")
	q := url.Values{"limit": {fmt.Sprint(limit)}}
	for flag, name := range map[string]string{"class": "class", "execution": "execution_id"} {
		if text, _ := cmd.Flags().GetString(flag); text != "" {
			q.Set(name, text)
		}
	}
	var list contract.DeadLetterList
	if err := c.call(cmd.Context(), http.MethodGet, deadLettersPath+"?"+q.Encode(), nil, &list); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, list)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tFAILED\tWORKFLOW\tNODE\tATTEMPTS\tCLASS\tERROR")
	for _, l := range list.DeadLetters {
		fmt.Fprintf(table, "%s\t%s\t%s %s\t%s\t%d\t%s\t%s\n", l.ID, l.At.Local().Format("2006-01-02 15:04:05"), l.WorkflowName, l.Version, l.Node, l.Attempts, l.Class, l.Error.Message)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if list.NextPage != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "There are more. --limit sets the number of tasks.\n")
	}
	return nil
}

func runFailuresRetry(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var out contract.RequeuedBody
	if err := c.call(cmd.Context(), http.MethodPost, deadLettersPath+"/"+url.PathEscape(args[0])+"/requeue", settleReason(cmd), &out); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "The task runs again in execution %s.\n", out.ExecutionID)
	return nil
}

func runFailuresDismiss(cmd *cobra.Command, args []string) error {
	all, _ := cmd.Flags().GetBool("all")
	class, _ := cmd.Flags().GetString("class")
	switch {
	case all == (len(args) > 0):
		return errors.New("enter the IDs of the tasks to dismiss, or --all")
	case class != "" && !all:
		return errors.New("--class selects tasks of --all; it cannot be used with IDs")
	}
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	reason := settleReason(cmd)
	if all {
		return c.dismissFailures(cmd, contract.DismissLettersInput{Class: class, Reason: reason.Reason})
	}
	for _, id := range args {
		if err := c.call(cmd.Context(), http.MethodPost, deadLettersPath+"/"+url.PathEscape(id)+"/dismiss", reason, nil); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Dismissed %s.\n", units.Plural(len(args), "failed task", "failed tasks"))
	return nil
}

// dismissFailures dismisses the tasks that have failed up to now. Those that fail in the meantime are kept.
func (c *client) dismissFailures(cmd *cobra.Command, in contract.DismissLettersInput) error {
	q := url.Values{"limit": {"1"}}
	if in.Class != "" {
		q.Set("class", in.Class)
	}
	var list contract.DeadLetterList
	if err := c.call(cmd.Context(), http.MethodGet, deadLettersPath+"?"+q.Encode(), nil, &list); err != nil {
		return err
	}
	in.Newest = new(uuid.Nil)
	if len(list.DeadLetters) > 0 {
		in.Newest = &list.DeadLetters[0].ID
	}
	var out contract.DismissedBody
	if err := c.call(cmd.Context(), http.MethodPost, deadLettersPath+"/dismiss", in, &out); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Dismissed %s.\n", units.Plural(out.Dismissed, "failed task", "failed tasks"))
	return nil
}

func runFailuresUndelivered(cmd *cobra.Command, args []string) error {
	redeliver, _ := cmd.Flags().GetBool("redeliver")
	dismiss, _ := cmd.Flags().GetBool("dismiss")
	if (redeliver || dismiss) != (len(args) > 0) {
		return errors.New("to redeliver or dismiss events, enter their IDs and --redeliver or --dismiss")
	}
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if len(args) > 0 {
		action, done := "requeue", "will be delivered again"
		if dismiss {
			action, done = "dismiss", "dismissed"
		}
		for _, id := range args {
			if err := c.call(cmd.Context(), http.MethodPost, deadDeliveriesPath+"/"+url.PathEscape(id)+"/"+action, settleReason(cmd), nil); err != nil {
				return fmt.Errorf("%s: %w", id, err)
			}
		}
		fmt.Fprintf(out, "%s %s\n", units.Plural(len(args), "event", "events"), done)
		return nil
	}
	var list contract.DeadDeliveryList
	if err := c.call(cmd.Context(), http.MethodGet, deadDeliveriesPath, nil, &list); err != nil {
		return err
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, list)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tGIVEN UP\tWORKFLOW\tEXECUTION\tTRIES\tERROR")
	for _, d := range list.DeadDeliveries {
		fmt.Fprintf(table, "%d\t%s\t%s %s\t%s\t%d\t%s\n", d.ID, d.At.Local().Format("2006-01-02 15:04:05"), d.WorkflowName, d.Version, d.ExecutionID, d.Tries, d.Error)
	}
	return table.Flush()
}
