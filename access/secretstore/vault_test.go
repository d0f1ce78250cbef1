package secretstore_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/access/secretstore"
	"github.com/flowforge/flowforge/apperr"
)

// vaultServer follows the documented HTTP API of Vault: KV version 2, the logins of AppRole and
// Kubernetes, and tokens with leases. It has paths in the engine "kv".
type vaultServer struct {
	*httptest.Server
	clock *clock

	mu        sync.Mutex
	versions  map[string][]map[string]any // of paths; nil: deleted
	tokens    map[string]time.Time        // and when they expire
	lease     time.Duration
	renewable bool
	logins    int
	renewals  int
	answer    http.HandlerFunc // instead of all others
	jwt       string
}

func newVaultServer(t *testing.T, c *clock) *vaultServer {
	t.Helper()
	v := &vaultServer{clock: c, versions: map[string][]map[string]any{}, tokens: map[string]time.Time{}, lease: time.Hour, renewable: true}
	v.Server = httptest.NewServer(v)
	t.Cleanup(v.Close)
	return v
}

// put adds a version of a secret.
func (v *vaultServer) put(path string, data map[string]any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.versions[path] = append(v.versions[path], data)
}

func (v *vaultServer) set(change func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change()
}

func (v *vaultServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.answer != nil {
		v.answer(w, r)
		return
	}
	if r.Header.Get("X-Vault-Request") != "true" {
		status(w, http.StatusBadRequest, `{"errors": ["the header X-Vault-Request is required"]}`)
		return
	}
	if path, ok := strings.CutPrefix(r.URL.Path, "/v1/auth/"); ok && strings.HasSuffix(path, "/login") {
		v.login(w, r, strings.TrimSuffix(path, "/login"))
		return
	}
	token := r.Header.Get("X-Vault-Token")
	expires, ok := v.tokens[token]
	if !ok || !v.clock.Now().Before(expires) {
		status(w, http.StatusForbidden, `{"errors": ["permission denied", "invalid token `+token+`"]}`)
		return
	}
	switch path := r.URL.Path; {
	case path == "/v1/auth/token/lookup-self" && r.Method == http.MethodGet:
		status(w, http.StatusOK, fmt.Sprintf(`{"data": {"ttl": %d, "renewable": %t}}`, int(expires.Sub(v.clock.Now()).Seconds()), v.renewable))
	case path == "/v1/auth/token/renew-self" && r.Method == http.MethodPost && v.renewable:
		v.renewals++
		v.tokens[token] = v.clock.Now().Add(v.lease)
		v.auth(w, token)
	case strings.HasPrefix(path, "/v1/kv/data/") && r.Method == http.MethodGet:
		v.read(w, r, strings.TrimPrefix(path, "/v1/kv/data/"))
	default:
		status(w, http.StatusForbidden, `{"errors": ["1 error occurred: permission denied"]}`)
	}
}

func (v *vaultServer) login(w http.ResponseWriter, r *http.Request, mount string) {
	var in map[string]string
	_ = json.NewDecoder(r.Body).Decode(&in)
	byRole := mount == "approle" && in["role_id"] == "forge" && in["secret_id"] == "the-secret-id"
	byPod := mount == "k8s/prod" && in["role"] == "forge" && v.jwt != "" && in["jwt"] == v.jwt
	if !byRole && !byPod {
		status(w, http.StatusBadRequest, `{"errors": ["invalid role or secret ID"]}`)
		return
	}
	v.logins++
	token := "hvs.token-" + strconv.Itoa(v.logins)
	v.tokens[token] = v.clock.Now().Add(v.lease)
	v.auth(w, token)
}

func (v *vaultServer) auth(w http.ResponseWriter, token string) {
	status(w, http.StatusOK, fmt.Sprintf(`{"auth": {"client_token": %q, "lease_duration": %d, "renewable": %t}}`, token, int(v.lease.Seconds()), v.renewable))
}

func (v *vaultServer) read(w http.ResponseWriter, r *http.Request, path string) {
	versions := v.versions[path]
	n := len(versions)
	if text := r.URL.Query().Get("version"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	switch {
	case n < 1 || n > len(versions):
		status(w, http.StatusNotFound, `{"errors": []}`)
	case versions[n-1] == nil:
		status(w, http.StatusNotFound, `{"data": {"data": null, "metadata": {"deletion_time": "2026-01-01T00:00:00Z", "destroyed": false}}}`)
	default:
		raw, _ := json.Marshal(map[string]any{"data": map[string]any{"data": versions[n-1], "metadata": map[string]any{"version": n}}})
		status(w, http.StatusOK, string(raw))
	}
}

func appRole(address string) values {
	return values{"address": address, "mount": "kv", "authentication": "approle", "role_id": "forge", "secret_id": "the-secret-id"}
}

func TestVaultByAppRole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := newVaultServer(t, b.clock)
	v.put("team/db", map[string]any{"password": value, "port": 5432})
	b.register(t, secretstore.Vault, appRole(v.URL))
	b.refer(t, "team/db", "password", "")
	b.requireValue(t, value)
	v.put("team/db", map[string]any{"password": "rotated-value"})
	b.requireValue(t, "rotated-value")
	b.refer(t, "team/db", "password", "1")
	b.requireValue(t, value)
	require.Equal(t, 1, v.logins, "the token is used again")

	// Two thirds of the lease have passed: the token is renewed. Then it ends: a new login.
	b.clock.advance(41 * time.Minute)
	b.requireValue(t, value)
	require.Equal(t, [2]int{1, 1}, [2]int{v.logins, v.renewals})
	b.clock.advance(2 * time.Hour)
	b.requireValue(t, value)
	require.Equal(t, [2]int{2, 1}, [2]int{v.logins, v.renewals})
	// Vault revoked the token before its lease ended: one new login, and one more try.
	v.set(func() { clear(v.tokens) })
	b.requireValue(t, value)
	require.Equal(t, 3, v.logins)
	b.requireNoTrace(t, value, "rotated-value", "the-secret-id", "hvs.token")

	result, err := b.stores.Test(b.admin, "managed", secret.Reference{})
	require.NoError(t, err)
	require.Equal(t, secretstore.Result{OK: true, Detail: "Vault accepted the credentials. The token is valid for 1h0m0s."}, result)
	result, err = b.stores.Test(b.admin, "managed", secret.Reference{Path: "team/db", Key: "password"})
	require.NoError(t, err)
	require.Equal(t, secretstore.Result{OK: true, Detail: "The value can be read."}, result)
	result, err = b.stores.Test(b.admin, "managed", secret.Reference{Path: "team/absent", Key: "password"})
	require.NoError(t, err)
	require.False(t, result.OK)
}

func TestVaultByKubernetes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := newVaultServer(t, b.clock)
	v.put("db", map[string]any{"password": value})
	file := filepath.Join(t.TempDir(), "token")
	write(t, file, "first-token\n")
	v.set(func() { v.jwt, v.renewable = "first-token", false })
	b.register(t, secretstore.Vault, values{"address": v.URL, "mount": "kv", "authentication": "kubernetes", "auth_mount": "k8s/prod", "role": "forge", "token_file": file})
	b.refer(t, "db", "password", "")
	b.requireValue(t, value)
	// Kubernetes replaces the token file. The next login reads it again.
	write(t, file, "second-token\n")
	v.set(func() { v.jwt = "second-token" })
	b.clock.advance(50 * time.Minute)
	b.requireValue(t, value)
	require.Equal(t, 2, v.logins)
	require.NoError(t, os.Remove(file))
	b.clock.advance(2 * time.Hour)
	_, err := b.attempt()
	require.ErrorContains(t, err, "the token file does not exist")
}

func TestVaultTokenIsRenewedInTheBackground(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := newVaultServer(t, b.clock)
	v.put("db", map[string]any{"password": value})
	v.set(func() { v.tokens["hvs.given-token"] = b.clock.Now().Add(time.Hour) })
	b.register(t, secretstore.Vault, values{"address": v.URL, "mount": "kv", "authentication": "token", "token": "hvs.given-token"})
	b.refer(t, "db", "password", "")
	for range 5 { // no attempt starts for hours
		require.NoError(t, b.stores.Renew(b.system))
		b.clock.advance(45 * time.Minute)
	}
	require.NoError(t, b.stores.Renew(b.system))
	b.requireValue(t, value)
	require.Equal(t, 5, v.renewals)
	b.clock.advance(2 * time.Hour)
	_, err := b.attempt()
	require.ErrorContains(t, err, "denied access")
	require.NotContains(t, err.Error(), "hvs.given-token")
	require.Error(t, b.stores.Renew(b.admin))
}

func TestFaultsOfVault(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := newVaultServer(t, b.clock)
	v.put("db", map[string]any{"password": value, "empty": ""})
	v.put("deleted", nil)
	b.register(t, secretstore.Vault, appRole(v.URL))
	b.refer(t, "db", "password", "")
	b.requireValue(t, value)
	fault := func(path, key, text string, code apperr.Code) {
		t.Helper()
		b.refer(t, path, key, "")
		got, err := b.attempt()
		require.Empty(t, got)
		require.ErrorContains(t, err, text)
		require.True(t, apperr.Is(err, code), err)
		require.Contains(t, apperr.MessageOf(err), `The secret store "managed" did not return the path `+path+", key "+key+": ")
	}
	fault("absent", "password", "there is no such path", apperr.Conflict)
	fault("deleted", "password", "there is no such path", apperr.Conflict)
	fault("db", "absent", "there is no such key", apperr.Conflict)
	fault("db", "empty", "the value is empty", apperr.Conflict)

	v.set(func() {
		v.answer = func(w http.ResponseWriter, _ *http.Request) {
			status(w, http.StatusForbidden, `{"errors": ["permission denied"]}`)
		}
	})
	fault("db", "password", "it denied access", apperr.Conflict)
	v.set(func() {
		v.answer = func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusTemporaryRedirect)
		}
	})
	fault("db", "password", "redirect", apperr.Conflict)

	// Vault is sealed: the read is repeated with pauses, and succeeds when Vault is back.
	failures := 0
	v.set(func() {
		v.answer = func(w http.ResponseWriter, _ *http.Request) {
			failures++
			status(w, http.StatusServiceUnavailable, `{"errors": ["Vault is sealed"]}`)
		}
	})
	b.pauses = nil
	fault("db", "password", "it responded with status 503 (Vault is sealed)", apperr.Unavailable)
	require.Equal(t, []time.Duration{200 * time.Millisecond, time.Second}, b.pauses)
	require.Equal(t, 3, failures)
	// Text is still masked with the last value, and asks Vault only after a while.
	masked, err := b.secrets.RevealForMasking(b.system, auth.LocalProject, "tracker")
	require.NoError(t, err)
	require.Equal(t, value, masked)
	b.clock.advance(2 * time.Minute)
	failures = 0
	for range 3 {
		_, err = b.secrets.RevealForMasking(b.system, auth.LocalProject, "tracker")
		require.NoError(t, err)
	}
	require.Equal(t, 3, failures, "one read with three tries")
	v.set(func() { v.answer = nil })
	b.requireValue(t, value)

	v.Close()
	fault("db", "password", "it is not reachable", apperr.Unavailable)
}

func TestASlowStoreIsGivenUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := newVaultServer(t, b.clock)
	hold := make(chan struct{})
	b.config.Dialer = quick{}
	b.use(b.config, b.config.Keys)
	b.register(t, secretstore.Vault, appRole(v.URL))
	b.refer(t, "db", "password", "")
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(hold) }) // first: Close waits for the requests
	b.register(t, secretstore.Vault, appRole(slow.URL))
	_, err := b.attempt()
	require.ErrorContains(t, err, "it did not respond in time")
	require.True(t, apperr.Is(err, apperr.Unavailable))
}

func TestPrivateAddressesMustBeListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := newVaultServer(t, b.clock)
	v.put("db", map[string]any{"password": value})
	b.config.Dialer = guarded()
	b.use(b.config, b.config.Keys)
	b.register(t, secretstore.Vault, appRole(v.URL))
	b.refer(t, "db", "password", "")
	_, err := b.attempt()
	require.ErrorContains(t, err, "FLOWFORGE_OUTGOING_HOSTS")
	require.True(t, apperr.Is(err, apperr.Conflict))
	b.config.Dialer = guarded(strings.TrimPrefix(v.URL, "http://"))
	b.use(b.config, b.config.Keys)
	b.requireValue(t, value)
}

func TestCredentialsDoNotMoveToAnotherServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, secretstore.Vault, appRole("https://vault.example.com"))
	v := appRole("https://elsewhere.example.com")
	delete(v, "secret_id")
	v["projects"] = "*"
	_, err := b.stores.Put(b.admin, secretstore.Edit{Name: "managed", Kind: secretstore.Vault, Values: v})
	require.Equal(t, "values.secret_id", apperr.FieldsOf(err)[0].Path)
	v["address"] = "https://vault.example.com:443"
	_, err = b.stores.Put(b.admin, secretstore.Edit{Name: "managed", Kind: secretstore.Vault, Values: v})
	require.NoError(t, err)
	s, err := b.stores.Get(b.admin, "managed")
	require.NoError(t, err)
	require.Equal(t, []string{"secret_id"}, s.Secrets)
	require.NotContains(t, fmt.Sprint(s), "the-secret-id")
}
