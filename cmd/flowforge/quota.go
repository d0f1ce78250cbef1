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
)

// quotaNode has the limits and the usage of a node that the command line reads.
type quotaNode struct {
	ID      string              `json:"node_id"`
	Kind    string              `json:"kind"`
	Name    string              `json:"name"`
	Path    string              `json:"path"`
	Limit   map[string]int64    `json:"limit"`
	Borrow  map[string]int64    `json:"borrow"`
	Lend    map[string]int64    `json:"lend"`
	Default map[string]int64    `json:"default"`
	Weight  float64             `json:"weight"`
	Version int64               `json:"version"`
	Use     map[string]quotaUse `json:"use"`
	Waiting int                 `json:"waiting"`
}

type quotaUse struct {
	Used     int64  `json:"used"`
	Borrowed int64  `json:"borrowed"`
	Lent     int64  `json:"lent"`
	Free     int64  `json:"free"`
	Most     *int64 `json:"most"`
	Waiting  int64  `json:"waiting"`
}

func newQuotaCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quota",
		Short: "Show limits and usage; get and set limits",
		Long: "Without a subcommand, print the tree with the usage of each node. Name a node by its ID or by a path\n" +
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
			return printQuotaTree(cmd.OutOrStdout(), nodes, chosen)
		},
	}
	cmd.Flags().StringSlice("resource", nil, "the resources to show, such as gpu:A100,cpu (default: GPUs, or CPU and memory)")
	cmd.Flags().Bool("json", false, "print the API response as JSON")
	addClientFlags(cmd)
	cmd.AddCommand(newQuotaGetCommand(), newQuotaSetCommand())
	return cmd
}

// quotaTree fetches all nodes that the caller may read.
func quotaTree(cmd *cobra.Command) ([]quotaNode, json.RawMessage, error) {
	c, err := newClient(cmd)
	if err != nil {
		return nil, nil, err
	}
	var raw json.RawMessage
	if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/quotas", nil, &raw); err != nil {
		return nil, nil, err
	}
	var list struct {
		Nodes []quotaNode `json:"nodes"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, nil, fmt.Errorf("read answer: %w", err)
	}
	return list.Nodes, raw, nil
}

// findQuotaNode finds a node by ID, by path, or by a unique end of a path.
func findQuotaNode(nodes []quotaNode, name string) (quotaNode, error) {
	name = strings.Trim(name, "/")
	var ends []quotaNode
	for _, n := range nodes {
		switch {
		case n.ID == name, strings.EqualFold(n.Path, name):
			return n, nil
		case strings.HasSuffix("/"+strings.ToLower(n.Path), "/"+strings.ToLower(name)):
			ends = append(ends, n)
		}
	}
	switch len(ends) {
	case 0:
		return quotaNode{}, fmt.Errorf("no tenant, department, team or project is called %q; `flowforge quota` lists them", name)
	case 1:
		return ends[0], nil
	}
	var paths []string
	for _, n := range ends {
		paths = append(paths, n.Path)
	}
	return quotaNode{}, fmt.Errorf("%q is ambiguous; it matches %s", name, strings.Join(paths, ", "))
}

// apiPath returns the API path of the limits of a node.
func (n quotaNode) apiPath() string {
	if n.Kind == "installation" {
		return "/api/v1/quota"
	}
	return "/api/v1/" + n.Kind + "s/" + n.ID + "/quota"
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
			if err := c.call(cmd.Context(), http.MethodGet, n.apiPath(), nil, &raw); err != nil {
				return err
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSON(cmd.OutOrStdout(), raw)
			}
			if err := json.Unmarshal(raw, &n); err != nil {
				return fmt.Errorf("read answer: %w", err)
			}
			return printQuotaNode(cmd.OutOrStdout(), n)
		},
	}
	cmd.Flags().Bool("json", false, "print the API response as JSON")
	addClientFlags(cmd)
	return cmd
}

// quotaRequest is the API request that changes limits.
type quotaRequest struct {
	Limit   map[string]int64 `json:"limit"`
	Borrow  map[string]int64 `json:"borrow"`
	Lend    map[string]int64 `json:"lend"`
	Default map[string]int64 `json:"default"`
	Weight  float64          `json:"weight"`
	Version int64            `json:"version"`
	Reason  string           `json:"reason,omitempty"`
	Confirm bool             `json:"confirm,omitempty"`
}

func newQuotaSetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set NODE [RESOURCE=AMOUNT…]",
		Short: "Change limits; limits that you do not name stay unchanged",
		Long: "Amounts: cpu=2 (cores) or cpu=500m, memory=16GiB, storage=2TiB, gpu=8 (of all types), gpu:A100=4, pods=20, executions=10.\n" +
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
	cmd.Flags().StringSlice("lend", nil, "the idle amount that the node lends to others: RESOURCE=AMOUNT; none lends everything")
	cmd.Flags().StringSlice("default", nil, "the request of each pod of a task that names none: cpu=AMOUNT or memory=AMOUNT; none inherits it")
	cmd.Flags().Float64("weight", 0, "weight of the node among its siblings when they share idle capacity")
	cmd.Flags().String("reason", "", "the reason, recorded in the audit log")
	cmd.Flags().Bool("dry-run", false, "preview the effect and change nothing")
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
	if err := c.call(cmd.Context(), http.MethodGet, n.apiPath(), nil, &n); err != nil {
		return err
	}
	request, err := quotaChange(cmd, n, args[1:])
	if err != nil {
		return err
	}
	if dry, _ := cmd.Flags().GetBool("dry-run"); dry {
		var preview quotaPreview
		if err := c.call(cmd.Context(), http.MethodPost, n.apiPath()+"/preview", request, &preview); err != nil {
			return err
		}
		return preview.print(cmd.OutOrStdout())
	}
	var saved quotaNode
	if err := c.call(cmd.Context(), http.MethodPut, n.apiPath(), request, &saved); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Saved the limits of %s (version %d).\n", n.Name, saved.Version)
	return printQuotaNode(cmd.OutOrStdout(), saved)
}

// quotaChange returns the limits of n with the changes of the command line.
func quotaChange(cmd *cobra.Command, n quotaNode, limits []string) (quotaRequest, error) {
	r := quotaRequest{Limit: map[string]int64{}, Borrow: map[string]int64{}, Lend: map[string]int64{}, Default: map[string]int64{}, Weight: n.Weight, Version: n.Version}
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
		return r, errors.New("no change was given: write one such as gpu:A100=4, --borrow gpu:A100=2 or --weight 2")
	}
	for _, part := range []struct {
		from  map[string]int64
		to    map[string]int64
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

// quotaPreview is the effect of new limits.
type quotaPreview struct {
	Interrupted []quotaTarget `json:"interrupted"`
	Admitted    []quotaTarget `json:"admitted"`
	Blocked     []quotaTarget `json:"blocked"`
	StillWait   int           `json:"still_wait"`
	OverCeiling []struct {
		Name     string `json:"name"`
		Resource string `json:"resource"`
		Used     int64  `json:"used"`
		Ceiling  int64  `json:"ceiling"`
	} `json:"over_ceiling"`
	After quotaNode `json:"after"`
}

type quotaTarget struct {
	ExecutionID string `json:"execution_id"`
	Workflow    string `json:"workflow_name"`
	Node        string `json:"node"`
	Amount      struct {
		CPUMillis int64  `json:"cpu_millis"`
		GPUs      int64  `json:"gpus"`
		GPUType   string `json:"gpu_type"`
	} `json:"amount"`
}

func (t quotaTarget) String() string {
	what := "a node that you cannot view"
	if t.ExecutionID != "" {
		what = strings.TrimSpace(t.Workflow+" "+t.Node) + " of " + t.ExecutionID
	}
	if t.Amount.GPUs > 0 {
		return fmt.Sprintf("%s (%d %s)", what, t.Amount.GPUs, strings.TrimSpace("GPU "+t.Amount.GPUType))
	}
	return fmt.Sprintf("%s (%s cores)", what, amountText("cpu", t.Amount.CPUMillis))
}

func (p quotaPreview) print(w io.Writer) error {
	fmt.Fprintln(w, "Preview; nothing was changed. This change would:")
	if len(p.Interrupted) == 0 {
		fmt.Fprintln(w, "  interrupt no node")
	}
	for _, part := range []struct {
		what    string
		targets []quotaTarget
	}{{"interrupt", p.Interrupted}, {"start immediately", p.Admitted}, {"block permanently", p.Blocked}} {
		for _, t := range part.targets {
			fmt.Fprintf(w, "  %s: %s\n", part.what, t)
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
func printQuotaNode(out io.Writer, n quotaNode) error {
	fmt.Fprintf(out, "%s  %s  weight %g  %d waiting\n", n.Path, n.Kind, n.Weight, n.Waiting)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "RESOURCE\tLIMIT\tBORROW\tLEND\tDEFAULT\tUSED\tBORROWED\tLENT\tMAXIMUM\t")
	for _, r := range quotaResources([]quotaNode{n}) {
		use := n.Use[r]
		text := func(from map[string]int64, absent string) string {
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
func quotaResources(nodes []quotaNode) []string {
	seen := map[string]bool{}
	for _, n := range nodes {
		for _, m := range []map[string]int64{n.Limit, n.Borrow, n.Lend, n.Default} {
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
