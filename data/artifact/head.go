package artifact

import (
	"context"
	"io"
	"time"
)

// headBytes is the size of the file header that typeregistry inspects.
const headBytes = 4 << 10

// headWithin is the timeout for a remote store.
const headWithin = 10 * time.Second

// Head returns the first bytes of a blob, to detect its type; false when it cannot be
// read. The caller must have authorized the reader.
func (s *Service) Head(hash string) ([]byte, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), headWithin)
	defer cancel()
	r, err := s.store.Open(ctx, hash)
	if err != nil {
		return nil, false
	}
	defer r.Close()
	head, err := io.ReadAll(io.LimitReader(r, headBytes))
	return head, err == nil
}
