package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Stat implements Store.
func (s *S3Store) Stat(ctx context.Context, hash string) (Blob, error) {
	key, err := s.blobKey(hash)
	if err != nil {
		return Blob{}, err
	}
	head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.cfg.Bucket, Key: &key})
	if statusOf(err) == http.StatusNotFound {
		return Blob{}, noBlob(hash)
	}
	if err != nil {
		return Blob{}, storeError(err)
	}
	return Blob{SHA256: hash, Size: aws.ToInt64(head.ContentLength)}, nil
}

// Open implements Store. Bytes are fetched on demand from the reader's offset; after a
// broken connection, it reconnects at that offset.
func (s *S3Store) Open(ctx context.Context, hash string) (*Reader, error) {
	blob, err := s.Stat(ctx, hash)
	if err != nil {
		return nil, err
	}
	key, err := s.blobKey(hash)
	if err != nil {
		return nil, err
	}
	return newReader(&s3Reader{ctx: ctx, store: s, key: key, size: blob.Size}, blob.Size, hash), nil
}

// reconnects is the maximum number of consecutive reconnects without data.
const reconnects = 3

// s3Reader reads an object from any offset.
type s3Reader struct {
	ctx   context.Context //nolint:containedctx // of the reader
	store *S3Store
	key   string
	size  int64

	at    int64
	body  io.ReadCloser // from offset at; nil before the first read and after a seek
	fails int           // broken connections since the last byte
}

// Read implements io.Reader.
func (r *s3Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for r.at < r.size {
		if r.body == nil {
			if err := r.request(); err != nil {
				return 0, err
			}
		}
		n, err := r.body.Read(p)
		r.at += int64(n)
		if n > 0 {
			r.fails = 0
		}
		if err != nil {
			r.drop()
		}
		switch {
		case n > 0:
			return n, nil
		case err == nil:
			continue
		case r.ctx.Err() != nil:
			return 0, r.ctx.Err() //nolint:wrapcheck // a pass-through
		}
		if r.fails++; r.fails > reconnects {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, storeError(fmt.Errorf("read %s at %d: %w", r.key, r.at, err))
		}
	}
	return 0, io.EOF
}

func (r *s3Reader) request() error {
	in := &s3.GetObjectInput{Bucket: &r.store.cfg.Bucket, Key: &r.key}
	if r.at > 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", r.at))
	}
	out, err := r.store.client.GetObject(r.ctx, in)
	if err != nil {
		return storeError(fmt.Errorf("read %s: %w", r.key, err))
	}
	r.body = out.Body
	return nil
}

func (r *s3Reader) drop() {
	if r.body != nil {
		_ = r.body.Close() // the rest is not needed
		r.body = nil
	}
}

// Seek implements io.Seeker.
func (r *s3Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return r.at, fmt.Errorf("seek to %d in %s", offset, r.key)
	}
	if offset != r.at {
		r.drop()
		r.at = offset
	}
	return offset, nil
}

// Close implements io.Closer.
func (r *s3Reader) Close() error {
	r.drop()
	return nil
}
