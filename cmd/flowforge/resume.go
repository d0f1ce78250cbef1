package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/web/contract"
)

func newResumeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume EXECUTION",
		Short: "Resume an ended execution: reuse the nodes that succeeded and run the others",
		Example: "  flowforge resume 0198c5f2-… --dry-run\n" +
			"  flowforge resume 0198c5f2-… --from train -i lr=0.2 --wait\n" +
			"  flowforge resume 0198c5f2-… --version 1.1.0 --resources train:memory=8Gi,cpu=4",
		Args: arguments("EXECUTION"),
		RunE: runResume,
	}
	f := cmd.Flags()
	f.String("from", "", "rerun this node and all downstream nodes (default: the first failures)")
	f.String("version", "", "use another version of the workflow")
	f.StringArrayP("input", "i", nil, "an input to change: name=value or name.field=value (JSON or text; null restores the default), or name=@path to upload a file")
	f.String("inputs", "", "a JSON file with the inputs to change (- for standard input)")
	f.StringArray("resources", nil, "resources of an operator: operator:cpu=2,memory=4Gi,gpu=1 (* for all operators)")
	f.String("name", "", "a name for the new execution")
	f.String("priority", "", "LOW, NORMAL or HIGH (default: the earlier execution's priority)")
	f.String("idempotency-key", "", "resume only once, even if requests with this key are repeated")
	addCacheFlags(cmd)
	addTTLFlags(cmd)
	f.Bool("dry-run", false, "list the nodes that would run, with reasons, without resuming; exit 1 if the server would reject it")
	f.Bool("wait", false, "show progress until the execution ends; exit 1 unless it succeeds")
	addClientFlags(cmd)
	return cmd
}

// addCacheFlags adds the cache flags of launch and resume.
func addCacheFlags(cmd *cobra.Command) {
	cmd.Flags().String("cache", "", "on, off or refresh: whether to reuse cached results and store new ones")
	cmd.Flags().StringArray("cache-node", nil, "cache mode of one operator: name=off")
}

func addTTLFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("ttl", "", "retention of the execution after its end, such as 12h or 30d (default: from the definition)")
	f.String("ttl-success", "", "retention if the execution succeeds")
	f.String("ttl-failure", "", "retention if the execution fails or is cancelled")
}

// ttlFlags returns the retention section of a request, or nil without retention flags.
func ttlFlags(cmd *cobra.Command) any {
	ttl := map[string]string{}
	for flag, field := range map[string]string{"ttl": "after_completion", "ttl-success": "after_success", "ttl-failure": "after_failure"} {
		if text, _ := cmd.Flags().GetString(flag); text != "" {
			ttl[field] = text
		}
	}
	if len(ttl) == 0 {
		return nil
	}
	return ttl
}

// cacheFlags returns the cache section of a request, or nil without cache flags.
func cacheFlags(cmd *cobra.Command) (*contract.CacheInput, error) {
	mode, _ := cmd.Flags().GetString("cache")
	pairs, _ := cmd.Flags().GetStringArray("cache-node")
	if mode == "" && len(pairs) == 0 {
		return nil, nil //nolint:nilnil // without flags there is no cache section
	}
	use := contract.CacheInput{Mode: mode}
	for _, pair := range pairs {
		name, mode, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("--cache-node %q: write operator=on, off or refresh", pair)
		}
		if use.Nodes == nil {
			use.Nodes = map[string]string{}
		}
		use.Nodes[name] = mode
	}
	return &use, nil
}

func runResume(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	request, err := c.resumeRequest(cmd)
	if err != nil {
		return err
	}
	f := cmd.Flags()
	path := "/api/v1/executions/" + url.PathEscape(args[0]) + "/resume"
	if dry, _ := f.GetBool("dry-run"); dry {
		return c.resumePlan(cmd, path, request)
	}
	var e contract.Launched
	if err := c.call(cmd.Context(), http.MethodPost, path, request, &e); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s/executions/%s\n", e.ExecutionID, c.base, e.ExecutionID)
	if wait, _ := f.GetBool("wait"); wait {
		return c.follow(cmd, e.ExecutionID.String(), "SUCCEEDED")
	}
	return nil
}

// resumeRequest builds the request body.
func (c *client) resumeRequest(cmd *cobra.Command) (contract.ResumeInputBody, error) {
	request := contract.ResumeInputBody{TTL: ttlFlags(cmd)}
	inputs, err := c.inputs(cmd)
	if err != nil {
		return request, err
	}
	if request.OverrideInputs, err = json.Marshal(inputs); err != nil {
		return request, fmt.Errorf("encode inputs: %w", err)
	}
	f := cmd.Flags()
	request.Version, _ = f.GetString("version")
	request.Name, _ = f.GetString("name")
	request.IdempotencyKey, _ = f.GetString("idempotency-key")
	if from, _ := f.GetString("from"); from != "" {
		request.FromNode = from
	}
	if priority, _ := f.GetString("priority"); priority != "" {
		request.Priority = priority
	}
	overrides, _ := f.GetStringArray("resources")
	for _, text := range overrides {
		name, override, err := parseResourceOverride(text)
		if err != nil {
			return request, fmt.Errorf("--resources %q: %w", text, err)
		}
		if request.Resources == nil {
			request.Resources = map[string]contract.ResourceOverride{}
		}
		request.Resources[name] = override
	}
	request.Cache, err = cacheFlags(cmd)
	return request, err
}

// parseResourceOverride reads "train:cpu=2,memory=4Gi,gpu=1".
func parseResourceOverride(text string) (string, contract.ResourceOverride, error) {
	var override contract.ResourceOverride
	name, amounts, ok := strings.Cut(text, ":")
	if !ok || name == "" || amounts == "" {
		return "", override, fmt.Errorf("write operator:cpu=2,memory=4Gi,gpu=1")
	}
	for pair := range strings.SplitSeq(amounts, ",") {
		what, amount, _ := strings.Cut(pair, "=")
		var field **int
		switch what {
		case "cpu":
			field = &override.CPUMillis
		case "memory":
			field = &override.MemoryMiB
		case "gpu":
			field = &override.GPUs
		default:
			return "", override, fmt.Errorf("unknown resource %q: use cpu, memory or gpu", what)
		}
		n, ok := typedAmount(fair.Resource(what), amount)
		if _, unit, _ := units.Quantity(amount); !ok || what == "memory" && unit == "" {
			return "", override, fmt.Errorf("%q is not an amount such as 2 or 4Gi", amount)
		}
		*field = new(int(n))
	}
	return name, override, nil
}

// resumePlan lists the nodes that a resume would run or reuse.
func (c *client) resumePlan(cmd *cobra.Command, path string, request contract.ResumeInputBody) error {
	var p contract.ResumePlanBody
	if err := c.call(cmd.Context(), http.MethodPost, path+"?dry_run=true", request, &p); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	for _, change := range p.Changes {
		fmt.Fprintf(out, "%s: %v → %v\n", change.Name, change.Before, change.After)
	}
	fmt.Fprintf(out, "%d of %d nodes run\n", p.Runs, p.Runs+p.Kept)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, n := range p.Nodes {
		word, inside := "reuse", ""
		if n.Runs {
			word = "run"
		}
		if n.Runs && n.Kept > 0 {
			inside = fmt.Sprintf(" %d of its %d child nodes are reused.", n.Kept, n.Inside)
		}
		fmt.Fprintf(table, "%s\t%s\t%s%s\n", word, n.Node, n.Why, inside)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if !p.Valid {
		return &exitError{code: 1, message: p.Refusal}
	}
	return nil
}
