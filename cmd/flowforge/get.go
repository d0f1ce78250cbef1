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

	"github.com/flowforge/flowforge/web"
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

// shownStatus is the status of an execution as pages show it.
func shownStatus(e contract.ExecutionBody) string {
	if e.AwaitsApproval {
		return "AWAITING APPROVAL"
	}
	return e.Status
}

func ended(e contract.ExecutionBody) bool {
	return e.Status == "SUCCEEDED" || e.Status == "FAILED" || e.Status == "CANCELLED"
}

func newGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "get executions|workflows|EXECUTION|WORKFLOW",
		Aliases: []string{"describe"},
		Short:   "Show executions, workflows, or one of them",
		Long: "Show executions, workflows, or one of them.\n\nAn execution or a workflow can follow the word execution or workflow, also in the\n" +
			"forms that kubectl accepts: workflow NAME, workflow/NAME, wf NAME, exec ID.",
		Example: `  flowforge get executions
  flowforge get workflow digits.train
  flowforge get 8c6804`,
		Args: between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			kind, name, err := resourceOf(args)
			if err != nil {
				return err
			}
			asJSON, _ := cmd.Flags().GetBool("json")
			of, _ := cmd.Flags().GetString("of")
			switch {
			case kind == "executions" && name == "":
				return c.listExecutions(cmd, asJSON)
			case kind == "workflows" && name == "":
				return c.listWorkflows(cmd, asJSON)
			case kind == "workflows":
				return c.showWorkflow(cmd, name)
			case of != "":
				return c.listChildren(cmd, name, of, asJSON)
			case kind == "executions", looksLikeID(name):
				return c.showExecution(cmd, name, asJSON)
			}
			return withResources(cmd, name, c.showNamed(cmd, name, asJSON))
		},
	}
	cmd.Flags().Bool("json", false, "print the API response as JSON")
	cmd.Flags().Int("limit", 20, "maximum number of rows in a list")
	cmd.Flags().Bool("group-sweeps", false, "list one row for each sweep instead of all its runs")
	cmd.Flags().String("of", "", "list the children of this node of the execution: the items of a fan-out, or the nodes of a graph")
	addClientFlags(cmd)
	return cmd
}

// resourceOf returns what arguments name: a resource, the name of one, or a name alone.
func resourceOf(args []string) (kind, name string, err error) {
	word, rest, slash := strings.Cut(args[0], "/")
	switch strings.ToLower(word) {
	case "executions", "execution", "execs", "exec", "ex":
		kind = "executions"
	case "workflows", "workflow", "wfs", "wf":
		kind = "workflows"
	}
	switch {
	case len(args) == 2 && (kind == "" || slash):
		return "", "", fmt.Errorf("%q is not a resource. The resources are executions (execution, exec, ex) and workflows (workflow, wf)", args[0])
	case len(args) == 2:
		return kind, args[1], nil
	case kind != "":
		return kind, rest, nil
	}
	return "", args[0], nil
}

// withResources adds to the error about an unknown name where other resources are listed.
func withResources(cmd *cobra.Command, name string, err error) error {
	answer, ok := errors.AsType[*problem](err)
	if !ok || answer.Status != http.StatusNotFound {
		return err
	}
	for _, other := range cmd.Root().Commands() {
		for _, list := range other.Commands() {
			if list.Name() == "list" && (name == other.Name() || name == other.Name()+"s") {
				return fmt.Errorf("get shows executions and workflows. To list %ss, run: %s", strings.TrimSuffix(name, "s"), list.CommandPath())
			}
		}
	}
	return fmt.Errorf("%w\nThe resources are executions (execution, exec, ex) and workflows (workflow, wf)", err)
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
		return &problem{web.Problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("there is no workflow %q, and no execution whose ID ends with it", name)}}
	}
	return other
}

func looksLikeID(s string) bool { return len(s) == 36 && strings.Count(s, "-") == 4 }

func (c *client) listExecutions(cmd *cobra.Command, asJSON bool) error {
	limit, _ := cmd.Flags().GetInt("limit")
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if grouped, _ := cmd.Flags().GetBool("group-sweeps"); grouped {
		query.Set("sweeps", "grouped")
	}
	var raw json.RawMessage
	if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/executions?"+query.Encode(), nil, &raw); err != nil {
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
		if s := e.Sweep; s != nil {
			fmt.Fprintf(w, "sweep %s\t%s@%s\t%s\t%d runs\t%s\n", s.ID, e.WorkflowName, e.Version, s.State, s.Runs, s.CreatedAt.Local().Format("2006-01-02 15:04:05"))
			continue
		}
		fmt.Fprintf(w, "%s\t%s@%s\t%s\t%d/%d\t%s\n", e.ExecutionID, e.WorkflowName, e.Version, shownStatus(e),
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
	fmt.Fprintf(out, "%s  %s@%s  %s  %d of %d nodes\n", e.ExecutionID, e.WorkflowName, e.Version, shownStatus(e), e.Progress.Completed, e.Progress.Total)
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
