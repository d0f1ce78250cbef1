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
	text := func(flag string) string { v, _ := flags.GetString(flag); return v }
	existing, _ := flags.GetBool("existing")
	switch in.Kind {
	case "webhook":
	case "http":
		in.HTTP = &contract.TriggerHTTP{URL: text("http"), Connection: text("connection"), When: "changes", Every: text("every"), Existing: existing}
		if in.HTTP.Connection != "" {
			in.HTTP.URL, in.HTTP.Path = "", in.HTTP.URL
		}
		if appears, _ := flags.GetBool("appears"); appears {
			in.HTTP.When = "appears"
		}
	case "s3":
		in.S3 = &contract.TriggerS3{Connection: text("connection"), Prefix: text("s3"), Pattern: text("pattern"), Every: text("every"), Existing: existing}
		if address, ok := strings.CutPrefix(in.S3.Prefix, "s3://"); ok {
			in.S3.Bucket, in.S3.Prefix, _ = strings.Cut(address, "/")
		}
	case "all":
		in.Within, in.By = text("within"), text("by")
		conditions, _ := flags.GetStringArray("all")
		for _, c := range conditions {
			condition, err := triggerCondition(c)
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

// triggerCondition reads name=kind:source, or name=kind:source:state with a state of executions or a stage of models.
func triggerCondition(text string) (contract.TriggerCondition, error) {
	name, rest, _ := strings.Cut(text, "=")
	parts := strings.SplitN(rest, ":", 3)
	if name == "" || len(parts) < 2 {
		return contract.TriggerCondition{}, fmt.Errorf("--all %q: enter name=kind:source, such as images=dataset:images", text)
	}
	c := contract.TriggerCondition{Name: name, Kind: parts[0], Sources: []string{parts[1]}}
	if len(parts) == 3 {
		if c.Kind == "model" {
			c.Stages = []string{parts[2]}
		} else {
			c.States = []string{strings.ToUpper(parts[2])}
		}
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
