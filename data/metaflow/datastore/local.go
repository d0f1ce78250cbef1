package datastore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// localFolder is the folder in the root in which the client keeps everything.
const localFolder = ".metaflow"

// local is a folder of this machine. Each method opens it again, so that no handle stays open. Links
// never lead out of the datastore: os.Root rejects them.
type local struct {
	trusted string // a folder that the server trusts
	below   string // the root of the datastore in it
	nested  bool   // the files are in localFolder
}

// openLocal returns the folder at root, which is the project's own or below an allowed one.
func (s *Service) openLocal(subject auth.Subject, root string) (Store, error) {
	l := local{root, ".", filepath.Base(root) != localFolder}
	if root != s.own(subject) {
		var ok bool
		if l.trusted, l.below, ok = s.allowed(root); !ok {
			return nil, apperr.New(apperr.Unavailable, "The datastore folder %s is not allowed on this server: it is not in FLOWFORGE_METAFLOW_ROOTS.", root)
		}
	}
	folder, err := l.open()
	if apperr.Is(err, apperr.NotFound) {
		return nil, apperr.Wrap(apperr.NotFound, err, "The project's datastore has no data yet.")
	}
	if err != nil {
		return nil, err
	}
	return l, folder.Close()
}

// open opens the folder step by step: a link in a datastore cannot lead to another one that is
// below the same trusted folder.
func (l local) open() (*os.Root, error) {
	folder, err := os.OpenRoot(l.trusted)
	if err != nil {
		return nil, localError(err, l.trusted)
	}
	steps := []string{l.below}
	if l.nested {
		steps = append(steps, localFolder)
	}
	at := l.trusted
	for _, step := range steps {
		at = filepath.Join(at, step)
		next, err := folder.OpenRoot(step)
		_ = folder.Close() // only read
		if err != nil {
			return nil, localError(err, at)
		}
		folder = next
	}
	return folder, nil
}

// localError is the error of a folder or file of the datastore.
func localError(err error, name string) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return absent(name)
	case errors.Is(err, fs.ErrPermission):
		return apperr.Wrap(apperr.Unavailable, err, fmt.Sprintf("The server does not have permission to read %s in the datastore.", name))
	}
	return apperr.Wrap(apperr.Unavailable, err, fmt.Sprintf("%s cannot be read: it is not a plain file or folder of the datastore.", name))
}

// file opens a regular file. Without O_NONBLOCK, opening a pipe would wait for a writer.
func (l local) file(name string) (*os.File, int64, error) {
	if !fs.ValidPath(name) {
		return nil, 0, absent(name)
	}
	folder, err := l.open()
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = folder.Close() }() // only read
	f, err := folder.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, localError(err, name)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrInvalid
	}
	if err != nil {
		_ = f.Close() // only read
		return nil, 0, localError(err, name)
	}
	return f, info.Size(), nil
}

// Open implements Store.
func (l local) Open(_ context.Context, name string) (io.ReadCloser, int64, error) {
	f, size, err := l.file(name)
	if err != nil {
		return nil, 0, err
	}
	return f, size, nil
}

// Read implements Store.
func (l local) Read(ctx context.Context, name string, offset, limit int64) ([]byte, int64, error) {
	if ctx.Err() != nil {
		return nil, 0, late(ctx)
	}
	f, size, err := l.file(name)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }() // only read
	if offset >= size {
		return nil, size, nil
	}
	data := make([]byte, min(limit, size-offset))
	n, err := f.ReadAt(data, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, localError(err, name)
	}
	return data[:n], size, nil
}

// List implements Store.
func (l local) List(ctx context.Context, name string, limit int) ([]Entry, error) {
	if ctx.Err() != nil {
		return nil, late(ctx)
	}
	if !fs.ValidPath(name) {
		return nil, nil
	}
	root, err := l.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // only read
	folder, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, localError(err, name)
	}
	defer func() { _ = folder.Close() }() // only read
	found, err := folder.ReadDir(limit)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, localError(err, name)
	}
	entries := make([]Entry, 0, len(found))
	for _, e := range found {
		info, err := e.Info()
		if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
			continue // gone, or a link
		}
		entries = append(entries, Entry{Name: e.Name(), Folder: e.IsDir(), Size: info.Size(), Modified: info.ModTime()})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}
