package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/web/contract"
)

func newWhyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "why EXECUTION [NODE]",
		Short:   "Explain why a node or an execution is waiting",
		Example: "  flowforge why 01991f3a-… train",
		Args:    between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			path := "/api/v1/executions/" + url.PathEscape(args[0])
			if len(args) > 1 {
				path += "/nodes/" + url.PathEscape(args[1])
			}
			var raw json.RawMessage
			if err := c.call(cmd.Context(), http.MethodGet, path+"/why", nil, &raw); err != nil {
				return err
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				fmt.Fprintln(cmd.OutOrStdout(), string(raw))
				return nil
			}
			var e contract.WhyBody
			if err := json.Unmarshal(raw, &e); err != nil {
				return fmt.Errorf("read the server's response: %w", err)
			}
			writeExplanation(cmd.OutOrStdout(), e)
			return nil
		},
	}
	cmd.Flags().Bool("json", false, "print the API response as JSON")
	addClientFlags(cmd)
	return cmd
}

// writeExplanation prints e as text.
func writeExplanation(out io.Writer, e contract.WhyBody) {
	name := e.Node
	if name == "" {
		name = "The execution"
	}
	if !e.Waiting || e.Reason == nil {
		state := "is not waiting"
		if e.Status != "" {
			state += ": its status is " + e.Status
		}
		fmt.Fprintf(out, "%s %s.\n", name, state)
		if e.Node == "" {
			fmt.Fprintf(out, "To see its nodes, run: flowforge get %s\n", e.ExecutionID)
		}
		return
	}
	waited := ""
	if e.WaitingSince != nil {
		waited = " for " + time.Since(*e.WaitingSince).Truncate(time.Second).String()
	}
	r := e.Reason
	fmt.Fprintf(out, "%s has been waiting%s (%s)\n  %s\n", name, waited, r.Code, r.Message)
	if strings.HasPrefix(r.Message, "Cannot run here:") {
		fmt.Fprintln(out, "  Request less, or ask an administrator to raise the limit. To see the limits, run: flowforge quota")
	}
	if e.AboutToStart {
		fmt.Fprintln(out, "  Capacity is reserved: it is about to start.")
	}
	if r.Position > 0 {
		fmt.Fprintf(out, "  position in the queue: %d\n", r.Position)
	}
	if r.StartsFrom != nil && r.StartsTo != nil {
		fmt.Fprintf(out, "  expected start: %s to %s", r.StartsFrom.Local().Format("15:04:05"), r.StartsTo.Local().Format("15:04:05"))
		if r.Basis > 0 {
			fmt.Fprintf(out, ", based on %d earlier attempts", r.Basis)
		}
		fmt.Fprintln(out)
	}
	for _, h := range e.Holders {
		who := h.CountsFor
		if h.ExecutionID != nil {
			who = strings.TrimSpace(h.WorkflowName+" "+h.Node) + " " + h.ExecutionID.String()
			if h.Nodes > 1 {
				who += fmt.Sprintf(" and %s", units.Plural(h.Nodes-1, "more node", "more nodes"))
			}
		}
		borrowed := ""
		if h.Borrowed {
			borrowed = ", partly borrowed"
		}
		fmt.Fprintf(out, "  used by %s: %d%s%s\n", who, h.Amount, r.Unit, borrowed)
	}
	for _, d := range e.Decisions {
		fmt.Fprintf(out, "  %s  %s\n", d.At.Local().Format("15:04:05"), d.Text)
	}
}
