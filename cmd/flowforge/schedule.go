package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

const schedulesPath = "/api/v1/schedules"

func newScheduleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Launch workflows automatically at set times",
		Args:  arguments(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{Use: "list", Short: "List the schedules of the project, sorted by name", Args: arguments(), RunE: runScheduleList}
	list.Flags().String("workflow", "", "only schedules of this workflow")
	list.Flags().Bool("json", false, "print the API response as JSON")
	show := &cobra.Command{Use: "show SCHEDULE", Short: "Show a schedule and its most recent runs", Args: arguments("SCHEDULE"), RunE: runScheduleShow}
	show.Flags().Int("occurrences", 10, "number of past runs to show, newest first")
	show.Flags().Bool("json", false, "print the API response as JSON")
	resume := scheduleCommand("resume", "Resume a paused schedule", func(cmd *cobra.Command) (string, any) {
		if catchUp, _ := cmd.Flags().GetBool("catch-up"); catchUp {
			return "/resume", contract.ScheduleResume{Missed: "catch_up"}
		}
		return "/resume", contract.ScheduleResume{}
	})
	resume.Flags().Bool("catch-up", false, "apply the misfire rule to runs missed during the pause; otherwise, they are dropped")
	remove := &cobra.Command{Use: "delete SCHEDULE", Short: "Delete a schedule; keeps its executions", Args: arguments("SCHEDULE"), RunE: runScheduleDelete}
	run := &cobra.Command{Use: "run SCHEDULE", Short: "Launch a run of a schedule now", Args: arguments("SCHEDULE"), RunE: runScheduleRun}
	pause := scheduleCommand("pause", "Pause a schedule", func(*cobra.Command) (string, any) { return "/pause", nil })
	for _, c := range []*cobra.Command{newScheduleCreateCommand(), list, show, pause, resume, run, remove, newSchedulePreviewCommand()} {
		addClientFlags(c)
		cmd.AddCommand(c)
	}
	return cmd
}

// addWhenFlags adds the flags that define when a schedule runs.
func addWhenFlags(cmd *cobra.Command) {
	cmd.Flags().String("cron", "", `a cron expression, such as "0 2 * * *" or @daily`)
	cmd.Flags().String("every", "", "an interval, such as 90m")
	cmd.Flags().String("at", "", "a single time, such as 2027-03-28T02:00:00Z")
	cmd.Flags().String("timezone", "", "time zone, such as Europe/Berlin (default UTC)")
	cmd.Flags().String("gap", "", "what to do at a time that does not exist because clocks go forward: run_after (default) or skip")
	cmd.Flags().String("fold", "", "which time to use if it exists twice because clocks go back: first (default), last or both")
	cmd.Flags().String("calendar", "", "a calendar of the project; the schedule does not run on its holidays and during its blackouts")
	cmd.Flags().Bool("business-days", false, "do not run on the weekend of the calendar, or on Saturday and Sunday")
}

func readWhen(cmd *cobra.Command) (w contract.ScheduleWhen, err error) {
	text := func(name string) string {
		v, _ := cmd.Flags().GetString(name)
		return v
	}
	w = contract.ScheduleWhen{Cron: text("cron"), Every: text("every"), Timezone: text("timezone"), Gap: text("gap"), Fold: text("fold"), Calendar: text("calendar")}
	w.BusinessDays, _ = cmd.Flags().GetBool("business-days")
	if at := text("at"); at != "" {
		t, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return w, fmt.Errorf("--at: enter a time such as 2027-03-28T02:00:00Z, not %q", at)
		}
		w.At = &t
	}
	return w, nil
}

func newScheduleCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create [WORKFLOW[@VERSION] NAME]",
		Short: "Create a schedule, or replace an existing one with --replace",
		Example: "  flowforge schedule create digits.train nightly --cron '0 2 * * *' --timezone Europe/Berlin -i epochs=5\n" +
			"  flowforge schedule create -f nightly.yaml --replace",
		Args: cobra.MaximumNArgs(2),
		RunE: runScheduleCreate,
	}
	addWhenFlags(cmd)
	cmd.Flags().StringP("file", "f", "", "a YAML or JSON file with the fields of the API (- for standard input)")
	cmd.Flags().StringArrayP("input", "i", nil, "an input: name=value or name.field=value (JSON or text), or name=@path to upload a file")
	cmd.Flags().String("inputs", "", "a JSON file with all inputs (- for standard input)")
	cmd.Flags().String("misfire", "", "what to do with missed runs: latest (default), skip or all")
	cmd.Flags().String("overlap", "", "what to do while an earlier execution is running: skip (default), queue_one, queue_all, cancel or allow")
	cmd.Flags().Int("jitter", 0, "maximum delay of runs, in seconds")
	cmd.Flags().Int("pause-after", 0, "number of consecutive failures after which the schedule pauses")
	cmd.Flags().Bool("paused", false, "create the schedule paused")
	cmd.Flags().String("when", "", "skip runs unless this expression is true")
	cmd.Flags().String("stop-when", "", `pause the schedule once this expression is true, such as "schedule.failed >= 3"`)
	cmd.Flags().Bool("replace", false, "replace the schedule with this name")
	return cmd
}

// scheduleInput reads a schedule from a file, or from arguments and flags.
func (c *client) scheduleInput(cmd *cobra.Command, args []string) (in contract.ScheduleInput, err error) {
	if file, _ := cmd.Flags().GetString("file"); file != "" {
		if len(args) > 0 {
			return in, fmt.Errorf("set the workflow in the file or as an argument, not both")
		}
		content, err := readFileOrStdin(cmd, file)
		if err != nil {
			return in, err
		}
		raw, err := yaml.YAMLToJSON(content)
		if err != nil {
			return in, fmt.Errorf("%s: %w", file, err)
		}
		dec := json.NewDecoder(strings.NewReader(string(raw)))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&in); err != nil {
			return in, fmt.Errorf("%s: %w", file, err)
		}
		return in, nil
	}
	if len(args) != 2 {
		return in, fmt.Errorf("missing arguments; usage: %s WORKFLOW[@VERSION] NAME", cmd.CommandPath())
	}
	if in.ScheduleWhen, err = readWhen(cmd); err != nil {
		return in, err
	}
	in.Workflow, in.Version, _ = strings.Cut(args[0], "@")
	in.Name = args[1]
	inputs, err := c.inputs(cmd)
	if err != nil {
		return in, err
	}
	if in.Inputs, err = json.Marshal(inputs); err != nil {
		return in, fmt.Errorf("encode inputs: %w", err)
	}
	in.Misfire, _ = cmd.Flags().GetString("misfire")
	in.Overlap, _ = cmd.Flags().GetString("overlap")
	in.Jitter, _ = cmd.Flags().GetInt("jitter")
	in.PauseAfter, _ = cmd.Flags().GetInt("pause-after")
	in.Paused, _ = cmd.Flags().GetBool("paused")
	in.When, _ = cmd.Flags().GetString("when")
	in.StopWhen, _ = cmd.Flags().GetString("stop-when")
	return in, nil
}

func readFileOrStdin(cmd *cobra.Command, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(cmd.InOrStdin())
	}
	return os.ReadFile(file)
}

func runScheduleCreate(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	in, err := c.scheduleInput(cmd, args)
	if err != nil {
		return err
	}
	replace, _ := cmd.Flags().GetBool("replace")
	sc, err := c.saveSchedule(cmd, in, replace, false)
	if err != nil {
		return err
	}
	printSchedule(cmd.OutOrStdout(), sc)
	return nil
}

// saveSchedule creates a schedule, or replaces the one with its name. With keep, a paused schedule stays
// paused.
func (c *client) saveSchedule(cmd *cobra.Command, in contract.ScheduleInput, replace, keep bool) (sc contract.ScheduleBody, err error) {
	method, path := http.MethodPost, schedulesPath
	if replace {
		var list contract.ScheduleList
		if err := c.call(cmd.Context(), http.MethodGet, schedulesPath+"?"+url.Values{"name": {in.Name}}.Encode(), nil, &list); err != nil {
			return sc, err
		}
		if len(list.Schedules) > 0 {
			method, path = http.MethodPut, schedulesPath+"/"+list.Schedules[0].ID.String()
			in.Paused = in.Paused || keep && list.Schedules[0].Paused
		}
	}
	return sc, c.call(cmd.Context(), method, path, in, &sc)
}

// scheduleByName returns the path of the schedule that a name or an ID identifies.
func (c *client) scheduleByName(cmd *cobra.Command, ref string) (string, error) {
	if _, err := uuid.Parse(ref); err == nil {
		return schedulesPath + "/" + ref, nil
	}
	var list contract.ScheduleList
	if err := c.call(cmd.Context(), http.MethodGet, schedulesPath+"?"+url.Values{"name": {ref}}.Encode(), nil, &list); err != nil {
		return "", err
	}
	if len(list.Schedules) == 0 {
		return "", fmt.Errorf("there is no schedule %q in the project", ref)
	}
	return schedulesPath + "/" + list.Schedules[0].ID.String(), nil
}

// scheduleCommand is a command that posts to a schedule and prints it.
func scheduleCommand(name, short string, request func(*cobra.Command) (path string, body any)) *cobra.Command {
	return &cobra.Command{
		Use: name + " SCHEDULE", Short: short, Args: arguments("SCHEDULE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			at, err := c.scheduleByName(cmd, args[0])
			if err != nil {
				return err
			}
			path, in := request(cmd)
			var sc contract.ScheduleBody
			if err := c.call(cmd.Context(), http.MethodPost, at+path, in, &sc); err != nil {
				return err
			}
			printSchedule(cmd.OutOrStdout(), sc)
			return nil
		},
	}
}

// firesOf describes when a schedule runs.
func firesOf(sc contract.ScheduleBody) string {
	switch {
	case sc.At != nil:
		return "at " + sc.At.UTC().Format(time.RFC3339)
	case sc.Cron != "":
		return sc.Cron + " (" + sc.Timezone + ")"
	}
	return strings.Join(sc.Crons, "; ") + " (" + sc.Timezone + ")"
}

// stateOf returns the time of the next run, or the reason why there is none.
func stateOf(sc contract.ScheduleBody) string {
	switch {
	case sc.Paused && sc.Reason != "" && sc.Reason != "person":
		return "paused (" + sc.Reason + ")"
	case sc.Paused:
		return "paused"
	case sc.NextFireAt == nil:
		return "ended"
	case sc.Problem != "":
		return sc.NextFireAt.UTC().Format(time.RFC3339) + " (problem)"
	}
	return sc.NextFireAt.UTC().Format(time.RFC3339)
}

func printSchedule(out io.Writer, sc contract.ScheduleBody) {
	fmt.Fprintf(out, "%s\n  ID: %s\n  Workflow: %s, version %s\n  Runs: %s\n  Next run: %s\n", sc.Name, sc.ID, sc.Workflow, cmp.Or(sc.Version, "latest"), firesOf(sc), stateOf(sc))
	fmt.Fprintf(out, "  Missed runs: %s. While an execution is running: %s.\n  Owner: %s\n", sc.Misfire, sc.Overlap, sc.Owner)
	if sc.Declared {
		fmt.Fprintf(out, "  The definition of %s declares it.\n", sc.Workflow)
	}
	for _, text := range []string{sc.Message, sc.Problem} {
		if text != "" {
			fmt.Fprintf(out, "  %s\n", text)
		}
	}
}

func runScheduleList(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	workflow, _ := cmd.Flags().GetString("workflow")
	var all []contract.ScheduleBody
	for q := (url.Values{"limit": {"200"}, "workflow": {workflow}}); ; {
		var list contract.ScheduleList
		if err := c.call(cmd.Context(), http.MethodGet, schedulesPath+"?"+q.Encode(), nil, &list); err != nil {
			return err
		}
		all = append(all, list.Schedules...)
		if list.Next == "" {
			break
		}
		q.Set("after", list.Next)
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(cmd.OutOrStdout(), all)
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tWORKFLOW\tRUNS\tNEXT RUN\tOWNER")
	for _, sc := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", sc.Name, sc.Workflow, firesOf(sc), stateOf(sc), sc.Owner)
	}
	return table.Flush()
}
