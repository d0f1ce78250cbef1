package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/web/contract"
)

func newCompareCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "compare EXECUTION EXECUTION...",
		Short:   "Compare executions: inputs, metrics, code, resources, artifacts",
		Long:    "Compare 2 to 50 executions, named by their IDs or the ends of their IDs. The command prints the values\nthat differ, and marks values that differ from the baseline with a star.",
		Example: "  flowforge compare 8c6804 1f02ab\n  flowforge compare 8c6804 1f02ab --baseline 1f02ab --all",
		Args:    between(2, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			for i := range args {
				args[i] = strings.TrimPrefix(args[i], "#")
			}
			q := url.Values{"executions": {strings.Join(args, ",")}}
			if all, _ := cmd.Flags().GetBool("all"); all {
				q.Set("all", "true")
			}
			if base, _ := cmd.Flags().GetString("baseline"); base != "" {
				q.Set("baseline", strings.TrimPrefix(base, "#"))
			}
			var raw json.RawMessage
			if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/compare?"+q.Encode(), nil, &raw); err != nil {
				return err
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSON(cmd.OutOrStdout(), raw)
			}
			var b contract.ComparisonBody
			if err := json.Unmarshal(raw, &b); err != nil {
				return fmt.Errorf("read the server's response: %w", err)
			}
			return writeComparison(cmd.OutOrStdout(), b)
		},
	}
	cmd.Flags().Bool("all", false, "also print the values that are the same in all executions")
	cmd.Flags().String("baseline", "", "the execution to compare the others with (default: the first one)")
	cmd.Flags().Bool("json", false, "print the API response as JSON")
	addClientFlags(cmd)
	return cmd
}

// writeComparison prints a table with a column for each execution.
func writeComparison(out io.Writer, b contract.ComparisonBody) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprint(w, "\t")
	for _, e := range b.Executions {
		mark := ""
		if e.ExecutionID == b.Baseline {
			mark = " (baseline)"
		}
		fmt.Fprintf(w, "%s%s\t", displayID(e.ExecutionID), mark)
	}
	fmt.Fprintln(w)
	section := ""
	for _, r := range b.Rows {
		if r.Section != section {
			section = r.Section
			fmt.Fprintln(w, strings.ToUpper(section)+strings.Repeat("\t", len(b.Executions)+1))
		}
		fmt.Fprintf(w, "%s\t", strings.TrimSpace(r.Path+" "+r.Statistic))
		for _, cell := range r.Values {
			fmt.Fprintf(w, "%s\t", cellText(r, cell))
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err //nolint:wrapcheck // standard output
	}
	if len(b.Rows) == 0 {
		fmt.Fprintln(out, "The executions do not differ.")
	}
	for _, note := range b.Notes {
		fmt.Fprintln(out, note)
	}
	return nil
}

// cellText is a value on one line of at most 60 characters.
func cellText(r contract.ComparedRow, c contract.ComparedCell) string {
	if !c.Present && c.Changed {
		return "- *"
	}
	if !c.Present {
		return "-"
	}
	text := fmt.Sprint(c.Value)
	switch v := c.Value.(type) {
	case float64:
		switch r.Unit {
		case "seconds":
			text = units.Duration(time.Duration(v * float64(time.Second)))
		case "bytes":
			text = units.Bytes(int64(v))
		default:
			text = floatText(v)
		}
	case map[string]any:
		sum, isArtifact := v["sha256"].(string)
		size, _ := v["size_bytes"].(float64)
		if isArtifact {
			text = fmt.Sprintf("%s %.8s", units.Bytes(int64(size)), sum)
			break
		}
		text = jsonText(v)
	case []any, nil:
		text = jsonText(v)
	}
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:59]) + "…"
	}
	if c.Changed {
		text += " *"
	}
	return text
}

// floatText is a number with six digits. Whole numbers, such as seeds, have all their digits.
func floatText(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// displayID is the random end of an ID, as pages show it: "#a1b2c3".
func displayID(id uuid.UUID) string {
	text := id.String()
	return "#" + text[len(text)-6:]
}
