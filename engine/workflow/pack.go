package workflow

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// packagePrefix is the prefix of the name of a package in the store.
const packagePrefix = "sha256:"

// MaxPackageBytes bounds the files of one code package before compression.
const MaxPackageBytes = 256 << 20

// Pack returns the folder as a tar.gz whose bytes depend only on names, contents and
// executable bits: sorted, without owners or times. Names that begin with a dot,
// __pycache__, *.pyc and node_modules are left out; anything that is neither file nor
// folder is refused.
func Pack(folder fs.FS) ([]byte, error) {
	var b bytes.Buffer
	zip, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	p := packer{folder: folder, tar: tar.NewWriter(zip)}
	if err := fs.WalkDir(folder, ".", p.visit); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	if err := p.tar.Close(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	if err := zip.Close(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return b.Bytes(), nil
}

type packer struct {
	folder fs.FS
	tar    *tar.Writer
	size   int64
}

// visit adds one file; fs.WalkDir visits in lexical order.
func (p *packer) visit(name string, entry fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case name == ".":
		return nil
	case isExcluded(entry.Name()) && entry.IsDir():
		return fs.SkipDir
	case isExcluded(entry.Name()), entry.IsDir():
		return nil
	case !entry.Type().IsRegular():
		return fmt.Errorf("%s is neither a file nor a folder", name)
	}
	info, err := entry.Info()
	if err != nil {
		return err
	}
	if p.size += info.Size(); p.size > MaxPackageBytes {
		return fmt.Errorf("the folder is larger than %d MiB", MaxPackageBytes>>20)
	}
	return p.file(name, info)
}

func (p *packer) file(name string, info fs.FileInfo) error {
	mode := int64(0o644)
	if info.Mode()&0o100 != 0 {
		mode = 0o755
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: mode, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	if err := p.tar.WriteHeader(header); err != nil {
		return err
	}
	f, err := p.folder.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.CopyN(p.tar, f, info.Size())
	return err
}

func isExcluded(base string) bool {
	return strings.HasPrefix(base, ".") || base == "__pycache__" || base == "node_modules" || path.Ext(base) == ".pyc"
}

// BindPackages returns doc as JSON with every local folder of code.package replaced by
// "sha256:<hex>", which resolve returns for the folder as written; it is called once
// per folder. An operator with a file and no package gets the folder ".". Nothing else
// is checked.
func BindPackages(doc []byte, resolve func(folder string) (sha256 string, err error)) ([]byte, error) {
	tree, err := decodeDocument(doc)
	if err != nil {
		return nil, fmt.Errorf("read the definition: %w", err)
	}
	bound := map[string]string{}
	for i, code := range codeSections(tree) {
		folder, _ := code["package"].(string)
		if folder == "" && code["file"] != nil {
			folder = "."
		}
		if folder == "" || strings.HasPrefix(folder, packagePrefix) {
			continue
		}
		folder = path.Clean(folder)
		if _, known := bound[folder]; !known {
			sha, err := resolve(folder)
			if err != nil {
				return nil, fmt.Errorf("package %q of operator %d: %w", folder, i+1, err)
			}
			bound[folder] = packagePrefix + strings.TrimPrefix(sha, packagePrefix)
		}
		code["package"] = bound[folder]
	}
	return json.Marshal(tree)
}

// codeSections returns the code mapping of each operator, nil when it has none.
func codeSections(tree any) []map[string]any {
	operators := operatorsOf(tree)
	for _, graph := range asMapping(asMapping(tree)["graphs"]) {
		operators = append(operators, operatorsOf(graph)...)
	}
	sections := make([]map[string]any, len(operators))
	for i, item := range operators {
		operator := asMapping(item)
		for _, key := range slices.Backward([]string{"code_package", "code"}) {
			if name, isText := operator[key].(string); isText {
				operator[key] = map[string]any{"package": name}
			}
			if section, ok := operator[key].(map[string]any); ok {
				sections[i] = section
			}
		}
	}
	return sections
}

// operatorsOf returns the operators of a workflow or a graph.
func operatorsOf(graph any) []any {
	operators, _ := asMapping(graph)["operators"].([]any)
	last, _ := asMapping(graph)["on_exit"].([]any)
	return slices.Concat(operators, last)
}
