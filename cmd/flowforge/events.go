package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

// followEvery is the time between two requests for new events.
const followEvery = time.Second

func newEventsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Print the events of executions, tasks, artifacts, models and limits, oldest first",
		Example: "  flowforge events --follow --type 'execution.*'\n" +
			"  flowforge events --topic artifact --json",
		Args: arguments(),
		RunE: runEvents,
	}
	cmd.Flags().BoolP("follow", "f", false, "print new events until interrupted; without --after, only new ones")
	cmd.Flags().StringArray("topic", nil, "workflow, task, quota, artifact or audit (repeatable)")
	cmd.Flags().StringArray("type", nil, "type of events, or a pattern such as execution.* (repeatable)")
	cmd.Flags().String("execution", "", "only events of the execution with this ID")
	cmd.Flags().String("after", "", "cursor of an event: print the events after it")
	cmd.Flags().Int("limit", 100, "without --follow: maximum number of events, 1 to 1000")
	cmd.Flags().Bool("all-projects", false, "events of all projects that you can read, and events that do not belong to a project")
	cmd.Flags().Bool("json", false, "print each event as a line of JSON, in the format of CloudEvents")
	addClientFlags(cmd)
	cmd.AddCommand(newEventsConsumeCommand(), newEventsConsumersCommand(), newEventsDeadLettersCommand())
	return cmd
}

func runEvents(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	flags := cmd.Flags()
	query := url.Values{}
	query["topic"], _ = flags.GetStringArray("topic")
	query["type"], _ = flags.GetStringArray("type")
	for flag, name := range map[string]string{"execution": "execution_id", "after": "after"} {
		if v, _ := flags.GetString(flag); v != "" {
			query.Set(name, v)
		}
	}
	if all, _ := flags.GetBool("all-projects"); all {
		query.Set("all_projects", "true")
	}
	limit, _ := flags.GetInt("limit")
	query.Set("limit", strconv.Itoa(limit))
	follow, _ := flags.GetBool("follow")
	if follow && !query.Has("after") {
		query.Set("after", "latest")
	}
	for first := true; ; first = false {
		var page contract.CloudEventList
		err := c.call(cmd.Context(), http.MethodGet, "/api/v1/events?"+query.Encode(), nil, &page)
		switch {
		case err == nil:
			if err := printEvents(cmd, page.Events); err != nil || !follow {
				return err
			}
			query.Set("after", page.Next)
		case !follow || first || refused(err):
			return err
		case cmd.Context().Err() == nil:
			fmt.Fprintf(cmd.ErrOrStderr(), "flowforge: %v; retrying in %s\n", err, followEvery)
		}
		if !page.More && !sleep(cmd.Context(), followEvery) {
			return nil
		}
	}
}

// sleep waits, and returns false when ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// printLine prints an event as a line of JSON.
func printLine(cmd *cobra.Command, event any) error {
	line, err := json.Marshal(event)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), string(line)); err != nil {
		return fmt.Errorf("print event: %w", err)
	}
	return nil
}

func printEvents(cmd *cobra.Command, events []contract.CloudEvent) error {
	asJSON, _ := cmd.Flags().GetBool("json")
	for _, e := range events {
		if asJSON {
			if err := printLine(cmd, e); err != nil {
				return err
			}
			continue
		}
		var data struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(e.Data, &data) // other events have no message
		words := []string{e.Time.Local().Format("2006-01-02 15:04:05"), e.Type, e.Subject}
		if e.ExecutionID != nil {
			words = append(words, e.ExecutionID.String())
		}
		fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSpace(strings.Join(append(words, data.Message), "  ")))
	}
	return nil
}
