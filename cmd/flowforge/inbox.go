package main

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

func newInboxCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "List your notifications, mark them as read, and choose which ones you receive",
		Args:  arguments(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{Use: "list", Short: "List your notifications, newest first", Args: arguments(), RunE: runInboxList}
	list.Flags().Bool("unread", false, "only unread notifications")
	list.Flags().String("kind", "", "only notifications of this kind: approvals, executions, schedules or models")
	list.Flags().Int("limit", 50, "number of notifications")
	list.Flags().Bool("json", false, "print the API response as JSON")
	read := &cobra.Command{
		Use:     "read [ID…]",
		Short:   "Mark notifications as read",
		Example: "  flowforge inbox read 019a9b1e-7c1e-7a51-9d0b-6d0f6a1f3c55\n  flowforge inbox read --all",
		Args:    cobra.ArbitraryArgs,
		RunE:    runInboxRead,
	}
	read.Flags().Bool("all", false, "mark all notifications")
	settings := &cobra.Command{Use: "settings", Short: "Print your notification settings", Args: arguments(), RunE: runInboxSettings}
	settings.Flags().Bool("json", false, "print the API response as JSON")
	set := &cobra.Command{
		Use:   "set",
		Short: "Change your notification settings; settings without a flag stay unchanged",
		Example: "  flowforge inbox settings set --event execution.succeeded=off --event approval.waiting=both\n" +
			"  flowforge inbox settings set --digest daily --digest-at 07:30 --quiet 20:00-08:00 --timezone Europe/Berlin --mute 'tour.*'",
		Args: arguments(),
		RunE: runInboxSet,
	}
	set.Flags().StringArray("event", nil, "EVENT=off, inbox, email or both (repeatable); docs/notifications.md lists the events")
	set.Flags().String("digest", "", "how often e-mails are sent: immediately, hourly or daily")
	set.Flags().String("digest-at", "", "time of a daily e-mail, such as 08:00")
	set.Flags().String("quiet", "", "quiet hours for e-mails, such as 20:00-08:00; off for none")
	set.Flags().String("timezone", "", "time zone of these times, such as Europe/Berlin")
	set.Flags().StringArray("mute", nil, "mute a workflow or model, by name or pattern (repeatable)")
	set.Flags().StringArray("unmute", nil, "unmute a name or pattern (repeatable)")
	set.Flags().String("address", "", "your e-mail address, if your sign-in provider does not supply it")
	settings.AddCommand(set)
	for _, c := range []*cobra.Command{list, read, settings} {
		cmd.AddCommand(c)
	}
	for _, c := range []*cobra.Command{list, read, settings, set} {
		addClientFlags(c)
	}
	return cmd
}

const inboxPath = "/api/v1/inbox"

func runInboxList(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	q := url.Values{}
	if unread, _ := cmd.Flags().GetBool("unread"); unread {
		q.Set("unread", "true")
	}
	if kind, _ := cmd.Flags().GetString("kind"); kind != "" {
		q.Set("kind", kind)
	}
	limit, _ := cmd.Flags().GetInt("limit")
	q.Set("limit", fmt.Sprint(limit))
	var list contract.InboxList
	if err := c.call(cmd.Context(), http.MethodGet, inboxPath+"?"+q.Encode(), nil, &list); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, list.Items)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tTIME\tSTATE\tNOTIFICATION\tURL")
	for _, i := range list.Items {
		state := "unread"
		if i.ReadAt != nil {
			state = "read"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", i.ID, i.At.Local().Format("2006-01-02 15:04:05"), state, i.Title, i.URL)
	}
	return table.Flush()
}

func runInboxRead(cmd *cobra.Command, args []string) error {
	all, _ := cmd.Flags().GetBool("all")
	if all == (len(args) > 0) {
		return fmt.Errorf("set the IDs of notifications, or --all")
	}
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	if all {
		var out contract.InboxMarked
		if err := c.call(cmd.Context(), http.MethodPost, inboxPath+"/read", contract.InboxRead{}, &out); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "Marked as read: %d.\n", out.Marked)
		return nil
	}
	for _, id := range args {
		var item contract.InboxItem
		if err := c.call(cmd.Context(), http.MethodPost, inboxPath+"/"+url.PathEscape(id)+"/read", nil, &item); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "Marked as read: %s.\n", item.Title)
	}
	return nil
}

func runInboxSettings(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var a contract.InboxAccount
	if err := c.call(cmd.Context(), http.MethodGet, inboxPath+"/settings", nil, &a); err != nil {
		return err
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(cmd.OutOrStdout(), a)
	}
	return printInboxSettings(cmd, a)
}

func printInboxSettings(cmd *cobra.Command, a contract.InboxAccount) error {
	out := cmd.OutOrStdout()
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "EVENT\tNOTIFY")
	for _, e := range a.Events {
		fmt.Fprintf(table, "%s\t%s\n", e.Event, e.Notify)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	quiet := "none"
	if a.QuietFrom != "" {
		quiet = a.QuietFrom + " to " + a.QuietTo
	}
	muted := "none"
	if len(a.Muted) > 0 {
		muted = strings.Join(a.Muted, ", ")
	}
	email := a.Email
	switch {
	case !a.MailServer:
		email = "none; the installation has no mail server"
	case email == "":
		email = "none; your account has no address"
	}
	digest := a.Digest
	if digest == "daily" {
		digest += " at " + a.DigestAt
	}
	fmt.Fprintf(out, "\nE-mail: %s\nDigest: %s\nQuiet hours: %s\nTime zone: %s\nMuted: %s\n", email, digest, quiet, a.Timezone, muted)
	if a.MailError != "" {
		fmt.Fprintf(out, "The last e-mail was not accepted: %s\n", a.MailError)
	}
	return nil
}

func runInboxSet(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var a contract.InboxAccount
	if err := c.call(cmd.Context(), http.MethodGet, inboxPath+"/settings", nil, &a); err != nil {
		return err
	}
	in := a.InboxSettings
	if err := changeInboxSettings(cmd, &in); err != nil {
		return err
	}
	if err := c.call(cmd.Context(), http.MethodPut, inboxPath+"/settings", in, &a); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), "Saved the notification settings.")
	return nil
}

// changeInboxSettings applies the flags of `settings set`.
func changeInboxSettings(cmd *cobra.Command, in *contract.InboxSettings) error {
	flags := cmd.Flags()
	events, _ := flags.GetStringArray("event")
	for _, text := range events {
		event, mode, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("--event %q: enter an event and a mode, such as execution.succeeded=off", text)
		}
		at := slices.IndexFunc(in.Events, func(e contract.InboxEvent) bool { return e.Event == event })
		if at < 0 {
			return fmt.Errorf("--event %q: there is no event %q; `flowforge inbox settings` lists them", text, event)
		}
		in.Events[at].Notify = mode
	}
	for name, into := range map[string]*string{"digest": &in.Digest, "digest-at": &in.DigestAt, "timezone": &in.Timezone, "address": &in.Address} {
		if flags.Changed(name) {
			*into, _ = flags.GetString(name)
		}
	}
	if quiet, _ := flags.GetString("quiet"); quiet == "off" {
		in.QuietFrom, in.QuietTo = "", ""
	} else if quiet != "" {
		from, to, ok := strings.Cut(quiet, "-")
		if !ok {
			return fmt.Errorf("--quiet %q: enter a start and an end, such as 20:00-08:00, or off", quiet)
		}
		in.QuietFrom, in.QuietTo = strings.TrimSpace(from), strings.TrimSpace(to)
	}
	mute, _ := flags.GetStringArray("mute")
	unmute, _ := flags.GetStringArray("unmute")
	in.Muted = slices.DeleteFunc(append(in.Muted, mute...), func(name string) bool { return slices.Contains(unmute, name) })
	return nil
}
