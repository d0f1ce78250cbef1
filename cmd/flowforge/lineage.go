package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/web/contract"
)

func newLineageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lineage ITEM",
		Short: "Show what an item was made from, what was made from it, and which models in production are affected",
		Long: "Show what an item was made from, and what was made from it. ITEM is artifact:ID, execution:ID,\n" +
			"dataset:NAME@VERSION, feature-set:NAME@VERSION, model:NAME@VERSION, or a key that this command printed.",
		Example: "  flowforge lineage model:digits-net@production --up 5\n  flowforge lineage dataset:digits@3 --down 5",
		Args:    arguments("ITEM"),
		RunE:    runLineage,
	}
	cmd.Flags().Int("up", 2, "number of steps to its origins, 0 to 20")
	cmd.Flags().Int("down", 2, "number of steps to what was made from it, 0 to 20")
	cmd.Flags().Int("limit", 200, "maximum number of items, up to 1000")
	cmd.Flags().Bool("json", false, "print the API response as JSON")
	addClientFlags(cmd)
	return cmd
}

func runLineage(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	of, err := c.fullKey(cmd.Context(), args[0])
	if err != nil {
		return err
	}
	q := url.Values{"of": {of}}
	for _, name := range []string{"up", "down", "limit"} {
		n, _ := cmd.Flags().GetInt(name)
		q.Set(name, strconv.Itoa(n))
	}
	var raw json.RawMessage
	if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/lineage?"+q.Encode(), nil, &raw); err != nil {
		return err
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSON(cmd.OutOrStdout(), raw)
	}
	var b contract.LineageBody
	if err := json.Unmarshal(raw, &b); err != nil {
		return fmt.Errorf("read the server's response: %w", err)
	}
	return writeLineage(cmd.OutOrStdout(), b)
}

// fullKey returns a key of the lineage with the full ID of an execution that it names by a short ID.
func (c *client) fullKey(ctx context.Context, key string) (string, error) {
	short, named := strings.CutPrefix(key, "execution:")
	if !named || !shortID.MatchString(short) {
		return key, nil
	}
	var e contract.ExecutionBody
	if err := c.call(ctx, http.MethodGet, "/api/v1/executions/"+url.PathEscape(short), nil, &e); err != nil {
		return "", err
	}
	return "execution:" + e.ExecutionID.String(), nil
}

func writeLineage(out io.Writer, b contract.LineageBody) error {
	for _, m := range b.Production.Models {
		fmt.Fprintf(out, "In production: %s %s\n", m.Name, m.Version)
	}
	switch {
	case !b.Production.Complete:
		fmt.Fprintln(out, "The search for models in production reached a limit or an item that you cannot view, so the list may be incomplete.")
	case len(b.Production.Models) == 0:
		fmt.Fprintln(out, "No model in production was made from it.")
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "STEP\tKIND\tNAME\tWORKFLOW\tSTATUS\tNOT SHOWN\tKEY")
	for _, i := range b.Items {
		name := i.Name
		if i.Version != "" && i.Kind != "node" && i.Kind != "execution" {
			name += "@" + i.Version
		}
		if i.Removed {
			name += " (removed)"
		}
		status := i.Status
		if i.Stage != "" {
			status = i.Stage
		}
		fmt.Fprintf(table, "%+d\t%s\t%s\t%s\t%s\t%s\t%s\n", i.Step, i.Kind, name, i.WorkflowName, status, notShown(i), i.Key)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if b.Cut {
		fmt.Fprintf(out, "Only %s. Increase --limit, or show the lineage of a different item.\n", units.Plural(len(b.Items), "item is shown", "items are shown"))
	}
	return nil
}

// notShown describes the neighbours of an item that are not in the response.
func notShown(i contract.LineageItem) string {
	n, hidden := i.MoreBefore+i.MoreAfter, i.HiddenBefore+i.HiddenAfter
	text := ""
	if n > 0 {
		text = fmt.Sprintf("%d more", n)
		if i.AtLeast {
			text = "at least " + text
		}
	}
	if hidden > 0 {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%d not visible to you", hidden)
	}
	return text
}
