package app

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/compute/launcher/kube"
	"github.com/flowforge/flowforge/compute/launcher/kube/pod"
	"github.com/flowforge/flowforge/platform/certificate"
	"github.com/flowforge/flowforge/platform/certificate/certtest"
)

// withTLS requires certificates of tasks, and gives pods one.
func withTLS(t *testing.T) (Config, *certtest.Authority) {
	t.Helper()
	authority, later := certtest.New(t), time.Now().Add(time.Hour)
	c := valid(t)
	c.TaskAddr = "127.0.0.1:0"
	c.TLS.Task.CA, c.TLS.Pods.CA = authority.File, authority.File
	c.TLS.Task.Cert, c.TLS.Task.Key = authority.Issue(t, t.TempDir(), "forge-task.svc", later)
	c.TLS.Pods.Cert, c.TLS.Pods.Key = authority.Issue(t, t.TempDir(), "task", later)
	return c, authority
}

// TestPodsShowTheirCertificate: only the files that pods get are accepted at the address
// of tasks.
func TestPodsShowTheirCertificate(t *testing.T) {
	t.Parallel()
	c, authority := withTLS(t)
	a, err := New(c)
	require.NoError(t, err)
	defer a.Close()
	a.life.serveTLS(a.taskListener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName)
	}), a.certs.taskServer())
	get := func(files map[string][]byte) (string, error) {
		roots := x509.NewCertPool()
		require.True(t, roots.AppendCertsFromPEM(files[pod.FileCA]))
		config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: "forge-task.svc"}
		if files[pod.FileCert] != nil {
			pair, err := tls.X509KeyPair(files[pod.FileCert], files[pod.FileKey])
			require.NoError(t, err)
			config.Certificates = []tls.Certificate{pair}
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
		defer client.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.taskURL(), nil)
		require.NoError(t, err)
		resp, err := client.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return string(text), err
	}
	text, err := get(a.certs.podFiles())
	require.NoError(t, err)
	require.Equal(t, "task", text)
	_, err = get(map[string][]byte{pod.FileCA: a.certs.podFiles()[pod.FileCA]})
	require.Error(t, err, "without a certificate")

	// Pods that are created after a rotation get the new files.
	rotated, rotatedKey := authority.Issue(t, t.TempDir(), "rotated", time.Now().Add(time.Hour))
	replace(t, c.TLS.Pods, rotated, rotatedKey)
	text, err = get(a.certs.podFiles())
	require.NoError(t, err)
	require.Equal(t, "rotated", text)
}

// replace writes new contents with later modification times to files.
func replace(t *testing.T, files certificate.Files, cert, key string) {
	t.Helper()
	for from, to := range map[string]string{cert: files.Cert, key: files.Key} {
		content, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, content, 0o600))
		require.NoError(t, os.Chtimes(to, time.Now(), time.Now().Add(time.Minute)))
	}
}

func TestTLSThatCannotWork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change func(*Config)
		part   string
	}{
		{func(c *Config) { c.TaskAddr = "" }, "FLOWFORGE_TASK_ADDR is not"},
		{func(c *Config) { c.TLS.Task.Cert = "" }, "FLOWFORGE_TASK_TLS_CERT is not set"},
		{func(c *Config) { c.TLS.Pods.Key = "" }, "FLOWFORGE_TASK_TLS_CLIENT_CERT and FLOWFORGE_TASK_TLS_CLIENT_KEY must be set together"},
		{func(c *Config) { c.TLS.Pods.CA = c.TLS.Pods.Key }, "FLOWFORGE_TASK_TLS_CA"},
		{func(c *Config) { c.Kube, c.TLS.Pods.Cert, c.TLS.Pods.Key = &kube.ControllerConfig{}, "", "" }, "set FLOWFORGE_TASK_TLS_CLIENT_CERT"},
		{func(c *Config) { c.TLS.Internal = c.TLS.Task }, "FLOWFORGE_INTERNAL_ADDR must be set together"},
	} {
		config, _ := withTLS(t)
		c.change(&config)
		refused(t, config, c.part)
	}
}
