package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// batchOf yields contents with their hashes.
func batchOf(contents ...string) Next {
	return func() (Incoming, error) {
		if len(contents) == 0 {
			return Incoming{}, io.EOF
		}
		content := contents[0]
		contents = contents[1:]
		return Incoming{SHA256: hashOf(content), Bytes: []byte(content)}, nil
	}
}

func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func TestABatchIsStoredAsEachOfItsBlobs(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s *Service) {
		task := auth.AsSystemIn(t.Context(), auth.LocalTenant, auth.LocalProject)
		var contents []string
		for i := range 300 {
			contents = append(contents, fmt.Sprint("file ", i%250)) // 50 of them twice
		}
		contents = append(contents, "")
		require.NoError(t, s.TakeOutputs(task, batchOf(contents...)))
		require.NoError(t, s.TakeOutputs(task, batchOf(contents[:3]...)), "again")
		for _, content := range contents {
			r, err := s.OpenBlob(task, auth.LocalProject, hashOf(content))
			require.NoError(t, err)
			got, err := io.ReadAll(r)
			require.NoError(t, err)
			require.NoError(t, r.Close())
			require.Equal(t, content, string(got))
		}
		var bytes int64
		require.NoError(t, s.pool.QueryRow(t.Context(), "SELECT sum(size) FROM project_blobs").Scan(&bytes))
		require.Equal(t, int64(10*6+90*7+150*8), bytes, "each is counted once")
	})
}

func TestABatchWithAWrongBlobIsRefused(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s *Service) {
		task := auth.AsSystemIn(t.Context(), auth.LocalTenant, auth.LocalProject)
		for name, in := range map[string]Incoming{
			"another hash": {SHA256: hashOf("a"), Bytes: []byte("b")},
			"no hash":      {SHA256: "../../etc/passwd", Bytes: []byte("b")},
			"too large":    {SHA256: hashOf("c"), Bytes: make([]byte, MaxBatchBlob+1)},
		} {
			given := false
			err := s.TakeOutputs(task, func() (Incoming, error) {
				if given {
					return Incoming{}, io.EOF
				}
				given = true
				return in, nil
			})
			require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", name, err)
		}
		require.Error(t, s.TakeOutputs(t.Context(), batchOf("x")), "the context has no subject")
		has, err := s.Has(auth.WithSubject(t.Context(), memberOf(auth.LocalProject)), hashOf("x"))
		require.NoError(t, err)
		require.False(t, has)
	})
}
