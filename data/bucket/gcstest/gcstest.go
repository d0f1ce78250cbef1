// Package gcstest gives tests a real server with the XML API of Google Cloud Storage:
// fake-gcs-server, in a separate process that keeps objects in memory. That server accepts
// every signature, so a proxy before it checks them as Google documents it.
package gcstest

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowforge/flowforge/platform/freeport"
	"github.com/flowforge/flowforge/platform/testserver"
)

// Host is the public address of Google Cloud Storage, which the server believes to have.
const Host = "storage.googleapis.com"

// Account is the service account that may use the server.
const Account = "flowforge@test.iam.gserviceaccount.com"

// Server is a running server.
type Server struct {
	Endpoint string // http://127.0.0.1:port
	Key      string // of the service account, as JSON

	public *rsa.PublicKey
	proxy  *httputil.ReverseProxy
}

// Start starts a server that has the buckets, and stops it at the end of the test. A test run
// without the program fails.
func Start(t testing.TB, buckets ...string) *Server {
	t.Helper()
	seed, address := t.TempDir(), freeport.Address(t)
	for _, name := range buckets {
		if err := os.Mkdir(filepath.Join(seed, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), program(t), "-backend", "memory", "-scheme", "http", "-host", host, "-port", port, "-data", seed)
	t.Cleanup(testserver.Start(t, "the server of Google Cloud Storage", address, cmd).Stop)
	s := &Server{proxy: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: address})
		r.Out.Host = Host
	}}}
	s.Key, s.public = NewKey(t, Account)
	front := httptest.NewServer(s)
	t.Cleanup(front.Close)
	s.Endpoint = front.URL
	return s
}

// NewKey returns a new key of a service account as JSON, and its public part.
func NewKey(t testing.TB, account string) (string, *rsa.PublicKey) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": account,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(file), &key.PublicKey
}

// ServeHTTP passes on requests with a valid signature.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.check(r); err != nil {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, "<Error><Code>SignatureDoesNotMatch</Code><Message>%v</Message></Error>", err)
		return
	}
	s.proxy.ServeHTTP(w, r)
}

// check checks the signature of a request.
// See https://cloud.google.com/storage/docs/authentication/signatures.
func (s *Server) check(r *http.Request) error {
	begin, err := time.Parse("20060102T150405Z", r.URL.Query().Get("X-Goog-Date"))
	if err != nil {
		return err
	}
	valid, err := time.ParseDuration(r.URL.Query().Get("X-Goog-Expires") + "s")
	if err != nil {
		return err
	}
	if since := time.Since(begin); since < 0 || since > valid || valid > 7*24*time.Hour {
		return fmt.Errorf("the signature is valid for %s from %s", valid, begin)
	}
	signed, err := digest(r)
	if err != nil {
		return err
	}
	signature, err := hex.DecodeString(r.URL.Query().Get("X-Goog-Signature"))
	if err != nil {
		return err
	}
	return rsa.VerifyPKCS1v15(s.public, crypto.SHA256, signed, signature)
}

// digest returns the hash that the account signs for a request.
func digest(r *http.Request) ([]byte, error) {
	query := r.URL.Query()
	if query.Get("X-Goog-Algorithm") != "GOOG4-RSA-SHA256" || query.Get("X-Goog-SignedHeaders") != "host" {
		return nil, fmt.Errorf("the algorithm is %q, the headers are %q", query["X-Goog-Algorithm"], query["X-Goog-SignedHeaders"])
	}
	date := query.Get("X-Goog-Date")
	day, _, _ := strings.Cut(date, "T")
	scope := day + "/auto/storage/goog4_request"
	if query.Get("X-Goog-Credential") != Account+"/"+scope {
		return nil, fmt.Errorf("the credential is %q", query.Get("X-Goog-Credential"))
	}
	pairs := slices.DeleteFunc(strings.Split(r.URL.RawQuery, "&"), func(pair string) bool { return strings.HasPrefix(pair, "X-Goog-Signature=") })
	slices.Sort(pairs)
	request := sha256.Sum256([]byte(r.Method + "\n" + r.URL.EscapedPath() + "\n" + strings.Join(pairs, "&") + "\nhost:" + r.Host + "\n\nhost\nUNSIGNED-PAYLOAD"))
	hash := sha256.Sum256([]byte("GOOG4-RSA-SHA256\n" + date + "\n" + scope + "\n" + hex.EncodeToString(request[:])))
	return hash[:], nil
}

func program(t testing.TB) string {
	t.Helper()
	path := testserver.Installed(t, "bin", "fake-gcs-server")
	if path == "" {
		t.Fatal("there is no server of Google Cloud Storage for tests: run `scripts/setup s3`")
	}
	return path
}
