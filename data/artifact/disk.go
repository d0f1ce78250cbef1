package artifact

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/channel/mark"
)

// DiskStore keeps blobs in a directory under their own hash, data/ab/cd/<sha256>. A
// blob appears completely or not at all, and never changes, so readers need no lock.
type DiskStore struct{ dir string }

// OpenStore returns the store in dir, which it creates, and removes the files of
// interrupted Puts after a day. Several servers may share dir.
func OpenStore(dir string) (*DiskStore, error) {
	s := &DiskStore{dir: dir}
	for _, d := range []string{s.join("data"), s.join("tmp"), s.join(handover)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("artifact directory: %w", err)
		}
	}
	for _, folder := range []string{"tmp", handover} {
		if err := s.sweep(folder); err != nil {
			return nil, fmt.Errorf("artifact directory: %w", err)
		}
	}
	return s, nil
}

// sweep removes files in a folder that are older than a day.
func (s *DiskStore) sweep(folder string) error {
	left, err := os.ReadDir(s.join(folder))
	if err != nil {
		return err //nolint:wrapcheck // OpenStore does
	}
	for _, entry := range left {
		info, err := entry.Info()
		if err != nil || time.Since(info.ModTime()) < incomingLives {
			continue // another server may be writing it
		}
		if err := os.RemoveAll(s.join(folder, entry.Name())); err != nil { // of a batch, a folder
			return err //nolint:wrapcheck // OpenStore does
		}
	}
	return nil
}

func (s *DiskStore) join(elem ...string) string {
	return filepath.Join(append([]string{s.dir}, elem...)...)
}

func (s *DiskStore) path(hash string) (string, error) {
	if err := checkHash(hash); err != nil {
		return "", err
	}
	return s.join("data", hash[:2], hash[2:4], hash), nil
}

// Put implements Store. It fails with apperr.Unavailable when the disk is full.
func (s *DiskStore) Put(ctx context.Context, r io.Reader, expected string) (Blob, error) {
	if expected != "" {
		if err := checkHash(expected); err != nil {
			return Blob{}, err
		}
	}
	tmp, err := os.OpenFile(s.join("tmp", rand.Text()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return Blob{}, diskError(err)
	}
	defer os.Remove(tmp.Name()) // already moved once it is published
	defer tmp.Close()
	h := sha256.New()
	size, err := io.Copy(io.MultiWriter(tmp, h), &contextReader{ctx: ctx, r: r})
	if err != nil {
		return Blob{}, diskError(err)
	}
	blob := Blob{SHA256: hex.EncodeToString(h.Sum(nil)), Size: size}
	if err := checkExpected(blob, expected); err != nil {
		return Blob{}, err
	}
	if err := errors.Join(mark.Set(tmp), tmp.Sync(), tmp.Close()); err != nil {
		return Blob{}, diskError(err)
	}
	return blob, s.publish(tmp.Name(), blob.SHA256)
}

// publish moves a finished file to its place. The rename and the entries of new
// directories are on disk when it returns.
func (s *DiskStore) publish(tmp, hash string) error {
	target, err := s.path(hash)
	if err != nil {
		return err
	}
	if same, err := sameSize(tmp, target); err != nil || same {
		return err
	}
	dir := filepath.Dir(target)
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := makeDir(d); err != nil {
			return diskError(err)
		}
	}
	if err := os.Rename(tmp, target); err != nil {
		return diskError(err)
	}
	return diskError(syncDir(dir))
}

// makeDir creates dir, whose parent exists; its entry is on disk when it returns.
func makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err //nolint:wrapcheck // diskError does
	}
	return syncDir(filepath.Dir(dir))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err //nolint:wrapcheck // diskError does
	}
	defer d.Close()
	return d.Sync() //nolint:wrapcheck // diskError does
}

// sameSize reports whether target has as many bytes as tmp. Otherwise target is
// damaged, and tmp replaces it.
func sameSize(tmp, target string) (bool, error) {
	there, err := os.Stat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, diskError(err)
	}
	fresh, err := os.Stat(tmp)
	if err != nil {
		return false, diskError(err)
	}
	return there.Size() == fresh.Size(), nil
}

// Stat implements Store.
func (s *DiskStore) Stat(_ context.Context, hash string) (Blob, error) {
	path, err := s.path(hash)
	if err != nil {
		return Blob{}, err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Blob{}, apperr.New(apperr.NotFound, "There is no blob %s.", hash)
	}
	if err != nil {
		return Blob{}, fmt.Errorf("blob %s: %w", hash, err)
	}
	return Blob{SHA256: hash, Size: info.Size()}, nil
}

// Open implements Store.
func (s *DiskStore) Open(_ context.Context, hash string) (*Reader, error) {
	path, err := s.path(hash)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, apperr.New(apperr.NotFound, "There is no blob %s.", hash)
	}
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", hash, err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("blob %s: %w", hash, err)
	}
	return newReader(f, info.Size(), hash), nil
}

func diskError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return apperr.Wrap(apperr.Unavailable, err, "The disk of the artifact store is full.")
	}
	if err != nil {
		return fmt.Errorf("artifact store: %w", err)
	}
	return nil
}
