package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func newResumeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume EXECUTION",
		Short: "Resume an ended execution: reuse the nodes that succeeded and run the rest",
		Example: "  flowforge resume 0198c5f2-… --dry-run\n" +
			"  flowforge resume 0198c5f2-… --from train -i lr=0.2 --wait\n" +
			"  flowforge resume 0198c5f2-… --version 1.1.0 --resources train:memory=8Gi,cpu=4",
		Args: arguments("EXECUTION"),
		RunE: runResume,
	}
	f := cmd.Flags()
	f.String("from", "", "rerun from this node: it and everything downstream (default: the first failures)")
	f.String("version", "", "use another version of the workflow")
	f.StringArrayP("input", "i", nil, "an input to change: name=value (JSON or text; null selects the default), or name=@path to upload a file")
	f.String("inputs", "", "a JSON file with the inputs to change (- for standard input)")
	f.StringArray("resources", nil, "resources of an operator: operator:cpu=2,memory=4Gi,gpu=1 (* for all operators)")
	f.String("name", "", "a name for the new execution")
	f.String("priority", "", "LOW, NORMAL or HIGH (default: the priority of the earlier execution)")
	f.String("idempotency-key", "", "resume only once for all requests with this key")
	addCacheFlags(cmd)
	addTTLFlags(cmd)
	f.Bool("dry-run", false, "list the nodes that would run, with reasons, without resuming; exit 1 if the server would refuse")
	f.Bool("wait", false, "show progress until the execution ends; exit 1 unless it succeeds")
	addClientFlags(cmd)
	return cmd
}

// addCacheFlags adds the cache flags of launch and resume.
func addCacheFlags(cmd *cobra.Command) {
	cmd.Flags().String("cache", "", "on, off or refresh: whether to reuse cached results and to store new ones")
	cmd.Flags().StringArray("cache-node", nil, "cache mode of one operator: name=off")
}

// ttlFlags maps the retention flags to API fields.
func ttlFlags() map[string]string {
	return map[string]string{"ttl": "after_completion", "ttl-success": "after_success", "ttl-failure": "after_failure"}
}

func addTTLFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("ttl", "", "retention of the execution after its end, such as 12h or 30d (default: from the definition)")
	f.String("ttl-success", "", "retention if the execution succeeds")
	f.String("ttl-failure", "", "retention if the execution fails or is cancelled")
}

// setTTL adds the retention flags to a request.
func setTTL(cmd *cobra.Command, request map[string]any) {
	ttl := map[string]any{}
	for flag, field := range ttlFlags() {
		if text, _ := cmd.Flags().GetString(flag); text != "" {
			ttl[field] = text
		}
	}
	if len(ttl) > 0 {
		request["ttl"] = ttl
	}
}

// cacheFlags returns the cache section of a request, or nil without cache flags.
func cacheFlags(cmd *cobra.Command) (any, error) {
	mode, _ := cmd.Flags().GetString("cache")
	pairs, _ := cmd.Flags().GetStringArray("cache-node")
	if mode == "" && len(pairs) == 0 {
		return nil, nil //nolint:nilnil // without flags there is no cache section
	}
	use := map[string]any{}
	if mode != "" {
		use["mode"] = mode
	}
	nodes := map[string]string{}
	for _, pair := range pairs {
		name, mode, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("--cache-node %q: write operator=on, off or refresh", pair)
		}
		nodes[name] = mode
	}
	if len(nodes) > 0 {
		use["nodes"] = nodes
	}
	return use, nil
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
	var e execution
	if err := c.call(cmd.Context(), http.MethodPost, path, request, &e); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s/executions/%s\n", e.ID, c.base, e.ID)
	if wait, _ := f.GetBool("wait"); wait {
		return c.follow(cmd, e.ID, "SUCCEEDED")
	}
	return nil
}

// resumeRequest builds the request body.
func (c *client) resumeRequest(cmd *cobra.Command) (map[string]any, error) {
	inputs, err := c.inputs(cmd)
	if err != nil {
		return nil, err
	}
	f := cmd.Flags()
	request := map[string]any{"override_inputs": inputs}
	for flag, field := range map[string]string{"from": "from_node", "version": "version", "name": "name", "priority": "priority", "idempotency-key": "idempotency_key"} {
		if text, _ := f.GetString(flag); text != "" {
			request[field] = text
		}
	}
	rooms, _ := f.GetStringArray("resources")
	resources := map[string]any{}
	for _, text := range rooms {
		name, room, err := parseRoom(text)
		if err != nil {
			return nil, fmt.Errorf("--resources %q: %w", text, err)
		}
		resources[name] = room
	}
	if len(resources) > 0 {
		request["resources"] = resources
	}
	setTTL(cmd, request)
	use, err := cacheFlags(cmd)
	if use != nil {
		request["cache"] = use
	}
	return request, err
}

// parseRoom reads "train:cpu=2,memory=4Gi,gpu=1".
func parseRoom(text string) (string, map[string]int, error) {
	name, amounts, ok := strings.Cut(text, ":")
	if !ok || name == "" || amounts == "" {
		return "", nil, fmt.Errorf("write operator:cpu=2,memory=4Gi,gpu=1")
	}
	room := map[string]int{}
	for pair := range strings.SplitSeq(amounts, ",") {
		what, amount, _ := strings.Cut(pair, "=")
		var field string
		var n float64
		var err error
		switch what {
		case "cpu":
			field = "cpu_millis"
			n, err = scaled(amount, map[string]float64{"": 1000, "m": 1})
		case "memory":
			field = "memory_mib"
			n, err = scaled(amount, map[string]float64{"Mi": 1, "Gi": 1 << 10, "Ti": 1 << 20})
		case "gpu":
			field = "gpus"
			n, err = scaled(amount, map[string]float64{"": 1})
		default:
			err = fmt.Errorf("unknown resource %q: use cpu, memory or gpu", what)
		}
		if err != nil {
			return "", nil, err
		}
		room[field] = int(n)
	}
	return name, room, nil
}

// scaled parses a number with one of the units.
func scaled(text string, units map[string]float64) (float64, error) {
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	factor, ok := units[text[len(number):]]
	n, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not an amount such as 2 or 4Gi", text)
	}
	return n * factor, nil
}

// resumePlan has the fields of a resume dry run that the command line reads.
type resumePlan struct {
	Valid   bool   `json:"valid"`
	Refusal string `json:"refusal"`
	Runs    int    `json:"runs"`
	Kept    int    `json:"kept"`
	Changes []struct {
		Name   string `json:"name"`
		Before any    `json:"before"`
		After  any    `json:"after"`
	} `json:"changed_inputs"`
	Nodes []struct {
		Node   string `json:"node"`
		Runs   bool   `json:"runs"`
		Why    string `json:"why"`
		Inside int    `json:"inside"`
		Kept   int    `json:"kept_inside"`
	} `json:"nodes"`
}

// resumePlan lists the nodes that a resume would run or reuse.
func (c *client) resumePlan(cmd *cobra.Command, path string, request map[string]any) error {
	var p resumePlan
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
