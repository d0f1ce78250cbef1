package datastore_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact/s3test"
	"github.com/flowforge/flowforge/data/metaflow/datastore"
	"github.com/flowforge/flowforge/db/dbtest"
)

// secrets are the secrets of a test.
type secrets map[string]string

func (s secrets) Exists(_ context.Context, name string) (bool, error) { return s[name] != "", nil }
func (s secrets) Reveal(_ context.Context, _ uuid.UUID, name string) (string, error) {
	return s[name], nil
}

func (s secrets) NoteDatastoreUse(context.Context, uuid.UUID, []string) error { return nil }

// testBundle is a service with the folder of a project.
type testBundle struct {
	*datastore.Service

	ctx   context.Context
	own   string
	roots string
}

func setup(t *testing.T, change func(*datastore.Config)) testBundle {
	t.Helper()
	c := datastore.Config{
		Pool: dbtest.New(t), Secrets: secrets{"access": s3test.AccessKey, "secret": s3test.SecretKey}, Now: time.Now, Dir: t.TempDir(), Roots: []string{t.TempDir()},
	}
	if change != nil {
		change(&c)
	}
	return testBundle{
		Service: datastore.NewService(c), ctx: auth.WithSubject(t.Context(), auth.Local()), roots: c.Roots[0],
		own: filepath.Join(c.Dir, auth.LocalTenant.String(), auth.LocalProject.String(), ".metaflow"),
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// remote sets a datastore on an S3 server and returns the server.
func (b testBundle) remote(t *testing.T) *s3test.Server {
	t.Helper()
	server := s3test.Start(t, "models")
	_, err := b.Put(b.ctx, datastore.Place{Kind: datastore.S3, Root: "s3://models/deep/mf", Endpoint: server.Endpoint, AccessKeySecret: "access", SecretKeySecret: "secret"})
	require.NoError(t, err)
	return server
}

// TestStores: folders and buckets answer alike.
func TestStores(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"local", "s3"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(c *datastore.Config) { c.OwnHosts = true })
			root := b.own
			if kind == "s3" {
				root = filepath.Join(b.remote(t).Dir, "models", "deep", "mf")
			}
			write(t, filepath.Join(root, "Flow", "1", "a b+ü.log"), "0123456789")
			write(t, filepath.Join(root, "Flow", "1", "deep", "x"), "x")
			write(t, filepath.Join(root, "Flow", "1", "empty"), "")
			store, err := b.Open(b.ctx)
			require.NoError(t, err)
			for _, c := range []struct {
				offset, limit int64
				want          string
			}{{0, 4, "0123"}, {8, 4, "89"}, {10, 4, ""}, {50, 1, ""}, {0, 100, "0123456789"}} {
				data, size, err := store.Read(b.ctx, "Flow/1/a b+ü.log", c.offset, c.limit)
				require.NoError(t, err)
				require.Equal(t, c.want, string(data))
				if c.offset <= 10 {
					require.EqualValues(t, 10, size)
				}
			}
			data, size, err := store.Read(b.ctx, "Flow/1/empty", 0, 10)
			require.NoError(t, err)
			require.Empty(t, data)
			require.Zero(t, size)
			for _, name := range []string{"Flow/1/none", "Flow/1/deep", "../x", "/etc/passwd", "Flow//1", "", "Flow/1/empty/x"} {
				_, _, err = store.Read(b.ctx, name, 0, 10)
				require.Error(t, err, name)
				require.Contains(t, []apperr.Code{apperr.NotFound, apperr.Unavailable}, apperr.CodeOf(err), "%s: %v", name, err)
			}
			entries, err := store.List(b.ctx, "Flow/1", 100)
			require.NoError(t, err)
			var names []string
			for _, e := range entries {
				names = append(names, e.Name)
				require.Equal(t, e.Name == "deep", e.Folder)
			}
			require.Equal(t, []string{"a b+ü.log", "deep", "empty"}, names)
			entries, err = store.List(b.ctx, "Flow/1", 2)
			require.NoError(t, err)
			require.Len(t, entries, 2)
			entries, err = store.List(b.ctx, "Flow/none", 100)
			require.NoError(t, err)
			require.Empty(t, entries)
			entries, err = store.List(b.ctx, ".", 100)
			require.NoError(t, err)
			require.Equal(t, "Flow", entries[0].Name)
			file, size, err := store.Open(b.ctx, "Flow/1/a b+ü.log")
			require.NoError(t, err)
			require.EqualValues(t, 10, size)
			require.NoError(t, file.Close())
		})
	}
}

// TestLinks: no link leads out of a datastore, also not to another one on the same machine.
func TestLinks(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret"), "secret")
	write(t, filepath.Join(b.own, "Flow", "plain"), "plain")
	link := func(target, name string) {
		require.NoError(t, os.Symlink(target, filepath.Join(b.own, "Flow", name)))
	}
	link(outside, "out")
	link(filepath.Join(outside, "secret"), "file")
	link("../../../secret", "up")
	link("plain", "inside")
	require.NoError(t, syscall.Mkfifo(filepath.Join(b.own, "Flow", "pipe"), 0o600))
	store, err := b.Open(b.ctx)
	require.NoError(t, err)
	for _, name := range []string{"Flow/out/secret", "Flow/file", "Flow/up", "Flow/pipe"} {
		data, _, err := store.Read(b.ctx, name, 0, 10)
		require.Error(t, err, name)
		require.Empty(t, data)
	}
	data, _, err := store.Read(b.ctx, "Flow/inside", 0, 10)
	require.NoError(t, err)
	require.Equal(t, "plain", string(data))
	_, err = store.List(b.ctx, "Flow/out", 10)
	require.Error(t, err)

	// The folder of the client is a link to that of another project below the same allowed folder.
	write(t, filepath.Join(b.roots, "other", ".metaflow", "Flow", "x"), "of others")
	require.NoError(t, os.MkdirAll(filepath.Join(b.roots, "mine"), 0o700))
	require.NoError(t, os.Symlink("../other/.metaflow", filepath.Join(b.roots, "mine", ".metaflow")))
	_, err = b.Put(b.ctx, datastore.Place{Kind: datastore.Local, Root: filepath.Join(b.roots, "mine")})
	require.NoError(t, err)
	_, err = b.Open(b.ctx)
	require.True(t, apperr.Is(err, apperr.Unavailable), "%v", err)
}

// TestOwnAddresses: a datastore cannot make the server connect to itself or to the addresses where
// clouds serve credentials, whatever name leads there.
func TestOwnAddresses(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *datastore.Config) { c.Endpoints = []string{"127.0.0.1:1"} })
	for _, endpoint := range []string{"http://127.0.0.1:9000", "http://localhost:9000", "http://169.254.169.254", "http://[::1]:9000", "http://0.0.0.0:80"} {
		_, err := b.Put(b.ctx, datastore.Place{Kind: datastore.S3, Root: "s3://models", Endpoint: endpoint})
		require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", endpoint, err)
		require.Equal(t, "endpoint", apperr.FieldsOf(err)[0].Path)
	}
	for _, endpoint := range metadata {
		_, err := b.Put(b.ctx, datastore.Place{Kind: datastore.S3, Root: "s3://models", Endpoint: endpoint})
		require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", endpoint, err)
	}
	found, err := b.Test(b.ctx, datastore.Place{Kind: datastore.S3, Root: "s3://models", Endpoint: "http://localhost.localdomain:9000"})
	require.NoError(t, err)
	require.False(t, found.OK)
	found, err = b.Test(b.ctx, datastore.Place{Kind: datastore.S3, Root: "s3://models", Endpoint: "http://127.0.0.1:1"})
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(found.Message, "cannot be reached."), found.Message)
}

var metadata = []string{
	"http://169.254.169.254", "http://[fd00:ec2::254]", "http://100.100.100.200", "https://168.63.129.16", "http://[::ffff:100.100.100.200]",
	"http://[64:ff9b::a9fe:a9fe]", "http://[::ffff:169.254.169.254]:80",
}

// TestMetadataAddresses: the owners of a machine may use stores on it, but reach metadata services
// of clouds only if the settings list them.
func TestMetadataAddresses(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *datastore.Config) { c.OwnHosts = true })
	for _, endpoint := range metadata {
		_, err := b.Put(b.ctx, datastore.Place{Kind: datastore.S3, Root: "s3://models", Endpoint: endpoint})
		require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", endpoint, err)
		require.Contains(t, apperr.FieldsOf(err)[0].Message, "metadata")
	}
	_, err := b.Put(b.ctx, datastore.Place{Kind: datastore.S3, Root: "s3://models", Endpoint: "http://[::1]:9"})
	require.NoError(t, err)

	b = setup(t, func(c *datastore.Config) { c.Endpoints = []string{"fd00:ec2::254", "100.100.100.200:80"} })
	for _, endpoint := range []string{"http://[fd00:ec2::254]:9000", "http://100.100.100.200"} {
		_, err := b.Put(b.ctx, datastore.Place{Kind: datastore.S3, Root: "s3://models", Endpoint: endpoint})
		require.NoError(t, err, endpoint)
	}
}

// TestCredentialsGoToListedHosts: users who set a datastore cannot make the server send secrets to a
// host of their own, also after the installation no longer lists it. No address has credentials.
func TestCredentialsGoToListedHosts(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []*http.Request
	hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Clone(context.Background()))
		w.WriteHeader(http.StatusForbidden)
	}))
	defer hostile.Close()
	change := func(c *datastore.Config) {
		c.Secrets = secrets{"access": "AKIA-ACCESS", "secret": "the-secret-key", "token": "the-session-token"}
	}
	b := setup(t, change)
	place := func(endpoint string) datastore.Place {
		return datastore.Place{Kind: datastore.S3, Root: "s3://models", Endpoint: endpoint, AccessKeySecret: "access", SecretKeySecret: "secret", SessionTokenSecret: "token"}
	}
	for _, endpoint := range []string{
		"https://mine.example.com", "http://s3.amazonaws.com", "https://s3.amazonaws.com:8443", "https://s3.amazonaws.com.example.com", "https://ec2-1-2-3-4.compute-1.amazonaws.com",
		"https://s3-mine-12.eu-west-1.elb.amazonaws.com", "https://notes3.amazonaws.com", "https://s3.amazonaws.com.",
	} {
		_, err := b.Test(b.ctx, place(endpoint))
		require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", endpoint, err)
		require.Contains(t, apperr.FieldsOf(err)[0].Message, "sends credentials only to Amazon S3 and to the hosts in", endpoint)
		_, err = b.Put(b.ctx, place(endpoint))
		require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", endpoint, err)
	}
	for _, endpoint := range []string{"", "https://s3.amazonaws.com", "https://s3.eu-central-1.amazonaws.com", "https://s3-fips.us-gov-west-1.amazonaws.com", "https://s3.dualstack.cn-north-1.amazonaws.com.cn"} {
		_, err := b.Put(b.ctx, place(endpoint))
		require.NoError(t, err, endpoint)
	}
	_, err := b.Put(b.ctx, datastore.Place{Kind: datastore.S3, Root: "s3://models", Endpoint: "https://public.example.com"})
	require.NoError(t, err, "a public bucket")

	b = setup(t, func(c *datastore.Config) {
		change(c)
		c.Endpoints = []string{strings.TrimPrefix(hostile.URL, "http://")}
	})
	found, err := b.Test(b.ctx, place(hostile.URL))
	require.NoError(t, err)
	require.False(t, found.OK)
	_, err = b.Put(b.ctx, place(hostile.URL))
	require.NoError(t, err)
	require.NotEmpty(t, seen)
	for _, r := range seen {
		require.NotContains(t, r.URL.String(), "AKIA")
		require.NotContains(t, r.URL.String(), "session")
		require.Equal(t, "the-session-token", r.Header.Get("X-Amz-Security-Token"))
		require.Contains(t, r.Header.Get("Authorization"), "AKIA-ACCESS")
	}
	n := len(seen)
	change(&b.Config)
	b.Config.Endpoints = nil
	_, err = datastore.NewService(b.Config).Open(b.ctx)
	require.True(t, apperr.Is(err, apperr.Unavailable), "%v", err)
	require.Len(t, seen, n)
}

// TestCredentialsNeedTheRightToSetSecrets: permission to change projects alone does not use them.
func TestCredentialsNeedTheRightToSetSecrets(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	subject := auth.Subject{
		ID: uuid.New(), Name: "Kai", Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject,
		Policy: auth.PolicyFunc(func(a auth.Action, _ uuid.UUID) bool {
			return a == auth.TenancyWrite || a == auth.ExecutionRead || a == auth.SecretRead
		}),
	}
	ctx := auth.WithSubject(t.Context(), subject)
	place := datastore.Place{Kind: datastore.S3, Root: "s3://models", AccessKeySecret: "access", SecretKeySecret: "secret"}
	_, err := b.Put(ctx, place)
	require.True(t, apperr.Is(err, apperr.Forbidden), "%v", err)
	_, err = b.Test(ctx, place)
	require.True(t, apperr.Is(err, apperr.Forbidden), "%v", err)
	_, err = b.Put(ctx, datastore.Place{Kind: datastore.S3, Root: "s3://models"})
	require.NoError(t, err)
}
