package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/platform/certificate/certtest"
)

// mutualTLS starts a proxy of a server that requires client certificates of an authority. It returns its
// address.
func mutualTLS(t *testing.T, s *server, authority *certtest.Authority) string {
	t.Helper()
	target, err := url.Parse(s.base)
	require.NoError(t, err)
	certificate, key := authority.Issue(t, t.TempDir(), "localhost", time.Now().Add(time.Hour))
	pair, err := tls.LoadX509KeyPair(certificate, key)
	require.NoError(t, err)
	clients := x509.NewCertPool()
	pem, err := os.ReadFile(authority.File)
	require.NoError(t, err)
	require.True(t, clients.AppendCertsFromPEM(pem))
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	proxy.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert}
	proxy.EnableHTTP2 = true
	proxy.StartTLS()
	t.Cleanup(proxy.Close)
	_, port, _ := strings.Cut(proxy.Listener.Addr().String(), ":")
	return "https://localhost:" + port
}

// TestWorkerOverMutualTLS: a worker with a certificate joins, takes a task, reports its result and drains. A
// worker without a certificate, or with one of another authority, is refused, and so is a server that the
// worker does not trust.
func TestWorkerOverMutualTLS(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	token := s.createPool(t, "lab")
	authority, foreign := certtest.New(t), certtest.New(t)
	address := mutualTLS(t, s, authority)
	later := time.Now().Add(time.Hour)
	start := func(name string, args ...string) *worker {
		return startWorker(t, s, name, token, append([]string{"--server", address}, args...)...)
	}
	for name, c := range map[string]struct {
		args []string
		part string
	}{
		"no-certificate": {[]string{"--ca", authority.File}, "the server requires a client certificate of an authority that it trusts"},
		"foreign":        {certified(t, authority, foreign, later), "the server rejects the client certificate"},
		"expired":        {certified(t, authority, authority, time.Now().Add(-time.Minute)), "the server rejects the client certificate"},
		"distrustful":    {certified(t, foreign, authority, later), "the certificate of the server cannot be verified"},
	} {
		k := start(name, c.args...)
		require.Equal(t, 1, k.awaitEnd(t), "%s: %s", name, k.output())
		require.Contains(t, k.output(), c.part, name)
	}
	require.Empty(t, s.pool(t, "lab").WorkerList)

	gate := s.gated(t, "encrypted", "lab", "")
	k := start("rack", certified(t, authority, authority, later)...)
	id := s.launch(t, "encrypted", nil)
	s.awaitPool(t, "lab", running("rack"))
	k.signal(t, syscall.SIGTERM)
	s.awaitPool(t, "lab", func(p poolView) bool { return p.WorkerList[0].State == "leaving" })
	openGate(t, gate)
	e := s.wait(t, id, ended)
	require.Equal(t, "SUCCEEDED", e.Status)
	require.Equal(t, "1", e.Outputs["by"])
	require.Equal(t, 0, k.awaitEnd(t), k.output())
	require.Empty(t, s.pool(t, "lab").WorkerList)
}

// certified are the flags of a worker that trusts one authority and has a certificate of another.
func certified(t *testing.T, trusted, issuer *certtest.Authority, until time.Time) []string {
	t.Helper()
	certificate, key := issuer.Issue(t, t.TempDir(), "rack", until)
	return []string{"--ca", trusted.File, "--cert", certificate, "--key", key}
}

// TestGPUsOfAWorker: two tasks get one GPU each, another one waits for a GPU, and one that needs three GPUs
// is taken by no worker.
func TestGPUsOfAWorker(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	token := s.createPool(t, "lab")
	gate := t.TempDir() + "/gate"
	operator := func(name, gpus string) string {
		return `{"name": "` + name + `", "type": "shell", "pool": "lab", "resources": {"cpu": 0.1, "memory": "64Mi", "gpu": ` + gpus + `}, "outputs": [{"name": "devices", "type": "String"}],
			"code": {"script": "until test -e ` + gate + `; do sleep 0.05; done; printf '\"%s\"' $CUDA_VISIBLE_DEVICES > $FLOWFORGE_OUTPUTS/devices"}}`
	}
	for workflow, operators := range map[string]string{"pair": operator("one", "1") + "," + operator("two", "1"), "single": operator("one", "1"), "triple": operator("one", "3")} {
		outputs := `{"name": "one", "type": "String", "from": "one.devices"}`
		if workflow == "pair" {
			outputs += `, {"name": "two", "type": "String", "from": "two.devices"}`
		}
		s.api(t, http.MethodPost, "/workflows", rawJSON(`{"name": "`+workflow+`", "version": "1.0.0", "outputs": [`+outputs+`], "operators": [`+operators+`]}`), nil)
	}
	startWorker(t, s, "rack", token, "--gpus", "2", "--cpu", "8", "--memory", "4Gi")
	s.awaitPool(t, "lab", connected(1))
	var announced struct{ Capacity struct{ GPUs int } }
	s.api(t, http.MethodGet, "/pools/lab", nil, &announced)
	require.Equal(t, 2, announced.Capacity.GPUs)

	waits := func(id, reason string) {
		eventually(t, "the reason", func() (string, bool) {
			_, body := s.call(t, http.MethodGet, "/executions/"+id+"/nodes/one/why", nil)
			return string(body), strings.Contains(string(body), reason)
		})
	}
	pair := s.launch(t, "pair", nil)
	s.awaitPool(t, "lab", func(p poolView) bool { return p.Running == 2 })
	single, triple := s.launch(t, "single", nil), s.launch(t, "triple", nil)
	waits(triple, "No connected worker of the pool lab is large enough: the task requests 0.1 CPU cores, 64 MiB of memory, 3 GPUs. Start a larger worker, or reduce the request.")
	waits(single, "The workers of the pool lab have no capacity left for this task.")
	openGate(t, gate)
	e := s.wait(t, pair, ended)
	require.Equal(t, "SUCCEEDED", e.Status)
	require.ElementsMatch(t, []any{"0", "1"}, []any{e.Outputs["one"], e.Outputs["two"]})
	var used struct {
		Hours float64 `json:"gpu_hours"`
	}
	s.api(t, http.MethodGet, "/executions/"+pair+"/usage", nil, &used)
	require.Positive(t, used.Hours, "the hours of teams include those of pools")
	e = s.wait(t, single, ended)
	require.Equal(t, "SUCCEEDED", e.Status)
	require.Contains(t, []any{"0", "1"}, e.Outputs["one"])
	s.awaitPool(t, "lab", func(p poolView) bool { return p.Queued == 1 && p.Running == 0 })
	s.api(t, http.MethodPost, "/executions/"+triple+"/cancel", map[string]any{}, nil)
	require.Equal(t, "CANCELLED", s.wait(t, triple, ended).Status)
}
