package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/flowforge/flowforge/data/channel"
	"github.com/flowforge/flowforge/data/channel/media"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const (
	// maxInline is the maximum size of an inline value, in bytes.
	maxInline = 1 << 20
	// maxReported is the maximum size of the outputs in a report, in bytes. The server accepts messages of
	// up to 32 MiB.
	maxReported = 16 << 20
)

// collection is the content of an outputs folder.
type collection struct {
	outputs []*flowforgev1.Output
	blobs   []*flowforgev1.SpooledBlob // uploaded before the outputs are reported
	notes   []string                   // for the task's log
	memory  []*flowforgev1.SpooledBlob // blobs that are also kept in memory
	uploads []bucketUpload             // outputs that are also uploaded to buckets
}

// collector reads the outputs folder of an attempt whose processes have ended. It does
// not trust the folder: it does not follow links and reads only regular files.
type collector struct {
	ctx   context.Context //nolint:containedctx // the collector lives for one call
	dir   string          // the outputs folder
	stage string          // an existing folder for manifests
	root  *os.Root
	names []string // entries of the folder
	used  map[string]bool
	found collection
}

// collectOutputs collects the declared outputs. It leaves out an output without a file;
// an output that does not match its declared type is an error.
func collectOutputs(ctx context.Context, dir, stage string, specs []*flowforgev1.OutputSpec) (collection, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return collection{}, fmt.Errorf("outputs folder: %w", err)
	}
	defer root.Close()
	c := &collector{ctx: ctx, dir: dir, stage: stage, root: root, used: map[string]bool{}}
	if c.names, err = readNames(dir); err != nil {
		return collection{}, fmt.Errorf("outputs folder: %w", err)
	}
	if len(c.names) == 0 {
		return collection{}, nil
	}
	declared := slices.DeleteFunc(withPassedOn(specs), func(s *flowforgev1.OutputSpec) bool { return s.Name == channel.AllOutputs })
	for _, spec := range declared {
		file, err := c.match(spec)
		if err != nil {
			return collection{}, err
		}
		if file == "" {
			continue
		}
		c.used[file] = true
		if err := c.collect(spec, file); err != nil {
			return collection{}, fmt.Errorf("output %s: %w", spec.Name, err)
		}
	}
	if len(declared) < len(withPassedOn(specs)) {
		if err := c.undeclared(); err != nil {
			return collection{}, err
		}
		return c.found, errors.Join(c.describe(), c.reportable())
	}
	if err := errors.Join(c.describe(), c.reportable()); err != nil {
		return collection{}, err
	}
	for _, name := range c.names {
		if !c.used[name] && !isMetadata(name) {
			c.note("%q in the outputs folder is not a declared output and is not stored.", name)
		}
	}
	return c.found, nil
}

// reportable returns an error if the outputs do not fit in a report.
func (c *collector) reportable() error {
	size := 0
	for _, o := range c.found.outputs {
		size += proto.Size(o)
	}
	if size > maxReported {
		return fmt.Errorf("the values of the outputs have %d bytes; %d are allowed together (declare the largest as a File to keep more)", size, maxReported)
	}
	return nil
}

func readNames(dir string) ([]string, error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// withPassedOn adds the outputs that every task may have without declaring them.
func withPassedOn(specs []*flowforgev1.OutputSpec) []*flowforgev1.OutputSpec {
	all := slices.Clone(specs)
	for _, name := range []string{"results", "output_assets"} {
		declared := slices.ContainsFunc(specs, func(s *flowforgev1.OutputSpec) bool { return s.Name == name })
		if !declared {
			all = append(all, &flowforgev1.OutputSpec{Name: name, Kind: "JSON", Inline: true})
		}
	}
	return all
}

func (c *collector) note(format string, args ...any) {
	c.found.notes = append(c.found.notes, fmt.Sprintf(format, args...))
}

// match finds the file of an output: <name>, else <name>.json for a value, else the only
// <name>.<extension>.
func (c *collector) match(spec *flowforgev1.OutputSpec) (string, error) {
	if slices.Contains(c.names, spec.Name) {
		return spec.Name, nil
	}
	if json := spec.Name + ".json"; spec.Inline && slices.Contains(c.names, json) {
		return json, nil
	}
	var found []string
	for _, name := range c.names {
		if strings.HasPrefix(name, spec.Name+".") {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("output %s is ambiguous: found %s; write one file named %s or %s.<extension>",
		spec.Name, strings.Join(found, ", "), spec.Name, spec.Name)
}

func (c *collector) collect(spec *flowforgev1.OutputSpec, file string) error {
	info, err := c.root.Lstat(file)
	if err != nil {
		return err
	}
	switch {
	case info.IsDir() && spec.Inline:
		return errors.New("it is a folder, but its type is a value")
	case info.IsDir():
		return c.folder(spec, file)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is %w", file, errNotRegular)
	case spec.Inline:
		return c.inline(spec, file)
	}
	return c.blob(spec, file)
}

func (c *collector) inline(spec *flowforgev1.OutputSpec, file string) error {
	f, info, err := openRegular(c.root, file)
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Size() > maxInline {
		return fmt.Errorf("the value has %d bytes; %d are allowed (declare it as a File to keep more)", info.Size(), maxInline)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxInline))
	if err != nil {
		return err
	}
	value, err := inlineValue(spec.Kind, file, data)
	if err == nil && spec.Files {
		value, err = c.contained(spec, value)
	}
	if err != nil {
		return err
	}
	c.found.outputs = append(c.found.outputs, &flowforgev1.Output{
		Name: spec.Name, Filename: file, Content: &flowforgev1.Output_Value{Value: value},
	})
	return nil
}

// inlineValue returns the JSON of a value's file. A .json file is JSON; any other file of
// a text-like kind is the text itself unless it is a JSON string.
func inlineValue(kind, file string, data []byte) (string, error) {
	trimmed := bytes.TrimSpace(data)
	if textual(kind) && !strings.HasSuffix(file, ".json") {
		if len(trimmed) > 1 && trimmed[0] == '"' && json.Valid(trimmed) {
			return string(trimmed), nil
		}
		text := strings.TrimSuffix(strings.TrimSuffix(cleanText(data), "\n"), "\r")
		quoted, err := json.Marshal(text)
		return string(quoted), err
	}
	if kind == "Boolean" {
		trimmed = bytes.ToLower(trimmed) // Python writes True
	}
	if !json.Valid(trimmed) {
		return "", fmt.Errorf("%s does not contain a JSON value", file)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, trimmed); err != nil {
		return "", err
	}
	return compact.String(), nil
}

// textual reports whether values of the kind are JSON strings.
func textual(kind string) bool {
	switch kind {
	case "String", "Text", "Enum", "Date", "DateTime", "Duration":
		return true
	}
	return false
}

func (c *collector) blob(spec *flowforgev1.OutputSpec, file string) error {
	sha, size, _, err := hashed(c.ctx, c.root, file)
	if err != nil {
		return err
	}
	path := filepath.Join(c.dir, file)
	c.add(spec, &flowforgev1.SpooledBlob{Sha256: sha, Size: size, Path: path})
	c.found.outputs = append(c.found.outputs, &flowforgev1.Output{
		Name: spec.Name, Filename: filepath.Base(file),
		Content: &flowforgev1.Output_Blob{Blob: &flowforgev1.Blob{
			Sha256: sha, Size: size, MediaType: mediaType(c.root, file),
		}},
	})
	return nil
}

// add adds an output file to those for the store, and to those for memory if the output
// requests it.
func (c *collector) add(spec *flowforgev1.OutputSpec, blob *flowforgev1.SpooledBlob) {
	c.found.blobs = append(c.found.blobs, blob)
	if spec.Storage == channel.HintMemory {
		c.found.memory = append(c.found.memory, blob)
	}
}

func (c *collector) folder(spec *flowforgev1.OutputSpec, folder string) error {
	m, skipped, err := manifestOf(c.ctx, c.root, folder)
	if err != nil {
		return err
	}
	for _, name := range skipped {
		c.note("%q is neither a file nor a link; it is not part of output %s.", name, spec.Name)
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	sha := hex.EncodeToString(sum[:])
	path := filepath.Join(c.stage, "manifest-"+sha)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	for _, e := range m.Entries {
		path := filepath.Join(c.dir, folder, filepath.FromSlash(e.Path))
		if e.isLink() {
			if path, err = m.stage(e, c.stage); err != nil {
				return err
			}
		}
		c.add(spec, &flowforgev1.SpooledBlob{Sha256: e.SHA256, Size: e.Size, Path: path})
	}
	c.found.blobs = append(c.found.blobs, &flowforgev1.SpooledBlob{Sha256: sha, Size: int64(len(data)), Path: path})
	c.found.outputs = append(c.found.outputs, &flowforgev1.Output{
		Name: spec.Name, Filename: filepath.Base(folder),
		Content: &flowforgev1.Output_Blob{Blob: &flowforgev1.Blob{
			Sha256: sha, Size: int64(len(data)), MediaType: DirectoryMediaType,
		}},
	})
	return nil
}

// knownType returns media types that do not depend on the machine's tables.
func knownType(extension string) string {
	switch strings.ToLower(extension) {
	case ".csv":
		return "text/csv"
	case ".tsv":
		return "text/tab-separated-values"
	case ".json", ".ipynb":
		return "application/json"
	case ".jsonl", ".ndjson":
		return "application/x-ndjson"
	case ".md", ".markdown":
		return "text/markdown"
	case ".txt", ".log":
		return "text/plain"
	case ".yaml", ".yml":
		return "application/yaml"
	case ".parquet":
		return "application/vnd.apache.parquet"
	case ".py", ".sh":
		return "text/plain"
	case ".pkl", ".pickle", ".joblib", ".npy", ".npz", ".pt", ".onnx":
		return "application/octet-stream"
	}
	return ""
}

const (
	headBytes    = 8 << 10 // of a file, from which its type is detected
	sniffedBytes = 512     // as much as net/http looks at
)

// mediaType detects the type of a file by its name, else by its first bytes.
func mediaType(root *os.Root, file string) string {
	extension := filepath.Ext(file)
	if known := knownType(extension); known != "" {
		return known
	}
	if known := mime.TypeByExtension(extension); known != "" {
		return known
	}
	f, _, err := openRegular(root, file)
	if err != nil {
		return "application/octet-stream"
	}
	defer f.Close()
	head := make([]byte, headBytes)
	n, err := io.ReadFull(f, head)
	found := http.DetectContentType(head[:min(n, sniffedBytes)])
	if extension == "" && found == "text/plain; charset=utf-8" {
		return media.Text(head[:n], err != nil)
	}
	return found
}
