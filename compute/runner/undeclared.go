package runner

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// maxMetadata is the maximum size of the metadata of one output, in bytes.
const maxMetadata = 64 << 10

// isMetadata reports whether a file holds metadata: the file .<name>.metadata describes
// the output <name>.
func isMetadata(file string) bool {
	return strings.HasPrefix(file, ".") && strings.HasSuffix(file, ".metadata")
}

// describe adds the metadata of the task to the outputs.
func (c *collector) describe() error {
	for _, o := range c.found.outputs {
		file := "." + o.Name + ".metadata"
		if !slices.Contains(c.names, file) {
			continue
		}
		f, info, err := openRegular(c.root, file)
		if err != nil {
			return fmt.Errorf("metadata of output %s: %w", o.Name, err)
		}
		data, err := io.ReadAll(io.LimitReader(f, maxMetadata))
		_ = f.Close() // opened for reading
		if err != nil {
			return fmt.Errorf("metadata of output %s: %w", o.Name, err)
		}
		if info.Size() > maxMetadata {
			return fmt.Errorf("the metadata of output %s has %d bytes; %d are allowed", o.Name, info.Size(), maxMetadata)
		}
		var object map[string]any
		if err := json.Unmarshal(data, &object); err != nil {
			return fmt.Errorf("the metadata of output %s is not a JSON object: %w", o.Name, err)
		}
		o.Metadata = string(data)
	}
	return nil
}

// undeclared collects the other files of a task that keeps all of its outputs: a file
// <name> or <name>.json that holds a short text is a value, anything else a file or a
// folder. Names that begin with a dot are private to the program.
func (c *collector) undeclared() error {
	used := c.used
	for _, file := range c.names {
		name := strings.TrimSuffix(file, ".json")
		if used[file] || strings.HasPrefix(file, ".") {
			continue
		}
		if used[name] || c.has(name) {
			c.note("%q in the outputs folder is not kept: the task already has an output %s.", file, name)
			continue
		}
		used[name] = true
		value, ok, err := c.shortValue(file, name != file)
		switch {
		case err != nil:
			return fmt.Errorf("output %s: %w", name, err)
		case ok:
			c.found.outputs = append(c.found.outputs, &flowforgev1.Output{
				Name: name, Filename: file, Content: &flowforgev1.Output_Value{Value: value},
			})
		default:
			if err := c.collect(&flowforgev1.OutputSpec{Name: name, Kind: "File"}, file); err != nil {
				return fmt.Errorf("output %s: %w", name, err)
			}
		}
	}
	return nil
}

func (c *collector) has(name string) bool {
	for _, o := range c.found.outputs {
		if o.Name == name {
			return true
		}
	}
	return false
}

// shortValue returns the JSON of a file that holds a value; false when it does not. A
// file with the extension .json must hold JSON; other texts are strings.
func (c *collector) shortValue(file string, isJSON bool) (string, bool, error) {
	info, err := c.root.Lstat(file)
	if err != nil {
		return "", false, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxInline || !isJSON && strings.Contains(file, ".") {
		return "", false, nil
	}
	f, _, err := openRegular(c.root, file)
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxInline))
	if err != nil {
		return "", false, err
	}
	if value, err := inlineValue("JSON", file, data); err == nil {
		return value, true, nil
	}
	if isJSON || !utf8.Valid(data) {
		return "", false, nil
	}
	text, err := json.Marshal(strings.TrimSuffix(cleanText(data), "\n"))
	return string(text), err == nil, err
}
