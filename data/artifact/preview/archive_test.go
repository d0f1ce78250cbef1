package preview

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
)

type archived struct{ name, content, link string }

func tarOf(t testing.TB, entries []archived) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Size: int64(len(e.content)), Mode: 0o600, ModTime: time.Unix(1_700_000_000, 0), Typeflag: tar.TypeReg}
		if e.link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
		}
		require.NoError(t, w.WriteHeader(h))
		_, err := w.Write([]byte(e.content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func zipOf(t testing.TB, entries []archived) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i, e := range entries {
		method := zip.Deflate
		if i%2 == 1 {
			method = zip.Store
		}
		f, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: method})
		require.NoError(t, err)
		_, err = f.Write([]byte(e.content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func packed(t testing.TB, format string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&out)
	if strings.HasSuffix(format, "zst") {
		z, err := zstd.NewWriter(&out)
		require.NoError(t, err)
		w = z
	}
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestArchives(t *testing.T) {
	t.Parallel()
	entries := []archived{{"a.txt", "first", ""}, {"d/b.csv", "x,y\n1,2\n", ""}, {"../../etc/passwd", "root", ""}}
	for format, data := range map[string][]byte{
		"zip": zipOf(t, entries), "tar": tarOf(t, entries), "tar.gz": packed(t, "gz", tarOf(t, entries)), "tar.zst": packed(t, "zst", tarOf(t, entries)),
	} {
		f := fileOf(data)
		require.Equal(t, format, Format(f, "x."+format, ""), format)
		a, err := ListArchive(t.Context(), f, format, "x")
		require.NoError(t, err, format)
		require.True(t, a.Complete)
		require.Len(t, a.Entries, 3)
		require.EqualValues(t, 17, a.Size)
		require.Equal(t, []bool{false, false, true}, []bool{a.Entries[0].Outside, a.Entries[1].Outside, a.Entries[2].Outside})
		for _, e := range entries {
			inner, cut, err := OpenEntry(t.Context(), f, format, "x", e.name)
			require.NoError(t, err, "%s: %s", format, e.name)
			require.False(t, cut)
			got, err := io.ReadAll(io.NewSectionReader(inner, 0, inner.Size))
			require.NoError(t, err)
			require.Equal(t, e.content, string(got))
		}
		_, _, err = OpenEntry(t.Context(), f, format, "x", "none")
		require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", format, err)
		for n := range 40 { // cut anywhere, it is an error or a shorter list
			cut := data[:len(data)*n/40]
			a, err := ListArchive(t.Context(), fileOf(cut), format, "x")
			if err != nil {
				require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", format, err)
			} else {
				require.LessOrEqual(t, len(a.Entries), 3)
			}
		}
	}
	links, err := ListArchive(t.Context(), fileOf(tarOf(t, []archived{{"a/in", "", "../b"}, {"a/out", "", "../../b"}, {"abs", "", "/etc/passwd"}, {`..\evil`, "", ""}})), "tar", "x")
	require.NoError(t, err)
	require.Equal(t, []bool{false, true, true, true}, []bool{links.Entries[0].Outside, links.Entries[1].Outside, links.Entries[2].Outside, links.Entries[3].Outside})
}

func TestOneCompressedFile(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"gz", "zst"} {
		f := fileOf(packed(t, format, []byte("a,b\n1,2\n")))
		require.Equal(t, format, Format(f, "rows.csv."+format, ""))
		a, err := ListArchive(t.Context(), f, format, "rows.csv."+format)
		require.NoError(t, err)
		require.Equal(t, "rows.csv", a.Entries[0].Path)
		inner, cut, err := OpenEntry(t.Context(), f, format, "rows.csv."+format, "rows.csv")
		require.NoError(t, err)
		require.False(t, cut)
		require.EqualValues(t, 8, inner.Size)
	}
}

// TestArchiveBombs: small files that unpack to gigabytes are read up to the bounds.
func TestArchiveBombs(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("\x00", 40<<20)
	bomb := zipOf(t, []archived{{"zeros", zeros, ""}})
	require.Less(t, len(bomb), 100_000)
	inner, cut, err := OpenEntry(t.Context(), fileOf(bomb), "zip", "x", "zeros")
	require.NoError(t, err)
	require.True(t, cut)
	require.EqualValues(t, EntryBytes, inner.Size)

	var out bytes.Buffer
	w, err := zstd.NewWriter(&out)
	require.NoError(t, err)
	tw := tar.NewWriter(w)
	block := make([]byte, 1<<20)
	require.NoError(t, tw.WriteHeader(&tar.Header{Name: "huge", Size: 600 << 20, Mode: 0o600}))
	for range 600 {
		_, err := tw.Write(block)
		require.NoError(t, err)
	}
	require.NoError(t, tw.WriteHeader(&tar.Header{Name: "after", Mode: 0o600}))
	require.NoError(t, tw.Close())
	require.NoError(t, w.Close())
	a, err := ListArchive(t.Context(), fileOf(out.Bytes()), "tar.zst", "x")
	require.NoError(t, err)
	require.Len(t, a.Entries, 1)
	require.NotEmpty(t, a.Problem)
	require.False(t, a.Complete)
	_, _, err = OpenEntry(t.Context(), fileOf(out.Bytes()), "tar.zst", "x", "after")
	require.ErrorContains(t, err, "was not reached")

	var many []archived
	for i := range MaxEntries + 1 {
		many = append(many, archived{name: fmt.Sprint(i)})
	}
	a, err = ListArchive(t.Context(), fileOf(tarOf(t, many)), "tar", "x")
	require.NoError(t, err)
	require.Len(t, a.Entries, MaxEntries)
	require.Contains(t, a.Problem, "10,000")
	a, err = ListArchive(t.Context(), fileOf(zipOf(t, many)), "zip", "x")
	require.NoError(t, err)
	require.Len(t, a.Entries, MaxEntries)
	require.False(t, a.Complete)
}

// TestStoredEntriesAreRanges: a large entry that is not compressed is read where it is.
func TestStoredEntriesAreRanges(t *testing.T) {
	t.Parallel()
	data := zipOf(t, []archived{{"first", "x", ""}, {"large", strings.Repeat("y", EntryBytes+10), ""}})
	counted := &counting{ReaderAt: bytes.NewReader(data)}
	inner, cut, err := OpenEntry(t.Context(), File{counted, int64(len(data))}, "zip", "x", "large")
	require.NoError(t, err)
	require.False(t, cut)
	require.EqualValues(t, EntryBytes+10, inner.Size)
	require.Less(t, counted.read, int64(200<<10))
}

func FuzzArchive(f *testing.F) {
	entries := []archived{{"a", "1", ""}, {"../b", "22", ""}}
	f.Add(zipOf(f, entries))
	f.Add(tarOf(f, entries))
	f.Add(packed(f, "gz", tarOf(f, entries)))
	f.Add(packed(f, "zst", tarOf(f, entries)))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range []string{"zip", "tar", "tar.gz", "tar.zst", "gz", "zst"} {
			a, err := ListArchive(t.Context(), fileOf(data), format, "x.gz")
			if err != nil {
				require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", format, err)
				continue
			}
			for _, e := range a.Entries[:min(len(a.Entries), 3)] {
				inner, _, err := OpenEntry(t.Context(), fileOf(data), format, "x.gz", e.Path)
				if err != nil {
					require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", format, err)
					continue
				}
				_, err = io.Copy(io.Discard, io.NewSectionReader(inner, 0, inner.Size))
				require.NoError(t, err)
			}
		}
	})
}
