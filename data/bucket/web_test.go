package bucket_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/bucket"
	"github.com/flowforge/flowforge/data/bucket/webtest"
	"github.com/flowforge/flowforge/platform/certificate/certtest"
)

// grant is a grant that the server at base accepts.
func grant(base string) *bucket.Grant {
	return &bucket.Grant{
		ClientID: webtest.Client, ClientSecret: webtest.Secret, TokenURL: base + "/token",
		Scopes: []string{webtest.Scope}, Parameters: url.Values{"resource": {webtest.Resource}}, OwnMachine: true,
	}
}

// TestWebFiles: requests for files at addresses carry a login or a token. A request with a token
// has nothing of the credentials of its client.
func TestWebFiles(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(webtest.New())
	defer server.Close()
	for way, web := range map[string]bucket.Web{
		"open":  {},
		"basic": {Username: webtest.Username, Password: webtest.Password},
		"oauth": {Grant: grant(server.URL)},
	} {
		web.URL, web.Header = server.URL+"/"+way+"/file?op=CREATE", map[string]string{"X-Note": "kept"}
		at := bucket.Location{Store: bucket.HTTP, Web: web}
		require.NoError(t, at.Check(t.Context()))
		put, err := at.Put(t.Context(), "")
		status, _ := send(t, http.DefaultClient, put, err, "content of "+way)
		require.Equal(t, http.StatusCreated, status, way)
		require.Equal(t, "kept", put.Header["X-Note"])
		require.NotContains(t, put.URL+put.Header["Authorization"], webtest.Secret)
		get, err := at.Get(t.Context(), "")
		_, body := sendEmpty(t, get, err)
		require.Equal(t, "content of "+way, body)
		require.Equal(t, server.URL+"/"+way+"/file", at.String(), "a query can have secrets")
	}
}

// TestWebRefusals: what cannot be requested is refused without any part of the credentials.
func TestWebRefusals(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(webtest.New())
	defer server.Close()
	wrong, local, closed := grant(server.URL), grant("http://169.254.169.254"), grant("http://127.0.0.1:1")
	wrong.ClientSecret = "a wrong secret"
	var requested atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requested.Add(1) }))
	defer inside.Close()
	other := grant(inside.URL)
	other.OwnMachine = false
	for want, web := range map[string]bucket.Web{
		"The address of the file is not an http":              {URL: "ftp://pass@word/f"},
		"The token URL of the file is not an http":            {URL: server.URL, Grant: &bucket.Grant{TokenURL: "a secret"}},
		"issued no token: it responded with 401 Unauthorized": {URL: server.URL, Grant: wrong},
		"169.254.169.254 issued no token: it cannot be":       {URL: server.URL, Grant: local},
		"127.0.0.1:1 issued no token: it cannot be reached":   {URL: server.URL, Grant: closed},
		"issued no token: it cannot be reached":               {URL: server.URL, Grant: other},
		"must be a pair of PEM texts":                         {URL: server.URL, Certificate: "a secret", Key: "other"},
	} {
		_, err := bucket.Location{Store: bucket.HTTP, Web: web}.Get(t.Context(), "")
		require.ErrorContains(t, err, want)
		require.NotRegexp(t, "secret|word/", err.Error())
	}
	require.Zero(t, requested.Load(), "no token is requested from a server on this machine")
	at := bucket.Location{Store: bucket.HTTP, Web: bucket.Web{URL: server.URL + "/open/f"}}
	_, err := at.Put(t.Context(), "part")
	require.ErrorContains(t, err, "address of a single file")
	_, err = at.List(t.Context(), "")
	require.ErrorContains(t, err, "cannot be listed")
	require.Equal(t, bucket.ListNone, at.ListFormat())
}

// TestWebCertificates: the pair of a client certificate goes with the request.
func TestWebCertificates(t *testing.T) {
	t.Parallel()
	certificate, key := certtest.New(t).Issue(t, t.TempDir(), "client", time.Now().Add(time.Hour))
	read := func(path string) string {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(data)
	}
	web := bucket.Web{URL: "https://files.example.com/f", Certificate: read(certificate), Key: read(key)}
	r, err := bucket.Location{Store: bucket.HTTP, Web: web}.Get(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, web.Certificate+web.Key, r.Certificate+r.Key)
	require.Empty(t, r.Header)
}
