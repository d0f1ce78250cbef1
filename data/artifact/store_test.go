package artifact

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
)

const helloHash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

func newDisk(t *testing.T) *DiskStore {
	t.Helper()
	s, err := OpenStore(t.TempDir())
	require.NoError(t, err)
	return s
}

// verify reads a whole blob and checks that its bytes are those that were put.
func verify(ctx context.Context, s Store, hash string) error {
	r, err := s.Open(ctx, hash)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err
}

func TestStorePutOpen(t *testing.T) {
	t.Parallel()
	s := newDisk(t)
	blob, err := s.Put(t.Context(), strings.NewReader("hello"), "")
	require.NoError(t, err)
	require.Equal(t, Blob{SHA256: helloHash, Size: 5}, blob)
	require.FileExists(t, s.join("data", "2c", "f2", helloHash))

	r, err := s.Open(t.Context(), helloHash)
	require.NoError(t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "hello", string(b))
	left, err := os.ReadDir(s.join("tmp"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestStoreSameBytesAtOnce(t *testing.T) {
	t.Parallel()
	s3, _ := newS3(t)
	for _, s := range []Store{newDisk(t), s3} {
		sameBytesAtOnce(t, s)
	}
}

func sameBytesAtOnce(t *testing.T, s Store) {
	t.Helper()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			_, err := s.Put(t.Context(), strings.NewReader("hello"), "")
			require.NoError(t, err)
		})
	}
	wg.Wait()
	require.NoError(t, verify(t.Context(), s, helloHash))
}

func TestStoreRefusesWrongBytesAndNames(t *testing.T) {
	t.Parallel()
	s3, _ := newS3(t)
	for _, s := range []Store{newDisk(t), s3} {
		refusesWrongBytesAndNames(t, s)
	}
}

func refusesWrongBytesAndNames(t *testing.T, s Store) {
	t.Helper()
	_, err := s.Put(t.Context(), strings.NewReader("other"), helloHash)
	require.True(t, apperr.Is(err, apperr.Invalid))
	_, err = s.Stat(t.Context(), helloHash)
	require.True(t, apperr.Is(err, apperr.NotFound))
	for _, name := range []string{"", "../../etc/passwd", strings.ToUpper(helloHash), helloHash[:63] + "/", helloHash + "0"} {
		_, err := s.Open(t.Context(), name)
		require.True(t, apperr.Is(err, apperr.Invalid), name)
		if name == "" {
			continue // any bytes are accepted
		}
		_, err = s.Put(t.Context(), strings.NewReader("x"), name)
		require.True(t, apperr.Is(err, apperr.Invalid), name)
	}
}

func TestStoreNoticesDamage(t *testing.T) {
	t.Parallel()
	s := newDisk(t)
	_, err := s.Put(t.Context(), strings.NewReader("hello"), "")
	require.NoError(t, err)
	file := s.join("data", "2c", "f2", helloHash)
	require.NoError(t, os.Chmod(file, 0o600))
	require.NoError(t, os.WriteFile(file, []byte("jello"), 0o600))
	require.ErrorIs(t, verify(t.Context(), s, helloHash), ErrDamaged)

	r, err := s.Open(t.Context(), helloHash)
	require.NoError(t, err)
	defer r.Close()
	_, err = r.Seek(0, io.SeekEnd)
	require.NoError(t, err)
	_, err = r.Seek(0, io.SeekStart)
	require.NoError(t, err)
	_, err = io.ReadAll(r)
	require.ErrorIs(t, err, ErrDamaged, "a reader that seeks to the beginning is verified again")

	_, err = r.Seek(0, io.SeekStart)
	require.NoError(t, err)
	n, err := io.CopyN(io.Discard, r, 5) // like a server that knows the length
	require.ErrorIs(t, err, ErrDamaged)
	require.Zero(t, n, "the last bytes are not returned")

	require.NoError(t, os.WriteFile(s.join("data", "2c", "f2", helloHash), []byte("hell"), 0o600))
	_, err = s.Put(t.Context(), strings.NewReader("hello"), "")
	require.NoError(t, err)
	require.NoError(t, verify(t.Context(), s, helloHash), "the same bytes repair a truncated blob")
}

func TestStoreInterruptedPutLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newDisk(t)
	broken := io.MultiReader(strings.NewReader("half"), &failingReader{})
	_, err := s.Put(t.Context(), broken, "")
	require.Error(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Put(ctx, strings.NewReader("x"), "")
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(s.join("tmp"))
	require.NoError(t, err)
	require.Empty(t, left)

	require.NoError(t, os.WriteFile(s.join("tmp", "of-a-crash"), []byte("x"), 0o600))
	_, err = OpenStore(s.dir)
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(s.dir, "tmp", "of-a-crash"), "another server may be writing it")
	old := time.Now().Add(-2 * incomingLives)
	require.NoError(t, os.Chtimes(filepath.Join(s.dir, "tmp", "of-a-crash"), old, old))
	_, err = OpenStore(s.dir)
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(s.dir, "tmp", "of-a-crash"))
}

type failingReader struct{}

func (*failingReader) Read([]byte) (int, error) { return 0, errors.New("the sender went away") }
