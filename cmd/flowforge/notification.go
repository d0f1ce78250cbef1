package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

func newNotificationCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notification",
		Short: "Manage notification rules, and list and redeliver messages",
		Args:  arguments(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	rules := &cobra.Command{Use: "rules", Short: "List the notification rules of the project", Args: arguments(), RunE: runNotificationRules}
	rules.Flags().Bool("json", false, "print the API response as JSON")
	set := &cobra.Command{
		Use:   "set NAME",
		Short: "Create or replace a notification rule",
		Example: "  flowforge notification set on-call --event execution.first_failure --event execution.recovered --channel oncall\n" +
			"  flowforge notification set nightly --event execution.failed --workflow 'digits.*' --channel team --quiet 20:00-08:00 --timezone Europe/Berlin",
		Args: arguments("NAME"),
		RunE: runNotificationSet,
	}
	set.Flags().StringArray("event", nil, "an event, such as execution.failed (repeatable); docs/notifications.md lists all")
	set.Flags().StringArray("channel", nil, "the name of a connection that receives messages (repeatable)")
	set.Flags().StringArray("workflow", nil, "the name or pattern of a workflow (repeatable); default: all workflows")
	set.Flags().Float64("slow-factor", 0, "for execution.slow: multiple of the usual duration (default 2)")
	set.Flags().Duration("waiting", 0, "for execution.waiting: how long an execution waits for its first node (default 10m)")
	set.Flags().Duration("deadline", 0, "for execution.overdue: how long after the scheduled time or the launch an execution must finish, such as 4h")
	set.Flags().String("quiet", "", "quiet hours, such as 20:00-08:00")
	set.Flags().String("timezone", "", "time zone of the quiet hours and of deadlines in messages (default UTC)")
	set.Flags().Duration("mute", 0, "send no messages for this time")
	set.Flags().Bool("disabled", false, "store the rule without sending messages")
	remove := &cobra.Command{Use: "delete NAME", Short: "Delete a notification rule", Args: arguments("NAME"), RunE: runNotificationDelete}
	list := &cobra.Command{Use: "list", Short: "List messages, newest first", Args: arguments(), RunE: runNotificationList}
	list.Flags().String("state", "", "only messages in this state: PENDING, DELIVERED, FAILED or MUTED")
	list.Flags().Int("limit", 50, "number of messages")
	list.Flags().Bool("json", false, "print the API response as JSON")
	again := &cobra.Command{Use: "redeliver ID", Short: "Send a message again, or now if it waits for its next attempt", Args: arguments("ID"), RunE: runNotificationRedeliver}
	channels := &cobra.Command{Use: "channels", Short: "List the channels of the project, and whether they receive messages", Args: arguments(), RunE: runNotificationChannels}
	channels.Flags().Bool("json", false, "print the API response as JSON")
	for _, c := range []*cobra.Command{rules, set, remove, channels, list, again} {
		addClientFlags(c)
		cmd.AddCommand(c)
	}
	cmd.AddCommand(newNotificationTemplateCommand())
	return cmd
}

const notificationsPath = "/api/v1/notifications"

func notificationRulePath(name string) string {
	return notificationsPath + "/rules/" + url.PathEscape(name)
}

func runNotificationRules(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var list contract.NotificationRuleList
	if err := c.call(cmd.Context(), http.MethodGet, notificationsPath+"/rules", nil, &list); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, list.Rules)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATE\tEVENTS\tWORKFLOWS\tCHANNELS")
	for _, r := range list.Rules {
		state := "on"
		switch {
		case r.Disabled:
			state = "off"
		case r.MutedUntil != nil && r.MutedUntil.After(time.Now()):
			state = "muted until " + r.MutedUntil.Format("2006-01-02 15:04")
		}
		workflows := strings.Join(r.Workflows, ",")
		if workflows == "" {
			workflows = "all"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", r.Name, state, strings.Join(r.Events, ","), workflows, strings.Join(r.Channels, ","))
	}
	return table.Flush()
}

func runNotificationSet(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	flags := cmd.Flags()
	var in contract.NotificationRuleInput
	in.Events, _ = flags.GetStringArray("event")
	in.Channels, _ = flags.GetStringArray("channel")
	in.Workflows, _ = flags.GetStringArray("workflow")
	in.SlowFactor, _ = flags.GetFloat64("slow-factor")
	if in.WaitingSeconds, err = secondsOf(cmd, "waiting"); err != nil {
		return err
	}
	if in.DeadlineSeconds, err = secondsOf(cmd, "deadline"); err != nil {
		return err
	}
	in.Timezone, _ = flags.GetString("timezone")
	in.Disabled, _ = flags.GetBool("disabled")
	if quiet, _ := flags.GetString("quiet"); quiet != "" {
		from, to, ok := strings.Cut(quiet, "-")
		if !ok {
			return fmt.Errorf("--quiet %q: enter a start and an end, such as 20:00-08:00", quiet)
		}
		in.QuietFrom, in.QuietTo = strings.TrimSpace(from), strings.TrimSpace(to)
	}
	if mute, err := secondsOf(cmd, "mute"); err != nil {
		return err
	} else if mute > 0 {
		in.MutedUntil = new(time.Now().Add(time.Duration(mute) * time.Second).UTC())
	}
	if len(in.Events) == 0 || len(in.Channels) == 0 {
		return fmt.Errorf("set at least one --event and one --channel")
	}
	var out contract.NotificationRuleBody
	if err := c.call(cmd.Context(), http.MethodPut, notificationRulePath(args[0]), in, &out); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Saved the notification rule %s.\n", out.Name)
	return nil
}

// secondsOf returns the value of a flag in seconds, and 0 without the flag.
func secondsOf(cmd *cobra.Command, flag string) (int, error) {
	d, err := cmd.Flags().GetDuration(flag)
	if err != nil || !cmd.Flags().Changed(flag) {
		return 0, err
	}
	if d < time.Second || d%time.Second != 0 {
		return 0, fmt.Errorf("--%s %s: enter whole seconds, at least one, such as 10m", flag, d)
	}
	return int(d / time.Second), nil
}

func runNotificationDelete(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	if err := c.call(cmd.Context(), http.MethodDelete, notificationRulePath(args[0]), nil, nil); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Deleted the notification rule %s.\n", args[0])
	return nil
}

func runNotificationList(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	q := url.Values{}
	if state, _ := cmd.Flags().GetString("state"); state != "" {
		q.Set("state", strings.ToUpper(state))
	}
	limit, _ := cmd.Flags().GetInt("limit")
	q.Set("limit", fmt.Sprint(limit))
	var list contract.NotificationList
	if err := c.call(cmd.Context(), http.MethodGet, notificationsPath+"?"+q.Encode(), nil, &list); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, list.Notifications)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tCREATED\tSTATE\tNEXT ATTEMPT\tCHANNEL\tMESSAGE\tRESULT")
	for _, n := range list.Notifications {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", n.ID, timeText(&n.CreatedAt), n.State, timeText(n.NextAt), n.Channel, n.Title, n.Reason)
	}
	return table.Flush()
}

// timeText is a time in the zone of this machine; "" for none.
func timeText(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.Local().Format("2006-01-02 15:04:05")
}

func runNotificationChannels(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var list contract.NotificationChannelList
	if err := c.call(cmd.Context(), http.MethodGet, notificationsPath+"/channels", nil, &list); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, list.Channels)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tKIND\tSTATE\tDELIVERED\tFAILED\tPAUSED UNTIL\tERROR")
	for _, ch := range list.Channels {
		state := "unused"
		switch {
		case ch.Failures > 0:
			state = "failing"
		case ch.DeliveredAt != nil:
			state = "working"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", ch.Name, ch.Kind, state, timeText(ch.DeliveredAt), timeText(ch.FailedAt), timeText(ch.PausedUntil), ch.Error)
	}
	return table.Flush()
}

func runNotificationRedeliver(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var n contract.NotificationBody
	if err := c.call(cmd.Context(), http.MethodPost, notificationsPath+"/"+url.PathEscape(args[0])+"/redeliver", nil, &n); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "The message is being sent to %s.\n", n.Channel)
	return nil
}
