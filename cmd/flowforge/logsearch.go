package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/web/contract"
)

// searchFlags are the flags of logs that search many executions.
func searchFlags(cmd *cobra.Command) {
	cmd.Flags().String("search", "", "search the logs of many executions for this text, ignoring case")
	cmd.Flags().String("where", "", "with --search: search only these executions, such as 'state:failed since:7d'")
	cmd.Flags().Int("limit", 20, "with --search: maximum number of lines, 1 to 200")
}

// searchLogs prints lines of many executions that contain a text.
func searchLogs(ctx context.Context, cmd *cobra.Command, c *client, text string) error {
	query := url.Values{"text": {text}}
	if where, _ := cmd.Flags().GetString("where"); where != "" {
		query.Set("where", where)
	}
	limit, _ := cmd.Flags().GetInt("limit")
	query.Set("limit", strconv.Itoa(limit))
	var found contract.LogHits
	if err := c.call(ctx, http.MethodGet, "/api/v1/executions/lines?"+query.Encode(), nil, &found); err != nil {
		return err
	}
	if err := printHits(cmd.OutOrStdout(), found); err != nil {
		return err
	}
	if found.Partial {
		fmt.Fprintln(cmd.ErrOrStderr(), "ClickHouse is not responding. These lines come from the server's disk, which contains only the most recent lines of the project's executions.")
		if found.Newest {
			fmt.Fprintln(cmd.ErrOrStderr(), "There are too many lines on disk to search all of them: earlier lines were not searched.")
		}
		return nil
	}
	more := ""
	if found.NextPage != "" {
		more = " There are more matches: increase --limit, or narrow the search with --where."
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "Showing the latest %d matching lines of executions launched since %s.%s\n", len(found.Lines), found.From.Local().Format("2006-01-02 15:04"), more)
	return nil
}

func printHits(out io.Writer, found contract.LogHits) error {
	for i, hit := range found.Lines {
		if i > 0 {
			if _, err := fmt.Fprintln(out); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(out, "%s %s %s attempt %d %s\n", hit.ExecutionID, hit.Execution, hit.Node, hit.Attempt, hit.Timestamp.Local().Format("2006-01-02 15:04:05")); err != nil {
			return err
		}
		for _, l := range hit.Before {
			if _, err := fmt.Fprintf(out, "  %7d  %s\n", l.Line, l.Message); err != nil {
				return err
			}
		}
		number := ""
		if hit.Line > 0 {
			number = strconv.Itoa(hit.Line)
		}
		if _, err := fmt.Fprintf(out, "> %7s  %s\n", number, telemetry.Text(hit.Stream, hit.Message, hit.Fields, "")); err != nil {
			return err
		}
		for _, l := range hit.After {
			if _, err := fmt.Fprintf(out, "  %7d  %s\n", l.Line, l.Message); err != nil {
				return err
			}
		}
	}
	return nil
}
