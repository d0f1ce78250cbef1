package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

func newTriggerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trigger",
		Short: "Launch workflows when an execution ends, a model or a file appears, or a webhook arrives",
		Args:  arguments(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{Use: "list", Short: "List the triggers of the project", Args: arguments(), RunE: runTriggerList}
	list.Flags().Bool("json", false, "print the API response as JSON")
	set := &cobra.Command{
		Use:   "set NAME WORKFLOW",
		Short: "Create or replace a trigger that launches a workflow",
		Example: "  flowforge trigger set evaluate digits.evaluate --after digits.train --filter 'execution.outputs.accuracy > 0.9' -i 'model={{ execution.outputs.model }}'\n" +
			"  flowforge trigger set deploy digits.serve --model digits --stage production -i 'model={{ model.value }}'\n" +
			"  flowforge trigger set on-push digits.train --webhook github --secret github-hook --filter 'payload.ref == \"refs/heads/main\"' -i 'commit={{ payload.after }}'\n" +
			"  flowforge trigger set new-files digits.train --s3 raw/ --connection lake --pattern '*.parquet' --every 1m -i 'file={{ object.uri }}'\n" +
			"  flowforge trigger set daily digits.train --all images=dataset:images --all labels=dataset:labels --by dataset.facts.date --within 24h -i 'images={{ images.value }}'\n" +
			"  flowforge trigger set release digits.train --all data=s3:lake/raw/ --all push=webhook:github:github-hook --within 1h -i 'commit={{ push.payload.after }}'",
		Args: arguments("NAME", "WORKFLOW"),
		RunE: runTriggerSet,
	}
	set.Flags().StringArray("after", nil, "launch when an execution of this workflow ends: a name or a pattern such as digits.* (repeatable)")
	set.Flags().StringArray("state", nil, "with --after: SUCCEEDED, FAILED or CANCELLED (repeatable; default SUCCEEDED)")
	set.Flags().StringArray("artifact", nil, "launch when this artifact is produced: a name, workflow/artifact, or a pattern with * (repeatable)")
	set.Flags().StringArray("dataset", nil, "launch when a version of this dataset is registered: a name or a pattern (repeatable)")
	set.Flags().StringArray("model", nil, "launch when a version of this model is registered: a name or a pattern (repeatable)")
	set.Flags().StringArray("stage", nil, "with --model: launch instead when a version enters this stage (repeatable)")
	set.Flags().StringArray("event", nil, "launch when an event of this type is recorded, such as quota.updated or node.* (repeatable)")
	set.Flags().String("webhook", "", "launch when a webhook arrives, signed as github, gitlab, standard or bearer")
	set.Flags().String("secret", "", "with --webhook: the name of the secret that signs requests")
	set.Flags().String("http", "", "launch when this address changes: a URL, or a path with --connection")
	set.Flags().Bool("appears", false, "with --http, or --all and http: launch when the address becomes available")
	set.Flags().String("s3", "", "launch for each new object: a prefix, or s3://bucket/prefix, with --connection")
	set.Flags().String("connection", "", "with --http or --s3: the connection to use")
	set.Flags().String("pattern", "", "with --s3, or --all and s3: a pattern of the names of objects, such as *.parquet")
	set.Flags().String("every", "", "with --http or --s3, or --all: the time between two polls (default 5 min)")
	set.Flags().Bool("existing", false, "with --http or --s3, or --all: also treat existing objects or responses as events")
	set.Flags().StringArray("all", nil, "launch when all of these have happened: name=kind:source, name=execution:workflow:state, name=model:name:stage, name=webhook:signature:secret, name=http:URL, name=http:connection/path or name=s3:connection/prefix (repeatable)")
	set.Flags().String("within", "", "with --all: the time within which they must happen (default 24 h)")
	set.Flags().String("by", "", "with --all: an expression; events with the same value belong together")
	set.Flags().String("filter", "", "an expression; only events for which it is true launch")
	set.Flags().StringArrayP("input", "i", nil, "name=value; strings can contain {{ expression }}, and a JSON value keeps its type (repeatable)")
	set.Flags().String("version", "", "version of the workflow (default: the latest)")
	set.Flags().Int("priority", -1, "priority from 0 to 100 (default: the workflow's priority)")
	set.Flags().Lookup("priority").DefValue = "0" // the help prints no default
	set.Flags().Bool("disabled", false, "store the trigger without receiving events")
	remove := &cobra.Command{Use: "delete NAME", Short: "Delete a trigger with its deliveries", Args: arguments("NAME"), RunE: runTriggerDelete}
	deliveries := &cobra.Command{Use: "deliveries NAME", Short: "List the events that reached a trigger, newest first", Args: arguments("NAME"), RunE: runTriggerDeliveries}
	deliveries.Flags().Int("limit", 20, "number of deliveries")
	deliveries.Flags().Bool("json", false, "print the API response as JSON, with the events")
	test := &cobra.Command{
		Use: "test NAME EVENT", Short: "Test what a trigger would do with an event (JSON, or @file), without launching",
		Example: `  flowforge trigger test on-push '{"payload": {"ref": "refs/heads/main", "after": "3f1c9ab"}}'`,
		Args:    arguments("NAME", "EVENT"), RunE: runTriggerTest,
	}
	poll := &cobra.Command{Use: "poll NAME", Short: "Make a trigger poll now", Args: arguments("NAME"), RunE: runTriggerPoll}
	joins := &cobra.Command{Use: "joins NAME", Short: "List the collected and the missing events of a trigger with several conditions", Args: arguments("NAME"), RunE: runTriggerJoins}
	joins.Flags().Bool("json", false, "print the API response as JSON")
	again := &cobra.Command{Use: "redeliver NAME ID", Short: "Deliver an event again", Args: arguments("NAME", "ID"), RunE: runTriggerRedeliver}
	for _, c := range []*cobra.Command{list, set, remove, deliveries, test, again, poll, joins} {
		addClientFlags(c)
		cmd.AddCommand(c)
	}
	return cmd
}

func triggerPath(name string, parts ...string) string {
	return "/api/v1/triggers/" + strings.Join(append([]string{url.PathEscape(name)}, parts...), "/")
}

func runTriggerList(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var list contract.TriggerList
	if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/triggers", nil, &list); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, list.Triggers)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATE\tWAITS FOR\tLAUNCHES\tFILTER")
	for _, t := range list.Triggers {
		state := "on"
		switch {
		case t.Paused != "":
			state = "paused"
		case t.Disabled:
			state = "off"
		case t.Polls != nil && t.Polls.Error != "":
			state = "failing"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", t.Name, state, triggerWaits(t), t.Workflow, t.Filter)
	}
	return table.Flush()
}

func runTriggerSet(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	flags := cmd.Flags()
	in := contract.TriggerInput{Workflow: args[1]}
	in.States, _ = flags.GetStringArray("state")
	in.Signature, _ = flags.GetString("webhook")
	in.Secret, _ = flags.GetString("secret")
	in.Filter, _ = flags.GetString("filter")
	in.Version, _ = flags.GetString("version")
	in.Disabled, _ = flags.GetBool("disabled")
	in.Stages, _ = flags.GetStringArray("stage")
	if err := triggerWhen(cmd, &in); err != nil {
		return err
	}
	if priority, _ := flags.GetInt("priority"); flags.Changed("priority") {
		in.Priority = &priority
	}
	values, _ := flags.GetStringArray("input")
	if in.Inputs, err = triggerInputs(values); err != nil {
		return err
	}
	return c.putTrigger(cmd, args[0], in)
}

// triggerInputs reads name=value. A value that is JSON keeps its type; any other is a text.
func triggerInputs(values []string) (json.RawMessage, error) {
	inputs := map[string]any{}
	for _, v := range values {
		name, text, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("-i %q: enter name=value", v)
		}
		if json.Valid([]byte(text)) {
			inputs[name] = json.RawMessage(text)
		} else {
			inputs[name] = text
		}
	}
	raw, err := json.Marshal(inputs)
	if err != nil {
		return nil, fmt.Errorf("encode inputs: %w", err)
	}
	return raw, nil
}

func (c *client) putTrigger(cmd *cobra.Command, name string, in contract.TriggerInput) error {
	var out contract.TriggerBody
	if err := c.call(cmd.Context(), http.MethodPut, triggerPath(name), in, &out); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Saved the trigger %s.\n", out.Name)
	if out.HookURL != "" {
		fmt.Fprintln(cmd.OutOrStdout(), out.HookURL)
	}
	for _, s := range out.Conditions {
		if s.HookURL != "" {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", s.Name, s.HookURL)
		}
	}
	return nil
}

func runTriggerDelete(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	if err := c.call(cmd.Context(), http.MethodDelete, triggerPath(args[0]), nil, nil); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Deleted the trigger %s.\n", args[0])
	return nil
}

func runTriggerDeliveries(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	limit, _ := cmd.Flags().GetInt("limit")
	var list contract.TriggerDeliveryList
	if err := c.call(cmd.Context(), http.MethodGet, triggerPath(args[0], "deliveries")+"?limit="+fmt.Sprint(limit), nil, &list); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, list.Deliveries)
	}
	for _, p := range list.Pending {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d launches failed, the next is at %s. %s\n", p.Subject, p.Failures, p.NextAt.Format("15:04:05"), p.Error)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tAT\tOUTCOME\tEVENT\tEXECUTION\tMESSAGE")
	for _, d := range list.Deliveries {
		execution := ""
		if d.ExecutionID != nil {
			execution = d.ExecutionID.String()
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", d.ID, d.At.Format("2006-01-02 15:04:05"), d.Outcome, d.Subject, execution, d.Message)
	}
	return table.Flush()
}

func runTriggerTest(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	text := []byte(args[1])
	if path, isFile := strings.CutPrefix(args[1], "@"); isFile {
		if text, err = os.ReadFile(path); err != nil {
			return fmt.Errorf("read the event: %w", err)
		}
	}
	var in contract.TriggerTest
	if err := json.Unmarshal(text, &in.Event); err != nil {
		return fmt.Errorf("EVENT is not a JSON object: %w", err)
	}
	var out contract.TriggerTrial
	if err := c.call(cmd.Context(), http.MethodPost, triggerPath(args[0], "test"), in, &out); err != nil {
		return err
	}
	return printIndented(cmd.OutOrStdout(), out)
}

func runTriggerRedeliver(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var d contract.TriggerDelivery
	if err := c.call(cmd.Context(), http.MethodPost, triggerPath(args[0], "deliveries", url.PathEscape(args[1]), "redeliver"), nil, &d); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), d.Outcome, d.Message)
	if d.ExecutionID != nil {
		fmt.Fprintln(cmd.OutOrStdout(), d.ExecutionID)
	}
	return nil
}
