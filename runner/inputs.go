package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// placeInputs puts every artifact of the inputs below dir and returns the inputs
// with the local paths in their places.
func (a *attempt) placeInputs() (string, error) {
	spec := a.spec
	if len(spec.Files) == 0 {
		if spec.InputsJson == "" {
			return "{}", nil
		}
		return spec.InputsJson, nil
	}
	decoder := json.NewDecoder(strings.NewReader(spec.InputsJson))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return "", fmt.Errorf("the inputs are no JSON: %w", err)
	}
	for i, file := range spec.Files {
		path, err := a.placeInput(file, filepath.Join(a.paths.files, strconv.Itoa(i)))
		if err != nil {
			return "", fmt.Errorf("input %s: %w", file.Input, err)
		}
		if document, err = setPointer(document, file.Pointer, path); err != nil {
			return "", fmt.Errorf("input %s: %w", file.Input, err)
		}
	}
	text, err := json.Marshal(document)
	return string(text), err
}

// placeInput makes one file, or folder, of the inputs stand in a new folder or at the
// path that it asks for, and returns where it is.
func (a *attempt) placeInput(file *flowforgev1.InputFile, folder string) (string, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	blobs, path := a.s.blobs, filepath.Join(folder, inputFileName(file))
	mode := os.FileMode(0o644)
	if file.Mode != 0 {
		mode = os.FileMode(file.Mode).Perm()
	}
	var err error
	switch {
	case file.Sha256 == "":
		err = a.makeFile(a.ctx, file, path)
	case file.MediaType == DirectoryMediaType:
		err = blobs.placeDirectory(a.ctx, a.spec.Token, file.Sha256, path)
	default:
		err = blobs.place(a.ctx, a.spec.Token, file.Sha256, path, mode)
	}
	if info, statErr := os.Stat(path); err == nil && file.Mode != 0 && statErr == nil && !info.IsDir() {
		err = os.Chmod(path, mode)
	}
	if err != nil || file.Path == "" {
		return path, err
	}
	return filepath.Clean(file.Path), a.placeAt(path, file.Path)
}

// inputFileName returns the file's own name when it is a plain one.
func inputFileName(file *flowforgev1.InputFile) string {
	name := filepath.Base(filepath.FromSlash(file.Filename))
	if file.Filename == "" || name == "." || name == ".." || name == "/" || len(name) > 200 || strings.ContainsRune(name, 0) {
		name = "data"
	}
	return name
}

// setPointer sets the place that a JSON pointer (RFC 6901) names to value.
func setPointer(document any, pointer string, value any) (any, error) {
	if pointer == "" {
		return value, nil
	}
	if pointer[0] != '/' {
		return nil, fmt.Errorf("%q is no JSON pointer", pointer)
	}
	token, rest, more := strings.Cut(pointer[1:], "/")
	if more {
		rest = "/" + rest
	}
	token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
	switch node := document.(type) {
	case map[string]any:
		child, err := setPointer(node[token], rest, value)
		if err != nil {
			return nil, err
		}
		node[token] = child
		return node, nil
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(node) {
			return nil, fmt.Errorf("the inputs have no item %q", token)
		}
		child, err := setPointer(node[i], rest, value)
		if err != nil {
			return nil, err
		}
		node[i] = child
		return node, nil
	}
	return nil, fmt.Errorf("the inputs have no place %q", pointer)
}
