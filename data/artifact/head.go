package artifact

import (
	"context"
	"io"
	"time"
)

// headBytes is as much of the begin of a file as typeregistry looks at.
const headBytes = 4 << 10

// headWithin bounds the wait for a store elsewhere.
const headWithin = 10 * time.Second

// Head returns the first bytes of a blob, for what tells its type; false when it
// cannot be read. The caller has seen that the reader may use the blob.
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
