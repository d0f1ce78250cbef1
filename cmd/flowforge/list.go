package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

func newListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Find executions by inputs, outputs, metrics and tags",
		Example: `  flowforge list --where 'lr > 0.01 and accuracy >= 0.9' --sort=-accuracy --columns inputs.lr,metrics.accuracy.max
  flowforge list --where 'state:failed since:7d'
  flowforge list --group optimizer --columns metrics.accuracy
  flowforge list --view 'Learning-rate study'`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			if group, _ := cmd.Flags().GetString("group"); group != "" {
				return c.listGroups(cmd)
			}
			return c.listTable(cmd)
		},
	}
	cmd.Flags().String("view", "", "name or ID of a saved view; --where adds conditions")
	cmd.Flags().String("where", "", "conditions, such as 'lr > 0.01 and tag:baseline'")
	cmd.Flags().String("sort", "", "name to sort by; a leading - sorts in descending order")
	cmd.Flags().String("group", "", "name to group by, such as inputs.optimizer")
	cmd.Flags().String("columns", "", "additional columns, separated by commas")
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
		return fmt.Errorf("read the server's response: %w", err)
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	head := []string{"EXECUTION", "WORKFLOW", "STATUS", "LAUNCHED"}
	named := slices.ContainsFunc(page.Executions, func(e contract.ExecutionBody) bool { return e.Name != "" })
	if named {
		head = append(head, "NAME")
	}
	for _, column := range page.Columns {
		head = append(head, strings.ToUpper(column.Path))
	}
	fmt.Fprintln(w, strings.Join(head, "\t"))
	for _, e := range page.Executions {
		row := []string{e.ExecutionID.String(), e.WorkflowName + "@" + e.Version, shownStatus(e), e.CreatedAt.Local().Format("2006-01-02 15:04:05")}
		if named {
			row = append(row, e.Name)
		}
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

// listGroups prints the groups of a query with the means and the best values of columns.
func (c *client) listGroups(cmd *cobra.Command) error {
	query := url.Values{}
	for _, name := range []string{"view", "where", "columns", "group"} {
		if value, _ := cmd.Flags().GetString(name); value != "" {
			query.Set(name, value)
		}
	}
	var raw json.RawMessage
	if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/executions/groups?"+query.Encode(), nil, &raw); err != nil {
		return err
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSON(cmd.OutOrStdout(), raw)
	}
	var found contract.ExecutionGroups
	if err := json.Unmarshal(raw, &found); err != nil {
		return fmt.Errorf("read the server's response: %w", err)
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	columns := map[string]bool{}
	for _, g := range found.Groups {
		for path := range g.Columns {
			columns[path] = true
		}
	}
	paths := slices.Sorted(maps.Keys(columns))
	head := []string{strings.ToUpper(found.Group), "EXECUTIONS"}
	for _, path := range paths {
		head = append(head, strings.ToUpper(path)+" MEAN", "MIN", "MAX")
	}
	fmt.Fprintln(w, strings.Join(head, "\t"))
	for _, g := range found.Groups {
		row := []string{tableCell(g.Value), strconv.Itoa(g.Executions)}
		for _, path := range paths {
			s, has := g.Columns[path]
			for _, v := range []float64{s.Mean, s.Min, s.Max} {
				if has {
					row = append(row, tableCell(v))
				} else {
					row = append(row, "-")
				}
			}
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if found.Total > len(found.Groups) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d groups\n", len(found.Groups), found.Total)
	}
	return nil
}

// tableCell is a value of the answer in one line.
func tableCell(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case float64:
		return floatText(v)
	case []any:
		texts := make([]string, len(v))
		for i, one := range v {
			texts[i] = fmt.Sprint(one)
		}
		return strings.Join(texts, ", ")
	}
	return firstLine(fmt.Sprint(v))
}
