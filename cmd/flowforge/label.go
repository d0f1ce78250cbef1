package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

func newLabelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "label EXECUTION...",
		Short: "Change the tags, the note and the name of executions",
		Example: `  flowforge label 01a20984-… --tag baseline --name "lower learning rate"
  flowforge label 01a20984-… 01a2098f-… --remove-tag baseline --note ""`,
		Args: between(1, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := labelInput(cmd, len(args))
			if err != nil {
				return err
			}
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			for _, execution := range args {
				var out contract.LabelBody
				path := "/api/v1/executions/" + url.PathEscape(execution) + "/labels"
				if err := c.call(cmd.Context(), http.MethodPost, path, in, &out); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), labelText(execution, out))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringArray("tag", nil, "a tag to add; repeat the flag for several tags")
	f.StringArray("remove-tag", nil, "a tag to remove; repeat the flag for several tags")
	f.String("note", "", "the note; an empty text removes it")
	f.String("name", "", "the name, of one execution; an empty text removes it")
	addClientFlags(cmd)
	return cmd
}

// labelInput is the change that the flags describe.
func labelInput(cmd *cobra.Command, executions int) (contract.LabelInput, error) {
	var in contract.LabelInput
	f := cmd.Flags()
	in.Add, _ = f.GetStringArray("tag")
	in.Remove, _ = f.GetStringArray("remove-tag")
	if f.Changed("note") {
		note, _ := f.GetString("note")
		in.Note = &note
	}
	if f.Changed("name") {
		name, _ := f.GetString("name")
		in.Name = &name
	}
	switch {
	case len(in.Add) == 0 && len(in.Remove) == 0 && in.Note == nil && in.Name == nil:
		return in, errors.New("set --tag, --remove-tag, --note or --name")
	case in.Name != nil && executions > 1:
		return in, errors.New("--name sets the name of a single execution")
	}
	return in, nil
}

// labelText is a line about an execution after the change.
func labelText(execution string, l contract.LabelBody) string {
	parts := []string{execution}
	if l.Name != "" {
		parts = append(parts, "name: "+l.Name)
	}
	if len(l.Tags) > 0 {
		parts = append(parts, "tags: "+strings.Join(l.Tags, ", "))
	}
	if l.Note != "" {
		parts = append(parts, "note: "+firstLine(l.Note))
	}
	return strings.Join(parts, "  ")
}
