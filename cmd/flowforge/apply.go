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
	"github.com/flowforge/flowforge/engine/launchfile"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/web/contract"
)

func newApplyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply FILE|FOLDER…",
		Short: "Register workflow definitions (YAML or JSON) with their code packages, types, schedules and calendars",
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, _ := cmd.Flags().GetStringArray("file")
			if paths = append(paths, args...); len(paths) == 0 {
				return fmt.Errorf("missing argument FILE; usage: %s FILE|FOLDER…", cmd.CommandPath())
			}
			c, err := newClient(cmd)
			if err != nil {
				return err
			}
			return c.apply(cmd, paths)
		},
	}
	cmd.Flags().StringArrayP("file", "f", nil, "same as the argument: a file with definitions (including Argo manifests), or a folder of such files; apply packs and uploads the folders named in code.package")
	cmd.Flags().Bool("global", false, "register templates for all projects of the tenant")
	addClientFlags(cmd)
	return cmd
}

// registration is the server's response to the registration of a definition.
type registration struct {
	contract.Registered

	argo bool // the document is an Argo manifest
}

// definitionFiles returns the files that paths name. For a folder it returns the YAML and JSON
// files in it and in its subfolders, ordered by name.
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
			return nil, fmt.Errorf("the folder %s contains no YAML or JSON files", path)
		}
	}
	return files, nil
}

// apply registers every definition that paths name. A definition follows those it refers to.
func (c *client) apply(cmd *cobra.Command, paths []string) error {
	files, err := definitionFiles(paths)
	if err != nil {
		return err
	}
	var documents [][]byte
	var from []string
	var later []timedDocument // they name workflows
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		found := workflow.Documents(content)
		if len(found) == 0 {
			return fmt.Errorf("%s: the file contains no definition", file)
		}
		for _, doc := range found {
			if isLaunch(doc) {
				return fmt.Errorf("%s: this file is a launch; use flowforge launch --file %s", file, file)
			}
			isType, err := c.applyType(cmd, doc, file)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			switch timed, err := readTimed(doc); {
			case err != nil:
				return fmt.Errorf("%s: %w", file, err)
			case timed != nil:
				later = append(later, timedDocument{timed, file})
			case !isType:
				documents, from = append(documents, doc), append(from, file)
			}
		}
	}
	documents = workflow.Gather(documents, argo.Format{})
	for _, i := range workflow.InOrder(documents, argo.Format{}) {
		if documents[i] == nil {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: registered this ConfigMap with the definitions that read it\n", from[i])
			continue
		}
		answer, err := c.register(cmd, documents[i], from[i])
		if err != nil {
			return fmt.Errorf("%s: %w", from[i], err)
		}
		verb := "registered"
		if answer.Status == "UNCHANGED" {
			verb = "is already registered"
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s@%s %s: %s%s\n", answer.Name, answer.Version, verb, c.base, answer.LaunchURL)
		for _, text := range answer.Notices {
			fmt.Fprintln(cmd.ErrOrStderr(), "Note:", text)
		}
	}
	return c.applyTimed(cmd, later)
}

// isLaunch reports whether a document is a launch file.
func isLaunch(doc []byte) bool {
	v, err := workflow.DecodeDocument(doc)
	object, ok := v.(map[string]any)
	return err == nil && ok && object["kind"] == launchfile.Kind
}

// register uploads the code packages that the definition names, and registers the definition
// with their hashes.
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
	if err := json.NewDecoder(res.Body).Decode(&answer.Registered); err != nil {
		return answer, fmt.Errorf("read the server's response: %w", err)
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
		return "", fmt.Errorf("read the server's response: %w", err)
	}
	return ref.SHA256, nil
}
