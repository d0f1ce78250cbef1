package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/flowforge/flowforge/apperr"
)

// Blob is bytes in the store: their SHA-256 in lower-case hex and their number.
type Blob struct {
	SHA256 string
	Size   int64
}

// Store keeps blobs under their own hash. A blob appears completely or not at all, and
// never changes, so readers need no lock. Every method returns apperr.Unavailable while
// the storage does not respond, and apperr.Invalid for an invalid hash.
type Store interface {
	// Put stores the bytes of r and returns their hash; equal bytes are stored once.
	// When expected is not "", the bytes must have that hash: otherwise Put returns
	// apperr.Invalid and stores nothing.
	Put(ctx context.Context, r io.Reader, expected string) (Blob, error)
	// Stat returns the size of a blob, or apperr.NotFound.
	Stat(ctx context.Context, hash string) (Blob, error)
	// Open returns a blob for reading until ctx ends, or apperr.NotFound.
	Open(ctx context.Context, hash string) (*Reader, error)
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

// checkHash returns apperr.Invalid for an invalid hash.
func checkHash(hash string) error {
	if !ValidHash(hash) {
		return apperr.New(apperr.Invalid, "%q is not a SHA-256 in lower-case hex.", hash)
	}
	return nil
}

// checkExpected returns apperr.Invalid when blob is not what was expected, "" being anything.
func checkExpected(blob Blob, expected string) error {
	if expected != "" && blob.SHA256 != expected {
		return apperr.New(apperr.Invalid, "The bytes have the SHA-256 %s, not %s.", blob.SHA256, expected)
	}
	return nil
}

// ErrDamaged means that stored bytes differ from those that were put.
var ErrDamaged = errors.New("the stored bytes no longer match their SHA-256")

// Reader reads one blob. A read from the first to the last byte detects damage: the
// read of the last bytes fails with ErrDamaged, so that a download of a known length
// breaks off instead of completing. Reads after a seek are not checked. It is not safe
// for concurrent use.
type Reader struct {
	source io.ReadSeekCloser
	size   int64
	want   string
	hash   hash.Hash // of all bytes so far; nil after a seek
	read   int64     // bytes in hash
}

// Size returns the number of bytes.
func (r *Reader) Size() int64 { return r.size }

// newReader reads size bytes from source, which must have the hash want.
func newReader(source io.ReadSeekCloser, size int64, want string) *Reader {
	return &Reader{source: source, size: size, want: want, hash: sha256.New()}
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.source.Read(p)
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

// Seek implements io.Seeker. A reader at the beginning stays verified.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	at, err := r.source.Seek(offset, whence)
	switch {
	case err != nil || at != 0:
		r.hash = nil
	default:
		r.hash, r.read = sha256.New(), 0
	}
	return at, err //nolint:wrapcheck // a pass-through
}

// Close implements io.Closer.
func (r *Reader) Close() error { return r.source.Close() } //nolint:wrapcheck // a pass-through

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
