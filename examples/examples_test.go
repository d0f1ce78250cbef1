package examples_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/examples"
	"github.com/flowforge/flowforge/typeregistry"
)

// load parses an example as an installation registers it: with its code packed.
func load(t *testing.T, name string) *workflow.Definition {
	t.Helper()
	folder := examples.Folder(name)
	doc, err := fs.ReadFile(folder, "workflow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	bound, err := workflow.BindPackages(doc, func(path string) (string, error) {
		code, err := fs.Sub(folder, path)
		if err != nil {
			return "", err
		}
		packed, err := workflow.Pack(code)
		again, _ := workflow.Pack(code)
		if !bytes.Equal(packed, again) {
			t.Errorf("%s/%s: packing twice gives two packages", name, path)
		}
		sum := sha256.Sum256(packed)
		return hex.EncodeToString(sum[:]), err
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	d, problems := workflow.Parse(bound, typeregistry.Builtin())
	for _, p := range problems {
		t.Errorf("%s: %s: %s", name, p.Path, p.Message)
	}
	if t.Failed() {
		t.FailNow()
	}
	return d
}

func TestEveryExampleIsAValidWorkflow(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, folder := range examples.Names() {
		d := load(t, folder)
		if names[d.Name] {
			t.Errorf("two examples are called %s", d.Name)
		}
		names[d.Name] = true
		if d.Description == "" || len(d.Tags) == 0 || d.OwnerTeam == "" {
			t.Errorf("%s: a newcomer needs description, tags and team", folder)
		}
		if _, problems := d.Compile(); len(problems) > 0 {
			t.Errorf("%s: %v", folder, problems)
		}
		for _, f := range d.Inputs.Fields {
			if _, filled := f.DefaultValue(typeregistry.Env{}); f.Required && !filled {
				t.Errorf("%s: the input %s has no default, so one click does not launch it", folder, f.Name)
			}
			if f.Hints.Label == "" {
				t.Errorf("%s: the input %s has no label", folder, f.Name)
			}
		}
	}
}

// TestExamplesThatNeedConnections: these examples are not part of a new installation.
func TestExamplesThatNeedConnections(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"jobs", "sensor"} {
		doc, err := os.ReadFile(filepath.Join(folder, "workflow.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		d, problems := workflow.Parse(doc, typeregistry.Builtin())
		if len(problems) == 0 {
			_, problems = d.Compile()
		}
		for _, p := range problems {
			t.Errorf("%s: %s: %s", folder, p.Path, p.Message)
		}
	}
}

func TestWidgetsShowEveryCompositeKind(t *testing.T) {
	t.Parallel()
	seen := map[typeregistry.Kind]bool{}
	var visit func(*typeregistry.Type)
	visit = func(ty *typeregistry.Type) {
		if ty == nil {
			return
		}
		seen[ty.Kind] = true
		visit(ty.Elem)
		for _, v := range ty.Variants {
			visit(v.Type)
		}
		for _, f := range ty.Fields {
			visit(f.Type)
		}
	}
	for _, f := range load(t, "widgets").Inputs.Fields {
		visit(f.Type)
	}
	for _, kind := range []typeregistry.Kind{
		typeregistry.KindList, typeregistry.KindMap, typeregistry.KindOptional, typeregistry.KindUnion, typeregistry.KindStruct,
		typeregistry.KindHyperparam, typeregistry.KindDateRange, typeregistry.KindDateTime, typeregistry.KindDuration,
		typeregistry.KindDataset, typeregistry.KindFeatureSet, typeregistry.KindModel, typeregistry.KindFile, typeregistry.KindImage, typeregistry.KindJSON,
	} {
		if !seen[kind] {
			t.Errorf("no input shows %s", kind)
		}
	}
}
