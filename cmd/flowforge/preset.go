package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

func newPresetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "preset",
		Short: "List, save and delete presets: named inputs of a workflow",
		Args:  arguments(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{
		Use:   "list WORKFLOW",
		Short: "List the presets that you can use for a workflow",
		Args:  arguments("WORKFLOW"),
		RunE:  runPresetList,
	}
	list.Flags().Bool("json", false, "print the API response as JSON")
	save := &cobra.Command{
		Use:   "save WORKFLOW[@VERSION] NAME",
		Short: "Save inputs as a preset: -i name=value, -i name=@file, --inputs file.json",
		Example: "  flowforge preset save digits.train quick -i epochs=1 --share project\n" +
			"  flowforge launch digits.train --preset quick -i lr=0.1",
		Args: arguments("WORKFLOW", "NAME"),
		RunE: runPresetSave,
	}
	save.Flags().StringArrayP("input", "i", nil, "an input: name=value or name.field=value (JSON or text), or name=@path to upload a file")
	save.Flags().String("inputs", "", "a JSON file with all inputs (- for standard input)")
	save.Flags().String("share", "private", "who can use the preset: private, project, or team (workflows of the same name in the team's other projects)")
	save.Flags().String("description", "", "description of the preset")
	save.Flags().Bool("replace", false, "replace an existing preset with this name")
	remove := &cobra.Command{
		Use:   "delete WORKFLOW NAME",
		Short: "Delete a preset",
		Args:  arguments("WORKFLOW", "NAME"),
		RunE:  runPresetDelete,
	}
	for _, c := range []*cobra.Command{list, save, remove} {
		addClientFlags(c)
		cmd.AddCommand(c)
	}
	return cmd
}

func presetsPath(workflow string) string {
	return "/api/v1/workflows/" + url.PathEscape(workflow) + "/presets"
}

func runPresetList(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var list contract.PresetList
	if err := c.call(cmd.Context(), http.MethodGet, presetsPath(args[0]), nil, &list); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(list.Presets)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSHARED WITH\tBY\tVERSION\tUSES\tINPUTS")
	for _, p := range list.Presets {
		inputs, err := json.Marshal(p.Inputs)
		if err != nil {
			return err
		}
		if p.Inputs == nil {
			inputs = []byte("more than 4 KiB")
		}
		name := p.Name
		switch {
		case p.MyDefault:
			name += " (your default)"
		case p.ProjectDefault:
			name += " (default)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\n", name, p.Sharing, p.CreatedBy, p.Version, p.Uses, inputs)
	}
	return table.Flush()
}

func runPresetSave(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	inputs, err := c.inputs(cmd)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(inputs)
	if err != nil {
		return fmt.Errorf("encode inputs: %w", err)
	}
	workflow, version, _ := strings.Cut(args[0], "@")
	sharing, _ := cmd.Flags().GetString("share")
	description, _ := cmd.Flags().GetString("description")
	var p contract.PresetBody
	if replace, _ := cmd.Flags().GetBool("replace"); replace {
		change := contract.PresetChange{Version: version, Inputs: raw}
		if cmd.Flags().Changed("share") {
			change.Sharing = &sharing
		}
		if cmd.Flags().Changed("description") {
			change.Description = &description
		}
		err = c.call(cmd.Context(), http.MethodPatch, presetsPath(workflow)+"/"+url.PathEscape(args[1]), change, &p)
	} else {
		save := contract.PresetInput{Name: args[1], Description: description, Sharing: sharing, Version: version, Inputs: raw}
		err = c.call(cmd.Context(), http.MethodPost, presetsPath(workflow), save, &p)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s saved for version %s: %s%s\n", p.Name, p.Version, c.base, p.LaunchURL)
	return nil
}

func runPresetDelete(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	if err := c.call(cmd.Context(), http.MethodDelete, presetsPath(args[0])+"/"+url.PathEscape(args[1]), nil, nil); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s deleted\n", args[1])
	return nil
}
