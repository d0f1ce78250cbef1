package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/web/contract"
)

const datastorePath = "/api/v1/metaflow/datastore"

func newMetaflowCommand() *cobra.Command {
	metaflow := &cobra.Command{
		Use:   "metaflow",
		Short: "Show and set the location where Metaflow's client stores the project's data",
		Args:  arguments(),
	}
	store := &cobra.Command{
		Use:   "datastore",
		Short: "Print the project's datastore, and the environment variables for a client that uses it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return callDatastore(cmd, http.MethodGet, nil)
		},
	}
	set := &cobra.Command{
		Use:   "set [ROOT]",
		Short: "Set the datastore: s3://bucket/prefix, or a folder on the server; without ROOT, use the project's own folder",
		Example: `  flowforge metaflow datastore set s3://models/metaflow --endpoint https://minio.example.com:9000 \
    --access-key-secret minio-access --secret-key-secret minio-secret
  flowforge metaflow datastore set`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return callDatastore(cmd, http.MethodPut, placeFrom(cmd, args))
		},
	}
	for name, about := range map[string]string{
		"endpoint": "address of the object store, if it is not AWS", "region": "region of the bucket",
		"access-key-secret": "project secret that contains the access key ID", "secret-key-secret": "project secret that contains the secret access key",
		"session-token-secret": "project secret that contains the session token of temporary credentials",
	} {
		set.Flags().String(name, "", about)
	}
	set.Flags().Bool("test", false, "test whether the server can read this datastore without setting it")
	test := &cobra.Command{
		Use:   "test",
		Short: "Test whether the server can read the project's datastore",
		Args:  cobra.NoArgs,
		RunE:  testDatastore,
	}
	for _, c := range []*cobra.Command{store, set} {
		c.Flags().Bool("json", false, "print the API response as JSON")
	}
	for _, c := range []*cobra.Command{store, set, test} {
		addClientFlags(c)
	}
	store.AddCommand(set, test)
	metaflow.AddCommand(store)
	return metaflow
}

// placeFrom is the datastore that the arguments of set name.
func placeFrom(cmd *cobra.Command, args []string) *contract.MetaflowPlace {
	text := func(name string) string {
		value, _ := cmd.Flags().GetString(name)
		return value
	}
	p := &contract.MetaflowPlace{
		Kind: "local", Endpoint: text("endpoint"), Region: text("region"),
		AccessKeySecret: text("access-key-secret"), SecretKeySecret: text("secret-key-secret"), SessionTokenSecret: text("session-token-secret"),
	}
	if len(args) == 0 {
		return p
	}
	p.Root = args[0]
	if strings.Contains(p.Root, "://") {
		p.Kind = "s3"
	} else if abs, err := filepath.Abs(p.Root); err == nil {
		p.Root = abs
	}
	return p
}

func callDatastore(cmd *cobra.Command, method string, in *contract.MetaflowPlace) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	if only, _ := cmd.Flags().GetBool("test"); only {
		return printTest(cmd, c, *in)
	}
	var store contract.MetaflowDatastore
	var body any
	if in != nil {
		body = in
	}
	if err := c.call(cmd.Context(), method, datastorePath, body, &store); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(store)
	}
	printDatastore(out, store)
	return nil
}

func printDatastore(out io.Writer, store contract.MetaflowDatastore) {
	about := "a folder on the server"
	switch {
	case store.Own:
		about = "the project's own folder"
	case store.Kind == "s3":
		about = "a bucket"
	}
	fmt.Fprintf(out, "# %s\n", about)
	names := make([]string, 0, len(store.Environment))
	for name := range store.Environment {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(out, "export %s='%s'\n", name, strings.ReplaceAll(store.Environment[name], "'", `'\''`))
	}
}

func testDatastore(cmd *cobra.Command, _ []string) error {
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	var store contract.MetaflowDatastore
	if err := c.call(cmd.Context(), http.MethodGet, datastorePath, nil, &store); err != nil {
		return err
	}
	return printTest(cmd, c, store.MetaflowPlace)
}

func printTest(cmd *cobra.Command, c *client, place contract.MetaflowPlace) error {
	var found contract.MetaflowDatastoreTest
	if err := c.call(cmd.Context(), http.MethodPost, datastorePath+"/test", place, &found); err != nil {
		return err
	}
	if !found.OK {
		return fmt.Errorf("the server cannot read the datastore: %s", found.Message)
	}
	fmt.Fprintln(cmd.OutOrStdout(), found.Message)
	return nil
}
