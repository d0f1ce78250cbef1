package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

const backfillsPath = "/api/v1/backfills"

func newBackfillCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backfill",
		Short: "Launch a schedule for times in the past",
		Args:  arguments(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{Use: "list", Short: "List the backfills of the project, newest first", Args: arguments(), RunE: runBackfillList}
	list.Flags().String("schedule", "", "only backfills of this schedule")
	show := &cobra.Command{Use: "show BACKFILL", Short: "Show a backfill and its times", Args: arguments("BACKFILL"), RunE: runBackfillShow}
	cancel := backfillCommand("cancel", "Cancel a backfill; active executions continue", func(cmd *cobra.Command) any {
		if stop, _ := cmd.Flags().GetBool("executions"); stop {
			return contract.BackfillCancel{Executions: "cancel"}
		}
		return contract.BackfillCancel{}
	})
	cancel.Flags().Bool("executions", false, "also cancel active executions")
	none := func(*cobra.Command) any { return nil }
	for _, c := range []*cobra.Command{
		newBackfillCreateCommand(), list, show, backfillCommand("pause", "Pause a backfill; active executions continue", none),
		backfillCommand("resume", "Resume a paused backfill", none), cancel,
	} {
		addClientFlags(c)
		cmd.AddCommand(c)
	}
	return cmd
}

func newBackfillCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create SCHEDULE",
		Short: "Launch a schedule for a range of dates in the past",
		Example: "  flowforge backfill create nightly --from 2026-09-01 --until 2026-11-01 --dry-run\n" +
			"  flowforge backfill create nightly --from 2026-09-01 --until 2026-11-01 --rerun failed --parallelism 8",
		Args: arguments("SCHEDULE"),
		RunE: runBackfillCreate,
	}
	cmd.Flags().String("from", "", "first day, in the time zone of the schedule, or a time such as 2026-09-01T02:00:00Z")
	cmd.Flags().String("until", "", "end of the range, exclusive: a day or a time; to include today, use the date of tomorrow")
	cmd.Flags().String("rerun", "", "times to run again although they have an execution: missing (none; the default), failed or all")
	cmd.Flags().Bool("newest-first", false, "launch the newest time first")
	cmd.Flags().Int("parallelism", 0, "maximum number of concurrent executions (default 4)")
	cmd.Flags().String("version", "", "workflow version (default: version of the schedule, or the latest)")
	cmd.Flags().Bool("dry-run", false, "print what would run, and launch nothing")
	return cmd
}

// moment reads a day in a time zone, or a time.
func moment(flag, text string, zone *time.Location) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	at, err := time.ParseInLocation(time.DateOnly, text, zone)
	if err != nil {
		return at, fmt.Errorf("--%s: write a day such as 2026-09-01 or a time such as 2026-09-01T02:00:00Z, not %q", flag, text)
	}
	return at, nil
}

func runBackfillCreate(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	path, err := c.scheduleByName(cmd, args[0])
	if err != nil {
		return err
	}
	var sc contract.ScheduleBody
	if err := c.call(cmd.Context(), http.MethodGet, path, nil, &sc); err != nil {
		return err
	}
	zone, err := time.LoadLocation(sc.Timezone)
	if err != nil {
		return fmt.Errorf("time zone of the schedule: %w", err)
	}
	text := func(name string) string {
		v, _ := cmd.Flags().GetString(name)
		return v
	}
	in := contract.BackfillInput{Schedule: sc.ID, Rerun: text("rerun"), Version: text("version")}
	if in.From, err = moment("from", text("from"), zone); err != nil {
		return err
	}
	if in.Until, err = moment("until", text("until"), zone); err != nil {
		return err
	}
	in.NewestFirst, _ = cmd.Flags().GetBool("newest-first")
	in.Parallelism, _ = cmd.Flags().GetInt("parallelism")
	if dry, _ := cmd.Flags().GetBool("dry-run"); dry {
		return c.previewBackfill(cmd, in, zone)
	}
	var b contract.BackfillBody
	if err := c.call(cmd.Context(), http.MethodPost, backfillsPath, in, &b); err != nil {
		return err
	}
	printBackfill(cmd.OutOrStdout(), b)
	return nil
}

func (c *client) previewBackfill(cmd *cobra.Command, in contract.BackfillInput, zone *time.Location) error {
	var p contract.BackfillPreview
	if err := c.call(cmd.Context(), http.MethodPost, backfillsPath+"/preview", in, &p); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "Would launch %d of %d times with version %s; %d are kept.\n", p.Runs, len(p.Slots), p.Version, p.Kept)
	if p.Total > 0 {
		fmt.Fprintf(out, "Estimated: %s in all, %s for one.\n", time.Duration(p.Total*float64(time.Second)).Round(time.Second), time.Duration(p.PerRun*float64(time.Second)).Round(time.Second))
	}
	if p.GPUHours > 0 {
		fmt.Fprintf(out, "Estimated: %.2g GPU-hours.\n", p.GPUHours)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RUN\tEXISTS\tWOULD")
	for _, s := range p.Slots {
		exists, would := "nothing", "run"
		if s.ExecutionID != nil {
			exists = strings.TrimSpace(s.Status + " " + s.ExecutionID.String())
		}
		if !s.Runs {
			would = "keep"
			if s.ExecutionID == nil {
				would = "leave to the schedule"
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", s.FireAt.In(zone).Format(time.RFC3339), exists, would)
	}
	return table.Flush()
}

// zoneNamed is a time zone, or UTC if this machine does not know it.
func zoneNamed(name string) *time.Location {
	if zone, err := time.LoadLocation(name); err == nil {
		return zone
	}
	return time.UTC
}

// dayOrTime is a day if the time is its beginning.
func dayOrTime(at time.Time, zone string) string {
	at = at.In(zoneNamed(zone))
	if at.Equal(time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, at.Location())) {
		return at.Format(time.DateOnly)
	}
	return at.Format("2006-01-02 15:04")
}

func printBackfill(out io.Writer, b contract.BackfillBody) {
	n := b.Counts
	fmt.Fprintf(out, "%s\n  ID: %s\n  Status: %s\n  Range: %s until %s (%s)\n  Version: %s, %d at a time\n", b.ScheduleName, b.ID, strings.ToLower(b.Status), dayOrTime(b.From, b.Timezone), dayOrTime(b.Until, b.Timezone), b.Timezone, b.Version, b.Parallelism)
	fmt.Fprintf(out, "  Times: %d succeeded, %d running, %d pending, %d failed, %d refused, %d cancelled, %d kept\n", n.Succeeded, n.Running, n.Pending, n.Failed, n.Refused, n.Cancelled, n.Kept)
	if b.Message != "" {
		fmt.Fprintf(out, "  %s\n", b.Message)
	}
}

func backfillCommand(name, short string, request func(*cobra.Command) any) *cobra.Command {
	return &cobra.Command{
		Use: name + " BACKFILL", Short: short, Args: arguments("BACKFILL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			var b contract.BackfillBody
			if err := c.call(cmd.Context(), http.MethodPost, backfillsPath+"/"+url.PathEscape(args[0])+"/"+name, request(cmd), &b); err != nil {
				return err
			}
			printBackfill(cmd.OutOrStdout(), b)
			return nil
		},
	}
}

func runBackfillList(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	q := url.Values{"limit": {"200"}}
	if name, _ := cmd.Flags().GetString("schedule"); name != "" {
		path, err := c.scheduleByName(cmd, name)
		if err != nil {
			return err
		}
		q.Set("schedule", strings.TrimPrefix(path, schedulesPath+"/"))
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSCHEDULE\tSTATUS\tDONE\tFROM\tUNTIL")
	for {
		var list contract.BackfillList
		if err := c.call(cmd.Context(), http.MethodGet, backfillsPath+"?"+q.Encode(), nil, &list); err != nil {
			return err
		}
		for _, b := range list.Backfills {
			n := b.Counts
			fmt.Fprintf(table, "%s\t%s\t%s\t%d of %d\t%s\t%s\n", b.ID, b.ScheduleName, strings.ToLower(b.Status), n.Total-n.Pending-n.Running, n.Total, dayOrTime(b.From, b.Timezone), dayOrTime(b.Until, b.Timezone))
		}
		if list.Next == nil || *list.Next == uuid.Nil {
			return table.Flush()
		}
		q.Set("before", list.Next.String())
	}
}

func runBackfillShow(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	path := backfillsPath + "/" + url.PathEscape(args[0])
	var b contract.BackfillBody
	if err := c.call(cmd.Context(), http.MethodGet, path, nil, &b); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	printBackfill(out, b)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nSCHEDULED\tSTATE\tEXECUTION\tREASON")
	for q := (url.Values{"limit": {"1000"}}); ; {
		var list contract.BackfillSlots
		if err := c.call(cmd.Context(), http.MethodGet, path+"/slots?"+q.Encode(), nil, &list); err != nil {
			return err
		}
		for _, s := range list.Slots {
			id, state := "", s.State
			if s.ExecutionID != nil {
				id = s.ExecutionID.String()
			}
			if s.State == "LAUNCHED" && s.Status != "" {
				state = s.Status
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", s.FireAt.In(zoneNamed(b.Timezone)).Format(time.RFC3339), state, id, strings.TrimSpace(s.Message+" "+s.Failure))
		}
		if list.Next == nil {
			return table.Flush()
		}
		q.Set("after", list.Next.UTC().Format(time.RFC3339Nano))
	}
}
