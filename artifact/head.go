package artifact

import "io"

// headBytes is as much of the begin of a file as typeregistry looks at.
const headBytes = 4 << 10

// Head returns the first bytes of a blob, for what tells its type; false when it
// cannot be read. The caller has seen that the reader may use the blob.
func (s *Service) Head(hash string) ([]byte, bool) {
	r, err := s.store.Open(hash)
	if err != nil {
		return nil, false
	}
	defer r.Close()
	head, err := io.ReadAll(io.LimitReader(r, headBytes))
	return head, err == nil
}
