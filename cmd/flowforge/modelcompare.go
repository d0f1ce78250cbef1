package main

import (
	"cmp"
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

func newModelCompareCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "compare MODEL FROM TO",
		Short:   "Compare two versions of a model: metrics, signatures, inputs, code and lineage",
		Long:    "Compare two versions of a model, named by version, stage or alias. The command prints the metrics, what\ndiffers between the executions that produced the versions, and what they were made from.",
		Example: "  flowforge model compare digits-net 1.0.0 2.0.0\n  flowforge model compare digits-net production 2.0.0",
		Args:    arguments("MODEL", "FROM", "TO"), RunE: runModelCompare,
	}
	cmd.Flags().Bool("json", false, "print the API response as JSON")
	return cmd
}

func runModelCompare(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	q := url.Values{"against": {args[1]}, "version": {args[2]}}
	var raw json.RawMessage
	if err := c.call(cmd.Context(), http.MethodGet, modelPath(args[0])+"/compare?"+q.Encode(), nil, &raw); err != nil {
		return err
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSON(cmd.OutOrStdout(), raw)
	}
	var m contract.ModelComparison
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("read the server's response: %w", err)
	}
	return writeModelComparison(cmd.OutOrStdout(), m)
}

// writeModelComparison prints one table with a column for each version.
func writeModelComparison(out io.Writer, m contract.ModelComparison) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, against, version, difference string) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", name, against, version, difference)
	}
	line("", m.Against.Version, m.Version.Version, "")
	line("stage", m.Against.Stage, m.Version.Stage, "")
	line("test set", cmp.Or(m.Against.TestSet, "-"), cmp.Or(m.Version.TestSet, "-"), "")
	line("execution", producedBy(m.Against), producedBy(m.Version), "")
	for i, r := range m.Metrics {
		if i == 0 {
			line("METRICS", "", "", "DIFFERENCE")
		}
		difference := ""
		if r.Difference != nil {
			difference = strings.TrimSpace(fmt.Sprintf("%+.4g %s", *r.Difference, r.Verdict))
		}
		line(r.Name, numberText(r.Against), numberText(r.Version), difference)
	}
	for i, r := range m.Inputs.Rows {
		if i == 0 {
			line("INPUTS AND CODE", "", "", "")
		}
		line(r.Path, differenceText(r.Against), differenceText(r.Version), "")
	}
	for i, r := range m.Sources.Rows {
		if i == 0 {
			line("LINEAGE", "", "", "")
		}
		line(r.Kind+" "+r.Name, cmp.Or(strings.Join(r.Against, ", "), "-"), cmp.Or(strings.Join(r.Version, ", "), "-"), "")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nInputs and code: "+cmp.Or(m.Inputs.Note, units.Plural(m.Inputs.Same, "value is", "values are")+" the same."))
	sources := cmp.Or(m.Sources.Note, units.Plural(m.Sources.Same, "source is", "sources are")+" the same.")
	if m.Sources.Partial {
		sources += " The lineage is too large to compare completely."
	}
	fmt.Fprintln(out, "Lineage: "+sources)
	for _, change := range m.Signature {
		fmt.Fprintln(out, "Signature: "+change)
	}
	return nil
}

// producedBy is the short ID of the execution that produced a version.
func producedBy(v contract.ComparedVersion) string {
	if v.ExecutionID == nil {
		return "-"
	}
	return displayID(*v.ExecutionID)
}

func numberText(v *float64) string {
	if v == nil {
		return "-"
	}
	return floatText(*v)
}

func differenceText(v any) string {
	return cellText(contract.ComparedRow{}, contract.ComparedCell{Present: v != nil, Value: v})
}
