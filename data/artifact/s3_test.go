package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact/s3test"
)

// leastPart is the smallest part that stores accept.
const leastPart = 5 << 20

func s3Config(server *s3test.Server) S3Config {
	return S3Config{
		Bucket: "forge", Prefix: "/some/where/", Endpoint: server.Endpoint, PathStyle: true, Region: "us-east-1",
		Credentials: s3test.Credentials(), PartBytes: leastPart,
	}
}

// newS3 returns an empty store on its own server.
func newS3(t *testing.T) (*S3Store, *s3test.Server) {
	t.Helper()
	server := s3test.Start(t, "forge")
	s, err := OpenS3(t.Context(), s3Config(server))
	require.NoError(t, err)
	return s, server
}

// noise returns n random bytes and their hash.
func noise(n int, seed uint64) (data []byte, hash string) {
	data = make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(data)
	sum := sha256.Sum256(data)
	return data, hex.EncodeToString(sum[:])
}

func (s *S3Store) keys(t *testing.T) []string {
	t.Helper()
	out, err := s.client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &s.cfg.Bucket})
	require.NoError(t, err)
	var keys []string
	for _, o := range out.Contents {
		if !strings.HasSuffix(*o.Key, "incoming/check") {
			keys = append(keys, *o.Key)
		}
	}
	return keys
}

func TestS3SmallAndLarge(t *testing.T) {
	t.Parallel()
	s, _ := newS3(t)
	for i, size := range []int{0, 5, leastPart - 1, leastPart, leastPart + 1, 2 * leastPart, 4*leastPart + 17} {
		data, hash := noise(size, uint64(i)+1)
		for _, expected := range []string{"", hash, ""} { // new, and again
			blob, err := s.Put(t.Context(), bytes.NewReader(data), expected)
			require.NoError(t, err, size)
			require.Equal(t, Blob{SHA256: hash, Size: int64(size)}, blob)
		}
		r, err := s.Open(t.Context(), hash)
		require.NoError(t, err)
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, got), size)
		require.NoError(t, r.Close())
	}
	require.Len(t, s.keys(t), 7, "the temporary objects are deleted")
	require.Contains(t, s.keys(t)[0], "some/where/data/")
}

func TestS3ReadsParts(t *testing.T) {
	t.Parallel()
	s, _ := newS3(t)
	data, hash := noise(3*leastPart, 1)
	_, err := s.Put(t.Context(), bytes.NewReader(data), hash)
	require.NoError(t, err)
	r, err := s.Open(t.Context(), hash)
	require.NoError(t, err)
	defer r.Close()
	require.EqualValues(t, len(data), r.Size())
	for _, at := range []int64{leastPart + 3, 7, int64(len(data)) - 2} {
		_, err = r.Seek(at, io.SeekStart)
		require.NoError(t, err)
		part := make([]byte, 2)
		_, err = io.ReadFull(r, part)
		require.NoError(t, err)
		require.Equal(t, data[at:at+2], part)
	}
	_, err = r.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
	_, err = s.Stat(t.Context(), helloHash)
	require.True(t, apperr.Is(err, apperr.NotFound))
	_, err = s.Open(t.Context(), helloHash)
	require.True(t, apperr.Is(err, apperr.NotFound))
}

func TestS3RefusesWrongBytes(t *testing.T) {
	t.Parallel()
	s, _ := newS3(t)
	for _, size := range []int{10, 3*leastPart + 1} {
		data, hash := noise(size, 1)
		data[size-1] ^= 1
		_, err := s.Put(t.Context(), bytes.NewReader(data), hash)
		require.True(t, apperr.Is(err, apperr.Invalid))
		_, err = s.Stat(t.Context(), hash)
		require.True(t, apperr.Is(err, apperr.NotFound))
	}
	require.Empty(t, s.keys(t))
	data, hash := noise(3*leastPart, 2)
	_, err := s.Put(t.Context(), bytes.NewReader(data), hash)
	require.NoError(t, err)
	data[0] ^= 1
	_, err = s.Put(t.Context(), bytes.NewReader(data), hash)
	require.True(t, apperr.Is(err, apperr.Invalid), "a sender that names an existing blob must have its bytes")
}

// TestS3Interrupted: when a sender disconnects, or a context ends, no object appears,
// and the parts are discarded.
func TestS3Interrupted(t *testing.T) {
	t.Parallel()
	s, _ := newS3(t)
	data, hash := noise(2*leastPart+9, 1)
	for _, expected := range []string{"", hash} {
		for _, n := range []int{3, leastPart, 2*leastPart + 1} {
			_, err := s.Put(t.Context(), io.MultiReader(bytes.NewReader(data[:n]), &failingReader{}), expected)
			require.ErrorContains(t, err, "the sender went away")
		}
		ctx, cancel := context.WithCancel(t.Context())
		body := io.MultiReader(bytes.NewReader(data[:2*leastPart]), readerFunc(func([]byte) (int, error) {
			cancel()
			return 0, ctx.Err()
		}))
		_, err := s.Put(ctx, body, expected)
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Empty(t, s.keys(t))
	uploads, err := s.client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &s.cfg.Bucket})
	require.NoError(t, err)
	require.Empty(t, uploads.Uploads)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestS3NoticesDamage(t *testing.T) {
	t.Parallel()
	s, _ := newS3(t)
	key, err := s.blobKey(helloHash)
	require.NoError(t, err)
	_, err = s.client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &s.cfg.Bucket, Key: &key, Body: strings.NewReader("jello")})
	require.NoError(t, err)
	require.ErrorIs(t, verify(t.Context(), s, helloHash), ErrDamaged)
}

// TestUnreachableS3: while the store is down, all operations return Unavailable, which callers
// retry; after it returns, all blobs exist.
func TestUnreachableS3(t *testing.T) {
	t.Parallel()
	s, server := newS3(t)
	_, err := s.Put(t.Context(), strings.NewReader("hello"), "")
	require.NoError(t, err)
	require.NoError(t, s.Ready(t.Context()))
	server.Stop()
	_, err = s.Put(t.Context(), strings.NewReader("more"), "")
	require.True(t, apperr.Is(err, apperr.Unavailable), "%v", err)
	require.Equal(t, "The artifact store is not responding. Try again in a moment.", apperr.MessageOf(err))
	_, err = s.Open(t.Context(), helloHash)
	require.True(t, apperr.Is(err, apperr.Unavailable), "%v", err)
	require.True(t, apperr.Is(s.Ready(t.Context()), apperr.Unavailable))
	server.Resume(t)
	require.NoError(t, verify(t.Context(), s, helloHash))
	_, err = s.Put(t.Context(), strings.NewReader("more"), "")
	require.NoError(t, err)
}

// TestS3BrokenDownload: after a broken connection, the download resumes where it broke.
func TestS3BrokenDownload(t *testing.T) {
	t.Parallel()
	s, server := newS3(t)
	data, hash := noise(4*leastPart, 1)
	_, err := s.Put(t.Context(), bytes.NewReader(data), hash)
	require.NoError(t, err)
	r, err := s.Open(t.Context(), hash)
	require.NoError(t, err)
	defer r.Close()
	got := make([]byte, 10)
	_, err = io.ReadFull(r, got)
	require.NoError(t, err)
	server.Stop()
	server.Resume(t)
	rest, err := io.ReadAll(r)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, slices.Concat(got, rest)))
}

// send sends a presigned request like a task. A store that rejects it may close the
// connection before it has read everything: that is also a rejection.
func send(t *testing.T, r Request, data []byte) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.Method, r.URL, bytes.NewReader(data))
	require.NoError(t, err)
	for k, v := range r.Header {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return http.StatusForbidden
	}
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

func TestS3DirectUpload(t *testing.T) {
	t.Parallel()
	s, _ := newS3(t)
	data, hash := noise(9<<20, 1)
	blob := Blob{SHA256: hash, Size: int64(len(data))}
	request, ok, err := s.UploadRequest(t.Context(), "task 1", blob)
	require.NoError(t, err)
	require.True(t, ok)
	_, err = s.Arrived(t.Context(), "task 1", hash)
	require.True(t, apperr.Is(err, apperr.NotFound))

	wrong := bytes.Clone(data)
	wrong[0] ^= 1
	require.GreaterOrEqual(t, send(t, request, wrong), 400, "the store checks the sum")
	require.GreaterOrEqual(t, send(t, request, data[:100]), 400, "and the length")
	forged := request
	forged.URL = strings.Replace(request.URL, hash, helloHash, 1)
	require.Equal(t, http.StatusForbidden, send(t, forged, data), "a request is valid only for its own key")
	_, err = s.Arrived(t.Context(), "task 1", hash)
	require.True(t, apperr.Is(err, apperr.NotFound))

	require.Equal(t, http.StatusOK, send(t, request, data))
	_, err = s.Arrived(t.Context(), "task 2", hash)
	require.True(t, apperr.Is(err, apperr.NotFound), "another owner has not uploaded it")
	taken, err := s.Arrived(t.Context(), "task 1", hash)
	require.NoError(t, err)
	require.Equal(t, blob, taken)
	require.NoError(t, verify(t.Context(), s, hash))
	require.Len(t, s.keys(t), 1)

	_, ok, err = s.UploadRequest(t.Context(), "task 1", Blob{SHA256: hash, Size: maxCopy + 1})
	require.NoError(t, err)
	require.False(t, ok, "a file too large for one request goes through the server")
}

// TestS3ArrivedWithoutSums: without checksums of the store, the bytes are read.
func TestS3ArrivedWithoutSums(t *testing.T) {
	t.Parallel()
	s, _ := newS3(t)
	put := func(owner, text string) {
		key := s.incomingKey(owner, helloHash)
		_, err := s.client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &s.cfg.Bucket, Key: &key, Body: strings.NewReader(text)})
		require.NoError(t, err)
	}
	put("honest", "hello")
	put("liar", "jello")
	_, err := s.Arrived(t.Context(), "liar", helloHash)
	require.True(t, apperr.Is(err, apperr.Invalid))
	_, err = s.Stat(t.Context(), helloHash)
	require.True(t, apperr.Is(err, apperr.NotFound))
	_, err = s.Arrived(t.Context(), "honest", helloHash)
	require.NoError(t, err)
	require.NoError(t, verify(t.Context(), s, helloHash))
}

func TestS3DirectDownload(t *testing.T) {
	t.Parallel()
	s, _ := newS3(t)
	_, err := s.Put(t.Context(), strings.NewReader("hello"), "")
	require.NoError(t, err)
	for _, d := range []Download{{}, {Browser: true, Filename: "Übung \"1\".html", MediaType: "text/html"}} {
		link, err := s.DownloadURL(t.Context(), helloHash, d)
		require.NoError(t, err)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, "hello", string(text))
		if d.Browser {
			require.Contains(t, resp.Header.Get("Content-Disposition"), "attachment; filename")
		}
	}
}

func TestS3Sweep(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t, "forge")
	cfg := s3Config(server)
	var late time.Duration
	cfg.Now = func() time.Time { return time.Now().Add(late) }
	s, err := OpenS3(t.Context(), cfg)
	require.NoError(t, err)
	key := s.incomingKey("gone", helloHash)
	_, err = s.client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &s.cfg.Bucket, Key: &key, Body: strings.NewReader("hello")})
	require.NoError(t, err)
	_, err = s.client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &s.cfg.Bucket, Key: aws.String(s.key("data/x"))})
	require.NoError(t, err)
	require.NoError(t, s.Sweep(t.Context()))
	require.Len(t, s.keys(t), 1, "it may still be needed")
	late = 2 * incomingLives
	require.NoError(t, s.Sweep(t.Context()))
	require.Empty(t, s.keys(t))
	uploads, err := s.client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &s.cfg.Bucket})
	require.NoError(t, err)
	require.Empty(t, uploads.Uploads)
}

// TestS3Settings: errors name the invalid setting.
func TestS3Settings(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t, "forge")
	for want, change := range map[string]func(*S3Config){
		"FLOWFORGE_ARTIFACTS: there is no bucket absent": func(c *S3Config) { c.Bucket = "absent" },
		"AWS_ACCESS_KEY_ID":     func(c *S3Config) { c.Credentials = strangers() },
		"FLOWFORGE_S3_ENDPOINT": func(c *S3Config) { c.Endpoint = "http://127.0.0.1:1" },
	} {
		cfg := s3Config(server)
		change(&cfg)
		_, err := OpenS3(t.Context(), cfg)
		require.ErrorContains(t, err, want)
	}
}

func strangers() aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: s3test.AccessKey, SecretAccessKey: "unknown"}, nil
	})
}
