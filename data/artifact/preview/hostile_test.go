package preview

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/zlib"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
)

// tensorPickle is the opcodes of a tensor of PyTorch with two elements.
const tensorPickle = "ctorch._utils\n_rebuild_tensor_v2\nNK\x00K\x02\x85\x87R"

// TestParametersAreNoDeeperThanOtherObjects: a parameter in a parameter counts as a level, because
// each level needs memory of the stack.
func TestParametersAreNoDeeperThanOtherObjects(t *testing.T) {
	t.Parallel()
	nested := func(levels int) Model {
		return readModel(t, []byte("\x80\x02"+strings.Repeat("ctorch._utils\n_rebuild_parameter\n", levels)+tensorPickle+strings.Repeat("\x85R", levels)+"."), "pickle")
	}
	require.Len(t, nested(2).Tensors, 1)
	require.Empty(t, nested(walkDepth+1).Tensors)
	require.Empty(t, nested(20_000).Tensors)
}

// TestKeysOfAnyType: a key that is a tuple is not written out.
func TestKeysOfAnyType(t *testing.T) {
	t.Parallel()
	m := readModel(t, []byte("\x80\x02}("+strings.Repeat("K\x01", 1000)+"t"+tensorPickle+"sK\x07"+tensorPickle+"s."), "pickle")
	require.Len(t, m.Tensors, 2)
	require.Equal(t, []string{"?", "7"}, []string{m.Tensors[0].Name, m.Tensors[1].Name})
}

// TestTheWalkOverAPickleIsBounded: it ends with its time and its request, and says so.
func TestTheWalkOverAPickleIsBounded(t *testing.T) {
	t.Parallel()
	f := fileOf([]byte("\x80\x02](" + strings.Repeat("N", clockEvery-10) + "e."))
	u, err := newUnpickler(t.Context(), f)
	require.NoError(t, err)
	u.b.until = time.Now() // there are too few opcodes to look at the clock
	var m Model
	require.NoError(t, m.pickled(u, nil))
	require.Contains(t, m.Problem, "Some arrays are not listed.")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = ReadModel(ctx, fileOf([]byte("\x80\x02N.")), "pickle")
	require.ErrorIs(t, err, context.Canceled)
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, err = w.Write([]byte("\x80\x02N."))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	_, err = newUnpickler(ctx, fileOf(packed.Bytes()))
	require.Error(t, err, "a compressed pickle ends with its request, too")
}

// TestLargeCompressedEntries: an entry whose compressed bytes exceed the bound of the list is read.
func TestLargeCompressedEntries(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.NoCompression) })
	e, err := w.Create("large")
	require.NoError(t, err)
	_, err = e.Write(make([]byte, EntryBytes+8<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	inner, cut, err := OpenEntry(t.Context(), fileOf(out.Bytes()), "zip", "x", "large")
	require.NoError(t, err)
	require.True(t, cut)
	require.EqualValues(t, EntryBytes, inner.Size)
	for _, limited := range []*bounded{{left: 0}, {left: 1, ctx: t.Context(), until: time.Unix(1, 0)}} {
		_, _, err := unpack(limited)
		require.True(t, apperr.Is(err, apperr.Invalid), "%v", err)
	}
}

// TestLongLists: the list of a ZIP file takes bounded memory.
func TestLongLists(t *testing.T) {
	t.Parallel()
	var long []archived
	for i := range 150 {
		long = append(long, archived{name: strings.Repeat("n", 60_000) + fmt.Sprint(i)})
	}
	f := fileOf(zipOf(t, long))
	require.Equal(t, "zip", Format(f, "x.zip", ""))
	_, err := ListArchive(t.Context(), f, "zip", "x")
	require.True(t, apperr.Is(err, apperr.Invalid), "%v", err)
	require.ErrorContains(t, err, "larger than 8 MiB")
	_, _, err = OpenEntry(t.Context(), f, "zip", "x", "n")
	require.True(t, apperr.Is(err, apperr.Invalid), "%v", err)
}

// TestStatedTimesAndSizes: times that JSON cannot write and sums of sizes that exceed 64 bits.
func TestStatedTimesAndSizes(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	for i, at := range []time.Time{time.Date(20_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(1_700_000_000, 0)} {
		require.NoError(t, tw.WriteHeader(&tar.Header{Name: fmt.Sprint(i), Mode: 0o600, ModTime: at, Format: tar.FormatPAX}))
	}
	require.NoError(t, tw.Close())
	a, err := ListArchive(t.Context(), fileOf(out.Bytes()), "tar", "x")
	require.NoError(t, err)
	_, err = json.Marshal(a)
	require.NoError(t, err)
	require.Nil(t, a.Entries[0].Modified)
	require.NotNil(t, a.Entries[1].Modified)

	out.Reset()
	zw := zip.NewWriter(&out)
	for i := range 9 {
		_, err := zw.CreateRaw(&zip.FileHeader{Name: fmt.Sprint(i), UncompressedSize64: 1 << 60})
		require.NoError(t, err)
	}
	require.NoError(t, zw.Close())
	a, err = ListArchive(t.Context(), fileOf(out.Bytes()), "zip", "x")
	require.NoError(t, err)
	require.Equal(t, int64(math.MaxInt64), a.Size)

	text := "{'descr': '|V2147483647', 'fortran_order': False, 'shape': (1125899906842624,), }"
	array, err := ReadArray(t.Context(), fileOf(append([]byte("\x93NUMPY\x01\x00"+string(rune(len(text)))+"\x00"), text...)), "npy", ArrayQuery{})
	require.NoError(t, err)
	require.Equal(t, int64(math.MaxInt64), array.Size)
}
