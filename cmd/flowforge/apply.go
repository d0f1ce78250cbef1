package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/workflow"
)

func newApplyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply -f FILE|FOLDER [-f FILE|FOLDER …]",
		Short: "Register workflow definitions (YAML or JSON) with their code packages",
		Args:  arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			paths, _ := cmd.Flags().GetStringArray("file")
			return c.apply(cmd, paths)
		},
	}
	cmd.Flags().StringArrayP("file", "f", nil, "definitions, Argo's among them, or a folder of them; folders that code.package names are packed and uploaded")
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

	Notices []string `json:"notices"`

	argo bool // the document is Argo's
}

// definitionFiles are the files that paths name: of a folder those that hold YAML or JSON, in
// the order of their names, with those of the folders in it.
func definitionFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		before := len(files)
		err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) {
				files = append(files, name)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(files) == before {
			return nil, fmt.Errorf("the folder %s holds no file of YAML or JSON", path)
		}
	}
	return files, nil
}

// apply registers every definition that paths name, each after those that it refers to.
func (c *client) apply(cmd *cobra.Command, paths []string) error {
	files, err := definitionFiles(paths)
	if err != nil {
		return err
	}
	var documents [][]byte
	var from []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		found := workflow.Documents(content)
		if len(found) == 0 {
			return fmt.Errorf("%s: the file holds no definition", file)
		}
		for _, doc := range found {
			documents, from = append(documents, doc), append(from, file)
		}
	}
	for _, i := range workflow.InOrder(documents, argo.Format{}) {
		answer, err := c.register(cmd, documents[i], from[i])
		if err != nil {
			return fmt.Errorf("%s: %w", from[i], err)
		}
		verb := "registered"
		if answer.Status == "UNCHANGED" {
			verb = "is registered already"
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s@%s %s: %s%s\n", answer.Name, answer.Version, verb, c.base, answer.URL)
		for _, text := range answer.Notices {
			fmt.Fprintln(cmd.ErrOrStderr(), "Note:", text)
		}
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
