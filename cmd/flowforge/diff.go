package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

func newDiffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "diff WORKFLOW FROM [TO]",
		Short:   "Show the changes between two versions of a workflow, and which of them break callers",
		Long:    "Show the changes between two versions of a workflow: inputs and outputs, with the changes that break\ncallers, operators, settings and code files. TO is the latest version by default.",
		Example: "  flowforge diff digits.train 1.0.0\n  flowforge diff digits.train 1.0.0 1.1.0 --exit-code",
		Args:    between(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			q := url.Values{"from": {args[1]}}
			if len(args) == 3 {
				q.Set("to", args[2])
			}
			var raw json.RawMessage
			if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/workflows/"+url.PathEscape(args[0])+"/diff?"+q.Encode(), nil, &raw); err != nil {
				return err
			}
			var b contract.VersionDiffBody
			if err := json.Unmarshal(raw, &b); err != nil {
				return fmt.Errorf("read the server's response: %w", err)
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				err = printJSON(cmd.OutOrStdout(), raw)
			} else {
				writeDiff(cmd.OutOrStdout(), b)
			}
			if strict, _ := cmd.Flags().GetBool("exit-code"); err == nil && strict && b.Breaking {
				return fmt.Errorf("%s %s breaks callers of %s", b.WorkflowName, b.To, b.From)
			}
			return err
		},
	}
	cmd.Flags().Bool("json", false, "print the API response as JSON")
	cmd.Flags().Bool("exit-code", false, "exit 1 if a change breaks callers")
	addClientFlags(cmd)
	return cmd
}

// writeDiff prints changes as text, and files as a unified diff.
func writeDiff(out io.Writer, b contract.VersionDiffBody) {
	if len(b.Changes)+len(b.Files) == 0 {
		fmt.Fprintf(out, "%s %s and %s do not differ.\n", b.WorkflowName, b.From, b.To)
	}
	marks := map[string]string{"added": "+", "removed": "-", "changed": "~"}
	section := ""
	for _, c := range b.Changes {
		if c.Section != section {
			section = c.Section
			fmt.Fprintln(out, strings.ToUpper(section))
		}
		fmt.Fprintf(out, "%s %s\n", marks[c.Change], c.Name)
		if c.Breaks != "" {
			fmt.Fprintf(out, "    breaking: %s\n", c.Breaks)
		}
		for _, d := range c.Details {
			switch {
			case d.Path == "code": // the files follow
				fmt.Fprintln(out, "    code changed")
			case d.Patch != "":
				fmt.Fprintf(out, "    %s:\n%s", d.Path, indent(d.Patch, "      "))
			default:
				fmt.Fprintf(out, "    %s: %s → %s\n", d.Path, orNone(d.Before), orNone(d.After))
			}
		}
	}
	for _, f := range b.Files {
		fmt.Fprintf(out, "--- %s/%s\n+++ %s/%s\n%s", b.From, f.Name, b.To, f.Name, f.Patch)
		if f.Note != "" {
			fmt.Fprintln(out, f.Note)
		}
	}
	for _, n := range b.Notes {
		fmt.Fprintln(out, "note: "+n)
	}
}

func orNone(text string) string {
	if text == "" {
		return "(none)"
	}
	return text
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+by) + "\n"
}
