package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

func newReportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Write, read and restore reports: pages in Markdown with live tables and charts",
		Args:  arguments(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{Use: "list", Short: "List the reports of the project, most recently changed first", Args: arguments(), RunE: runReportList}
	list.Flags().StringP("query", "q", "", "only reports with this text in their title or text")
	get := &cobra.Command{Use: "get REPORT", Short: "Print the Markdown of a report", Args: arguments("REPORT"), RunE: runReportGet}
	get.Flags().Int("revision", 0, "an earlier revision instead of the latest")
	create := &cobra.Command{
		Use: "create TITLE", Short: "Create a report",
		Example: "  flowforge report create \"Results of March\" --file march.md\n  generate | flowforge report create \"Nightly\" --file -",
		Args:    arguments("TITLE"), RunE: runReportCreate,
	}
	create.Flags().StringP("file", "f", "", "the Markdown; - reads standard input")
	update := &cobra.Command{
		Use: "update REPORT", Short: "Save a revision of a report",
		Example: "  flowforge report update \"Results of March\" --file march.md --note \"second sweep\"",
		Args:    arguments("REPORT"), RunE: runReportUpdate,
	}
	update.Flags().StringP("file", "f", "", "the new Markdown; - reads standard input")
	update.Flags().String("title", "", "a new title")
	update.Flags().String("note", "", "what changed, for the history")
	update.Flags().Int("revision", 0, "fail unless this is the latest revision")
	history := &cobra.Command{Use: "history REPORT", Short: "List the revisions of a report, newest first", Args: arguments("REPORT"), RunE: runReportHistory}
	restore := &cobra.Command{Use: "restore REPORT REVISION", Short: "Save an earlier revision as the latest one", Args: arguments("REPORT", "REVISION"), RunE: runReportRestore}
	remove := &cobra.Command{Use: "delete REPORT", Short: "Delete a report with its history", Args: arguments("REPORT"), RunE: runReportDelete}
	for _, c := range []*cobra.Command{list, get, history} {
		c.Flags().Bool("json", false, "print the API response as JSON")
	}
	for _, c := range []*cobra.Command{list, get, create, update, history, restore, remove} {
		addClientFlags(c)
		cmd.AddCommand(c)
	}
	return cmd
}

func reportPath(ref string) string { return "/api/v1/reports/" + url.PathEscape(ref) }

// markdownOf reads the file that the flag names.
func markdownOf(cmd *cobra.Command) (string, error) {
	path, _ := cmd.Flags().GetString("file")
	var raw []byte
	var err error
	switch path {
	case "":
		return "", nil
	case "-":
		raw, err = io.ReadAll(cmd.InOrStdin())
	default:
		raw, err = os.ReadFile(path)
	}
	if err != nil {
		return "", fmt.Errorf("--file: %w", err)
	}
	return string(raw), nil
}

func printSaved(cmd *cobra.Command, c *client, b contract.ReportBody) {
	fmt.Fprintf(cmd.OutOrStdout(), "%s, revision %d: %s%s\n", b.Title, b.Revision, c.base, b.URL)
}

func runReportList(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	text, _ := cmd.Flags().GetString("query")
	all := contract.ReportList{Reports: []contract.ReportRow{}}
	for q := (url.Values{"q": {text}, "limit": {"200"}}); ; q.Set("after", all.Next) {
		var page contract.ReportList
		if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/reports?"+q.Encode(), nil, &page); err != nil {
			return err
		}
		all.Reports = append(all.Reports, page.Reports...)
		if all.Next = page.Next; all.Next == "" {
			break
		}
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, all.Reports)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TITLE\tREVISION\tCHANGED BY\tCHANGED\tID")
	for _, r := range all.Reports {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\n", r.Title, r.Revision, r.UpdatedBy, r.UpdatedAt.Format("2006-01-02 15:04"), r.ID)
	}
	return table.Flush()
}

func runReportGet(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var answer any
	var text string
	if n, _ := cmd.Flags().GetInt("revision"); n > 0 {
		var b contract.ReportRevisionBody
		err = c.call(cmd.Context(), http.MethodGet, reportPath(args[0])+"/revisions/"+strconv.Itoa(n), nil, &b)
		answer, text = b, b.Text
	} else {
		var b contract.ReportBody
		err = c.call(cmd.Context(), http.MethodGet, reportPath(args[0]), nil, &b)
		answer, text = b, b.Text
	}
	if err != nil {
		return err
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(cmd.OutOrStdout(), answer)
	}
	_, err = io.WriteString(cmd.OutOrStdout(), text)
	return err
}

func runReportCreate(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	text, err := markdownOf(cmd)
	if err != nil {
		return err
	}
	var b contract.ReportBody
	if err := c.call(cmd.Context(), http.MethodPost, "/api/v1/reports", contract.ReportInput{Title: args[0], Text: text}, &b); err != nil {
		return err
	}
	printSaved(cmd, c, b)
	return nil
}

func runReportUpdate(cmd *cobra.Command, args []string) error {
	flags := cmd.Flags()
	if !flags.Changed("file") && !flags.Changed("title") {
		return fmt.Errorf("nothing to change: set --file, --title, or both")
	}
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var in contract.ReportChange
	if flags.Changed("file") {
		text, err := markdownOf(cmd)
		if err != nil {
			return err
		}
		in.Text = &text
	}
	if title, _ := flags.GetString("title"); flags.Changed("title") {
		in.Title = &title
	}
	in.Note, _ = flags.GetString("note")
	in.Revision, _ = flags.GetInt("revision")
	var b contract.ReportBody
	if err := c.call(cmd.Context(), http.MethodPatch, reportPath(args[0]), in, &b); err != nil {
		return err
	}
	printSaved(cmd, c, b)
	return nil
}

func runReportHistory(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	list := []contract.ReportRevision{}
	for before := ""; ; {
		var page contract.ReportHistory
		if err := c.call(cmd.Context(), http.MethodGet, reportPath(args[0])+"/revisions?limit=200"+before, nil, &page); err != nil {
			return err
		}
		if list = append(list, page.Revisions...); page.Next == 0 {
			break
		}
		before = "&before=" + strconv.Itoa(page.Next)
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, list)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "REVISION\tSAVED BY\tSAVED\tBYTES\tWHAT CHANGED")
	for _, v := range list {
		note := v.Note
		if v.RestoredFrom > 0 {
			note = fmt.Sprintf("restored from revision %d", v.RestoredFrom)
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%d\t%s\n", v.Revision, v.CreatedBy, v.CreatedAt.Format("2006-01-02 15:04"), v.Bytes, note)
	}
	return table.Flush()
}

func runReportRestore(cmd *cobra.Command, args []string) error {
	if n, err := strconv.Atoi(args[1]); err != nil || n < 1 {
		return fmt.Errorf("%q is not the number of a revision", args[1])
	}
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var b contract.ReportBody
	if err := c.call(cmd.Context(), http.MethodPost, reportPath(args[0])+"/revisions/"+args[1]+"/restore", contract.ReportRestore{}, &b); err != nil {
		return err
	}
	printSaved(cmd, c, b)
	return nil
}

func runReportDelete(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	if err := c.call(cmd.Context(), http.MethodDelete, reportPath(args[0]), nil, nil); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s deleted\n", args[0])
	return nil
}
