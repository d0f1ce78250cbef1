package secretstore_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/access/secretstore"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/freeport"
	"github.com/flowforge/flowforge/platform/testserver"
)

// startMoto starts a server with the API of AWS and returns its endpoint.
func startMoto(t *testing.T) string {
	t.Helper()
	program := testserver.Installed(t, "moto", "bin", "moto_server")
	if program == "" {
		t.Fatal("there is no server with the API of AWS for tests: run `scripts/setup moto`")
	}
	address := freeport.Address(t)
	host, port, _ := strings.Cut(address, ":")
	cmd := exec.CommandContext(context.Background(), program, "--host", host, "--port", port)
	cmd.Dir = t.TempDir()
	t.Cleanup(testserver.Start(t, "moto", address, cmd).Stop)
	return "http://" + address
}

// call sends an operation of AWS Secrets Manager to moto. moto needs only the scope of the signature.
func call(t *testing.T, endpoint, operation string, in map[string]any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(in)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint+"/", bytes.NewReader(raw))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("X-Amz-Target", "secretsmanager."+operation)
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/eu-central-1/secretsmanager/aws4_request, SignedHeaders=host, Signature=0")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	out := map[string]any{}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&out))
	require.Equal(t, http.StatusOK, res.StatusCode, out)
	return out
}

func TestAWSSecretsManager(t *testing.T) {
	t.Parallel()
	b := setup(t)
	endpoint := startMoto(t)
	first := call(t, endpoint, "CreateSecret", map[string]any{"Name": "team/db", "SecretString": `{"password": "` + value + `"}`, "ClientRequestToken": strings.Repeat("a", 32)})
	b.register(t, secretstore.AWS, values{"region": "eu-central-1", "endpoint": endpoint, "authentication": "keys", "access_key_id": "AKIAEXAMPLE", "secret_access_key": "aws-secret-access-key"})
	b.refer(t, "team/db", "password", "")
	b.requireValue(t, value)
	call(t, endpoint, "PutSecretValue", map[string]any{"SecretId": "team/db", "SecretString": `{"password": "rotated-value"}`})
	b.requireValue(t, "rotated-value")
	b.refer(t, "team/db", "password", "AWSPREVIOUS")
	b.requireValue(t, value)
	b.refer(t, "team/db", "password", first["VersionId"].(string))
	b.requireValue(t, value)
	b.refer(t, first["ARN"].(string), "password", "")
	b.requireValue(t, "rotated-value")
	call(t, endpoint, "CreateSecret", map[string]any{"Name": "binary", "SecretBinary": base64.StdEncoding.EncodeToString([]byte("binary-value"))})
	b.refer(t, "binary", "", "")
	b.requireValue(t, "binary-value")
	b.refer(t, "absent", "", "")
	_, err := b.attempt()
	require.ErrorContains(t, err, "there is no such secret or version")
	require.True(t, apperr.Is(err, apperr.Conflict))
	b.requireNoTrace(t, value, "rotated-value", "aws-secret-access-key")
	result, err := b.stores.Test(b.admin, "managed", secret.Reference{Path: "team/db", Key: "password"})
	require.NoError(t, err)
	require.True(t, result.OK)
}

// TestErrorsOfAWS: the documented errors, which have the status 400.
func TestErrorsOfAWS(t *testing.T) {
	t.Parallel()
	b := setup(t)
	kind, requests := "", 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/") || r.Header.Get("X-Amz-Security-Token") != "session-token" {
			kind = "MissingAuthenticationToken"
		}
		status(w, http.StatusBadRequest, fmt.Sprintf(`{"__type": "com.amazonaws#%s", "message": "%s"}`, kind, value))
	}))
	t.Cleanup(server.Close)
	b.register(t, secretstore.AWS, values{"region": "eu-central-1", "endpoint": server.URL, "authentication": "keys", "access_key_id": "AKIAEXAMPLE", "secret_access_key": "aws-secret-access-key", "session_token": "session-token"})
	b.refer(t, "team/db", "", "")
	for name, want := range map[string]struct {
		code     apperr.Code
		requests int
	}{
		"AccessDeniedException": {apperr.Conflict, 2}, "ExpiredTokenException": {apperr.Conflict, 2}, "ResourceNotFoundException": {apperr.Conflict, 1},
		"ThrottlingException": {apperr.Unavailable, 3}, "DecryptionFailure": {apperr.Conflict, 1},
	} {
		kind, requests = name, 0
		_, err := b.attempt()
		require.True(t, apperr.Is(err, want.code), name)
		require.Equal(t, want.requests, requests, name)
		require.NotContains(t, apperr.MessageOf(err), value)
	}
}

// googleServer follows the documented REST API of Google Secret Manager, the token endpoint of
// service accounts (RFC 7523) and the metadata server.
type googleServer struct {
	*httptest.Server
	mu     sync.Mutex
	values map[string][]string // by name of the secret
	tokens map[string]bool
	issued int
}

func newGoogleServer(t *testing.T) *googleServer {
	t.Helper()
	g := &googleServer{values: map[string][]string{}, tokens: map[string]bool{}}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	return g
}

func (g *googleServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case r.URL.Path == "/token" && r.FormValue("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer" && strings.Count(r.FormValue("assertion"), ".") == 2,
		r.URL.Path == "/metadata" && r.Header.Get("Metadata-Flavor") == "Google":
		g.issued++
		token := fmt.Sprintf("ya29.token-%d", g.issued)
		g.tokens[token] = true
		status(w, http.StatusOK, fmt.Sprintf(`{"access_token": %q, "token_type": "Bearer", "expires_in": 3600}`, token))
		return
	case !g.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]:
		status(w, http.StatusUnauthorized, `{"error": {"code": 401, "status": "UNAUTHENTICATED"}}`)
		return
	}
	var name, version string
	path := strings.NewReplacer("/", " ", ":", " ").Replace(r.URL.Path)
	_, _ = fmt.Sscanf(path, " v1 projects vision secrets %s versions %s access", &name, &version)
	versions := g.values[name]
	n := len(versions)
	if version != "latest" {
		_, _ = fmt.Sscan(version, &n)
	}
	if n < 1 || n > len(versions) {
		status(w, http.StatusNotFound, `{"error": {"code": 404, "status": "NOT_FOUND"}}`)
		return
	}
	data := []byte(versions[n-1])
	status(w, http.StatusOK, fmt.Sprintf(`{"name": "projects/1/secrets/%s/versions/%d", "payload": {"data": %q, "dataCrc32c": "%d"}}`,
		name, n, base64.StdEncoding.EncodeToString(data), crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))))
}

func TestGoogleSecretManager(t *testing.T) {
	t.Parallel()
	b := setup(t)
	g := newGoogleServer(t)
	g.values["db"] = []string{value}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	account, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "forge@vision.iam.gserviceaccount.com", "token_uri": g.URL + "/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	require.NoError(t, err)
	b.register(t, secretstore.GCP, values{"project": "vision", "endpoint": g.URL, "authentication": "service_account", "credentials": string(account)})
	b.refer(t, "db", "", "")
	b.requireValue(t, value)
	g.values["db"] = []string{value, "rotated-value"}
	b.requireValue(t, "rotated-value")
	b.refer(t, "db", "", "1")
	b.requireValue(t, value)
	require.Equal(t, 1, g.issued)
	clear(g.tokens) // Google revoked the token
	b.requireValue(t, value)
	b.clock.advance(2 * time.Hour)
	b.requireValue(t, value)
	require.Equal(t, 3, g.issued)
	b.refer(t, "absent", "", "")
	_, err = b.attempt()
	require.ErrorContains(t, err, "there is no such secret or version")
	b.requireNoTrace(t, value, "PRIVATE KEY", "ya29")

	// Keys of other types would make the server read files and run commands.
	for _, text := range []string{`{"type": "external_account", "credential_source": {"file": "/etc/passwd"}}`, "not JSON"} {
		_, err := b.stores.Put(b.admin, secretstore.Edit{Name: "managed", Kind: secretstore.GCP, Values: values{"project": "vision", "authentication": "service_account", "credentials": text, "projects": "*"}})
		require.Equal(t, "values.credentials", apperr.FieldsOf(err)[0].Path)
	}
}

func TestGoogleByTheIdentityOfTheServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	g := newGoogleServer(t)
	g.values["db"] = []string{value}
	b.config.MetadataURL = g.URL + "/metadata"
	b.use(b.config, b.config.Keys)
	b.register(t, secretstore.GCP, values{"project": "vision", "endpoint": g.URL})
	b.refer(t, "db", "", "")
	b.requireValue(t, value)
	result, err := b.stores.Test(b.admin, "managed", secret.Reference{})
	require.NoError(t, err)
	require.True(t, result.OK)
}
