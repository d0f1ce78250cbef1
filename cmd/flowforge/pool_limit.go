package main

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

func newPoolLimitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "limit NAME", Short: "Show who uses a pool, or limit what a team may run in it",
		Long:    "Show who uses a pool, or limit what a tenant, department, team or project may run in it. Without --node, print the\nlimits and the usage. NODE is a tenant, department, team or project, by its path or ID. A limit applies to all projects below it.",
		Example: "  flowforge pool limit gpu-lab\n  flowforge pool limit gpu-lab --node research/vision --gpus 4\n  flowforge pool limit gpu-lab --node research/vision --none",
		Args:    arguments("NAME"), RunE: runPoolLimit,
	}
	cmd.Flags().String("node", "", "NODE whose limit to replace")
	cmd.Flags().Int("tasks", 0, "maximum number of running tasks (default: no limit)")
	cmd.Flags().Int("gpus", 0, "maximum number of GPUs in use (default: no limit)")
	cmd.Flags().Bool("none", false, "remove the limit of NODE")
	cmd.Flags().Bool("json", false, "print the API response as JSON")
	cmd.MarkFlagsMutuallyExclusive("none", "tasks")
	cmd.MarkFlagsMutuallyExclusive("none", "gpus")
	return cmd
}

func runPoolLimit(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	if err := setPoolLimit(cmd, c, args[0]); err != nil {
		return err
	}
	var list contract.PoolShareList
	if err := c.call(cmd.Context(), http.MethodGet, poolPath(args[0], "shares"), nil, &list); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, list.Shares)
	}
	of := func(used int, limit *int) string {
		if limit == nil {
			return strconv.Itoa(used)
		}
		return fmt.Sprintf("%d of %d", used, *limit)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tKIND\tRUNNING\tGPUS\tQUEUED\tGPU HOURS, 30 DAYS\tTASK HOURS, 30 DAYS")
	for _, s := range list.Shares {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%.1f\t%.1f\n", strings.Join(s.Node.Path, "/"), s.Node.Kind, of(s.Running, s.Limit.Tasks), of(s.GPUs, s.Limit.GPUs), s.Queued, s.GPUHours, s.TaskHours)
	}
	return table.Flush()
}

// setPoolLimit replaces the limit of the node that the flags name; without one, it does nothing.
func setPoolLimit(cmd *cobra.Command, c *client, pool string) error {
	flags := cmd.Flags()
	name, _ := flags.GetString("node")
	if name == "" {
		if flags.Changed("tasks") || flags.Changed("gpus") || flags.Changed("none") {
			return errors.New("--node: name the tenant, department, team or project of the limit")
		}
		return nil
	}
	var limit contract.PoolLimit
	for flag, into := range map[string]**int{"tasks": &limit.Tasks, "gpus": &limit.GPUs} {
		if flags.Changed(flag) {
			n, _ := flags.GetInt(flag)
			*into = &n
		}
	}
	if none, _ := flags.GetBool("none"); !none && limit == (contract.PoolLimit{}) {
		return errors.New("set --tasks, --gpus or --none")
	}
	tree, _, err := quotaTree(cmd)
	if err != nil {
		return err
	}
	node, err := findQuotaNode(tree, name)
	if err != nil {
		return err
	}
	return c.call(cmd.Context(), http.MethodPut, poolPath(pool, "limits", node.NodeID.String()), limit, nil)
}
