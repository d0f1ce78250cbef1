package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// partOf is the file, or folder, called name in the folder at path.
func partOf(path, name string) (string, error) {
	name = filepath.Clean(filepath.FromSlash(name))
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("%q lies outside of the artifact", name)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return "", fmt.Errorf("the artifact is no folder, so it has no %q", name)
	}
	defer root.Close()
	if _, err := root.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the artifact has no %q", name)
	} else if err != nil {
		return "", err
	}
	return filepath.Join(path, name), nil
}

// chmodAll gives all files in a folder the permission bits. A file that stands elsewhere
// as well, as that of the store may, becomes one of its own first.
func chmodAll(folder string, mode fs.FileMode) error {
	return filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Nlink > 1 {
			return replaceFile(name, mode)
		}
		return os.Chmod(name, mode) //nolint:gosec // the folder is the attempt's own, and its command has not begun
	})
}

func replaceFile(name string, mode fs.FileMode) error {
	fresh := name + ".flowforge"
	if err := copyFile(name, fresh, mode); err != nil {
		return err
	}
	if err := os.Chmod(fresh, mode); err != nil {
		return err
	}
	return os.Rename(fresh, name)
}
