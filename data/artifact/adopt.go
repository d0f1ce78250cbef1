package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/channel/mark"
	"github.com/flowforge/flowforge/db"
)

// handover is the folder of the store in which a runner on the same machine leaves
// files for the store to adopt without copying.
const handover = "handover"

// bothStores is the maximum number of hard links of a file: the one in handover and the
// task's own. Through any other link, the file could be modified.
const bothStores = 2

// adopter is a Store that adopts files of its machine without copying them.
type adopter interface {
	Adopt(ctx context.Context, name, expected string) (Blob, error)
}

// AdoptOutput adopts the file <owner>.<hash> that the runner of the calling task, whose name is
// owner, left in the folder handover, without copying it. It returns apperr.Conflict when that is not
// possible, and the runner then uploads the file; apperr.Invalid when the bytes have
// another hash. It ignores storage limits, so that no work is lost.
func (s *Service) AdoptOutput(ctx context.Context, owner, hash string) (Blob, error) {
	subject, err := auth.Authorize(ctx, auth.TaskReport)
	if err != nil {
		return Blob{}, err
	}
	if err := checkHash(hash); err != nil {
		return Blob{}, err
	}
	store, ok := s.store.(adopter)
	if !ok {
		return Blob{}, adoptError(nil)
	}
	blob, err := store.Adopt(ctx, owner+"."+hash, hash)
	if err != nil {
		return Blob{}, err
	}
	return blob, s.addReference(ctx, subject.ProjectID, blob, func(q *db.Queries, fresh int64) error {
		return s.count(ctx, q, subject.ProjectID, fresh, false)
	})
}

func adoptError(err error) error {
	return apperr.Wrap(apperr.Conflict, err, "The store cannot adopt the file. Upload it to the server.")
}

// Adopt makes the file called name in the handover folder the blob with the hash
// expected. The file must not be open for writing or have other hard links.
func (s *DiskStore) Adopt(ctx context.Context, name, expected string) (Blob, error) {
	if err := checkHash(expected); err != nil {
		return Blob{}, err
	}
	if !strings.HasSuffix(name, "."+expected) || filepath.Base(name) != name {
		return Blob{}, apperr.New(apperr.Invalid, "%q is not a file in the handover folder.", name)
	}
	path := s.join(handover, name)
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) {
		return Blob{}, adoptError(err)
	}
	if err != nil {
		return Blob{}, diskError(err)
	}
	defer os.Remove(path) // already moved once it is published
	defer file.Close()
	if err := unshared(file); err != nil {
		return Blob{}, adoptError(err)
	}
	h := sha256.New()
	size, err := io.Copy(h, &contextReader{ctx: ctx, r: file})
	if err != nil {
		return Blob{}, diskError(err)
	}
	blob := Blob{SHA256: hex.EncodeToString(h.Sum(nil)), Size: size}
	if err := checkExpected(blob, expected); err != nil {
		return Blob{}, err
	}
	if err := errors.Join(mark.Set(file), file.Sync()); err != nil {
		return Blob{}, diskError(err)
	}
	return blob, s.publish(path, blob.SHA256)
}

var (
	errNames  = errors.New("the file has other hard links")
	errWriter = errors.New("the file is open for writing")
)

// unshared checks that no other process can modify the file.
func unshared(file *os.File) error {
	if err := file.Chmod(0o400); err != nil {
		return err //nolint:wrapcheck // adoptError does
	}
	info, err := file.Stat()
	if err != nil {
		return err //nolint:wrapcheck // adoptError does
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || stat.Nlink > bothStores {
		return errNames
	}
	// The kernel grants a read lease only while no process has the file open for
	// writing.
	if _, err := unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		return errors.Join(errWriter, err)
	}
	_, err = unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	return err //nolint:wrapcheck // adoptError does
}
