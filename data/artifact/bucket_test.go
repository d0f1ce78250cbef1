package artifact_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/artifact/s3test"
)

// TestBucketObjectLink downloads an object of another store by its link alone.
func TestBucketObjectLink(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t, "others")
	require.NoError(t, os.MkdirAll(filepath.Join(server.Dir, "others", "a b"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(server.Dir, "others", "a b", "file.txt"), []byte("from a bucket"), 0o600))
	get := func(o artifact.BucketObject) (int, string) {
		link, err := o.Link(t.Context())
		require.NoError(t, err)
		require.NotContains(t, link, s3test.SecretKey)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, http.NoBody)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(body)
	}
	object := artifact.BucketObject{
		Bucket: "others", Key: "a b/file.txt", Endpoint: server.Endpoint[len("http://"):], Insecure: true,
		AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey,
	}
	code, body := get(object)
	require.Equal(t, http.StatusOK, code, body)
	require.Equal(t, "from a bucket", body)

	wrong := object
	wrong.SecretKey = "wrong"
	code, _ = get(wrong)
	require.Equal(t, http.StatusForbidden, code)

	public := object
	public.AccessKey, public.SecretKey = "", ""
	link, err := public.Link(t.Context())
	require.NoError(t, err)
	require.Equal(t, server.Endpoint+"/others/a%20b/file.txt", link, "a public bucket needs no signature")

	link, err = artifact.BucketObject{Bucket: "others", Key: "k", Region: "us-west-2", Endpoint: "s3.amazonaws.com"}.Link(t.Context())
	require.NoError(t, err)
	require.Equal(t, "https://others.s3.us-west-2.amazonaws.com/k", link)

	_, err = artifact.BucketObject{Bucket: "others", Key: "k", Endpoint: "no address"}.Link(t.Context())
	require.ErrorContains(t, err, "is not an address")
}
