package runner

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// inputFiles are the files and folders of the inputs of an attempt.
type inputFiles struct {
	a       *attempt
	placed  []*flowforgev1.PlacedInput // how they were transferred
	streams streams                    // those that are read while they are written
	shared  []sharedFile               // those that are shared with other attempts
	held    []func()                   // release the files in memory
}

// place puts every artifact of the inputs below dir and returns the inputs with the
// local paths filled in.
func (f *inputFiles) place() (string, error) {
	spec := f.a.spec
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
		return "", fmt.Errorf("the inputs are not valid JSON: %w", err)
	}
	placed := map[string]string{} // paths by file
	for _, i := range outermostFirst(spec.Files) {
		file := spec.Files[i]
		path, there := placed[sameFile(file)]
		if !there {
			var err error
			path, err = f.placeOne(file, i)
			if missing, ok := errors.AsType[*missingError](err); ok && file.Optional {
				path = ""
				f.a.system("INFO", fmt.Sprintf("The optional input %s is left out: %s.", file.Input, missing.message))
			} else if err != nil {
				return "", fmt.Errorf("input %s: %w", file.Input, err)
			}
		}
		if same := sameFile(file); same != "" {
			placed[same] = path
		}
		var value any
		if path != "" {
			value = path
		}
		var err error
		if document, err = setPointer(document, file.Pointer, value); err != nil {
			return "", fmt.Errorf("input %s: %w", file.Input, err)
		}
	}
	text, err := json.Marshal(document)
	return string(text), err
}

// outermostFirst orders files so that those of typed inputs precede those nested in
// outputs of earlier nodes, which are often the same.
func outermostFirst(files []*flowforgev1.InputFile) []int {
	order := make([]int, len(files))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int {
		return cmp.Compare(strings.Count(files[i].Pointer, "/"), strings.Count(files[k].Pointer, "/"))
	})
	return order
}

// sameFile returns a key that is equal for files that can share a path; "" for files that
// need their own path.
func sameFile(file *flowforgev1.InputFile) string {
	if file.Sha256 == "" || file.Path != "" || file.Mode != 0 || file.SubPath != "" {
		return ""
	}
	return file.Sha256 + file.MediaType + "\x00" + file.Filename
}

// placeOne puts one file or folder of the inputs in a new folder or at the path that it
// requests, and returns its path.
func (f *inputFiles) placeOne(file *flowforgev1.InputFile, i int) (string, error) {
	if file.Stream != nil {
		return f.placeStream(file, i)
	}
	folder, err := f.folder(i)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, inputFileName(file))
	mode := os.FileMode(0o644)
	if file.Mode != 0 {
		mode = os.FileMode(file.Mode).Perm()
	}
	if file.Sha256 == "" {
		err = f.makeFile(f.a.ctx, file, path)
	} else {
		path, err = f.placeStored(file, folder, i, mode)
	}
	if err == nil && file.SubPath != "" {
		path, err = partOf(path, file.SubPath)
	}
	if info, statErr := os.Stat(path); err == nil && file.Mode != 0 && statErr == nil {
		switch {
		case !info.IsDir():
			err = os.Chmod(path, mode)
		case file.Recurse:
			err = chmodAll(path, mode)
		}
	}
	if err != nil || file.Path == "" {
		return path, err
	}
	return filepath.Clean(file.Path), f.a.absolute.place(path, file.Path)
}

// inputFileName returns the file's own name when it is a plain name.
func inputFileName(file *flowforgev1.InputFile) string {
	name := filepath.Base(filepath.FromSlash(file.Filename))
	if file.Filename == "" || name == "." || name == ".." || name == "/" || len(name) > 200 || strings.ContainsRune(name, 0) {
		name = "data"
	}
	return name
}

// setPointer sets the value at a JSON pointer (RFC 6901).
func setPointer(document any, pointer string, value any) (any, error) {
	if pointer == "" {
		return value, nil
	}
	if pointer[0] != '/' {
		return nil, fmt.Errorf("%q is not a JSON pointer", pointer)
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
	return nil, fmt.Errorf("the inputs have no value at %q", pointer)
}
