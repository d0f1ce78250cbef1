package main

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/web/contract"
)

func runScheduleShow(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	at, err := c.scheduleByName(cmd, args[0])
	if err != nil {
		return err
	}
	var shown struct {
		contract.ScheduleBody

		Occurrences []contract.ScheduleOccurrence `json:"occurrences"`
	}
	if err := c.call(cmd.Context(), http.MethodGet, at, nil, &shown.ScheduleBody); err != nil {
		return err
	}
	n, _ := cmd.Flags().GetInt("occurrences")
	var list contract.ScheduleOccurrences
	if err := c.call(cmd.Context(), http.MethodGet, at+"/occurrences?limit="+strconv.Itoa(min(max(n, 1), 200)), nil, &list); err != nil {
		return err
	}
	shown.Occurrences = list.Occurrences
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, shown)
	}
	printSchedule(out, shown.ScheduleBody)
	printScheduleSettings(out, shown.ScheduleBody)
	if len(list.Occurrences) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RUN\tSTATE\tEXECUTION\tWHY")
	for _, o := range list.Occurrences {
		id, why := "", o.Message
		if o.ExecutionID != nil {
			id, why = o.ExecutionID.String(), cmp.Or(o.Failure, o.Message)
		}
		if o.Fires > 1 {
			why = fmt.Sprintf("%d runs until %s. %s", o.Fires, o.LastFireAt.UTC().Format(time.RFC3339), why)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", o.FireAt.UTC().Format(time.RFC3339), cmp.Or(o.Status, o.State), id, why)
	}
	return table.Flush()
}

// printScheduleSettings prints the settings that differ from the defaults.
func printScheduleSettings(out io.Writer, sc contract.ScheduleBody) {
	line := func(is bool, format string, args ...any) {
		if is {
			fmt.Fprintf(out, "  "+format+"\n", args...)
		}
	}
	inputs := string(sc.Inputs)
	line(inputs != "" && inputs != "{}" && inputs != "null", "Inputs: %s", inputs)
	line(sc.Starts != nil, "Starts: %s", written(sc.Starts))
	line(sc.Ends != nil, "Ends: %s", written(sc.Ends))
	line(sc.Calendar != "", "Calendar: %s", sc.Calendar)
	line(sc.BusinessDays, "Only on business days")
	for _, w := range sc.Exclude {
		line(true, "Excluded: %s", schedule.Window(w).Words())
	}
	line(sc.MaxRunning > 1, "Concurrent executions: at most %d", sc.MaxRunning)
	line(sc.Jitter > 0, "Jitter: up to %s, always %s", units.Exact(time.Duration(sc.Jitter)*time.Second), units.Exact(time.Duration(sc.Delay)*time.Second))
	line(sc.PauseAfter > 0, "Pauses after: %s", units.Plural(sc.PauseAfter, "consecutive failure", "consecutive failures"))
	line(sc.When != "", "Runs only if: %s", sc.When)
	line(sc.StopWhen != "", "Pauses when: %s", sc.StopWhen)
	line(sc.Priority != nil, "Priority: %s", number(sc.Priority))
	line(sc.KeepSucceeded != nil, "Keeps: %s succeeded executions", number(sc.KeepSucceeded))
	line(sc.KeepFailed != nil, "Keeps: %s failed executions", number(sc.KeepFailed))
}

func number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func written(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func runScheduleDelete(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	at, err := c.scheduleByName(cmd, args[0])
	if err != nil {
		return err
	}
	if err := c.call(cmd.Context(), http.MethodDelete, at, nil, nil); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s deleted\n", args[0])
	return nil
}

func runScheduleRun(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	at, err := c.scheduleByName(cmd, args[0])
	if err != nil {
		return err
	}
	var run contract.ScheduleRun
	if err := c.call(cmd.Context(), http.MethodPost, at+"/run", nil, &run); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Launched %s\n", run.ExecutionID)
	return nil
}

func newSchedulePreviewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "preview",
		Short:   "Show when a schedule would run, without creating it",
		Example: "  flowforge schedule preview --cron '30 2 * * SUNL' --timezone Europe/Berlin",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			var in contract.SchedulePreviewInput
			if in.ScheduleWhen, err = readWhen(cmd); err != nil {
				return err
			}
			in.Count, _ = cmd.Flags().GetInt("count")
			var p contract.SchedulePreview
			if err := c.call(cmd.Context(), http.MethodPost, schedulesPath+"/preview", in, &p); err != nil {
				return err
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, f := range p.Fires {
				fmt.Fprintf(table, "%s\t%s\t%s\n", f.Local, f.At.Format(time.RFC3339), f.Note)
			}
			for _, f := range p.Excluded {
				fmt.Fprintf(table, "%s\t%s\tLeft out. %s.\n", f.Local, f.At.Format(time.RFC3339), f.Excluded)
			}
			if err := table.Flush(); err != nil || len(p.Fires) > 0 {
				return err
			}
			why := "all its times are in the past"
			if len(p.Excluded) > 0 {
				why = "all its times are excluded"
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "It never runs: %s.\n", why)
			return err
		},
	}
	addWhenFlags(cmd)
	cmd.Flags().Int("count", 10, "number of runs to show, at most 100")
	return cmd
}
