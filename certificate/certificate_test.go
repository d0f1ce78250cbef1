package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// authority signs certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func write(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	a := &authority{cert: cert, key: key, file: filepath.Join(t.TempDir(), "ca.crt")}
	write(t, a.file, "CERTIFICATE", der)
	return a
}

// issue writes a certificate for name into dir; it ends at until.
func (a *authority) issue(t *testing.T, dir, name string, until time.Time) Files {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	require.NoError(t, err)
	private, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	files := Files{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), CA: a.file}
	write(t, files.Cert, "CERTIFICATE", der)
	write(t, files.Key, "EC PRIVATE KEY", private)
	return files
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

func ask(t *testing.T, url string, files Files, serverName string) (string, error) {
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
	text, err := ask(t, url, client, "server")
	require.NoError(t, err)
	require.Equal(t, "task HTTP/2.0", text)

	_, err = ask(t, url, client, "another")
	require.ErrorContains(t, err, "certificate is valid for server, not another")
	stranger := theirs.issue(t, t.TempDir(), "task", later)
	stranger.CA = ours.file
	_, err = ask(t, url, stranger, "server")
	require.Error(t, err, "from another authority")
	_, err = ask(t, url, ours.issue(t, t.TempDir(), "task", past), "server")
	require.Error(t, err, "it has expired")
	_, err = ask(t, url, Files{CA: ours.file}, "server")
	require.Error(t, err, "without one")
	_, err = ask(t, serve(t, ours.issue(t, t.TempDir(), "server", past)), client, "server")
	require.ErrorContains(t, err, "expired")
	client.CA = theirs.file
	_, err = ask(t, url, client, "server")
	require.ErrorContains(t, err, "unknown authority")
}

// TestRotation: replaced files are in use with the next connection, and half replaced
// ones leave those before.
func TestRotation(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	dir, later := t.TempDir(), time.Now().Add(time.Hour)
	url := serve(t, ca.issue(t, dir, "before", later))
	client := ca.issue(t, t.TempDir(), "task", later)
	_, err := ask(t, url, client, "before")
	require.NoError(t, err)

	broken := filepath.Join(dir, "tls.key")
	key, err := os.ReadFile(broken)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(broken, []byte("half"), 0o600))
	require.NoError(t, os.Chtimes(broken, time.Now(), time.Now().Add(time.Second)))
	_, err = ask(t, url, client, "before")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(broken, key, 0o600))

	ca.issue(t, dir, "after", later)
	require.NoError(t, os.Chtimes(broken, time.Now(), time.Now().Add(2*time.Second)))
	_, err = ask(t, url, client, "after")
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
