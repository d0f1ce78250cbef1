package workflow

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPackIsDeterministic(t *testing.T) {
	t.Parallel()
	folder := fstest.MapFS{
		"train.py":          {Data: []byte("print(1)"), ModTime: time.Unix(1, 0)},
		"bin/run":           {Data: []byte("#!/bin/sh"), Mode: 0o755},
		".git/config":       {Data: []byte("secret")},
		"lib/__pycache__/x": {Data: []byte("x")},
		"lib/data.csv":      {Data: []byte("1,2")},
		"lib/.hidden":       {Data: []byte("x")},
		"lib/compiled.pyc":  {Data: []byte("x")},
	}
	first, err := Pack(folder)
	if err != nil {
		t.Fatal(err)
	}
	folder["train.py"].ModTime = time.Unix(999, 0)
	folder["train.py"].Mode = 0o600
	second, _ := Pack(folder)
	if !bytes.Equal(first, second) {
		t.Error("times or modes change the package")
	}
	if diff := cmp.Diff(map[string]int64{"bin/run": 0o755, "lib/data.csv": 0o644, "train.py": 0o644}, entries(t, first)); diff != "" {
		t.Error(diff)
	}
}

func entries(t *testing.T, pkg []byte) map[string]int64 {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(pkg))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = h.Mode
	}
}

func TestPackRefusesLinks(t *testing.T) {
	t.Parallel()
	if _, err := Pack(fstest.MapFS{"link": {Mode: fs.ModeSymlink, Data: []byte("/etc/passwd")}}); err == nil {
		t.Error("a link was packed")
	}
}

func TestBindPackages(t *testing.T) {
	t.Parallel()
	var requested []string
	bound, err := BindPackages([]byte(`
operators:
  - {name: a, code: {package: ./src, file: a.py}}
  - {name: b, code: {package: src, file: b.py}}
  - {name: c, code: {file: c.py}}
  - {name: d, code: {script: x}}
  - {name: e, code: {package: "sha256:ff"}}
  - {name: f, code_package: lib}
  - {name: g, type: noop}
  - not an operator
`), func(folder string) (string, error) {
		requested = append(requested, folder)
		return "hash-of-" + folder, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"src", ".", "lib"}, requested); diff != "" {
		t.Error(diff)
	}
	var doc struct {
		Operators []any `json:"operators"`
	}
	if err := json.Unmarshal(bound, &doc); err != nil {
		t.Fatal(err)
	}
	var got []any
	for _, code := range codeSections(map[string]any{"operators": doc.Operators}) {
		got = append(got, code["package"])
	}
	want := []any{"sha256:hash-of-src", "sha256:hash-of-src", "sha256:hash-of-.", nil, "sha256:ff", "sha256:hash-of-lib", nil, nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := BindPackages([]byte(`{"operators":[{"code":{"package":"x"}}]}`), func(string) (string, error) { return "", fs.ErrNotExist }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
