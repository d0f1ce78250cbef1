package spool

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func open(t *testing.T, dir string, maxBytes int64) (*Spool, []Frame) {
	t.Helper()
	var frames []Frame
	s, err := Open(Config{Dir: dir, MaxBytes: maxBytes}, func(f Frame) { frames = append(frames, f) })
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s, frames
}

func entry(group byte, text string) Entry {
	return Entry{Kind: 'L', Group: [16]byte{group}, Count: 2, Payload: []byte(text)}
}

func texts(t *testing.T, s *Spool, refs []Ref) []string {
	t.Helper()
	var out []string
	require.NoError(t, s.Read(refs, func(f Frame) error {
		out = append(out, string(f.Payload))
		return nil
	}))
	return out
}

func TestAppendReadCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := open(t, dir, 1<<20)
	firsts, err := s.Append([]Entry{entry(1, "a"), entry(2, "b")})
	require.NoError(t, err)
	require.Equal(t, []uint64{1, 3}, firsts)
	_, err = s.Append([]Entry{entry(1, "c")})
	require.NoError(t, err)

	require.Equal(t, []string{"a", "c"}, texts(t, s, s.Since([16]byte{1}, 0)))
	require.Equal(t, []string{"c"}, texts(t, s, s.Since([16]byte{1}, 2)))

	b, err := s.Batch(3, 1<<20)
	require.NoError(t, err)
	require.Equal(t, Batch{From: 1, To: 2, Refs: b.Refs}, *b, "two records fit, four do not")
	_, err = s.Commit(b)
	require.NoError(t, err)
	require.Empty(t, texts(t, s, s.Since([16]byte{1}, 4+2)))
	require.Equal(t, []string{"c"}, texts(t, s, s.Pending([16]byte{1})))
	require.Equal(t, []string{"a", "c"}, texts(t, s, s.Since([16]byte{1}, 0)), "committed frames stay readable")
	require.EqualValues(t, 4, s.Stats().PendingRecords)

	writer := s.Writer()
	require.NoError(t, s.Close())
	_, err = s.Append([]Entry{entry(1, "d")})
	require.Error(t, err)

	again, frames := open(t, dir, 1<<20)
	require.Len(t, frames, 3)
	require.Equal(t, writer, again.Writer())
	require.EqualValues(t, 2, again.Committed())
	require.EqualValues(t, 4, again.Stats().PendingRecords)
	firsts, err = again.Append([]Entry{entry(1, "e")})
	require.NoError(t, err)
	require.Equal(t, []uint64{7}, firsts, "positions continue")
}

// TestBatchAfterCrash: the batch that may have been stored is returned again with the
// same bounds, regardless of later appends.
func TestBatchAfterCrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := open(t, dir, 1<<20)
	_, err := s.Append([]Entry{entry(1, "a")})
	require.NoError(t, err)
	first, err := s.Batch(100, 1<<20)
	require.NoError(t, err)
	_, err = s.Append([]Entry{entry(1, "b")})
	require.NoError(t, err)
	require.NoError(t, s.Close())

	again, _ := open(t, dir, 1<<20)
	repeat, err := again.Batch(100, 1<<20)
	require.NoError(t, err)
	require.Equal(t, first.From, repeat.From)
	require.Equal(t, first.To, repeat.To)
	_, err = again.Commit(repeat)
	require.NoError(t, err)
	next, err := again.Batch(100, 1<<20)
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, texts(t, again, next.Refs))
}

// TestDamagedTail: data after the last complete frame is not read, and complete frames
// are kept.
func TestDamagedTail(t *testing.T) {
	t.Parallel()
	damages := map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)-3] },
		"garbage": func(b []byte) []byte { return append(b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10) },
		"flipped": func(b []byte) []byte { b[len(b)-1] ^= 0xff; return b },
		"zeros":   func(b []byte) []byte { return append(b, make([]byte, 4096)...) },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, _ := open(t, dir, 1<<20)
			for _, text := range []string{"one", "two"} {
				_, err := s.Append([]Entry{entry(1, text)})
				require.NoError(t, err)
			}
			require.NoError(t, s.Close())
			files, err := filepath.Glob(filepath.Join(dir, "*"+segmentSuffix))
			require.NoError(t, err)
			require.Len(t, files, 1)
			b, err := os.ReadFile(files[0])
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(files[0], damage(b), 0o600))

			again, frames := open(t, dir, 1<<20)
			require.EqualValues(t, 1, again.Stats().Damaged)
			want := []string{"one", "two"}
			if name == "cut" || name == "flipped" {
				want = want[:1]
			}
			require.Len(t, frames, len(want))
			_, err = again.Append([]Entry{entry(1, "three")})
			require.NoError(t, err)
			require.Equal(t, append(want, "three"), texts(t, again, again.Pending([16]byte{1})))
		})
	}
}

func TestFullAndDrop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := open(t, dir, 64<<10)
	payload := string(make([]byte, 1000))
	var err error
	n := 0
	for ; err == nil; n++ {
		_, err = s.Append([]Entry{entry(1, payload)})
	}
	require.ErrorIs(t, err, ErrFull)
	require.InDelta(t, 48, n, 3, "three quarters of it are for uncommitted frames")
	for {
		b, err := s.Batch(10, 1<<20)
		require.NoError(t, err)
		if b == nil {
			break
		}
		_, err = s.Commit(b)
		require.NoError(t, err)
	}
	require.Zero(t, s.Stats().PendingBytes)
	require.Positive(t, s.Floor(), "old segments were dropped")
	_, err = s.Append([]Entry{entry(1, payload)})
	require.NoError(t, err, "there is space again")

	var onDisk int64
	files, err := filepath.Glob(filepath.Join(dir, "*"+segmentSuffix))
	require.NoError(t, err)
	for _, f := range files {
		info, err := os.Stat(f)
		require.NoError(t, err)
		onDisk += info.Size()
	}
	require.Less(t, onDisk, int64(32<<10))
}

func TestReadDropped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := open(t, dir, 1<<20)
	_, err := s.Append([]Entry{entry(1, "a")})
	require.NoError(t, err)
	refs := s.Pending([16]byte{1})
	require.NoError(t, os.Remove(refs[0].seg.path))
	require.ErrorIs(t, s.Read(refs, func(Frame) error { return nil }), ErrDropped)
}

func TestConcurrentAppends(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := open(t, dir, 8<<20)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 100 {
				firsts, err := s.Append([]Entry{entry(byte(w), fmt.Sprintf("%d", i))})
				if err != nil || firsts[0] > s.Durable() {
					t.Errorf("append: %v at %v, durable %d", err, firsts, s.Durable())
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, s.Close())
	again, frames := open(t, dir, 8<<20)
	require.Len(t, frames, 800)
	for w := range 8 {
		got := texts(t, again, again.Pending([16]byte{byte(w)}))
		require.Len(t, got, 100)
		for i, text := range got {
			require.Equal(t, fmt.Sprintf("%d", i), text)
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{})
	e := entry(1, "seed")
	f.Add(appendFrame(nil, &e, 7))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "x.seg")
		require.NoError(t, os.WriteFile(path, append([]byte(magic), b...), 0o600))
		_, err := (&segment{path: path}).scan(func(Frame, Ref) {})
		require.NoError(t, err)
	})
}
