package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

func newSecretStoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secret-store",
		Short: "Manage secret stores: Vault, AWS, Google Cloud, files and variables of the server",
		Args:  arguments(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{Use: "list", Short: "List the secret stores of the installation", Args: arguments(), RunE: runSecretStoreList}
	list.Flags().Bool("json", false, "print the API response as JSON")
	set := &cobra.Command{
		Use:   "set NAME",
		Short: "Register a secret store, or change fields of an existing one",
		Example: "  flowforge secret-store set vault --kind vault -f address=https://vault.example.com:8200 -f role_id=forge --secret secret_id=@secret-id.txt \\\n" +
			"    -f prefix='{namespace}/' -f projects='*'",
		Args: arguments("NAME"),
		RunE: runSecretStoreSet,
	}
	set.Flags().String("kind", "", "kind of a new store: vault, aws, gcp, file or env")
	set.Flags().StringArrayP("field", "f", nil, "a visible field: name=value; name= removes it")
	set.Flags().StringArray("secret", nil, "a secret field: name=@path to read a file, or name=- for standard input; name= removes it")
	set.Flags().String("description", "", "description of the store")
	test := &cobra.Command{Use: "test NAME", Short: "Test a secret store from the server", Args: arguments("NAME"), RunE: runSecretStoreTest}
	addReferenceFlags(test)
	remove := &cobra.Command{Use: "delete NAME", Short: "Delete a secret store to which no secret refers", Args: arguments("NAME"), RunE: runSecretStoreDelete}
	for _, c := range []*cobra.Command{list, set, test, remove} {
		addClientFlags(c)
		cmd.AddCommand(c)
	}
	return cmd
}

func addReferenceFlags(cmd *cobra.Command) {
	cmd.Flags().String("path", "", "path in the store")
	cmd.Flags().String("key", "", "member of a JSON object, or key of a Vault secret")
	cmd.Flags().String("version", "", "version of the value; without it, the newest")
}

func secretStorePath(name string) string { return "/api/v1/secret-stores/" + url.PathEscape(name) }

func runSecretStoreList(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var list contract.SecretStoreList
	if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/secret-stores", nil, &list); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, list.Stores)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tKIND\tSECRETS\tCHANGED BY\tDESCRIPTION")
	for _, s := range list.Stores {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", s.Name, s.Kind, len(s.UsedBy), s.UpdatedBy, s.Description)
	}
	return table.Flush()
}

func runSecretStoreSet(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var have contract.SecretStoreBody
	err = c.call(cmd.Context(), http.MethodGet, secretStorePath(args[0]), nil, &have)
	if p, answered := errors.AsType[*problem](err); err != nil && (!answered || p.Status != http.StatusNotFound) {
		return err
	}
	in := contract.ConnectionInput{Kind: have.Kind, Description: have.Description, Values: map[string]any{}}
	maps.Copy(in.Values, have.Values)
	if err := changeConnection(cmd, &in); err != nil {
		return err
	}
	if in.Kind == "" {
		return fmt.Errorf("there is no secret store %q; to register it, set --kind", args[0])
	}
	var b contract.SecretStoreBody
	body := contract.SecretStoreInput{Kind: in.Kind, Description: in.Description, Values: in.Values}
	if err := c.call(cmd.Context(), http.MethodPut, secretStorePath(args[0]), body, &b); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s saved: %s/admin/secret-stores/%s\n", b.Name, c.base, url.PathEscape(b.Name))
	return nil
}

func runSecretStoreTest(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	text := func(name string) string { value, _ := cmd.Flags().GetString(name); return value }
	probe := contract.SecretStoreProbe{Path: text("path"), Key: text("key"), Version: text("version")}
	var result contract.SecretStoreTest
	if err := c.call(cmd.Context(), http.MethodPost, secretStorePath(args[0])+"/test", probe, &result); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), result.Detail)
	if !result.OK {
		return fmt.Errorf("the test of the secret store %s failed", args[0])
	}
	return nil
}

func runSecretStoreDelete(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	if err := c.call(cmd.Context(), http.MethodDelete, secretStorePath(args[0]), nil, nil); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s deleted\n", args[0])
	return nil
}

func newSecretCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secret",
		Short: "Manage the secrets of a project",
		Args:  arguments(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{Use: "list", Short: "List the secrets of the project, without their values", Args: arguments(), RunE: runSecretList}
	list.Flags().Bool("json", false, "print the API response as JSON")
	set := &cobra.Command{
		Use:   "set NAME",
		Short: "Store a secret, or a reference to a secret store",
		Example: "  flowforge secret set tracker-key --value @key.txt\n" +
			"  flowforge secret set warehouse --store vault --path vision/db --key password",
		Args: arguments("NAME"),
		RunE: runSecretSet,
	}
	set.Flags().String("value", "", "the value: @path to read a file, or - for standard input")
	set.Flags().String("store", "", "the secret store that has the value")
	set.Flags().String("description", "", "description of the secret")
	addReferenceFlags(set)
	remove := &cobra.Command{Use: "delete NAME", Short: "Delete a secret", Args: arguments("NAME"), RunE: runSecretDelete}
	for _, c := range []*cobra.Command{list, set, remove} {
		addClientFlags(c)
		cmd.AddCommand(c)
	}
	return cmd
}

func runSecretList(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var list contract.SecretList
	if err := c.call(cmd.Context(), http.MethodGet, "/api/v1/secrets", nil, &list); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printIndented(out, list.Secrets)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSOURCE\tDESCRIPTION")
	for _, s := range list.Secrets {
		source := cmp.Or(s.Source, "FlowForge")
		if r := s.Reference; r != nil {
			source = strings.Join(slices.DeleteFunc([]string{r.Store + ":" + r.Path, r.Key, r.Version}, func(part string) bool { return part == "" }), " ")
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", s.Name, source, s.Description)
	}
	return table.Flush()
}

func runSecretSet(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	text := func(name string) string { value, _ := cmd.Flags().GetString(name); return value }
	in := contract.SecretInput{Description: text("description")}
	switch {
	case (text("value") == "") == (text("store") == ""):
		return errors.New("set either --value or --store")
	case text("store") != "":
		in.Reference = &contract.SecretReference{Store: text("store"), Path: text("path"), Key: text("key"), Version: text("version")}
	default:
		value, err := secretValue(cmd, "", text("value"))
		if err != nil {
			return fmt.Errorf("--value: %w", err)
		}
		in.Value, _ = value.(string)
	}
	var b contract.SecretBody
	if err := c.call(cmd.Context(), http.MethodPut, "/api/v1/secrets/"+url.PathEscape(args[0]), in, &b); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s saved: %s/secrets/%s\n", b.Name, c.base, url.PathEscape(b.Name))
	return nil
}

func runSecretDelete(cmd *cobra.Command, args []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	if err := c.call(cmd.Context(), http.MethodDelete, "/api/v1/secrets/"+url.PathEscape(args[0]), nil, nil); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s deleted\n", args[0])
	return nil
}
