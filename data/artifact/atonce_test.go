package artifact

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/artifact/preview"
)

// TestPreviewsAtOnce: a preview waits for another one at most as long as its request, and downloads
// do not keep previews waiting.
func TestPreviewsAtOnce(t *testing.T) {
	t.Parallel()
	store := newDisk(t)
	blob, err := store.Put(t.Context(), bytes.NewReader([]byte("hello")), "")
	require.NoError(t, err)
	s := NewService(nil, store, time.Now)
	ctx := auth.WithSubject(t.Context(), auth.Local())
	a := Artifact{ProjectID: auth.LocalProject, SHA256: blob.SHA256, MediaType: "text/plain"}

	var within func(n int) error
	within = func(n int) error {
		if n == 0 {
			short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
			_, err := s.Preview(short, a, Selection{})
			return err
		}
		return s.withPart(ctx, a, "", func(Part, preview.File) error { return within(n - 1) })
	}
	require.NoError(t, within(previewsAtOnce-1))
	require.ErrorIs(t, within(previewsAtOnce), context.DeadlineExceeded)
	require.NoError(t, within(previewsAtOnce-1), "places are given back")
	for range previewsAtOnce + 1 {
		require.NoError(t, s.OpenFile(ctx, a, "", func(Part, io.ReadSeeker) error { return within(previewsAtOnce - 1) }))
	}
}
