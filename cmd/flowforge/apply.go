package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/workflow"
)

func newApplyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply -f FILE [-f FILE …]",
		Short: "Register workflow definitions (YAML or JSON) with their code packages",
		Args:  arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			files, _ := cmd.Flags().GetStringArray("file")
			for _, file := range files {
				if err := c.apply(cmd, file); err != nil {
					return fmt.Errorf("%s: %w", file, err)
				}
			}
			return nil
		},
	}
	cmd.Flags().StringArrayP("file", "f", nil, "a definition; folders that code.package names are packed and uploaded")
	cmd.Flags().Bool("global", false, "templates: for all projects of the tenant")
	if err := cmd.MarkFlagRequired("file"); err != nil {
		panic(err) // the flag is defined one line above
	}
	addClientFlags(cmd)
	return cmd
}

// apply uploads the code packages that the definition in file names, and
// registers it with their hashes.
func (c *client) apply(cmd *cobra.Command, file string) error {
	doc, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	doc, err = workflow.BindPackages(doc, func(folder string) (string, error) {
		archive, err := workflow.Pack(os.DirFS(filepath.Join(filepath.Dir(file), folder)))
		if err != nil {
			return "", fmt.Errorf("code.package %q: %w", folder, err)
		}
		return c.uploadPackage(cmd, archive)
	})
	if err != nil {
		return err
	}
	if workflow.IsTemplate(doc) {
		return c.applyTemplate(cmd, doc)
	}
	res, err := c.send(cmd.Context(), http.MethodPost, "/api/v1/workflows", "application/yaml", bytes.NewReader(doc))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var answer struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		Status  string `json:"status"`
		URL     string `json:"ui_launch_url"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	verb := "registered"
	if answer.Status == "UNCHANGED" {
		verb = "is registered already"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s@%s %s: %s%s\n", answer.Name, answer.Version, verb, c.base, answer.URL)
	return nil
}

// applyTemplate registers a template of operators.
func (c *client) applyTemplate(cmd *cobra.Command, doc []byte) error {
	path := "/api/v1/templates"
	if global, _ := cmd.Flags().GetBool("global"); global {
		path += "?scope=tenant"
	}
	res, err := c.send(cmd.Context(), http.MethodPost, path, "application/yaml", bytes.NewReader(doc))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var answer struct{ Name, Version, Scope string }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "template %s@%s is registered for the %s\n", answer.Name, answer.Version, answer.Scope)
	return nil
}

func (c *client) uploadPackage(cmd *cobra.Command, archive []byte) (string, error) {
	res, err := c.send(cmd.Context(), http.MethodPost, "/api/v1/blobs?filename=package.tar.gz", "application/gzip", bytes.NewReader(archive))
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var ref struct {
		SHA256 string `json:"$file"`
	}
	if err := json.NewDecoder(res.Body).Decode(&ref); err != nil {
		return "", fmt.Errorf("read answer: %w", err)
	}
	return ref.SHA256, nil
}
