package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

// newNotificationTemplateCommand returns the commands of templates: one for each operation of the API.
func newNotificationTemplateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "template",
		Short: "Manage and test the templates of notifications",
		Args:  arguments(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{Use: "list", Short: "List the templates of the project", Args: arguments(), RunE: runTemplateList}
	list.Flags().Bool("json", false, "print the API response as JSON")
	show := &cobra.Command{Use: "show KIND EVENT", Short: "Print a template", Args: arguments("KIND", "EVENT"), RunE: runTemplateShow}
	set := &cobra.Command{
		Use:   "set KIND EVENT",
		Short: "Create or replace the template of an event, or of any, for channels of a kind",
		Example: "  flowforge notification template set email execution.failed --subject '{{ workflow }} failed' --body @failed.md\n" +
			"  flowforge notification template set slack any --body '*{{ title }}* <{{ url }}|Open>'",
		Args: arguments("KIND", "EVENT"),
		RunE: runTemplateSet,
	}
	preview := &cobra.Command{Use: "preview KIND EVENT", Short: "Print the message of a template for the latest event", Args: arguments("KIND", "EVENT"), RunE: runTemplatePreview}
	test := &cobra.Command{Use: "test KIND EVENT", Short: "Send the previewed message to a channel", Args: arguments("KIND", "EVENT"), RunE: runTemplateTest}
	test.Flags().String("channel", "", "the channel that receives the message (required)")
	for _, c := range []*cobra.Command{set, preview, test} {
		c.Flags().String("subject", "", "the subject of e-mails")
		c.Flags().String("body", "", "the text, or @FILE; with preview and test, the default is the stored template")
	}
	remove := &cobra.Command{Use: "delete KIND EVENT", Short: "Delete a template; later messages use the built-in text", Args: arguments("KIND", "EVENT"), RunE: runTemplateDelete}
	for _, c := range []*cobra.Command{list, show, set, preview, test, remove} {
		addClientFlags(c)
		cmd.AddCommand(c)
	}
	return cmd
}

func notificationTemplatePath(args []string) string {
	return notificationsPath + "/templates/" + url.PathEscape(args[0]) + "/" + url.PathEscape(args[1])
}

// templateInput reads the flags. Without --body, it is the stored template if there may be one.
func templateInput(cmd *cobra.Command, c *client, args []string, stored bool) (in contract.NotificationTemplateInput, err error) {
	in.Subject, _ = cmd.Flags().GetString("subject")
	text, _ := cmd.Flags().GetString("body")
	if path, ok := strings.CutPrefix(text, "@"); ok {
		b, err := os.ReadFile(path)
		if err != nil {
			return in, fmt.Errorf("--body: %w", err)
		}
		text = string(b)
	}
	in.Body = text
	if text != "" {
		return in, nil
	}
	if !stored {
		return in, fmt.Errorf("--body is missing: enter the text of the template, or @FILE")
	}
	var t contract.NotificationTemplate
	if err := c.call(cmd.Context(), http.MethodGet, notificationTemplatePath(args), nil, &t); err != nil {
		return in, err
	}
	return t.NotificationTemplateInput, nil
}

func runTemplateList(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var list contract.NotificationTemplateList
	if err := c.call(cmd.Context(), http.MethodGet, notificationsPath+"/templates", nil, &list); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, list.Templates)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KIND\tEVENT\tCHANGED\tBY")
	for _, t := range list.Templates {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", t.Kind, t.Event, t.UpdatedAt.Format("2006-01-02 15:04"), t.UpdatedBy)
	}
	return table.Flush()
}

func runTemplateShow(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var t contract.NotificationTemplate
	if err := c.call(cmd.Context(), http.MethodGet, notificationTemplatePath(args), nil, &t); err != nil {
		return err
	}
	if t.Subject != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "Subject: %s\n\n", t.Subject)
	}
	fmt.Fprintln(cmd.OutOrStdout(), strings.TrimRight(t.Body, "\n"))
	return nil
}

func runTemplateSet(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	in, err := templateInput(cmd, c, args, false)
	if err != nil {
		return err
	}
	if err := c.call(cmd.Context(), http.MethodPut, notificationTemplatePath(args), in, nil); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Saved the template for %s in channels of the kind %s.\n", args[1], args[0])
	return nil
}

func runTemplatePreview(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	in, err := templateInput(cmd, c, args, true)
	if err != nil {
		return err
	}
	var p contract.NotificationPreview
	if err := c.call(cmd.Context(), http.MethodPost, notificationTemplatePath(args)+"/preview", in, &p); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if p.Sample {
		fmt.Fprintf(cmd.ErrOrStderr(), "The values are a sample: the project has no recent message about %s.\n", args[1])
	}
	if p.Subject != "" {
		fmt.Fprintf(out, "Subject: %s\n\n", p.Subject)
	}
	fmt.Fprintln(out, strings.TrimRight(p.Text+p.JSON, "\n"))
	return nil
}

func runTemplateTest(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var in contract.NotificationTestInput
	if in.Channel, _ = cmd.Flags().GetString("channel"); in.Channel == "" {
		return fmt.Errorf("--channel is missing: set the channel that receives the message")
	}
	if in.NotificationTemplateInput, err = templateInput(cmd, c, args, true); err != nil {
		return err
	}
	var answer contract.NotificationTest
	if err := c.call(cmd.Context(), http.MethodPost, notificationTemplatePath(args)+"/test", in, &answer); err != nil {
		return err
	}
	if !answer.OK {
		return fmt.Errorf("%s did not accept the test message: %s", in.Channel, answer.Detail)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s received the test message: %s\n", in.Channel, answer.Detail)
	return nil
}

func runTemplateDelete(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	if err := c.call(cmd.Context(), http.MethodDelete, notificationTemplatePath(args), nil, nil); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Deleted the template for %s in channels of the kind %s.\n", args[1], args[0])
	return nil
}
