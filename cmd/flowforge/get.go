package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

// nodeNote returns the reason why a node waits, its error, or the progress of its children.
func nodeNote(n contract.NodeBody) string {
	text := ""
	if n.Error != nil {
		text = n.Error.Message
	} else if n.Reason != nil {
		text = n.Reason.Message
	}
	if n.Children == nil {
		return firstLine(text)
	}
	var counts []string
	for _, state := range slices.Sorted(maps.Keys(n.Children.States)) {
		counts = append(counts, fmt.Sprintf("%d %s", n.Children.States[state], strings.ToLower(state)))
	}
	return strings.TrimSpace(fmt.Sprintf("%d nodes: %s  %s", n.Children.Total, strings.Join(counts, ", "), firstLine(text)))
}

func ended(e contract.ExecutionBody) bool {
	return e.Status == "SUCCEEDED" || e.Status == "FAILED" || e.Status == "CANCELLED"
}

func newGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get executions|workflows|EXECUTION|WORKFLOW",
		Short: "Show executions, workflows, or one of them",
		Args:  arguments("executions|workflows|EXECUTION|WORKFLOW"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			asJSON, _ := cmd.Flags().GetBool("json")
			of, _ := cmd.Flags().GetString("of")
			switch {
			case args[0] == "executions":
				return c.listExecutions(cmd, asJSON)
			case args[0] == "workflows":
				return c.listWorkflows(cmd, asJSON)
			case of != "":
				return c.listChildren(cmd, args[0], of, asJSON)
			case looksLikeID(args[0]):
				return c.showExecution(cmd, args[0], asJSON)
			}
			return c.showNamed(cmd, args[0], asJSON)
		},
	}
	cmd.Flags().Bool("json", false, "print the API response as JSON")
	cmd.Flags().Int("limit", 20, "maximum number of rows in a list")
	cmd.Flags().String("of", "", "list the children of this node of the execution: the items of a fan-out, or the nodes of a graph")
	addClientFlags(cmd)
	return cmd
}

// shownDigits is the length of a short ID, as pages show it. Fewer digits are more often the name
// of a workflow.
const shownDigits = 6

// shortID matches the end of an execution's ID.
var shortID = regexp.MustCompile(`^#?[0-9a-fA-F]{2,}$`)

// showNamed shows the workflow with a name, or the execution with a short ID.
func (c *client) showNamed(cmd *cobra.Command, name string, asJSON bool) error {
	if !shortID.MatchString(name) {
		return c.showWorkflow(cmd, name)
	}
	execution := func() error { return c.showExecution(cmd, name, asJSON) }
	workflow := func() error { return c.showWorkflow(cmd, name) }
	first, second := execution, workflow
	if len(name) < shownDigits && !strings.HasPrefix(name, "#") {
		first, second = workflow, execution
	}
	err := first()
	if answer, ok := errors.AsType[*problem](err); !ok || answer.Status != http.StatusNotFound {
		return err
	}
	other := second()
	if answer, ok := errors.AsType[*problem](other); ok && answer.Status == http.StatusNotFound {
		return fmt.Errorf("there is no workflow %q, and no execution whose ID ends with it", name)
	}
	return other
}

func looksLikeID(s string) bool { return len(s) == 36 && strings.Count(s, "-") == 4 }

func (c *client) listExecutions(cmd *cobra.Command, asJSON bool) error {
	limit, _ := cmd.Flags().GetInt("limit")
	var raw json.RawMessage
	if err := c.call(cmd.Context(), http.MethodGet, fmt.Sprintf("/api/v1/executions?limit=%d", limit), nil, &raw); err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), raw)
	}
	var page contract.ExecutionPage
	if err := json.Unmarshal(raw, &page); err != nil {
		return fmt.Errorf("read the server's response: %w", err)
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "EXECUTION\tWORKFLOW\tSTATUS\tNODES\tLAUNCHED")
	for _, e := range page.Executions {
		fmt.Fprintf(w, "%s\t%s@%s\t%s\t%d/%d\t%s\n", e.ExecutionID, e.WorkflowName, e.Version, e.Status,
			e.Progress.Completed, e.Progress.Total, e.CreatedAt.Local().Format("2006-01-02 15:04:05"))
	}
	return w.Flush()
}

func (c *client) listWorkflows(cmd *cobra.Command, asJSON bool) error {
	limit, _ := cmd.Flags().GetInt("limit")
	var raw json.RawMessage
	if err := c.call(cmd.Context(), http.MethodGet, fmt.Sprintf("/api/v1/workflows?limit=%d", limit), nil, &raw); err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), raw)
	}
	var page contract.WorkflowPage
	if err := json.Unmarshal(raw, &page); err != nil {
		return fmt.Errorf("read the server's response: %w", err)
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "WORKFLOW\tVERSION\tTEAM\tDESCRIPTION")
	for _, f := range page.Workflows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Name, f.LatestVersion, f.OwnerTeam, firstLine(f.Description))
	}
	return w.Flush()
}

func (c *client) showWorkflow(cmd *cobra.Command, name string) error {
	var raw json.RawMessage
	if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/workflows/"+url.PathEscape(name), nil, &raw); err != nil {
		return err
	}
	return printJSON(cmd.OutOrStdout(), raw)
}

func (c *client) showExecution(cmd *cobra.Command, id string, asJSON bool) error {
	var raw json.RawMessage
	if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/executions/"+url.PathEscape(id), nil, &raw); err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), raw)
	}
	var e contract.ExecutionBody
	if err := json.Unmarshal(raw, &e); err != nil {
		return fmt.Errorf("read the server's response: %w", err)
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s  %s@%s  %s  %d of %d nodes\n", e.ExecutionID, e.WorkflowName, e.Version, e.Status, e.Progress.Completed, e.Progress.Total)
	if e.Error != nil {
		fmt.Fprintf(out, "error: %s\n", e.Error.Message)
	}
	return printNodes(out, e.Nodes)
}

// childPage is the number of nodes that one API response contains.
const childPage = 200

// listChildren prints all children of a node.
func (c *client) listChildren(cmd *cobra.Command, id, of string, asJSON bool) error {
	all := []json.RawMessage{}
	q := url.Values{"parent": {of}, "limit": {strconv.Itoa(childPage)}}
	for {
		var page struct {
			Nodes    []json.RawMessage `json:"nodes"`
			NextPage string            `json:"next_page"`
		}
		if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/executions/"+url.PathEscape(id)+"/nodes?"+q.Encode(), nil, &page); err != nil {
			return err
		}
		all = append(all, page.Nodes...)
		if page.NextPage == "" {
			break
		}
		q.Set("page", page.NextPage)
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("join pages: %w", err)
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), raw)
	}
	var nodes []contract.NodeBody
	if err := json.Unmarshal(raw, &nodes); err != nil {
		return fmt.Errorf("read the server's response: %w", err)
	}
	return printNodes(cmd.OutOrStdout(), nodes)
}

func printNodes(out io.Writer, nodes []contract.NodeBody) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tSTATUS\tATTEMPT\tWHY")
	for _, n := range nodes {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", n.Operator, n.Status, n.Attempt, nodeNote(n))
	}
	return w.Flush()
}

func printJSON(w io.Writer, raw json.RawMessage) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(raw)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
