package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// maxContained is the maximum number of files in the value of one output.
const maxContained = 1000

// contained collects the files in the value of an output, which are objects such as {"$path":
// "plots/loss.png"}, and replaces them by references to outputs of their own, such as {"$output":
// "plots/0"}. No other output has a slash in its name.
func (c *collector) contained(spec *flowforgev1.OutputSpec, value string) (string, error) {
	decoder := json.NewDecoder(strings.NewReader(value))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return "", err
	}
	references := map[string]any{} // by path
	document, err := c.replacePaths(spec, document, references)
	if err != nil || len(references) == 0 {
		return value, err
	}
	text, err := json.Marshal(document)
	return string(text), err
}

func (c *collector) replacePaths(spec *flowforgev1.OutputSpec, value any, references map[string]any) (any, error) {
	var err error
	switch value := value.(type) {
	case []any:
		for i := range value {
			if value[i], err = c.replacePaths(spec, value[i], references); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		if file, ok := value["$path"].(string); ok && len(value) == 1 {
			return c.containedFile(spec, file, references)
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if value[key], err = c.replacePaths(spec, value[key], references); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// containedFile collects one file, and returns its reference.
func (c *collector) containedFile(spec *flowforgev1.OutputSpec, file string, references map[string]any) (any, error) {
	file = path.Clean(file)
	if known, ok := references[file]; ok {
		return known, nil
	}
	if len(references) == maxContained {
		return nil, fmt.Errorf("the value contains more than %d files; use a Directory for more", maxContained)
	}
	if !filepath.IsLocal(file) || file == "." {
		return nil, fmt.Errorf("%q is not a path in the outputs folder", file)
	}
	parts := strings.Split(file, "/")
	for i := range parts[1:] {
		if info, err := c.root.Lstat(path.Join(parts[:i+1]...)); err == nil && !info.IsDir() {
			return nil, fmt.Errorf("%s is not in a folder", file)
		}
	}
	name := spec.Name + "/" + strconv.Itoa(len(references))
	err := c.collect(&flowforgev1.OutputSpec{Name: name, Kind: "File", Storage: spec.Storage}, file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the file %q in its value", file), err)
	}
	c.used[parts[0]] = true
	references[file] = map[string]any{"$output": name}
	return references[file], nil
}
