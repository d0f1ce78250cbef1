package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

// triggerWhen reads what a trigger waits for from the flags.
func triggerWhen(cmd *cobra.Command, in *contract.TriggerInput) error {
	flags := cmd.Flags()
	kinds, source := 0, ""
	for flag, kind := range map[string]string{
		"after": "execution", "artifact": "artifact", "dataset": "dataset", "model": "model", "event": "event", "webhook": "webhook", "http": "http", "s3": "s3", "all": "all",
	} {
		if flags.Changed(flag) {
			kinds, in.Kind, source = kinds+1, kind, flag
		}
	}
	if kinds != 1 {
		return errors.New("set what the trigger waits for: one of --after, --artifact, --dataset, --model, --event, --webhook, --http, --s3 and --all")
	}
	if err := checkTriggerFlags(cmd, in.Kind, source); err != nil {
		return err
	}
	text := func(flag string) string { v, _ := flags.GetString(flag); return v }
	switch in.Kind {
	case "webhook":
	case "http":
		in.HTTP = pollsAddress(cmd, text("http"), text("connection"))
	case "s3":
		in.S3 = pollsBucket(cmd, text("s3"), text("connection"))
	case "all":
		in.Within, in.By = text("within"), text("by")
		conditions, _ := flags.GetStringArray("all")
		for _, c := range conditions {
			condition, err := triggerCondition(cmd, c)
			if err != nil {
				return err
			}
			in.All = append(in.All, condition)
		}
	default:
		in.Sources, _ = flags.GetStringArray(source)
	}
	return nil
}

// pollsAddress returns the address that a trigger or a condition polls: a URL, or a path with a connection.
func pollsAddress(cmd *cobra.Command, address, connection string) *contract.TriggerHTTP {
	every, _ := cmd.Flags().GetString("every")
	existing, _ := cmd.Flags().GetBool("existing")
	out := &contract.TriggerHTTP{URL: address, Connection: connection, When: "changes", Every: every, Existing: existing}
	if connection != "" {
		out.URL, out.Path = "", address
	}
	if appears, _ := cmd.Flags().GetBool("appears"); appears {
		out.When = "appears"
	}
	return out
}

// pollsBucket returns the objects that a trigger or a condition waits for: a prefix, or s3://bucket/prefix.
func pollsBucket(cmd *cobra.Command, prefix, connection string) *contract.TriggerS3 {
	every, _ := cmd.Flags().GetString("every")
	existing, _ := cmd.Flags().GetBool("existing")
	pattern, _ := cmd.Flags().GetString("pattern")
	out := &contract.TriggerS3{Connection: connection, Prefix: prefix, Pattern: pattern, Every: every, Existing: existing}
	if address, ok := strings.CutPrefix(prefix, "s3://"); ok {
		out.Bucket, out.Prefix, _ = strings.Cut(address, "/")
	}
	return out
}

// triggerCondition reads name=kind:source, and what the kind requires after it: a state of executions, a stage of
// models, or the secret of a webhook. The source of http is a URL or connection/path, and that of s3 is
// connection/prefix.
func triggerCondition(cmd *cobra.Command, text string) (contract.TriggerCondition, error) {
	name, rest, _ := strings.Cut(text, "=")
	kind, source, _ := strings.Cut(rest, ":")
	if name == "" || kind == "" || source == "" {
		return contract.TriggerCondition{}, fmt.Errorf("--all %q: enter name=kind:source, such as images=dataset:images", text)
	}
	c := contract.TriggerCondition{Name: name, Kind: kind}
	connection, path, _ := strings.Cut(source, "/")
	source, which, more := strings.Cut(source, ":")
	switch {
	case kind == "http" && (source == "http" || source == "https"):
		c.HTTP = pollsAddress(cmd, source+":"+which, "")
	case kind == "http":
		c.HTTP = pollsAddress(cmd, path, connection)
	case kind == "s3":
		c.S3 = pollsBucket(cmd, path, connection)
	case kind == "webhook":
		c.Signature, c.Secret = source, which
	case !more:
		c.Sources = []string{source}
	case kind == "model":
		c.Sources, c.Stages = []string{source}, []string{which}
	case kind == "execution":
		c.Sources, c.States = []string{source}, []string{strings.ToUpper(which)}
	default:
		return c, fmt.Errorf("--all %q: a condition of the kind %s has only a source: remove %q", text, kind, ":"+which)
	}
	return c, nil
}

// triggerWaits says what a trigger waits for, in a line of a table.
func triggerWaits(t contract.TriggerBody) string {
	switch {
	case t.HookURL != "":
		return t.Signature + " " + t.HookURL
	case t.HTTP != nil && t.HTTP.Connection != "":
		return "http " + t.HTTP.Connection + " " + t.HTTP.Path
	case t.HTTP != nil:
		return "http " + t.HTTP.URL
	case t.S3 != nil:
		return strings.TrimSpace("s3 " + t.S3.Connection + " " + t.S3.Bucket + "/" + t.S3.Prefix + " " + t.S3.Pattern)
	case t.Kind == "all":
		var names []string
		for _, c := range t.All {
			names = append(names, c.Name)
		}
		return "all " + strings.Join(names, ",") + " within " + t.Within
	case t.Kind == "execution":
		return strings.Join(t.Sources, ",") + " " + strings.Join(t.States, ",")
	}
	return strings.TrimSpace(t.Kind + " " + strings.Join(t.Sources, ",") + " " + strings.Join(t.Stages, ","))
}

func runTriggerPoll(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	if err := c.call(cmd.Context(), http.MethodPost, triggerPath(args[0], "poll"), nil, nil); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "The trigger %s is polling.\n", args[0])
	return nil
}

func runTriggerJoins(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var list contract.TriggerJoinList
	if err := c.call(cmd.Context(), http.MethodGet, triggerPath(args[0], "joins"), nil, &list); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, list)
	}
	if err := printConditions(cmd, c, args[0]); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KEY\tARRIVED\tMISSING\tEXPIRES")
	for _, j := range list.Joins {
		var arrived, missing []string
		for _, a := range j.Conditions {
			if a.Subject == "" {
				missing = append(missing, a.Name)
			} else {
				arrived = append(arrived, a.Name)
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", j.Key, strings.Join(arrived, ","), strings.Join(missing, ","), j.ExpiresAt.Format("2006-01-02 15:04:05"))
	}
	return table.Flush()
}

// printConditions prints what each condition of a trigger received last, and why an event did not count.
func printConditions(cmd *cobra.Command, c *client, name string) error {
	var t contract.TriggerBody
	if err := c.call(cmd.Context(), http.MethodGet, triggerPath(name), nil, &t); err != nil {
		return err
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CONDITION\tLAST EVENT\tAT\tLAST PROBLEM")
	for _, s := range t.Conditions {
		event, at, problem := "", "", ""
		if s.Joined != nil && s.Joined.At != nil {
			event, at = s.Joined.Subject, s.Joined.At.Format("2006-01-02 15:04:05")
		}
		switch {
		case s.Polls != nil && s.Polls.Error != "":
			problem = s.Polls.Error
		case s.Ignored != nil:
			problem = s.Ignored.Message
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", s.Name, event, at, problem)
	}
	fmt.Fprintln(table)
	return table.Flush()
}
