package bucket_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact/s3test"
	"github.com/flowforge/flowforge/data/bucket"
	"github.com/flowforge/flowforge/data/bucket/azuretest"
	"github.com/flowforge/flowforge/data/bucket/gcstest"
)

// send sends a request as any client can, and returns the status and the body.
func send(t *testing.T, client *http.Client, r bucket.Request, err error, body string) (int, string) {
	t.Helper()
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), r.Method, r.URL, strings.NewReader(body))
	require.NoError(t, err)
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	res, err := client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(answer)
}

// sendEmpty is send for a request without a body.
func sendEmpty(t *testing.T, r bucket.Request, err error) (int, string) {
	t.Helper()
	return send(t, http.DefaultClient, r, err, "")
}

// TestS3: an S3 server accepts the requests, without credentials alongside them.
func TestS3(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t, "others")
	object := bucket.Location{
		Store: bucket.S3, Bucket: "others", Key: "a b/+file=ü.txt", Endpoint: strings.TrimPrefix(server.Endpoint, "http://"), Insecure: true,
		AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey,
	}
	put, err := object.Put(t.Context(), "")
	require.NotContains(t, put.URL, s3test.SecretKey)
	code, body := send(t, http.DefaultClient, put, err, "into a bucket")
	require.Equal(t, http.StatusOK, code, body)
	stored, err := os.ReadFile(filepath.Join(server.Dir, "others", "a b", "+file=ü.txt"))
	require.NoError(t, err)
	require.Equal(t, "into a bucket", string(stored))

	get, err := object.Get(t.Context(), "")
	code, body = sendEmpty(t, get, err)
	require.Equal(t, http.StatusOK, code, body)
	require.Equal(t, "into a bucket", body)

	folder := object
	folder.Key = "a b"
	put, err = folder.Put(t.Context(), "deep/two")
	code, body = send(t, http.DefaultClient, put, err, "2")
	require.Equal(t, http.StatusOK, code, body)
	list, err := folder.List(t.Context(), "")
	code, body = sendEmpty(t, list, err)
	require.Equal(t, http.StatusOK, code, body)
	require.Contains(t, body, "<Key>a b/+file=ü.txt</Key>")
	require.Contains(t, body, "<Key>a b/deep/two</Key>")
	get, err = folder.Get(t.Context(), "deep/two")
	_, body = sendEmpty(t, get, err)
	require.Equal(t, "2", body)
	_, err = folder.Get(t.Context(), "../else")
	require.True(t, apperr.Is(err, apperr.Invalid), "%v", err)

	wrong := object
	wrong.SecretKey = "wrong"
	get, err = wrong.Get(t.Context(), "")
	code, _ = sendEmpty(t, get, err)
	require.Equal(t, http.StatusForbidden, code)
}

// TestOSS: requests to OSS have the bucket in the host name and the region of the endpoint.
// An S3 server with buckets in host names takes the place of OSS.
func TestOSS(t *testing.T) {
	t.Parallel()
	const domain = "oss-cn-hangzhou.example.com"
	server := s3test.StartDomain(t, domain, "others")
	object := bucket.Location{
		Store: bucket.OSS, Bucket: "others", Key: "one", Endpoint: "http://" + domain, Region: "us-east-1",
		AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey,
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, strings.TrimPrefix(server.Endpoint, "http://"))
	}}}
	put, err := object.Put(t.Context(), "")
	code, body := send(t, client, put, err, "1")
	require.Equal(t, http.StatusOK, code, body)
	get, err := object.Get(t.Context(), "")
	_, body = send(t, client, get, err, "")
	require.Equal(t, "1", body)

	object.Region, object.Endpoint = "", "http://oss-cn-hangzhou-internal.aliyuncs.com"
	get, err = object.Get(t.Context(), "")
	require.NoError(t, err)
	address, err := url.Parse(get.URL)
	require.NoError(t, err)
	require.Equal(t, "others.oss-cn-hangzhou-internal.aliyuncs.com", address.Host)
	require.Contains(t, address.Query().Get("X-Amz-Credential"), "/cn-hangzhou/s3/")

	object.Endpoint = ""
	_, err = object.Get(t.Context(), "")
	require.ErrorContains(t, err, "Set the endpoint")
}

// TestAzure: Azure's own emulator accepts the requests.
func TestAzure(t *testing.T) {
	t.Parallel()
	folder := bucket.Location{
		Store: bucket.Azure, Bucket: "others", Key: "a b", Endpoint: azuretest.Start(t, "others"), AccessKey: azuretest.Key,
	}
	put, err := folder.Put(t.Context(), "+file=ü.txt")
	require.NotContains(t, put.URL, azuretest.Key)
	code, body := send(t, http.DefaultClient, put, err, "into a container")
	require.Equal(t, http.StatusCreated, code, body)
	get, err := folder.Get(t.Context(), "+file=ü.txt")
	code, body = sendEmpty(t, get, err)
	require.Equal(t, http.StatusOK, code, body)
	require.Equal(t, "into a container", body)
	list, err := folder.List(t.Context(), "")
	code, body = sendEmpty(t, list, err)
	require.Equal(t, http.StatusOK, code, body)
	require.Contains(t, body, "<Name>a b/+file=ü.txt</Name>")

	// The credential can also be a shared access signature.
	_, signature, _ := strings.Cut(get.URL, "?")
	shared := folder
	shared.AccessKey = "?" + signature
	get, err = shared.Get(t.Context(), "+file=ü.txt")
	_, body = sendEmpty(t, get, err)
	require.Equal(t, "into a container", body)

	wrong := folder
	wrong.AccessKey = "d3Jvbmc="
	get, err = wrong.Get(t.Context(), "+file=ü.txt")
	code, _ = sendEmpty(t, get, err)
	require.Equal(t, http.StatusForbidden, code)
	wrong.AccessKey = "not base64!"
	_, err = wrong.Get(t.Context(), "")
	require.True(t, apperr.Is(err, apperr.Invalid), "%v", err)
	wrong.Endpoint = ""
	_, err = wrong.Get(t.Context(), "")
	require.ErrorContains(t, err, "Set the endpoint")

	public := bucket.Location{Store: bucket.Azure, Bucket: "c", Key: "k", Endpoint: "https://account.blob.core.windows.net"}
	get, err = public.Get(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, "https://account.blob.core.windows.net/c/k", get.URL)
}

// TestGCS: a server that checks Google's signatures accepts the requests.
func TestGCS(t *testing.T) {
	t.Parallel()
	server := gcstest.Start(t, "others")
	folder := bucket.Location{Store: bucket.GCS, Bucket: "others", Key: "a b", Endpoint: server.Endpoint, AccessKey: server.Key}
	put, err := folder.Put(t.Context(), "+file=ü.txt")
	code, body := send(t, http.DefaultClient, put, err, "into a bucket")
	require.Equal(t, http.StatusOK, code, body)
	get, err := folder.Get(t.Context(), "+file=ü.txt")
	code, body = sendEmpty(t, get, err)
	require.Equal(t, http.StatusOK, code, body)
	require.Equal(t, "into a bucket", body)
	get, err = folder.Get(t.Context(), "")
	code, _ = sendEmpty(t, get, err)
	require.Equal(t, http.StatusNotFound, code)
	list, err := folder.List(t.Context(), "")
	code, body = sendEmpty(t, list, err)
	require.Equal(t, http.StatusOK, code, body)
	require.Contains(t, body, "<Key>a b/+file=ü.txt</Key>")

	// A signature is that of one method, one path and one key.
	get, err = folder.Get(t.Context(), "+file=ü.txt")
	for _, changed := range []bucket.Request{
		{Method: http.MethodDelete, URL: get.URL},
		{Method: http.MethodGet, URL: strings.Replace(get.URL, "/others/", "/other/", 1)},
	} {
		code, _ = sendEmpty(t, changed, err)
		require.Equal(t, http.StatusForbidden, code)
	}
	folder.AccessKey, _ = gcstest.NewKey(t, gcstest.Account)
	get, err = folder.Get(t.Context(), "+file=ü.txt")
	code, body = sendEmpty(t, get, err)
	require.Equal(t, http.StatusForbidden, code, body)

	for key, want := range map[string]string{
		"no key": "not the JSON key of a service account", `{"type": "authorized_user"}`: "not the JSON key of a service account",
		`{"type": "service_account", "client_email": "a@b"}`: "no private_key",
	} {
		folder.AccessKey = key
		_, err = folder.Get(t.Context(), "")
		require.True(t, apperr.Is(err, apperr.Invalid), "%v", err)
		require.ErrorContains(t, err, want)
	}
}

// TestAddresses: public buckets need no signature, and AWS has its own addresses.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]bucket.Location{
		"http://minio.example.com:9000/others/a%20b":    {Store: bucket.S3, Bucket: "others", Key: "a b", Endpoint: "minio.example.com:9000", Insecure: true},
		"https://others.s3.us-west-2.amazonaws.com/k":   {Store: bucket.S3, Bucket: "others", Key: "k", Region: "us-west-2", Endpoint: "s3.amazonaws.com"},
		"https://others.s3.us-east-1.amazonaws.com/k/l": {Store: bucket.S3, Bucket: "others", Key: "k/l"},
		"https://storage.googleapis.com/others/k/l":     {Store: bucket.GCS, Bucket: "others", Key: "k/l"},
	} {
		get, err := l.Get(t.Context(), "")
		require.NoError(t, err)
		require.Equal(t, want, get.URL)
	}
	_, err := bucket.Location{Store: bucket.S3, Bucket: "others", Key: "k", Endpoint: "no address"}.Get(t.Context(), "")
	require.ErrorContains(t, err, "is not an address")
}
