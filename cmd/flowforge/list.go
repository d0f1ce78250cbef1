package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

func newListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List executions by their inputs, outputs, metrics and tags",
		Example: `  flowforge list --where 'lr > 0.01 and accuracy >= 0.9' --sort=-accuracy --columns inputs.lr,metrics.accuracy.max
  flowforge list --where 'state:failed since:7d'
  flowforge list --view 'Learning-rate study'`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			return c.listTable(cmd)
		},
	}
	cmd.Flags().String("view", "", "name or ID of a saved view; --where adds conditions to it")
	cmd.Flags().String("where", "", "conditions, such as 'lr > 0.01 and tag:baseline'")
	cmd.Flags().String("sort", "", "name to sort by; with - before it, the greatest first")
	cmd.Flags().String("columns", "", "names of further columns, separated by commas")
	cmd.Flags().Int("limit", 20, "maximum number of executions")
	cmd.Flags().Bool("json", false, "print the API response as JSON")
	addClientFlags(cmd)
	return cmd
}

// listTable prints one page of a table of executions.
func (c *client) listTable(cmd *cobra.Command) error {
	query := url.Values{}
	for _, name := range []string{"view", "where", "sort", "columns"} {
		if value, _ := cmd.Flags().GetString(name); value != "" {
			query.Set(name, value)
		}
	}
	limit, _ := cmd.Flags().GetInt("limit")
	query.Set("limit", strconv.Itoa(limit))
	var raw json.RawMessage
	if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/executions?"+query.Encode(), nil, &raw); err != nil {
		return err
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSON(cmd.OutOrStdout(), raw)
	}
	var page contract.ExecutionPage
	if err := json.Unmarshal(raw, &page); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	head := []string{"EXECUTION", "WORKFLOW", "STATUS", "LAUNCHED"}
	for _, column := range page.Columns {
		head = append(head, strings.ToUpper(column.Path))
	}
	fmt.Fprintln(w, strings.Join(head, "\t"))
	for _, e := range page.Executions {
		row := []string{e.ExecutionID.String(), e.WorkflowName + "@" + e.Version, e.Status, e.CreatedAt.Local().Format("2006-01-02 15:04:05")}
		for _, column := range page.Columns {
			row = append(row, tableCell(e.Values[column.Path]))
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if page.Total != nil && *page.Total > len(page.Executions) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d executions\n", len(page.Executions), *page.Total)
	}
	return nil
}

// tableCell is a value of the answer in one line.
func tableCell(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case float64:
		return strconv.FormatFloat(v, 'g', 6, 64)
	case []any:
		texts := make([]string, len(v))
		for i, one := range v {
			texts[i] = fmt.Sprint(one)
		}
		return strings.Join(texts, ", ")
	}
	return firstLine(fmt.Sprint(v))
}
