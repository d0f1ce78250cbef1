package image_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/compute/launcher/kube/image"
)

const failureSeriesGap = time.Minute // timeout of waits in tests

// hub is a real registry that counts requests and can be made to fail.
type hub struct {
	t         *testing.T
	host      string
	manifests atomic.Int64
	blobs     atomic.Int64
	requested atomic.Int64
	before    func(http.ResponseWriter, *http.Request) bool // returns true if it has answered; set it before use
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{t: t}
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.requested.Add(1)
		if r.Method == http.MethodGet && h.before != nil && h.before(w, r) {
			return
		}
		switch {
		case r.Method != http.MethodGet:
		case strings.Contains(r.URL.Path, "/manifests/"):
			h.manifests.Add(1)
		case strings.Contains(r.URL.Path, "/blobs/"):
			h.blobs.Add(1)
		}
		store.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	h.host = strings.TrimPrefix(server.URL, "http://")
	return h
}

// built returns an image with a default command.
func built(t *testing.T, entrypoint, cmd []string) v1.Image {
	t.Helper()
	base, err := random.Image(64, 1)
	require.NoError(t, err)
	made, err := mutate.Config(base, v1.Config{Entrypoint: entrypoint, Cmd: cmd, WorkingDir: "/app"})
	require.NoError(t, err)
	return made
}

// push puts an image under a name, and returns the name with the registry.
func (h *hub) push(where string, what remote.Taggable) string {
	h.t.Helper()
	whole := h.host + "/" + where
	ref, err := name.ParseReference(whole)
	require.NoError(h.t, err)
	switch made := what.(type) {
	case v1.ImageIndex:
		err = remote.WriteIndex(ref, made)
	case v1.Image:
		err = remote.Write(ref, made)
	}
	require.NoError(h.t, err)
	return whole
}

// clock is a manually advanced clock.
type clock struct{ now atomic.Int64 }

func (c *clock) Now() time.Time          { return time.Unix(1_800_000_000, c.now.Load()) }
func (c *clock) advance(d time.Duration) { c.now.Add(int64(d)) }

// lookup returns a Lookup that may access h and uses a manual clock.
func (h *hub) lookup(change ...func(*image.Config)) (*image.Lookup, *clock) {
	c := &clock{}
	config := image.Config{Insecure: []string{h.host}, Now: c.Now, Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }} //nolint:nilnil // none
	for _, one := range change {
		one(&config)
	}
	return image.New(config), c
}

func found(t *testing.T, l *image.Lookup, ref string) image.Command {
	t.Helper()
	command, err := l.Find(t.Context(), ref, "", failureSeriesGap)
	require.NoError(t, err)
	return command
}

func failed(t *testing.T, l *image.Lookup, ref string) *image.Error {
	t.Helper()
	_, err := l.Find(t.Context(), ref, "", failureSeriesGap)
	var e *image.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, ref, e.Image)
	return e
}
