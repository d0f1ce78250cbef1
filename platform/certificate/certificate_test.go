package certificate

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/platform/certificate/certtest"
)

// authority signs certificates for tests.
type authority struct{ *certtest.Authority }

func newAuthority(t *testing.T) authority {
	t.Helper()
	return authority{certtest.New(t)}
}

// issue writes a certificate for name into dir; it ends at until.
func (a authority) issue(t *testing.T, dir, name string, until time.Time) Files {
	t.Helper()
	cert, key := a.Issue(t, dir, name, until)
	return Files{Cert: cert, Key: key, CA: a.File}
}

// serve answers with the name in the client's certificate.
func serve(t *testing.T, files Files) string {
	t.Helper()
	pair, err := Load(files)
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName+" "+r.Proto)
	}))
	s.TLS = pair.Server()
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

func get(t *testing.T, url string, files Files, serverName string) (string, error) {
	t.Helper()
	pair, err := Load(files)
	require.NoError(t, err)
	transport := &http.Transport{DialTLSContext: pair.Dial(serverName, time.Second), ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

func TestBothSidesShowCertificates(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	later, past := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	url := serve(t, ours.issue(t, t.TempDir(), "server", later))

	client := ours.issue(t, t.TempDir(), "task", later)
	text, err := get(t, url, client, "server")
	require.NoError(t, err)
	require.Equal(t, "task HTTP/2.0", text)

	_, err = get(t, url, client, "another")
	require.ErrorContains(t, err, "certificate is valid for server, not another")
	stranger := theirs.issue(t, t.TempDir(), "task", later)
	stranger.CA = ours.File
	_, err = get(t, url, stranger, "server")
	require.Error(t, err, "from another authority")
	_, err = get(t, url, ours.issue(t, t.TempDir(), "task", past), "server")
	require.Error(t, err, "it has expired")
	_, err = get(t, url, Files{CA: ours.File}, "server")
	require.Error(t, err, "without one")
	_, err = get(t, serve(t, ours.issue(t, t.TempDir(), "server", past)), client, "server")
	require.ErrorContains(t, err, "expired")
	client.CA = theirs.File
	_, err = get(t, url, client, "server")
	require.ErrorContains(t, err, "unknown authority")
}

// TestRotation: the next connection uses replaced files; partly replaced files keep the
// previous ones.
func TestRotation(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	dir, later := t.TempDir(), time.Now().Add(time.Hour)
	url := serve(t, ca.issue(t, dir, "before", later))
	client := ca.issue(t, t.TempDir(), "task", later)
	_, err := get(t, url, client, "before")
	require.NoError(t, err)

	broken := filepath.Join(dir, "tls.key")
	key, err := os.ReadFile(broken)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(broken, []byte("half"), 0o600))
	require.NoError(t, os.Chtimes(broken, time.Now(), time.Now().Add(time.Second)))
	_, err = get(t, url, client, "before")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(broken, key, 0o600))

	ca.issue(t, dir, "after", later)
	require.NoError(t, os.Chtimes(broken, time.Now(), time.Now().Add(2*time.Second)))
	_, err = get(t, url, client, "after")
	require.NoError(t, err)
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	_, err := Load(Files{Cert: "/absent", Key: "/absent"})
	require.ErrorContains(t, err, "/absent")
	ca := newAuthority(t)
	files := ca.issue(t, t.TempDir(), "x", time.Now().Add(time.Hour))
	files.CA = files.Key
	_, err = Load(files)
	require.ErrorContains(t, err, "holds no certificate")
}
