package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

func newOptionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "options WORKFLOW[@VERSION] INPUT",
		Short: "List the options of an input from the source that the workflow defines",
		Example: "  flowforge options digits.train checkpoint --search resnet\n" +
			"  flowforge options digits.train layers.*.kind -i backend=torch",
		Args: arguments("WORKFLOW", "INPUT"),
		RunE: runOptions,
	}
	f := cmd.Flags()
	f.StringArrayP("input", "i", nil, "the value of another input that the options depend on: name=value (JSON or text)")
	f.String("inputs", "", "a JSON file with the values of other inputs (- for standard input)")
	f.String("search", "", "list only options that contain this text")
	f.Int("limit", 20, "maximum number of options to print, up to 200")
	f.String("after", "", "continue after the previous page: the value that it printed")
	f.Bool("refresh", false, "fetch or compute the list again instead of using a cached one")
	f.Bool("json", false, "print JSON")
	addClientFlags(cmd)
	return cmd
}

func runOptions(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	inputs, err := c.inputs(cmd)
	if err != nil {
		return err
	}
	f := cmd.Flags()
	search, _ := f.GetString("search")
	limit, _ := f.GetInt("limit")
	after, _ := f.GetString("after")
	refresh, _ := f.GetBool("refresh")
	workflow, version, _ := strings.Cut(args[0], "@")
	query := url.Values{"refresh": {strconv.FormatBool(refresh)}, "q": {search}, "limit": {strconv.Itoa(limit)}, "after": {after}, "version": {version}}
	path := "/api/v1/workflows/" + url.PathEscape(workflow) + "/options/" + url.PathEscape(args[1]) + "?" + query.Encode()
	var list contract.OptionList
	if err := c.call(cmd.Context(), http.MethodPost, path, contract.OptionInputs{Inputs: inputs}, &list); err != nil {
		return err
	}
	if asJSON, _ := f.GetBool("json"); asJSON {
		e := json.NewEncoder(cmd.OutOrStdout())
		e.SetIndent("", "  ")
		return e.Encode(list)
	}
	return printOptions(cmd, list)
}

func printOptions(cmd *cobra.Command, list contract.OptionList) error {
	out := cmd.OutOrStdout()
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "VALUE\tLABEL\tDESCRIPTION")
	for _, o := range list.Options {
		value, ok := o.Value.(string)
		if !ok {
			raw, err := json.Marshal(o.Value)
			if err != nil {
				return fmt.Errorf("encode an option: %w", err)
			}
			value = string(raw)
		}
		about := []string{}
		if o.Description != "" {
			about = append(about, o.Description)
		}
		for _, fact := range o.Preview {
			about = append(about, fact.Name+" "+fact.Value)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", value, o.Label, strings.Join(about, "; "))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print options: %w", err)
	}
	for _, line := range []string{staleLine(list), list.Note} {
		if line != "" {
			fmt.Fprintln(out, line)
		}
	}
	if list.Next != "" {
		fmt.Fprintf(out, "More: --after %s\n", list.Next)
	}
	return nil
}

func staleLine(list contract.OptionList) string {
	if !list.Stale || list.At == nil {
		return ""
	}
	return "These options are from " + list.At.Local().Format("2006-01-02 15:04:05") + ". The server is fetching newer ones."
}
