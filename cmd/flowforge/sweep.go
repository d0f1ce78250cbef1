package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/web/contract"
)

const sweepsPath = "/api/v1/sweeps"

func newSweepCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Launch a workflow many times with different inputs",
		Args:  arguments(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{Use: "list", Short: "List the sweeps of the project, newest first", Args: arguments(), RunE: runSweepList}
	list.Flags().String("workflow", "", "only sweeps of this workflow")
	list.Flags().Bool("json", false, "print the API response as JSON")
	show := &cobra.Command{Use: "show SWEEP", Short: "Show a sweep with its best runs and the importance of its inputs", Args: arguments("SWEEP"), RunE: runSweepShow}
	show.Flags().Int("runs", 10, "number of runs to show, best first")
	show.Flags().Bool("json", false, "print the API response as JSON")
	stop := sweepCommand("stop", "Stop a sweep: launch no more runs", func(cmd *cobra.Command) (string, any) {
		if cancel, _ := cmd.Flags().GetBool("cancel"); cancel {
			return "/stop", contract.SweepStop{Running: "cancel"}
		}
		return "/stop", contract.SweepStop{}
	})
	stop.Flags().Bool("cancel", false, "also cancel the started runs; otherwise, they finish")
	commands := []*cobra.Command{
		newSweepCreateCommand(), list, show, stop, newSweepAddCommand(), newSweepChangeCommand(),
		sweepCommand("pause", "Pause a sweep: launch no more runs until you resume it", func(*cobra.Command) (string, any) { return "/pause", nil }),
		sweepCommand("resume", "Continue a paused sweep", func(*cobra.Command) (string, any) { return "/resume", nil }),
	}
	for _, c := range commands {
		addClientFlags(c)
		cmd.AddCommand(c)
	}
	return cmd
}

// sweepCommand is a command that posts to a sweep and prints its state.
func sweepCommand(name, short string, request func(*cobra.Command) (path string, body any)) *cobra.Command {
	return &cobra.Command{
		Use: name + " SWEEP", Short: short, Args: arguments("SWEEP"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, body := request(cmd)
			return changeSweep(cmd, http.MethodPost, args[0], path, body)
		},
	}
}

func changeSweep(cmd *cobra.Command, method, id, path string, in any) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var sw contract.SweepBody
	if err := c.call(cmd.Context(), method, sweepsPath+"/"+url.PathEscape(id)+path, in, &sw); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s is %s: %d of %d runs ended\n", sw.Name, sw.State, endedRuns(sw.Counts), sw.Runs)
	return nil
}

func endedRuns(c contract.SweepCounts) int { return c.Created - c.Proposed - c.Running }

func newSweepAddCommand() *cobra.Command {
	return &cobra.Command{
		Use: "add SWEEP RUNS", Short: "Add runs to a sweep; continues a sweep that has ended", Args: arguments("SWEEP", "RUNS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[1])
			if err != nil || n < 1 {
				return fmt.Errorf("RUNS must be a whole number of 1 or more, not %q", args[1])
			}
			return changeSweep(cmd, http.MethodPatch, args[0], "", contract.SweepChange{AddRuns: &n})
		},
	}
}

func newSweepChangeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "change SWEEP", Short: "Change the search space or the settings for future runs", Args: arguments("SWEEP"),
		Example: "  flowforge sweep change 01a2… --parallelism 8 --gpu-hours 20\n  flowforge sweep change 01a2… --range hyperparameters.learning_rate=0.001:0.01:log --values model=mlp",
		RunE: func(cmd *cobra.Command, args []string) error {
			parameters, err := spaceOf(cmd)
			if err != nil {
				return err
			}
			change := contract.SweepChange{Space: parameters}
			if cmd.Flags().Changed("parallelism") {
				n, _ := cmd.Flags().GetInt("parallelism")
				change.Parallelism = &n
			}
			if cmd.Flags().Changed("gpu-hours") {
				hours, _ := cmd.Flags().GetFloat64("gpu-hours")
				change.GPUHours = &hours
			}
			if change.EarlyStopping, err = stoppingOf(cmd, nil); err != nil {
				return err
			}
			return changeSweep(cmd, http.MethodPatch, args[0], "", change)
		},
	}
	addSpaceFlags(cmd)
	cmd.Flags().Lookup("parallelism").Usage = "maximum number of concurrent runs"
	cmd.Flags().Lookup("early-stopping").DefValue = "" // the help prints no default: the rule stays unchanged
	return cmd
}

func addSpaceFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArray("values", nil, "vary an input over a list: lr=0.1,0.01, or in JSON: layers=[[8],[8,8]]")
	f.StringArray("range", nil, "vary an input over a range: lr=0.0001:0.1, followed by :log for a logarithmic scale, :steps=5 or :step=0.1")
	f.StringArray("distribution", nil, "draw an input from a distribution: lr=loguniform:0.0001:0.1, x=normal:MEAN:DEVIATION, n=int:1:9, x=uniform:0:1")
	f.Int("parallelism", 0, "maximum number of concurrent runs (default 4)")
	f.Float64("gpu-hours", 0, "GPU-hour budget: no new run starts after it is used up; 0 for no budget")
	f.String("early-stopping", "none", "rule for stopping runs early: none, median or halving")
	f.Int64("min-step", 0, "first step at which early stopping compares runs (default 1)")
}

func newSweepCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create WORKFLOW[@VERSION] | FILE",
		Short: "Create a sweep from flags, or from a YAML or JSON file",
		Example: "  flowforge sweep create digits.train --range hyperparameters.learning_rate=0.001:0.5:log --values model=mlp,softmax --runs 20 --metric accuracy\n" +
			"  flowforge sweep create sweep.yaml --preview",
		Args: arguments("WORKFLOW or FILE"),
		RunE: runSweepCreate,
	}
	addSpaceFlags(cmd)
	f := cmd.Flags()
	f.StringArrayP("input", "i", nil, "an input for all runs: name=value (JSON or text), or name=@path to upload a file")
	f.String("inputs", "", "a JSON file with inputs for all runs (- for standard input)")
	f.String("name", "", "name of the sweep")
	f.StringArray("tag", nil, "a tag for all runs; repeat the flag for several tags")
	f.String("note", "", "a note for all runs")
	f.String("method", "", "how to choose values: grid, random, sobol or tpe (default random)")
	f.Int("runs", 0, "number of runs (default for grid: all combinations)")
	f.String("metric", "", "the objective: a metric of the runs")
	f.String("output", "", "the objective: an output that is a number")
	f.String("goal", "", "direction of the objective: max or min (default max)")
	f.String("value", "", "value of the metric to use: best or last (default best)")
	f.Int64("seed", 0, "seed of the random draws; the same seed draws the same values; 0 selects a random seed")
	f.Bool("preview", false, "show what would happen without creating the sweep")
	f.Bool("json", false, "print the API response as JSON")
	return cmd
}

func runSweepCreate(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	in, err := c.sweepOf(cmd, args[0])
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	path := sweepsPath
	preview, _ := cmd.Flags().GetBool("preview")
	if preview {
		path += "/preview"
	}
	var raw json.RawMessage
	if err := c.call(cmd.Context(), http.MethodPost, path, in, &raw); err != nil {
		return err
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSON(out, raw)
	}
	if preview {
		var p contract.SweepPreview
		if err := json.Unmarshal(raw, &p); err != nil {
			return fmt.Errorf("read the server's response: %w", err)
		}
		return writePreview(out, p)
	}
	var sw contract.SweepBody
	if err := json.Unmarshal(raw, &sw); err != nil {
		return fmt.Errorf("read the server's response: %w", err)
	}
	fmt.Fprintf(out, "%s: %d runs with method %s, %d at a time\n%s\n%s%s\n", sw.Name, sw.Runs, sw.Method, sw.Parallelism, sw.ID, c.base, sw.URL)
	return nil
}

// writePreview prints what would happen to a sweep.
func writePreview(out io.Writer, p contract.SweepPreview) error {
	if !p.Valid {
		for _, f := range p.Errors {
			fmt.Fprintf(out, "%s: %s\n", f.Path, f.Message)
		}
		return fmt.Errorf("the sweep cannot be created with these values")
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "Runs\t%d\n", p.Runs)
	if p.Combinations > 0 {
		fmt.Fprintf(table, "Combinations\t%d\n", p.Combinations)
	}
	fmt.Fprintf(table, "Fit now\t%d of %d concurrent runs\n", p.FitsNow, min(p.Parallelism, p.Runs))
	if p.Reason != "" {
		fmt.Fprintf(table, "\t%s\n", p.Reason)
	}
	if p.RunSeconds == nil || p.TotalSeconds == nil {
		fmt.Fprintln(table, "Time\tunknown: no earlier execution has succeeded")
	} else {
		fmt.Fprintf(table, "Time\tabout %s, %s for one run (%s)\n", spanOf(*p.TotalSeconds), spanOf(*p.RunSeconds), units.Plural(p.Basis, "earlier execution", "earlier executions"))
	}
	if p.GPUHours != nil {
		fmt.Fprintf(table, "GPU-hours\tabout %.3g\n", *p.GPUHours)
	}
	for i, first := range p.First {
		raw, err := json.Marshal(first)
		if err != nil {
			return fmt.Errorf("print values: %w", err)
		}
		fmt.Fprintf(table, "Run %d\t%s\n", i+1, raw)
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(table, "Note\t%s\n", w)
	}
	return table.Flush()
}

func spanOf(n float64) string { return units.Duration(time.Duration(n * float64(time.Second))) }

func runSweepList(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	q := url.Values{}
	if workflow, _ := cmd.Flags().GetString("workflow"); workflow != "" {
		q.Set("workflow", workflow)
	}
	var list contract.SweepList
	if err := c.call(cmd.Context(), http.MethodGet, sweepsPath+"?"+q.Encode(), nil, &list); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(list)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SWEEP\tNAME\tWORKFLOW\tMETHOD\tSTATE\tENDED\tBEST\tBY")
	for _, sw := range list.Sweeps {
		best := ""
		if sw.Best != nil && sw.Best.Objective != nil {
			best = strconv.FormatFloat(*sw.Best.Objective, 'g', 6, 64)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d of %d\t%s\t%s\n", sw.ID, sw.Name, sw.Workflow, sw.Method, sw.State, endedRuns(sw.Counts), sw.Runs, best, sw.CreatedBy)
	}
	return table.Flush()
}

func runSweepShow(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	n, _ := cmd.Flags().GetInt("runs")
	var raw json.RawMessage
	path := sweepsPath + "/" + url.PathEscape(args[0]) + "?sort=objective&limit=" + strconv.Itoa(max(n, 1))
	if err := c.call(cmd.Context(), http.MethodGet, path, nil, &raw); err != nil {
		return err
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSON(cmd.OutOrStdout(), raw)
	}
	var sw contract.SweepDetail
	if err := json.Unmarshal(raw, &sw); err != nil {
		return fmt.Errorf("read the server's response: %w", err)
	}
	return writeSweep(cmd.OutOrStdout(), sw)
}

func writeSweep(out io.Writer, sw contract.SweepDetail) error {
	failed := ""
	if sw.Counts.Failed > 0 {
		failed = fmt.Sprintf(", %d failed", sw.Counts.Failed)
	}
	fmt.Fprintf(out, "%s of %s %s: %s, %d of %d runs ended%s\n", sw.Name, sw.Workflow, sw.Version, sw.State, endedRuns(sw.Counts), sw.SweepBody.Runs, failed)
	if sw.Message != "" {
		fmt.Fprintln(out, sw.Message)
	}
	for _, p := range sw.Importance.Parameters {
		fmt.Fprintf(out, "importance of %s: %.2f ± %.2f\n", p.Path, p.Share, p.Deviation)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var paths []string
	for _, p := range sw.Space {
		paths = append(paths, p.Path)
	}
	fmt.Fprintln(table, strings.Join(slices.Concat([]string{"RANK", "RUN", "STATE", "OBJECTIVE"}, paths, []string{"EXECUTION"}), "\t"))
	for _, r := range sw.RunList {
		row := []string{"", strconv.Itoa(r.Index + 1), r.State, ""}
		if r.Rank > 0 && r.Objective != nil {
			row[0], row[3] = strconv.Itoa(r.Rank), strconv.FormatFloat(*r.Objective, 'g', 6, 64)
		}
		for _, path := range paths {
			row = append(row, valueText(r.Values[path]))
		}
		if r.ExecutionID != nil {
			row = append(row, r.ExecutionID.String())
		}
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	return table.Flush()
}

// valueText is a value of a run. Runs have none for an input that the space gained later.
func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return jsonText(v)
}
