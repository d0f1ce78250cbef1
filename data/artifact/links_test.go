package artifact

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// TestLinksOfAFolderAreLinksInItsZip: the server follows none of them.
func TestLinksOfAFolderAreLinksInItsZip(t *testing.T) {
	t.Parallel()
	everywhere(t, checkLinksOfAFolderAreLinksInItsZip)
}

func checkLinksOfAFolderAreLinksInItsZip(t *testing.T, s *Service) {
	t.Helper()
	ctx := auth.WithSubject(t.Context(), memberOf(auth.LocalProject))
	text, err := s.Upload(ctx, strings.NewReader("/etc/passwd"))
	require.NoError(t, err)
	manifest, err := s.Upload(ctx, strings.NewReader(fmt.Sprintf(`{"entries":[{"path":"latest","sha256":%q,"size":11,"mode":%d}]}`, text.SHA256, fs.ModeSymlink|0o777)))
	require.NoError(t, err)
	var out bytes.Buffer
	folder := Artifact{ID: uuid.New(), ProjectID: auth.LocalProject, SHA256: manifest.SHA256, MediaType: DirectoryMediaType, CreatedAt: time.Now()}
	require.NoError(t, s.WriteZip(ctx, &out, folder))
	archive, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	require.NoError(t, err)
	require.Len(t, archive.File, 1)
	require.Equal(t, fs.ModeSymlink|0o777, archive.File[0].Mode())
	r, err := archive.File[0].Open()
	require.NoError(t, err)
	content, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "/etc/passwd", string(content))
}
