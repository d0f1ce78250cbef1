package tasks

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/channel"
	"github.com/flowforge/flowforge/data/channel/codec"
)

func TestBlobsTravelPackedWhereThatPays(t *testing.T) {
	t.Parallel()
	store, err := artifact.OpenStore(t.TempDir())
	require.NoError(t, err)
	random := make([]byte, 2<<20)
	for i, x := 0, uint32(1); i < len(random); i++ {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		random[i] = byte(x)
	}
	for _, c := range []struct {
		content, accept string
		want            channel.Compression
	}{
		{strings.Repeat("a,b,c\n", 500_000), "zstd", channel.Zstd},
		{strings.Repeat("a,b,c\n", 500_000), "br, lz4", channel.LZ4},
		{strings.Repeat("a,b,c\n", 500_000), "identity", channel.None},
		{string(random), "zstd", channel.None},
		{"", "zstd", channel.None},
	} {
		blob, err := store.Put(t.Context(), strings.NewReader(c.content), "")
		require.NoError(t, err)
		reader, err := store.Open(t.Context(), blob.SHA256)
		require.NoError(t, err)
		w := httptest.NewRecorder()
		w.Header().Set("Content-Length", "1")
		require.NoError(t, sendBlob(w, reader, packingFor(c.accept)))
		require.NoError(t, reader.Close())
		require.Equal(t, string(c.want), w.Header().Get("Content-Encoding"))
		if c.want != channel.None {
			require.Empty(t, w.Header().Get("Content-Length"), "it is that of the bytes themselves")
			require.Less(t, w.Body.Len(), len(c.content)/10)
		}
		plain, err := codec.NewReader(w.Body, c.want)
		require.NoError(t, err)
		got, err := io.ReadAll(plain)
		require.NoError(t, err)
		require.Equal(t, c.content, string(got))
	}
}

func TestUploadsAreUnpacked(t *testing.T) {
	t.Parallel()
	for _, c := range []channel.Compression{channel.None, channel.LZ4, channel.Zstd} {
		var packed bytes.Buffer
		w, err := codec.NewWriter(&packed, c)
		require.NoError(t, err)
		_, err = io.WriteString(w, strings.Repeat("x", 100_000))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		r := httptest.NewRequest(http.MethodPut, "/", &packed)
		r.Header.Set("Content-Encoding", string(c))
		body, err := unpacked(httptest.NewRecorder(), r)
		require.NoError(t, err)
		got, err := io.ReadAll(body)
		require.NoError(t, err)
		require.Len(t, got, 100_000)
	}
	r := httptest.NewRequest(http.MethodPut, "/", strings.NewReader("x"))
	r.Header.Set("Content-Encoding", "gzip")
	_, err := unpacked(httptest.NewRecorder(), r)
	require.ErrorContains(t, err, "lz4 or zstd")
}
