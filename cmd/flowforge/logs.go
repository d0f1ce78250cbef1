package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/web/contract"
)

func newLogsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "logs EXECUTION",
		Short: "Print the log of an execution, or search the logs of many executions with --search",
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("search") {
				return arguments()(cmd, args)
			}
			return arguments("EXECUTION")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			if text, _ := cmd.Flags().GetString("search"); cmd.Flags().Changed("search") {
				return searchLogs(cmd.Context(), cmd, c, text)
			}
			query := url.Values{}
			for flag, key := range map[string]string{"node": "node", "level": "level", "grep": "q"} {
				if v, _ := cmd.Flags().GetString(flag); v != "" {
					query.Set(key, v)
				}
			}
			follow, _ := cmd.Flags().GetBool("follow")
			if follow {
				return c.tail(cmd.Context(), cmd.OutOrStdout(), args[0], query)
			}
			query.Set("format", "text")
			res, err := c.send(cmd.Context(), http.MethodGet, "/api/v1/executions/"+url.PathEscape(args[0])+"/logs?"+query.Encode(), "", nil)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			_, err = io.Copy(cmd.OutOrStdout(), res.Body)
			return err
		},
	}
	cmd.Flags().BoolP("follow", "f", false, "print new lines until the execution ends")
	cmd.Flags().String("node", "", "print only lines of this node")
	cmd.Flags().String("level", "", "print only lines of this level: DEBUG, INFO, WARN or ERROR")
	cmd.Flags().String("grep", "", "print only lines that contain this text")
	searchFlags(cmd)
	addClientFlags(cmd)
	return cmd
}

// tail prints the stream of an execution's log. After a broken connection it resumes after the
// last printed line. A server that does not respond the first request is an error.
func (c *client) tail(ctx context.Context, out io.Writer, id string, query url.Values) error {
	last := ""
	for first := true; ; first = false {
		ended, err := c.tailOnce(ctx, out, id, query, &last)
		if ended || ctx.Err() != nil {
			return ctx.Err()
		}
		if refused(err) || first && err != nil && last == "" {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func (c *client) tailOnce(ctx context.Context, out io.Writer, id string, query url.Values, last *string) (ended bool, err error) {
	if *last != "" {
		query.Set("last-event-id", *last)
	}
	res, err := c.send(ctx, http.MethodGet, "/api/v1/executions/"+url.PathEscape(id)+"/logs/stream?"+query.Encode(), "", nil)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	reader := bufio.NewReader(res.Body)
	event, eventID := "", ""
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			return false, fmt.Errorf("read the log: %w", err)
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "id":
			eventID = value
		case "event":
			event = value
		case "data":
			if event == "end" {
				return true, nil
			}
			if err := printLogLines(out, value); err != nil {
				return false, err
			}
		case "":
			if eventID != "" {
				*last = eventID
			}
			event = ""
		}
	}
}

func printLogLines(out io.Writer, data string) error {
	var lines []contract.LogLineBody
	if err := json.Unmarshal([]byte(data), &lines); err != nil {
		return fmt.Errorf("read log lines: %w", err)
	}
	for _, l := range lines {
		if _, err := fmt.Fprintf(out, "%s %-5s %s | %s\n", l.Timestamp.Local().Format("15:04:05.000"), l.Level, l.Node, telemetry.Text(l.Stream, l.Message, l.Fields, "")); err != nil {
			return err
		}
	}
	return nil
}
