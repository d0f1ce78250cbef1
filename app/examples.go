package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/goccy/go-yaml"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/examples"
	"github.com/flowforge/flowforge/typeregistry"
)

// registerExamples registers the examples of a new installation. It runs once per data
// directory, so that archived examples stay archived.
func registerExamples(ctx context.Context, cfg Config, paths paths, p *parts) error {
	marker := paths.join("examples-registered")
	if _, err := os.Stat(marker); err == nil || cfg.SkipExamples {
		return nil
	}
	ctx = auth.WithSubject(ctx, auth.Local())
	for _, name := range examples.Names() {
		folder := examples.Folder(name)
		if err := registerData(ctx, p, folder); err != nil {
			return fmt.Errorf("example %s: %w", name, err)
		}
		if err := registerWorkflow(ctx, p, folder); err != nil {
			return fmt.Errorf("example %s: %w", name, err)
		}
	}
	return os.WriteFile(marker, nil, 0o600)
}

func registerWorkflow(ctx context.Context, p *parts, folder fs.FS) error {
	doc, err := fs.ReadFile(folder, "workflow.yaml")
	if err != nil {
		return err
	}
	doc, err = workflow.BindPackages(doc, func(name string) (string, error) {
		code, err := fs.Sub(folder, name)
		if err != nil {
			return "", err
		}
		archive, err := workflow.Pack(code)
		if err != nil {
			return "", err
		}
		blob, err := p.artifacts.Upload(ctx, bytes.NewReader(archive))
		return blob.SHA256, err
	})
	if err != nil {
		return err
	}
	_, _, err = p.workflows.Register(ctx, doc)
	return err
}

// exampleData is an entry of an example's catalogue.yaml.
type exampleData struct {
	Kind        string   `yaml:"kind"`
	Name        string   `yaml:"name"`
	Version     string   `yaml:"version"`
	Description string   `yaml:"description"`
	File        string   `yaml:"file"`
	Format      string   `yaml:"format"`
	Rows        int64    `yaml:"rows"`
	Tags        []string `yaml:"tags"`

	Columns []typeregistry.Column `yaml:"columns"`
}

func registerData(ctx context.Context, p *parts, folder fs.FS) error {
	raw, err := fs.ReadFile(folder, "catalogue.yaml")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var entries []exampleData
	if err := yaml.Unmarshal(raw, &entries); err != nil {
		return err
	}
	for _, entry := range entries {
		f, err := folder.Open(entry.File)
		if err != nil {
			return err
		}
		blob, err := p.artifacts.Upload(ctx, f)
		_ = f.Close()
		if err != nil {
			return err
		}
		if err := registerEntry(ctx, p.catalogue, entry, blob); err != nil {
			return err
		}
	}
	return nil
}

func registerEntry(ctx context.Context, c *catalogue.Service, e exampleData, blob artifact.Blob) error {
	mediaType := artifact.MediaTypeOf(e.Kind, e.File, "")
	_, _, err := c.Register(ctx, catalogue.Entry{
		Kind: typeregistry.Kind(e.Kind), Name: e.Name, Version: e.Version, Description: e.Description, Format: e.Format, Tags: e.Tags,
		Facts: catalogue.Facts{Rows: &e.Rows, Columns: e.Columns},
		Blob:  &catalogue.BlobRef{SHA256: blob.SHA256, Size: blob.Size, MediaType: mediaType, Filename: path.Base(e.File)},
	})
	return err
}
