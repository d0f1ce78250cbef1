package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

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
	cmd.Flags().StringArrayP("file", "f", nil, "definitions, Argo's among them; folders that code.package names are packed and uploaded")
	cmd.Flags().Bool("global", false, "templates: for all projects of the tenant")
	if err := cmd.MarkFlagRequired("file"); err != nil {
		panic(err) // the flag is defined one line above
	}
	addClientFlags(cmd)
	return cmd
}

// registration is what the server answers when a definition is registered.
type registration struct {
	WorkflowID string `json:"workflow_id"`
	Name       string `json:"name"`
	Version    string `json:"version"`
	Status     string `json:"status"`
	URL        string `json:"ui_launch_url"`

	argo bool // the document is Argo's
}

// apply registers every definition of file.
func (c *client) apply(cmd *cobra.Command, file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	documents := workflow.Documents(content)
	if len(documents) == 0 {
		return errors.New("the file holds no definition")
	}
	for _, doc := range documents {
		answer, err := c.register(cmd, doc, file)
		if err != nil {
			return err
		}
		verb := "registered"
		if answer.Status == "UNCHANGED" {
			verb = "is registered already"
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s@%s %s: %s%s\n", answer.Name, answer.Version, verb, c.base, answer.URL)
	}
	return nil
}

// register uploads the code packages that a definition in file names, and registers
// it with their hashes.
func (c *client) register(cmd *cobra.Command, doc []byte, file string) (answer registration, err error) {
	doc, err = workflow.BindPackages(doc, func(folder string) (string, error) {
		archive, err := workflow.Pack(os.DirFS(filepath.Join(filepath.Dir(file), folder)))
		if err != nil {
			return "", fmt.Errorf("code.package %q: %w", folder, err)
		}
		return c.uploadPackage(cmd, archive)
	})
	if err != nil {
		return answer, err
	}
	res, err := c.send(cmd.Context(), http.MethodPost, "/api/v1/workflows", "application/yaml", bytes.NewReader(doc))
	if err != nil {
		return answer, err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return answer, fmt.Errorf("read answer: %w", err)
	}
	var kind struct {
		APIVersion string `json:"apiVersion"`
	}
	answer.argo = json.Unmarshal(doc, &kind) == nil && strings.HasPrefix(kind.APIVersion, "argoproj.io/")
	return answer, nil
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
