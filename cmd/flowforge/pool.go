package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/web/contract"
)

func newPoolCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pool",
		Short: "Manage pools of machines outside the cluster that pull tasks",
		Args:  arguments(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	create := &cobra.Command{Use: "create NAME", Short: "Create a pool and its first token", Args: arguments("NAME"), RunE: runPoolCreate}
	create.Flags().String("description", "", "description of the pool")
	list := &cobra.Command{Use: "list", Short: "List pools with their workers and queues", Args: arguments(), RunE: runPoolList}
	list.Flags().Bool("json", false, "print the API response as JSON")
	show := &cobra.Command{Use: "show NAME", Short: "Show a pool with its workers and tokens", Args: arguments("NAME"), RunE: runPoolShow}
	show.Flags().Bool("json", false, "print the API response as JSON")
	token := &cobra.Command{Use: "token NAME", Short: "Create a token with which workers join a pool, or revoke one", Args: arguments("NAME"), RunE: runPoolToken}
	token.Flags().String("revoke", "", "ID of a token to revoke")
	drain := &cobra.Command{
		Use: "drain NAME", Short: "Stop the workers of a pool, or one worker, from taking more tasks",
		Args: arguments("NAME"), RunE: runPoolDrain,
	}
	drain.Flags().String("worker", "", "ID or name of one worker; without it, the whole pool")
	drain.Flags().Bool("undo", false, "take tasks again")
	access := &cobra.Command{
		Use: "access NAME", Short: "Show or change which projects may use a pool",
		Long:    "Show or change which projects may use a pool. Without flags, print the current access. NODE is a tenant, department, team or project, by its path or ID.",
		Example: "  flowforge pool access gpu-lab --allow research/vision\n  flowforge pool access gpu-lab --everyone",
		Args:    arguments("NAME"), RunE: runPoolAccess,
	}
	access.Flags().StringSlice("allow", nil, "allow this NODE to use the pool, in addition to those already allowed (repeatable)")
	access.Flags().StringSlice("remove", nil, "no longer allow this NODE to use the pool (repeatable)")
	access.Flags().Bool("everyone", false, "allow every project")
	access.MarkFlagsMutuallyExclusive("everyone", "allow")
	access.MarkFlagsMutuallyExclusive("everyone", "remove")
	limit := newPoolLimitCommand()
	remove := &cobra.Command{Use: "delete NAME", Short: "Delete a pool without tasks", Args: arguments("NAME"), RunE: runPoolDelete}
	for _, c := range []*cobra.Command{create, list, show, token, access, limit, drain, remove} {
		addClientFlags(c)
		cmd.AddCommand(c)
	}
	return cmd
}

func poolPath(name string, rest ...string) string {
	parts := []string{"/api/v1/pools", url.PathEscape(name)}
	for _, part := range rest {
		parts = append(parts, url.PathEscape(part))
	}
	return strings.Join(parts, "/")
}

func runPoolCreate(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	description, _ := cmd.Flags().GetString("description")
	var pool contract.PoolBody
	if err := c.call(cmd.Context(), http.MethodPost, "/api/v1/pools", contract.PoolInput{Name: args[0], Description: description}, &pool); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s created: %s/admin/pools/%s\n", pool.Name, c.base, url.PathEscape(pool.Name))
	return createPoolToken(cmd, c, pool.Name)
}

// createPoolToken creates a token and prints how a worker uses it.
func createPoolToken(cmd *cobra.Command, c *client, pool string) error {
	var token contract.NewPoolToken
	if err := c.call(cmd.Context(), http.MethodPost, poolPath(pool, "tokens"), nil, &token); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Token %s (shown only once):\n  %s\nStart a worker on each machine:\n  FLOWFORGE_WORKER_TOKEN=%s flowforge worker --server %s --pool %s\n", token.ID, token.Token, token.Token, c.base, pool)
	return nil
}

func runPoolList(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var list contract.PoolList
	if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/pools", nil, &list); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, list.Pools)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tWORKERS\tRUNNING\tQUEUED\tLONGEST WAIT\tDESCRIPTION")
	for _, p := range list.Pools {
		wait := "-"
		if p.Queued > 0 {
			wait = units.Duration(time.Duration(p.WaitSeconds) * time.Second)
		}
		name := p.Name
		if p.Draining {
			name += " (draining)"
		}
		fmt.Fprintf(table, "%s\t%d of %d\t%d\t%d\t%s\t%s\n", name, p.Connected, p.Workers, p.Running, p.Queued, wait, p.Description)
	}
	return table.Flush()
}

func runPoolShow(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var pool contract.PoolDetail
	if err := c.call(cmd.Context(), http.MethodGet, poolPath(args[0]), nil, &pool); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, pool)
	}
	fmt.Fprintf(out, "%s: %d running, %d queued\n\n", pool.Name, pool.Running, pool.Queued)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WORKER\tNAME\tSTATE\tTASKS\tLABELS\tHEARTBEAT")
	for _, w := range pool.WorkerList {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\n", w.ID, w.Name, w.State, len(w.Tasks), pairs(w.Labels), w.Heartbeat.Format(time.DateTime))
	}
	fmt.Fprintln(table, "\nTOKEN\tCREATED BY\tCREATED\tLAST USED")
	for _, t := range pool.Tokens {
		used := "never"
		if t.LastUsedAt != nil {
			used = t.LastUsedAt.Format(time.DateTime)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", t.ID, t.CreatedBy, t.CreatedAt.Format(time.DateTime), used)
	}
	return table.Flush()
}

func runPoolToken(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	id, _ := cmd.Flags().GetString("revoke")
	if id == "" {
		return createPoolToken(cmd, c, args[0])
	}
	if err := c.call(cmd.Context(), http.MethodDelete, poolPath(args[0], "tokens", id), nil, nil); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s revoked\n", id)
	return nil
}

func runPoolDrain(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	undo, _ := cmd.Flags().GetBool("undo")
	named, _ := cmd.Flags().GetString("worker")
	path, what := poolPath(args[0], "drain"), args[0]
	if named != "" {
		worker, err := findWorker(cmd, c, args[0], named)
		if err != nil {
			return err
		}
		path, what = poolPath(args[0], "workers", worker.ID, "drain"), worker.Name
	}
	if err := c.call(cmd.Context(), http.MethodPut, path, contract.PoolDrain{Draining: !undo}, nil); err != nil {
		return err
	}
	state := "takes no more tasks; running tasks continue"
	if undo {
		state = "takes tasks again"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", what, state)
	return nil
}

// findWorker returns the worker with an ID, or the only one with a name.
func findWorker(cmd *cobra.Command, c *client, pool, named string) (contract.PoolWorker, error) {
	var detail contract.PoolDetail
	if err := c.call(cmd.Context(), http.MethodGet, poolPath(pool), nil, &detail); err != nil {
		return contract.PoolWorker{}, err
	}
	var found []contract.PoolWorker
	for _, w := range detail.WorkerList {
		if w.ID == named {
			return w, nil
		}
		if w.Name == named {
			found = append(found, w)
		}
	}
	switch len(found) {
	case 0:
		return contract.PoolWorker{}, fmt.Errorf("the pool %s has no worker %q", pool, named)
	case 1:
		return found[0], nil
	}
	return contract.PoolWorker{}, fmt.Errorf("%d workers of the pool %s are called %q: use the ID of one from `flowforge pool show %s`", len(found), pool, named, pool)
}

func runPoolAccess(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var access contract.PoolAccess
	if err := c.call(cmd.Context(), http.MethodGet, poolPath(args[0], "access"), nil, &access); err != nil {
		return err
	}
	if cmd.Flags().Changed("everyone") || cmd.Flags().Changed("allow") || cmd.Flags().Changed("remove") {
		change, err := poolAccessChange(cmd, access)
		if err != nil {
			return err
		}
		if err := c.call(cmd.Context(), http.MethodPut, poolPath(args[0], "access"), change, &access); err != nil {
			return err
		}
	}
	out := cmd.OutOrStdout()
	switch {
	case !access.Restricted:
		fmt.Fprintf(out, "Every project may use %s.\n", args[0])
	case len(access.Nodes) == 0:
		fmt.Fprintf(out, "No project may use %s.\n", args[0])
	default:
		fmt.Fprintf(out, "%s is restricted to:\n", args[0])
		for _, n := range access.Nodes {
			fmt.Fprintf(out, "  %s (%s)\n", strings.Join(n.Path, "/"), n.Kind)
		}
	}
	return nil
}

// poolAccessChange applies the flags of a command to the access of a pool.
func poolAccessChange(cmd *cobra.Command, access contract.PoolAccess) (contract.PoolAccessInput, error) {
	if everyone, _ := cmd.Flags().GetBool("everyone"); everyone {
		return contract.PoolAccessInput{}, nil
	}
	tree, _, err := quotaTree(cmd)
	if err != nil {
		return contract.PoolAccessInput{}, err
	}
	change := contract.PoolAccessInput{Restricted: access.Restricted}
	for _, n := range access.Nodes {
		change.Nodes = append(change.Nodes, n.ID)
	}
	allow, _ := cmd.Flags().GetStringSlice("allow")
	for _, name := range allow {
		n, err := findQuotaNode(tree, name)
		if err != nil {
			return contract.PoolAccessInput{}, err
		}
		change.Restricted, change.Nodes = true, append(change.Nodes, n.NodeID)
	}
	remove, _ := cmd.Flags().GetStringSlice("remove")
	for _, name := range remove {
		n, err := findQuotaNode(tree, name)
		if err != nil {
			return contract.PoolAccessInput{}, err
		}
		change.Nodes = slices.DeleteFunc(change.Nodes, func(id uuid.UUID) bool { return id == n.NodeID })
	}
	return change, nil
}

func runPoolDelete(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	if err := c.call(cmd.Context(), http.MethodDelete, poolPath(args[0]), nil, nil); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s deleted\n", args[0])
	return nil
}

// pairs writes labels as "key=value", in order.
func pairs(labels map[string]string) string {
	list := make([]string, 0, len(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		list = append(list, key+"="+labels[key])
	}
	return strings.Join(list, ",")
}
