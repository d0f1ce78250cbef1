package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// partOf returns the path of the file or folder name in the folder at path.
func partOf(path, name string) (string, error) {
	name = filepath.Clean(filepath.FromSlash(name))
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("%q is outside the artifact", name)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return "", fmt.Errorf("the artifact is not a folder, so it has no %q", name)
	}
	defer root.Close()
	if _, err := root.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the artifact has no %q", name)
	} else if err != nil {
		return "", err
	}
	return filepath.Join(path, name), nil
}

// chmodAll sets the permission bits of all files in a folder. A file that has other
// links, such as one of the store, is replaced by a copy first.
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
		return os.Chmod(name, mode) //nolint:gosec // the folder belongs to the attempt, whose command has not started
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
