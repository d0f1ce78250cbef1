package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

func newPauseCommand() *cobra.Command {
	return pauseCommand("pause", "Pause an execution: running nodes continue, but no new nodes start", "paused")
}

func newUnpauseCommand() *cobra.Command {
	return pauseCommand("unpause", "Continue a paused execution", "no longer paused")
}

func pauseCommand(name, short, done string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name + " EXECUTION",
		Short: short,
		Args:  arguments("EXECUTION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			reason, _ := cmd.Flags().GetString("reason")
			var e contract.ExecutionBody
			path := "/api/v1/executions/" + url.PathEscape(args[0]) + "/" + name
			if err := c.call(cmd.Context(), http.MethodPost, path, contract.CancelInput{Reason: reason}, &e); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is %s\n", e.ExecutionID, done)
			return nil
		},
	}
	cmd.Flags().String("reason", "", "the reason, recorded in the execution's events")
	addClientFlags(cmd)
	return cmd
}

// nodeCommands are the commands of `flowforge node`, with a description of each.
func nodeCommands() map[string]string {
	return map[string]string{
		"hold": "prevent a node from starting until you release it", "release": "allow a held node to start", "skip": "skip a node, or stop it if it is running",
		"succeed": "mark a node as succeeded, with the outputs from -i", "retry": "retry a node that failed or did not run",
		"approve": "approve an approval node, with the values from -i", "reject": "reject an approval node",
	}
}

func newNodeCommand() *cobra.Command {
	commands := nodeCommands()
	names := make([]string, 0, len(commands))
	for name := range commands {
		names = append(names, name)
	}
	slices.Sort(names)
	lines := make([]string, len(names))
	for i, name := range names {
		lines[i] = fmt.Sprintf("  %-8s %s", name, commands[name])
	}
	cmd := &cobra.Command{
		Use:     "node COMMAND EXECUTION NODE",
		Short:   "Control one node of a live execution",
		Long:    "Control one node of a live execution:\n" + strings.Join(lines, "\n"),
		Example: "  flowforge node approve 019aa5c8-7f3e-7c11-9a40-3f0c2d1b5e77 release -i rate=0.1\n  flowforge node retry 019aa5c8-7f3e-7c11-9a40-3f0c2d1b5e77 'train[3]'",
		Args:    arguments("COMMAND", "EXECUTION", "NODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if commands[args[0]] == "" {
				return fmt.Errorf("unknown command %q; the commands are %s", args[0], strings.Join(names, ", "))
			}
			return commandNode(cmd, args[0], args[1], args[2])
		},
	}
	f := cmd.Flags()
	f.String("reason", "", "the reason, recorded in the execution's events")
	f.StringArrayP("input", "i", nil, "a value as name=value, or a file as name=@path")
	f.String("inputs", "", "a JSON file with all values (- for standard input)")
	addClientFlags(cmd)
	return cmd
}

func commandNode(cmd *cobra.Command, command, id, node string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	values, err := c.inputs(cmd)
	if err != nil {
		return err
	}
	reason, _ := cmd.Flags().GetString("reason")
	request := contract.CommandInputBody{Node: node, Command: command, Reason: reason}
	if len(values) > 0 {
		if request.Values, err = json.Marshal(values); err != nil {
			return fmt.Errorf("encode values: %w", err)
		}
	}
	var n contract.NodeBody
	if err := c.call(cmd.Context(), http.MethodPost, "/api/v1/executions/"+url.PathEscape(id)+"/commands", request, &n); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s accepted; the node is %s\n", node, command, n.Status)
	return nil
}
