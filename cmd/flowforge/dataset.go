package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/web/contract"
)

func newDatasetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dataset",
		Short: "Register datasets, show their statistics and drift, and set aliases",
		Args:  arguments(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	show := &cobra.Command{Use: "show DATASET", Short: "Show the versions and aliases of a dataset", Args: arguments("DATASET"), RunE: runDatasetShow}
	stats := &cobra.Command{Use: "stats DATASET[@VERSION]", Short: "Show the statistics of a version's columns", Args: arguments("DATASET[@VERSION]"), RunE: runDatasetStats}
	stats.Flags().Bool("compute", false, "compute the statistics again")
	drift := &cobra.Command{
		Use: "drift DATASET[@VERSION]", Short: "Compare a version with the one registered before it, or with --against",
		Example: "  flowforge dataset drift digits@4 --against 2 --exit-code",
		Args:    arguments("DATASET[@VERSION]"), RunE: runDatasetDrift,
	}
	drift.Flags().String("against", "", "version or alias to compare with")
	drift.Flags().Bool("exit-code", false, "exit 1 if a column moved, was added or removed, or changed its type")
	register := &cobra.Command{
		Use: "register DATASET@VERSION [FILE]", Short: "Register a file or an artifact as a version",
		Example: "  flowforge dataset register digits@3 digits.parquet\n  flowforge dataset register digits@4 --artifact 01a2…b9",
		Args:    between(1, 2), RunE: runDatasetRegister,
	}
	register.Flags().String("artifact", "", "ID of the artifact to register instead of a file")
	register.Flags().String("description", "", "description of the version")
	alias := &cobra.Command{Use: "alias DATASET@VERSION ALIAS", Short: "Set an alias for a version", Args: arguments("DATASET@VERSION", "ALIAS"), RunE: runDatasetAlias}
	unalias := &cobra.Command{Use: "unalias DATASET ALIAS", Short: "Remove an alias", Args: arguments("DATASET", "ALIAS"), RunE: runDatasetAlias}
	for _, c := range []*cobra.Command{show, stats, drift} {
		c.Flags().Bool("json", false, "print the API response as JSON")
	}
	for _, c := range []*cobra.Command{show, stats, drift, register, alias, unalias} {
		c.Flags().Bool("features", false, "use feature sets instead of datasets")
		addClientFlags(c)
		cmd.AddCommand(c)
	}
	return cmd
}

// datasetPath is the address of a dataset or a feature set.
func datasetPath(cmd *cobra.Command, ref string) string {
	if features, _ := cmd.Flags().GetBool("features"); features {
		return "/api/v1/feature-store/feature-sets/" + url.PathEscape(ref)
	}
	return "/api/v1/datasets/" + url.PathEscape(ref)
}

// showDataset prints the answer of a request as JSON, or as a table.
func showDataset[T any](cmd *cobra.Command, path string, write func(io.Writer, T) error) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := c.call(cmd.Context(), http.MethodGet, path, nil, &raw); err != nil {
		return err
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSON(cmd.OutOrStdout(), raw)
	}
	var answer T
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("read the server's response: %w", err)
	}
	return write(cmd.OutOrStdout(), answer)
}

func runDatasetShow(cmd *cobra.Command, args []string) error {
	return showDataset(cmd, datasetPath(cmd, args[0])+"/versions", func(out io.Writer, d contract.DatasetBody) error {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "VERSION\tALIASES\tROWS\tSIZE\tSTATISTICS\tBY")
		for _, v := range d.Versions {
			rows := "-"
			if v.Rows != nil {
				rows = units.Number(*v.Rows)
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", v.Version, strings.Join(v.Aliases, ","), rows, units.Bytes(v.SizeBytes), v.Statistics, v.CreatedBy)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		if d.Next != "" {
			fmt.Fprintf(out, "Only the newest %s are shown. Use the API to list all versions.\n", units.Plural(len(d.Versions), "version", "versions"))
		}
		return nil
	})
}

func runDatasetStats(cmd *cobra.Command, args []string) error {
	path := datasetPath(cmd, args[0]) + "/statistics"
	if again, _ := cmd.Flags().GetBool("compute"); again {
		c, err := newClient(cmd)
		if err != nil {
			return err
		}
		if err := c.call(cmd.Context(), http.MethodPost, path, nil, nil); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), "requested")
		return nil
	}
	return showDataset(cmd, path, func(out io.Writer, s contract.DatasetStatistics) error {
		if s.State != "ready" {
			fmt.Fprintln(out, strings.TrimSpace("statistics: "+s.State+" "+s.Problem))
			return nil
		}
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "COLUMN\tTYPE\tVALUES\tMISSING\tDISTINCT\tMIN\tMEAN\tMAX")
		for _, c := range s.Columns {
			mean, about := "-", ""
			if c.Mean != nil {
				mean = fmt.Sprintf("%.6g", *c.Mean)
			}
			if c.Estimated {
				about = "~"
			}
			fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s%d\t%s\t%s\t%s\n", c.Name, c.Type, c.Count, c.Nulls, about, c.Distinct, c.Min, mean, c.Max)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		which := "all"
		if !s.All {
			which = "the first"
		}
		fmt.Fprintf(out, "over %s %s, %d of %s\n", which, units.Plural(s.Rows, "row", "rows"), len(s.Columns), units.Plural(s.AllColumns, "column", "columns"))
		return nil
	})
}

func runDatasetDrift(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	against, _ := cmd.Flags().GetString("against")
	var raw json.RawMessage
	if err := c.call(cmd.Context(), http.MethodGet, datasetPath(cmd, args[0])+"/drift?against="+url.QueryEscape(against), nil, &raw); err != nil {
		return err
	}
	var d contract.DatasetDrift
	if err := json.Unmarshal(raw, &d); err != nil {
		return fmt.Errorf("read the server's response: %w", err)
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		err = printJSON(cmd.OutOrStdout(), raw)
	} else {
		err = writeDrift(cmd.OutOrStdout(), d)
	}
	if err != nil {
		return err
	}
	if strict, _ := cmd.Flags().GetBool("exit-code"); strict {
		return strictDrift(d)
	}
	return nil
}

// strictDrift is an error if a column changed, or if that is not known.
func strictDrift(d contract.DatasetDrift) error {
	var changed []string
	for _, c := range d.Columns {
		if c.Verdict != "same" && c.Verdict != "little" && c.Verdict != "unknown" {
			changed = append(changed, c.Name)
		}
	}
	switch {
	case d.Against != "" && !d.Ready:
		return fmt.Errorf("%s and %s cannot be compared: one of them has no statistics; see `flowforge dataset stats`", d.Ref, d.Against)
	case len(changed) > 0:
		return fmt.Errorf("%s of %s changed since %s: %s", units.Plural(len(changed), "column", "columns"), d.Ref, d.Against, strings.Join(changed, ", "))
	}
	return nil
}

// writeDrift prints a comparison.
func writeDrift(out io.Writer, d contract.DatasetDrift) error {
	switch {
	case d.Against == "":
		fmt.Fprintf(out, "%s is the first version\n", d.Ref)
		return nil
	case !d.Ready:
		fmt.Fprintf(out, "%s and %s cannot be compared: one of them has no statistics\n", d.Ref, d.Against)
		return nil
	}
	fmt.Fprintf(out, "%s against %s: %s, before %s\n", d.Ref, d.Against, units.Plural(d.RowsNow, "row", "rows"), units.Number(d.RowsBefore))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "COLUMN\tVERDICT\tPSI\tKS\tNOTE")
	number := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprintf("%.3f", *v)
	}
	for _, c := range d.Columns {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", c.Name, c.Verdict, number(c.PSI), number(c.KS), c.Note)
	}
	return table.Flush()
}

func runDatasetRegister(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	name, version, err := versionArgument(args[0])
	if err != nil {
		return err
	}
	artifactID, _ := cmd.Flags().GetString("artifact")
	description, _ := cmd.Flags().GetString("description")
	if (len(args) == 2) == (artifactID != "") {
		return fmt.Errorf("set either FILE or --artifact")
	}
	sent := map[string]any{"name": name, "version": version, "description": description}
	if artifactID != "" {
		sent["artifact"] = artifactID
	} else if sent["file"], err = c.upload(cmd, args[1]); err != nil {
		return err
	}
	var answer struct {
		Ref string `json:"ref"`
	}
	if err := c.call(cmd.Context(), http.MethodPost, strings.TrimSuffix(datasetPath(cmd, ""), "/"), sent, &answer); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s registered\n", answer.Ref)
	return nil
}

func runDatasetAlias(cmd *cobra.Command, args []string) error {
	name, _, _ := strings.Cut(args[0], "@")
	return changeAlias(cmd, datasetPath(cmd, name), args)
}
