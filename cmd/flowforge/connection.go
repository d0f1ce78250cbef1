package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/web/contract"
)

func newConnectionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "connection",
		Short: "Manage connections: databases, buckets, APIs and channels for messages",
		Args:  arguments(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{Use: "list", Short: "List the connections of the project", Args: arguments(), RunE: runConnectionList}
	list.Flags().String("kind", "", "only connections of this kind: postgres, clickhouse, s3, http, grpc, huggingface, slack, teams, email, pagerduty, webhook or custom")
	list.Flags().Bool("json", false, "print the API response as JSON")
	show := &cobra.Command{Use: "show NAME", Short: "Show a connection without its secret fields", Args: arguments("NAME"), RunE: runConnectionShow}
	show.Flags().Bool("json", false, "print the API response as JSON")
	set := &cobra.Command{
		Use:   "set NAME",
		Short: "Create a connection, or change fields of an existing one",
		Example: "  flowforge connection set warehouse --kind postgres -f host=db.example.com -f database=sales -f user=reader --secret password=@password.txt\n" +
			"  flowforge connection set warehouse -f host=replica.example.com",
		Args: arguments("NAME"),
		RunE: runConnectionSet,
	}
	set.Flags().String("kind", "", "kind of a new connection: postgres, clickhouse, s3, http, grpc, huggingface, slack, teams, email, pagerduty, webhook or custom")
	set.Flags().StringArrayP("field", "f", nil, "a visible field: name=value; name= removes it")
	set.Flags().StringArray("secret", nil, "a secret field: name=@path to read a file, or name=- for standard input; name= removes it")
	set.Flags().String("description", "", "description of the connection")
	set.Flags().String("declared", "", "for a custom connection: a JSON file with its fields")
	test := &cobra.Command{Use: "test NAME", Short: "Test a connection from the server", Args: arguments("NAME"), RunE: runConnectionTest}
	remove := &cobra.Command{Use: "delete NAME", Short: "Delete a connection", Args: arguments("NAME"), RunE: runConnectionDelete}
	for _, c := range []*cobra.Command{list, show, set, test, remove} {
		addClientFlags(c)
		cmd.AddCommand(c)
	}
	return cmd
}

func connectionPath(name string) string { return "/api/v1/connections/" + url.PathEscape(name) }

func printIndented(out io.Writer, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return printJSON(out, raw)
}

func runConnectionList(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	kind, _ := cmd.Flags().GetString("kind")
	path := "/api/v1/connections"
	if kind != "" {
		path += "?" + url.Values{"kind": {kind}}.Encode()
	}
	var list contract.ConnectionList
	if err := c.call(cmd.Context(), http.MethodGet, path, nil, &list); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, list.Connections)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tKIND\tCHANGED BY\tCHANGED\tDESCRIPTION")
	for _, b := range list.Connections {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", b.Name, b.Kind, b.UpdatedBy, b.UpdatedAt.Format("2006-01-02 15:04"), b.Description)
	}
	return table.Flush()
}

func runConnectionShow(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var b contract.ConnectionBody
	if err := c.call(cmd.Context(), http.MethodGet, connectionPath(args[0]), nil, &b); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, b)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "name\t%s\nkind\t%s\n", b.Name, b.Kind)
	for _, f := range b.Fields {
		switch {
		case f.Secret && slices.Contains(b.SecretFields, f.Name):
			fmt.Fprintf(table, "%s\t(hidden)\n", f.Name)
		case !f.Secret && b.Values[f.Name] != nil:
			fmt.Fprintf(table, "%s\t%v\n", f.Name, b.Values[f.Name])
		}
	}
	for _, u := range b.UsedBy {
		fmt.Fprintf(table, "used by\t%s, execution %s\n", u.Workflow, u.ExecutionID)
	}
	return table.Flush()
}

func runConnectionSet(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var have contract.ConnectionBody
	err = c.call(cmd.Context(), http.MethodGet, connectionPath(args[0]), nil, &have)
	if p, answered := errors.AsType[*problem](err); err != nil && (!answered || p.Status != http.StatusNotFound) {
		return err
	}
	in := contract.ConnectionInput{Kind: have.Kind, Description: have.Description, Values: have.Values}
	if in.Values == nil {
		in.Values = map[string]any{}
	}
	if have.Kind == "custom" {
		in.Declared = have.Fields
	}
	if err := changeConnection(cmd, &in); err != nil {
		return err
	}
	if in.Kind == "" {
		return fmt.Errorf("there is no connection %q; to create it, set --kind", args[0])
	}
	var b contract.ConnectionBody
	if err := c.call(cmd.Context(), http.MethodPut, connectionPath(args[0]), in, &b); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s saved: %s/connections/%s\n", b.Name, c.base, url.PathEscape(b.Name))
	return nil
}

// changeConnection applies the flags of set to in.
func changeConnection(cmd *cobra.Command, in *contract.ConnectionInput) error {
	flags := cmd.Flags()
	if kind, _ := flags.GetString("kind"); kind != "" {
		in.Kind = kind
	}
	if flags.Changed("description") {
		in.Description, _ = flags.GetString("description")
	}
	if path, _ := flags.GetString("declared"); path != "" {
		raw, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(raw, &in.Declared)
		}
		if err != nil {
			return fmt.Errorf("--declared %s: %w", path, err)
		}
	}
	given := map[string]any{}
	fields, _ := flags.GetStringArray("field")
	for _, text := range fields {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("-f %s: write name=value", text)
		}
		given[name] = fieldValue(in, name, value)
	}
	secrets, _ := flags.GetStringArray("secret")
	for _, text := range secrets {
		name, source, ok := strings.Cut(text, "=")
		value, err := secretValue(cmd, "name=", source)
		if !ok {
			return fmt.Errorf("--secret %s: write name=@path, or name=- for standard input", name)
		}
		if err != nil {
			return fmt.Errorf("--secret %s: %w", name, err)
		}
		given[name] = value
	}
	maps.Copy(in.Values, given)
	return nil
}

// fieldValue reads the value of a visible field: numbers and Booleans where the field has such a type. The
// server explains what is wrong with other values.
func fieldValue(in *contract.ConnectionInput, name, text string) any {
	kind, _ := connection.KindNamed(in.Kind)
	types := map[string]string{}
	for _, f := range kind.Fields {
		types[f.Name] = f.Type
	}
	for _, f := range in.Declared {
		types[f.Name] = f.Type
	}
	base, _, _ := strings.Cut(types[name], "(")
	var value any
	if !slices.Contains([]string{"Integer", "Float", "Boolean"}, base) || json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	return value
}

// secretValue reads a secret from @path or from standard input; it never comes from the command line, which
// other users can see. name is what precedes the source in the usage, "" or "name=".
func secretValue(cmd *cobra.Command, name, source string) (any, error) {
	var raw []byte
	var err error
	switch {
	case source == "":
		return nil, nil //nolint:nilnil // the field is removed
	case source == "-":
		raw, err = io.ReadAll(cmd.InOrStdin())
	case strings.HasPrefix(source, "@"):
		raw, err = os.ReadFile(source[1:])
	default:
		err = fmt.Errorf("other users can see the command line, so it cannot contain a secret: write %[1]s@path, or %[1]s- for standard input", name)
	}
	return strings.TrimSuffix(string(raw), "\n"), err
}

func runConnectionTest(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var result contract.ConnectionTest
	if err := c.call(cmd.Context(), http.MethodPost, connectionPath(args[0])+"/test", nil, &result); err != nil {
		return err
	}
	for _, s := range result.Steps {
		mark := "ok    "
		if !s.OK {
			mark = "failed"
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s  %s: %s\n", mark, s.Name, s.Detail)
	}
	if !result.OK {
		return fmt.Errorf("the test of the connection %s failed", args[0])
	}
	return nil
}

func runConnectionDelete(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	if err := c.call(cmd.Context(), http.MethodDelete, connectionPath(args[0]), nil, nil); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s deleted\n", args[0])
	return nil
}
