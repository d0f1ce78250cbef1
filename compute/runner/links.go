package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The manifest of a folder lists a symbolic link as git does: the mode has the bit of links,
// and the blob is the text of the link. Only the command of a task follows links.

// maxLink is the longest text of a link that Linux creates, in bytes.
const maxLink = 4095

func (e manifestEntry) isLink() bool { return e.Mode&fs.ModeSymlink != 0 }

// linkEntry describes the link name below root as the entry at path, and returns its text.
func linkEntry(root *os.Root, name, path string) (manifestEntry, string, error) {
	target, err := root.Readlink(name)
	if err != nil {
		return manifestEntry{}, "", err
	}
	sum := sha256.Sum256([]byte(target))
	return manifestEntry{Path: path, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(target)), Mode: fs.ModeSymlink | 0o777}, target, nil
}

// stage writes the text of the link e to a file in dir, from which it is uploaded.
func (m manifest) stage(e manifestEntry, dir string) (string, error) {
	path := filepath.Join(dir, "link-"+e.SHA256)
	return path, os.WriteFile(path, []byte(m.targets[e.SHA256]), 0o600)
}

// placeLinks creates the links of a manifest below the folder to, after all files: no path
// of the manifest leads through a link out of the folder. place creates a file with the text
// of a link.
func placeLinks(links []manifestEntry, to string, place func(e manifestEntry, to string) error) error {
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, e := range links {
		if err := placeLink(root, e, to+".link", place); err != nil {
			return fmt.Errorf("link %s: %w", e.Path, err)
		}
	}
	return nil
}

func placeLink(root *os.Root, e manifestEntry, text string, place func(e manifestEntry, to string) error) error {
	name, err := localPath(e.Path)
	if err != nil {
		return err
	}
	if e.Size > maxLink {
		return fmt.Errorf("its text has %d bytes; %d are allowed", e.Size, maxLink)
	}
	if err := place(manifestEntry{SHA256: e.SHA256, Size: e.Size, Mode: 0o600}, text); err != nil {
		return err
	}
	target, err := readLimited(text, maxLink)
	if err = errors.Join(err, os.Remove(text)); err != nil {
		return err
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return root.Symlink(string(target), name)
}
