package artifact

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/flowforge/flowforge/apperr"
)

// Blob is bytes in the store: their SHA-256 in lower-case hex and their number.
type Blob struct {
	SHA256 string
	Size   int64
}

// Store keeps blobs in a directory under their own hash, data/ab/cd/<sha256>. A
// blob appears as a whole or not at all, and is never written again, so readers
// need no lock.
type Store struct{ dir string }

// OpenStore returns the store in dir, which it makes, and clears what an
// interrupted Put left.
func OpenStore(dir string) (*Store, error) {
	s := &Store{dir: dir}
	for _, d := range []string{s.join("data"), s.join("tmp")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("artifact directory: %w", err)
		}
	}
	left, err := os.ReadDir(s.join("tmp"))
	if err != nil {
		return nil, fmt.Errorf("artifact directory: %w", err)
	}
	for _, entry := range left {
		if err := os.Remove(s.join("tmp", entry.Name())); err != nil {
			return nil, fmt.Errorf("artifact directory: %w", err)
		}
	}
	return s, nil
}

func (s *Store) join(elem ...string) string {
	return filepath.Join(append([]string{s.dir}, elem...)...)
}

// ValidHash reports whether hash is a SHA-256 in lower-case hex. Anything else
// never becomes a path.
func ValidHash(hash string) bool {
	if len(hash) != 2*sha256.Size {
		return false
	}
	for _, c := range []byte(hash) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func (s *Store) path(hash string) (string, error) {
	if !ValidHash(hash) {
		return "", apperr.New(apperr.Invalid, "%q is not a SHA-256 in lower-case hex.", hash)
	}
	return s.join("data", hash[:2], hash[2:4], hash), nil
}

// Put stores what r gives and returns its hash; bytes that are there already are
// stored once. It fails with apperr.Unavailable when the disk is full.
func (s *Store) Put(ctx context.Context, r io.Reader) (Blob, error) {
	return s.put(ctx, r, "")
}

// PutExpected is Put for bytes that must have hash; it fails with apperr.Invalid
// and stores nothing when they have another.
func (s *Store) PutExpected(ctx context.Context, r io.Reader, hash string) (Blob, error) {
	if _, err := s.path(hash); err != nil {
		return Blob{}, err
	}
	return s.put(ctx, r, hash)
}

func (s *Store) put(ctx context.Context, r io.Reader, expected string) (Blob, error) {
	tmp, err := os.OpenFile(s.join("tmp", rand.Text()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return Blob{}, diskError(err)
	}
	defer os.Remove(tmp.Name()) // gone already once it is published
	defer tmp.Close()
	h := sha256.New()
	size, err := io.Copy(io.MultiWriter(tmp, h), &contextReader{ctx: ctx, r: r})
	if err != nil {
		return Blob{}, diskError(err)
	}
	blob := Blob{SHA256: hex.EncodeToString(h.Sum(nil)), Size: size}
	if expected != "" && blob.SHA256 != expected {
		return Blob{}, apperr.New(apperr.Invalid, "The bytes have the SHA-256 %s, not %s.", blob.SHA256, expected)
	}
	if err := errors.Join(tmp.Sync(), tmp.Close()); err != nil {
		return Blob{}, diskError(err)
	}
	return blob, s.publish(tmp.Name(), blob.SHA256)
}

// publish moves a finished file to its place. The rename and the entries of new
// directories are on disk when it returns.
func (s *Store) publish(tmp, hash string) error {
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

// makeDir makes dir, whose parent exists; its entry is on disk when it returns.
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

// sameSize reports whether target holds as many bytes as tmp. One that does not is
// damaged, and the good bytes take its place.
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

// Stat returns the size of a blob, or apperr.NotFound.
func (s *Store) Stat(hash string) (Blob, error) {
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

// Open returns a blob for reading. Whoever reads it from its beginning to its last
// byte learns of damage: the read that would give the last bytes fails with
// ErrDamaged, so that a download of a known length breaks off instead of ending.
// A part that was sought is not checked.
func (s *Store) Open(hash string) (*Reader, error) {
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
	return &Reader{file: f, size: info.Size(), want: hash, hash: sha256.New()}, nil
}

// ErrDamaged says that stored bytes are not those that were put.
var ErrDamaged = errors.New("the stored bytes do not have their SHA-256 any more")

// Reader reads one blob. It is not safe for concurrent use.
type Reader struct {
	file *os.File
	size int64
	want string
	hash hash.Hash // of all bytes so far; nil after a seek, when it says nothing
	read int64     // bytes in hash
}

// Size returns the number of bytes.
func (r *Reader) Size() int64 { return r.size }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.file.Read(p)
	if r.hash == nil {
		return n, err //nolint:wrapcheck // io.EOF is compared by readers
	}
	r.hash.Write(p[:n])
	r.read += int64(n)
	if (r.read == r.size || errors.Is(err, io.EOF)) && hex.EncodeToString(r.hash.Sum(nil)) != r.want {
		return 0, fmt.Errorf("blob %s: %w", r.want, ErrDamaged)
	}
	return n, err //nolint:wrapcheck // io.EOF is compared by readers
}

// Seek implements io.Seeker. A reader that stands at the beginning stays verified.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	at, err := r.file.Seek(offset, whence)
	switch {
	case err != nil || at != 0:
		r.hash = nil
	default:
		r.hash, r.read = sha256.New(), 0
	}
	return at, err //nolint:wrapcheck // a pass-through
}

// Close implements io.Closer.
func (r *Reader) Close() error { return r.file.Close() } //nolint:wrapcheck // a pass-through

// Verify reads a whole blob and reports whether its bytes are those that were put.
func (s *Store) Verify(ctx context.Context, hash string) error {
	r, err := s.Open(hash)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, &contextReader{ctx: ctx, r: r})
	return err //nolint:wrapcheck // wrapped by the reader
}

// contextReader ends a long copy when its context does.
type contextReader struct {
	ctx context.Context //nolint:containedctx // lives as long as one copy
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err //nolint:wrapcheck // a pass-through
	}
	return c.r.Read(p) //nolint:wrapcheck // io.EOF is compared by readers
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
