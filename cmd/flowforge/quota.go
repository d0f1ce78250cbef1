package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/web/contract"
)

func newQuotaCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quota",
		Short: "Show limits and usage; get and set limits",
		Long: "Show limits and usage; get and set limits. Without a subcommand, print the tree with the usage of each node.\nName a node by its ID or by a path\n" +
			"such as \"research/vision\". Bars: █ guaranteed and in use, ▒ borrowed, ░ lent, · free.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			nodes, raw, err := quotaTree(cmd)
			if err != nil {
				return err
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSON(cmd.OutOrStdout(), raw)
			}
			chosen, _ := cmd.Flags().GetStringSlice("resource")
			return printQuotaTree(cmd.OutOrStdout(), nodes, resourcesNamed(chosen))
		},
	}
	cmd.Flags().StringSlice("resource", nil, "the resources to show, such as gpu:A100,cpu (default: GPUs, or CPU and memory)")
	cmd.Flags().Bool("json", false, "print the API response as JSON")
	addClientFlags(cmd)
	cmd.AddCommand(newQuotaGetCommand(), newQuotaSetCommand())
	return cmd
}

func resourcesNamed(names []string) []fair.Resource {
	out := make([]fair.Resource, len(names))
	for i, name := range names {
		out[i] = fair.Resource(name)
	}
	return out
}

// quotaTree fetches all nodes that the caller may read.
func quotaTree(cmd *cobra.Command) ([]contract.QuotaBody, json.RawMessage, error) {
	c, err := newClient(cmd)
	if err != nil {
		return nil, nil, err
	}
	var raw json.RawMessage
	if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/quotas", nil, &raw); err != nil {
		return nil, nil, err
	}
	var list contract.QuotaList
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, nil, fmt.Errorf("read the server's response: %w", err)
	}
	return list.Nodes, raw, nil
}

// findQuotaNode finds a node by ID, by path, or by a unique end of a path.
func findQuotaNode(nodes []contract.QuotaBody, name string) (contract.QuotaBody, error) {
	name = strings.Trim(name, "/")
	var ends []contract.QuotaBody
	for _, n := range nodes {
		switch {
		case n.NodeID.String() == name, strings.EqualFold(n.Path, name):
			return n, nil
		case strings.HasSuffix("/"+strings.ToLower(n.Path), "/"+strings.ToLower(name)):
			ends = append(ends, n)
		}
	}
	switch len(ends) {
	case 0:
		return contract.QuotaBody{}, fmt.Errorf("there is no tenant, department, team or project %q; `flowforge quota` lists them", name)
	case 1:
		return ends[0], nil
	}
	var paths []string
	for _, n := range ends {
		paths = append(paths, n.Path)
	}
	return contract.QuotaBody{}, fmt.Errorf("%q is ambiguous; it matches %s", name, strings.Join(paths, ", "))
}

// quotaPath returns the API path of the limits of a node.
func quotaPath(n contract.QuotaBody) string {
	if n.Kind == "installation" {
		return "/api/v1/quota"
	}
	return "/api/v1/" + n.Kind + "s/" + n.NodeID.String() + "/quota"
}

func newQuotaGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get NODE",
		Short: "Show the limits and the usage of one tenant, department, team or project",
		Args:  arguments("NODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			nodes, _, err := quotaTree(cmd)
			if err != nil {
				return err
			}
			n, err := findQuotaNode(nodes, args[0])
			if err != nil {
				return err
			}
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := c.call(cmd.Context(), http.MethodGet, quotaPath(n), nil, &raw); err != nil {
				return err
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSON(cmd.OutOrStdout(), raw)
			}
			if err := json.Unmarshal(raw, &n); err != nil {
				return fmt.Errorf("read the server's response: %w", err)
			}
			return printQuotaNode(cmd.OutOrStdout(), n)
		},
	}
	cmd.Flags().Bool("json", false, "print the API response as JSON")
	addClientFlags(cmd)
	return cmd
}

func newQuotaSetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set NODE [RESOURCE=AMOUNT…]",
		Short: "Change limits; limits that you do not name stay unchanged",
		Long: "Change the limits of a tenant, department, team or project. Limits that you do not name stay unchanged.\n" +
			"Amounts: cpu=2 (cores) or cpu=500m, memory=16GiB, storage=2TiB, gpu=8 (of all types), gpu:A100=4, pods=20, executions=10.\n" +
			"RESOURCE=none removes a limit.",
		Example: "  flowforge quota set research/vision gpu:A100=16 --borrow gpu:A100=8 --weight 2 --reason 'Release on 1 December'\n" +
			"  flowforge quota set research/vision gpu:A100=4 --dry-run",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("missing argument NODE; usage: flowforge quota set NODE RESOURCE=AMOUNT")
			}
			return nil
		},
		RunE: setQuota,
	}
	cmd.Flags().StringSlice("borrow", nil, "the amount that the node may borrow above its limit: RESOURCE=AMOUNT")
	cmd.Flags().StringSlice("lend", nil, "the idle amount that the node may lend to others: RESOURCE=AMOUNT; none lends everything")
	cmd.Flags().StringSlice("default", nil, "the default request of each pod: cpu=AMOUNT or memory=AMOUNT; none inherits it")
	cmd.Flags().Float64("weight", 0, "weight of the node when it shares idle capacity with its siblings")
	cmd.Flags().String("reason", "", "the reason, recorded in the audit log")
	cmd.Flags().Bool("dry-run", false, "show the effect without changing anything")
	cmd.Flags().Bool("confirm", false, "allow the change to interrupt running nodes")
	addClientFlags(cmd)
	return cmd
}

func setQuota(cmd *cobra.Command, args []string) error {
	nodes, _, err := quotaTree(cmd)
	if err != nil {
		return err
	}
	n, err := findQuotaNode(nodes, args[0])
	if err != nil {
		return err
	}
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	if err := c.call(cmd.Context(), http.MethodGet, quotaPath(n), nil, &n); err != nil {
		return err
	}
	request, err := quotaChange(cmd, n, args[1:])
	if err != nil {
		return err
	}
	if dry, _ := cmd.Flags().GetBool("dry-run"); dry {
		var preview contract.QuotaPreviewBody
		if err := c.call(cmd.Context(), http.MethodPost, quotaPath(n)+"/preview", request, &preview); err != nil {
			return err
		}
		return printQuotaPreview(cmd.OutOrStdout(), preview)
	}
	var saved contract.QuotaBody
	if err := c.call(cmd.Context(), http.MethodPut, quotaPath(n), request, &saved); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Saved the limits of %s (version %d).\n", n.Name, saved.Version)
	return printQuotaNode(cmd.OutOrStdout(), saved)
}

// quotaChange returns the limits of n with the changes of the command line.
func quotaChange(cmd *cobra.Command, n contract.QuotaBody, limits []string) (contract.QuotaEdit, error) {
	r := contract.QuotaEdit{
		Limit: contract.QuotaAmounts{}, Borrow: contract.QuotaAmounts{}, Lend: contract.QuotaAmounts{}, Default: contract.QuotaAmounts{},
		Weight: n.Weight, Version: &n.Version,
	}
	r.Reason, _ = cmd.Flags().GetString("reason")
	r.Confirm, _ = cmd.Flags().GetBool("confirm")
	borrow, _ := cmd.Flags().GetStringSlice("borrow")
	lend, _ := cmd.Flags().GetStringSlice("lend")
	defaults, _ := cmd.Flags().GetStringSlice("default")
	changed := len(limits)+len(borrow)+len(lend)+len(defaults) > 0
	if w, _ := cmd.Flags().GetFloat64("weight"); w != 0 {
		r.Weight, changed = w, true
	}
	if !changed {
		return r, errors.New("no change given: set one, such as gpu:A100=4, --borrow gpu:A100=2 or --weight 2")
	}
	for _, part := range []struct {
		from  contract.QuotaAmounts
		to    contract.QuotaAmounts
		typed []string
	}{{n.Limit, r.Limit, limits}, {n.Borrow, r.Borrow, borrow}, {n.Lend, r.Lend, lend}, {n.Default, r.Default, defaults}} {
		maps.Copy(part.to, part.from)
		for _, text := range part.typed {
			if err := setAmount(part.to, text); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

func targetText(t contract.QuotaTarget) string {
	what := "a node that you cannot view"
	if t.ExecutionID != nil {
		what = strings.TrimSpace(t.Workflow+" "+t.Node) + " of " + t.ExecutionID.String()
	}
	if t.Amount.GPUs > 0 {
		return fmt.Sprintf("%s (%s)", what, fair.OfType(t.Amount.GPUType).Format(int64(t.Amount.GPUs)))
	}
	return fmt.Sprintf("%s (%s cores)", what, amountText(fair.CPU, int64(t.Amount.CPUMillis)))
}

func printQuotaPreview(w io.Writer, p contract.QuotaPreviewBody) error {
	fmt.Fprintln(w, "Preview; nothing was changed.")
	if len(p.Interrupted) == 0 {
		fmt.Fprintln(w, "This change would not interrupt any node.")
	}
	if len(p.Interrupted)+len(p.Admitted)+len(p.Blocked)+len(p.OverCeiling) > 0 {
		fmt.Fprintln(w, "This change would:")
	}
	for _, part := range []struct {
		what    string
		targets []contract.QuotaTarget
	}{{"interrupt", p.Interrupted}, {"start immediately", p.Admitted}, {"block permanently", p.Blocked}} {
		for _, t := range part.targets {
			fmt.Fprintf(w, "  %s: %s\n", part.what, targetText(t))
		}
	}
	for _, o := range p.OverCeiling {
		fmt.Fprintf(w, "  leave %s above its maximum of %s until work ends: %s of %s\n", o.Name, o.Resource, amountText(o.Resource, o.Used), amountText(o.Resource, o.Ceiling))
	}
	if p.StillWait > 0 {
		fmt.Fprintf(w, "  keep %d waiting\n", p.StillWait)
	}
	fmt.Fprintln(w)
	return printQuotaNode(w, p.After)
}

// printQuotaNode prints one node, a line per resource.
func printQuotaNode(out io.Writer, n contract.QuotaBody) error {
	fmt.Fprintf(out, "%s  %s  weight %g  %d waiting\n", n.Path, n.Kind, n.Weight, n.Waiting)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "RESOURCE\tLIMIT\tBORROW\tLEND\tDEFAULT\tUSED\tBORROWED\tLENT\tMAXIMUM\t")
	for _, r := range quotaResources([]contract.QuotaBody{n}) {
		use := n.Use[r]
		text := func(from contract.QuotaAmounts, absent string) string {
			if v, ok := from[r]; ok {
				return amountText(r, v)
			}
			return absent
		}
		most := "unlimited"
		if use.Most != nil {
			most = amountText(r, *use.Most)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r, text(n.Limit, "none"), text(n.Borrow, "0"), text(n.Lend, "all"), text(n.Default, "-"),
			amountText(r, use.Used), amountText(r, use.Borrowed), amountText(r, use.Lent), most, unitOf(r))
	}
	return w.Flush()
}

// quotaResources returns the resources that a node limits or uses, in display order.
func quotaResources(nodes []contract.QuotaBody) []fair.Resource {
	seen := map[fair.Resource]bool{}
	for _, n := range nodes {
		for _, m := range []contract.QuotaAmounts{n.Limit, n.Borrow, n.Lend, n.Default} {
			for r := range m {
				seen[r] = true
			}
		}
		for r, use := range n.Use {
			if use.Used > 0 || use.Most != nil && *use.Most > 0 || use.Waiting > 0 {
				seen[r] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(seen), compareResources)
}
