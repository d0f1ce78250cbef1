package image_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/compute/launcher/kube/image"
)

// TestCommandOfAnImage: concurrent callers share one request to the registry.
func TestCommandOfAnImage(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	ref := h.push("tools/say:1", built(t, []string{"/bin/say", "-v"}, []string{"hello"}))
	l, _ := h.lookup()
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			command, err := l.Find(t.Context(), ref, "", failureSeriesGap)
			if err != nil || strings.Join(command.Entrypoint, " ") != "/bin/say -v" || strings.Join(command.Cmd, " ") != "hello" {
				t.Errorf("%v, %v", command, err)
			}
		})
	}
	group.Wait()
	require.Equal(t, image.Command{Entrypoint: []string{"/bin/say", "-v"}, Cmd: []string{"hello"}}, found(t, l, ref))
	require.EqualValues(t, 1, h.manifests.Load())
	require.EqualValues(t, 1, h.blobs.Load(), "the configuration; no layer")
	require.Equal(t, image.Command{}, found(t, l, h.push("tools/none:1", built(t, nil, nil))))
}

// TestTagsMove: the result for a tag is valid for 10 minutes; if the tag has not moved,
// its configuration is not fetched again. The result for a digest is permanent.
func TestTagsMove(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	first := built(t, []string{"one"}, nil)
	ref := h.push("tools/say:latest", first)
	l, now := h.lookup()
	require.Equal(t, []string{"one"}, found(t, l, ref).Entrypoint)

	now.advance(11 * time.Minute)
	require.Equal(t, []string{"one"}, found(t, l, ref).Entrypoint)
	require.EqualValues(t, 2, h.manifests.Load())
	require.EqualValues(t, 1, h.blobs.Load())

	h.push("tools/say:latest", built(t, []string{"two"}, nil))
	now.advance(9 * time.Minute)
	require.Equal(t, []string{"one"}, found(t, l, ref).Entrypoint, "still cached")
	now.advance(2 * time.Minute)
	require.Equal(t, []string{"two"}, found(t, l, ref).Entrypoint)

	digest, err := first.Digest()
	require.NoError(t, err)
	pinned := h.host + "/tools/say@" + digest.String()
	require.Equal(t, []string{"one"}, found(t, l, pinned).Entrypoint)
	requested := h.requested.Load()
	now.advance(365 * 24 * time.Hour)
	require.Equal(t, []string{"one"}, found(t, l, pinned).Entrypoint)
	require.Equal(t, requested, h.requested.Load())
}

// TestMissingImage: a missing image is cached for 10 seconds.
func TestMissingImage(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	h.push("tools/say:1", built(t, []string{"one"}, nil))
	l, now := h.lookup()
	ref := h.host + "/tools/say:2"
	e := failed(t, l, ref)
	require.False(t, e.Passing)
	require.Equal(t, "its registry "+h.host+" does not have it", e.Reason)
	requested := h.requested.Load()
	require.Equal(t, e, failed(t, l, ref))
	require.Equal(t, requested, h.requested.Load())
	h.push("tools/say:2", built(t, []string{"two"}, nil))
	now.advance(11 * time.Second)
	require.Equal(t, []string{"two"}, found(t, l, ref).Entrypoint)
	require.Contains(t, failed(t, l, "Not A Name").Reason, "not an image name")
}

// TestSlowRegistry: a caller waits no longer than requested from the start of the lookup;
// other lookups are not blocked, and the result is available once it has arrived.
func TestSlowRegistry(t *testing.T) {
	t.Parallel()
	slow, fast := newHub(t), newHub(t)
	ref := slow.push("tools/say:1", built(t, []string{"one"}, nil))
	quick := fast.push("tools/say:1", built(t, []string{"two"}, nil))
	release, come := make(chan struct{}), make(chan struct{})
	var once sync.Once
	slow.before = func(http.ResponseWriter, *http.Request) bool {
		once.Do(func() { close(come) })
		<-release
		return false
	}
	l, _ := slow.lookup(func(c *image.Config) { c.Insecure = append(c.Insecure, fast.host); c.Timeout = failureSeriesGap })
	_, err := l.Find(t.Context(), ref, "", 0)
	require.ErrorIs(t, err, image.ErrPending)
	<-come
	_, err = l.Find(t.Context(), ref, "", time.Nanosecond)
	require.ErrorIs(t, err, image.ErrPending)
	require.Equal(t, []string{"two"}, found(t, l, quick).Entrypoint)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.Find(ended, ref, "", failureSeriesGap)
	require.ErrorIs(t, err, context.Canceled)

	// The registry has the maximum number of lookups in progress, so there is nothing to
	// wait for.
	for tag := range strings.FieldsSeq("a b c d e f g h i j k l m n o") {
		_, err = l.Find(t.Context(), slow.host+"/tools/other:"+tag, "", 0)
		require.ErrorIs(t, err, image.ErrPending)
	}
	_, err = l.Find(t.Context(), slow.host+"/tools/other:last", "", failureSeriesGap)
	require.ErrorIs(t, err, image.ErrPending)
	require.Equal(t, []string{"two"}, found(t, l, quick).Entrypoint)
	close(release)
	require.Equal(t, []string{"one"}, found(t, l, ref).Entrypoint)
	require.EqualValues(t, 1, slow.blobs.Load())
	require.Contains(t, failed(t, l, slow.host+"/tools/other:last").Reason, "does not have it", "its turn has come")
}

// TestSilentRegistry: a lookup times out, and the duration of the failure is known.
func TestSilentRegistry(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	h.before = func(http.ResponseWriter, *http.Request) bool { <-release; return true }
	l, now := h.lookup(func(c *image.Config) { c.Timeout = 50 * time.Millisecond })
	ref := h.host + "/tools/say:1"
	e := failed(t, l, ref)
	require.True(t, e.Passing)
	require.Equal(t, "its registry "+h.host+" is not responding", e.Reason)
	began := e.Since
	now.advance(20 * time.Second)
	require.Equal(t, began, failed(t, l, ref).Since)
	now.advance(5 * time.Minute)
	require.NotEqual(t, began, failed(t, l, ref).Since, "no request for a long time: a new series starts")
}

// TestBusyRegistry: everything that a registry returns besides its status appears only in
// the log.
func TestBusyRegistry(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	h.before = func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "the password is swordfish "+strings.Repeat("x", 5000))
		return true
	}
	var written bytes.Buffer
	l, _ := h.lookup(func(c *image.Config) { c.Logger = slog.New(slog.NewTextHandler(&written, nil)) })
	e := failed(t, l, h.host+"/tools/say:1")
	require.True(t, e.Passing)
	require.Contains(t, e.Reason, "is unavailable (status 503)")
	require.NotContains(t, e.Error(), "swordfish")
	require.Contains(t, written.String(), "swordfish")
	require.Less(t, written.Len(), 1000)

	odd := newHub(t)
	odd.before = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/v2/") {
			return false
		}
		_, _ = io.WriteString(w, "hello")
		return true
	}
	l, _ = odd.lookup()
	e = failed(t, l, odd.host+"/tools/say:1")
	require.False(t, e.Passing)
	require.Contains(t, e.Reason, "is not a readable image")

	l, _ = h.lookup(func(c *image.Config) { c.Insecure = []string{"127.0.0.1:1"} })
	e = failed(t, l, "127.0.0.1:1/tools/say:1")
	require.True(t, e.Passing)
	require.Equal(t, "its registry 127.0.0.1:1 is not responding", e.Reason)
}

// TestLocalRegistryIsNotRequested: the server's own machine is not accessed unless a setting
// names it, because users choose image names.
func TestLocalRegistryIsNotRequested(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	l, _ := h.lookup(func(c *image.Config) { c.Insecure = nil })
	e := failed(t, l, h.push("tools/say:1", built(t, []string{"one"}, nil)))
	require.False(t, e.Passing)
	require.Contains(t, e.Reason, "FLOWFORGE_KUBE_INSECURE_REGISTRIES")
	require.Zero(t, h.manifests.Load())
	for _, ref := range []string{"169.254.169.254/latest/meta-data", "localhost/task:test", "[::1]:5000/a", "0.0.0.0:80/a"} {
		require.Contains(t, failed(t, l, ref).Reason, "own machine", ref)
	}

	// The proxy decides about hosts behind it, and the proxy itself may be on this
	// machine.
	server, err := url.Parse("http://" + h.host)
	require.NoError(t, err)
	l, _ = h.lookup(func(c *image.Config) {
		c.Insecure = []string{"registry.invalid"}
		c.Proxy = func(*http.Request) (*url.URL, error) { return server, nil }
	})
	h.before = func(_ http.ResponseWriter, r *http.Request) bool { return r.Method == http.MethodConnect }
	require.Equal(t, []string{"one"}, found(t, l, "registry.invalid/tools/say:1").Entrypoint)
}

// TestPlatforms: of an index, the variant that the machines can run is used.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: built(t, []string{"arm"}, nil), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm64", Variant: "v8"}}},
		mutate.IndexAddendum{Add: built(t, []string{"intel"}, nil), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}})
	ref := h.push("tools/say:1", index)
	l, _ := h.lookup()
	for architecture, want := range map[string]string{"": "intel", "amd64": "intel", "arm64": "arm"} {
		command, err := l.Find(t.Context(), ref, architecture, failureSeriesGap)
		require.NoError(t, err)
		require.Equal(t, []string{want}, command.Entrypoint)
	}
	_, err := l.Find(t.Context(), ref, "s390x", failureSeriesGap)
	var e *image.Error
	require.ErrorAs(t, err, &e)
	require.False(t, e.Passing)
	require.Equal(t, "it has no variant for linux/s390x", e.Reason)
}

// TestCredentials: a registry that requires authentication gets the credentials that the
// file has for it, and no others.
func TestCredentials(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	ref := h.push("team/say:1", built(t, []string{"one"}, nil))
	var mu sync.Mutex
	var seen []string
	h.before = func(w http.ResponseWriter, r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		mu.Lock()
		seen = append(seen, user)
		mu.Unlock()
		if user == "robot" && password == "secret" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="team"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	l, _ := h.lookup()
	e := failed(t, l, ref)
	require.False(t, e.Passing)
	require.Contains(t, e.Reason, "denies access to it")

	path := filepath.Join(t.TempDir(), "config.json")
	for content, right := range map[string]bool{
		`{"auths": {"https://HOST/v2/": {"auth": "cm9ib3Q6c2VjcmV0"}}}`:                                                         true,
		`{"auths": {"HOST": {"username": "other", "password": "x"}, "HOST/team": {"username": "robot", "password": "secret"}}}`: true,
		`{"auths": {"HOST/te": {"username": "robot", "password": "secret"}, "elsewhere": {"auth": "cm9ib3Q6c2VjcmV0"}}}`:        false,
		`{}`: false,
	} {
		require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(content, "HOST", h.host)), 0o600))
		require.NoError(t, image.CheckCredentials(path))
		mu.Lock()
		seen = nil
		mu.Unlock()
		l, _ := h.lookup(func(c *image.Config) { c.Credentials = path })
		if right {
			require.Equal(t, []string{"one"}, found(t, l, ref).Entrypoint, content)
			continue
		}
		require.Contains(t, failed(t, l, ref).Reason, "denies access to it")
		require.NotContains(t, seen, "robot", content)
	}
	require.NoError(t, os.WriteFile(path, []byte(`{"auths": {"a": "swordfish"`), 0o600))
	require.ErrorContains(t, image.CheckCredentials(path), "not a Docker config.json")
	require.NotContains(t, image.CheckCredentials(path).Error(), "swordfish")
	require.Error(t, image.CheckCredentials(path+".not"))
}

// TestMostIsRemembered: the most recently used results stay cached.
func TestMostIsRemembered(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	l, _ := h.lookup(func(c *image.Config) { c.Most = 4 }) // a tag takes two places
	var refs []string
	for _, tag := range []string{"a", "b", "c"} {
		refs = append(refs, h.push("tools/say:"+tag, built(t, []string{tag}, nil)))
	}
	found(t, l, refs[0])
	found(t, l, refs[1])
	requested := h.manifests.Load()
	found(t, l, refs[0])
	require.Equal(t, requested, h.manifests.Load())
	found(t, l, refs[2])
	found(t, l, refs[0])
	require.Equal(t, requested+1, h.manifests.Load())
	found(t, l, refs[1])
	require.Equal(t, requested+2, h.manifests.Load(), "it was the least recently used")
}

// TestLargeImages: neither a registry's responses nor a command may exceed the limits;
// the command must fit into one environment variable.
func TestLargeImages(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	l, _ := h.lookup()
	e := failed(t, l, h.push("tools/say:1", built(t, []string{strings.Repeat("a", 70_000)}, nil)))
	require.Contains(t, e.Reason, "70001 bytes")
	plain := built(t, []string{"one"}, nil)
	large := strings.Repeat("a", 5<<20)
	require.Contains(t, failed(t, l, h.push("tools/manifest:1", mutate.Annotations(plain, map[string]string{"note": large}).(v1.Image))).Reason, "is not a readable image")
	labelled, err := mutate.Config(plain, v1.Config{Labels: map[string]string{"note": large}})
	require.NoError(t, err)
	blobs := h.blobs.Load()
	require.Contains(t, failed(t, l, h.push("tools/labels:1", labelled)).Reason, "is not a readable image")
	require.Equal(t, blobs, h.blobs.Load(), "its configuration is not fetched")
}

// TestTable: no registry is accessed for images in the table, however the name is written.
func TestTable(t *testing.T) {
	t.Parallel()
	table, err := image.ParseTable([]byte("busybox: {cmd: [sh]}\nlocalhost/task:test: {entrypoint: [/tool, -q], cmd: [help]}\n"))
	require.NoError(t, err)
	l := image.New(image.Config{Known: table})
	for _, ref := range []string{"busybox", "busybox:latest", "docker.io/library/busybox"} {
		require.Equal(t, image.Command{Cmd: []string{"sh"}}, found(t, l, ref))
	}
	require.Equal(t, image.Command{Entrypoint: []string{"/tool", "-q"}, Cmd: []string{"help"}}, found(t, l, "localhost/task:test"))
	for text, words := range map[string]string{
		"busybox: {command: [sh]}": "unknown field",
		"busybox: {}":              "busybox has neither",
		"Bad Name: {cmd: [sh]}":    `"Bad Name" is not an image name`,
		"[a]":                      "commands of images",
		"busybox: {cmd: [" + strings.Repeat("a", 70_000) + "]}": "70001 bytes",
	} {
		_, err := image.ParseTable([]byte(text))
		require.ErrorContains(t, err, words)
	}
}
