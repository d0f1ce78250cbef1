package connection_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/data/outgoing"
)

// try stores a connection and tests it.
func (b *testBundle) try(t *testing.T, kind string, v values) connection.Result {
	t.Helper()
	_, err := b.service.Put(b.admin, connection.Edit{Name: kind, Kind: kind, Values: v})
	require.NoError(t, err)
	result, err := b.service.Test(b.admin, kind)
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprint(result), secretValue, "no result has a secret")
	require.NotEmpty(t, result.Steps)
	return result
}

// last is the detail of the last step, the one that failed.
func last(r connection.Result) string { return r.Steps[len(r.Steps)-1].Detail }

func TestTryHTTP(t *testing.T) {
	t.Parallel()
	b := setup(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case r.URL.Path == "/v1/moved":
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		case r.Header.Get("Authorization") == "Bearer "+secretValue, user == "me" && password == secretValue:
			fmt.Fprint(w, "ok")
		default:
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, r.Header.Get("Authorization"))
		}
	}))
	defer server.Close()
	base := server.URL + "/v1"
	require.True(t, b.try(t, "http", values{"base_url": base, "authentication": "bearer", "token": secretValue}).OK)
	require.True(t, b.try(t, "http", values{"base_url": base, "authentication": "basic", "username": "me", "password": secretValue}).OK)
	refused := b.try(t, "http", values{"base_url": base, "authentication": "none"})
	require.False(t, refused.OK)
	require.True(t, refused.Steps[0].OK, "the server was reached")
	require.Contains(t, last(refused), "401 Unauthorized. Check the credentials")
	require.True(t, b.try(t, "http", values{"base_url": base, "authentication": "bearer", "token": secretValue, "test_path": "/moved"}).OK, "a redirect is an answer, and not followed")

	server.Close()
	gone := b.try(t, "http", values{"base_url": base})
	require.False(t, gone.OK)
	require.Contains(t, last(gone), "connection refused")
	require.Contains(t, last(b.try(t, "http", values{"base_url": "http://no-such-host.invalid", "token": nil, "password": nil})), "cannot be resolved")
}

func TestTryOAuth2(t *testing.T) {
	t.Parallel()
	b := setup(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		switch {
		case r.URL.Path == "/token" && r.FormValue("grant_type") == "client_credentials" && r.FormValue("scope") == "read write" && id == "me" && secret == secretValue:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"access_token": "issued", "token_type": "Bearer", "expires_in": 60}`)
		case r.URL.Path == "/token":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error": "invalid_client"}`)
		case r.Header.Get("Authorization") != "Bearer issued":
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer server.Close()
	given := values{"base_url": server.URL + "/v1", "authentication": "oauth2", "token_url": server.URL + "/token", "client_id": "me", "client_secret": secretValue, "scope": "read write"}
	result := b.try(t, "http", given)
	require.True(t, result.OK, "%v", result)
	given["scope"] = "all"
	refused := b.try(t, "http", given)
	require.False(t, refused.OK)
	require.Contains(t, last(refused), "401 Unauthorized. invalid_client")
}

func TestTryReachesNoPrivateAddress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.service = connection.NewService(connection.Config{Pool: b.pool, Keys: keyring(t, 'a'), Now: time.Now, Dialer: outgoing.Dialer{}})
	for kind, v := range map[string]values{
		"http":        {"base_url": "http://169.254.169.254/latest/meta-data"},
		"postgres":    {"host": "127.0.0.1", "database": "d", "user": "u", "password": secretValue},
		"clickhouse":  {"endpoint": "http://127.0.0.1:8123", "password": secretValue},
		"s3":          {"bucket": "b", "endpoint": "http://10.0.0.1:9000", "access_key_id": "AKIA", "secret_access_key": secretValue},
		"huggingface": {"token": secretValue, "endpoint": "http://localhost:1"},
	} {
		result := b.try(t, kind, v)
		require.False(t, result.OK, kind)
		require.Contains(t, last(result), "FLOWFORGE_OUTGOING_HOSTS", kind)
	}
}

func TestTryClickHouse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("X-ClickHouse-User") != "reader" || r.Header.Get("X-ClickHouse-Key") != secretValue:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, "Code: 516. Authentication failed for %s: password is incorrect", secretValue)
		case r.URL.Query().Get("query") == "SELECT version()" && r.URL.Query().Get("database") == "sales":
			fmt.Fprintln(w, "25.8.1")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	works := b.try(t, "clickhouse", values{"endpoint": server.URL, "database": "sales", "user": "reader", "password": secretValue})
	require.True(t, works.OK, works)
	require.Equal(t, "ClickHouse 25.8.1.", last(works))
	refused := b.try(t, "clickhouse", values{"endpoint": server.URL, "user": "other"})
	require.False(t, refused.OK)
	require.Contains(t, last(refused), "403 Forbidden. Code: 516. Authentication failed")
	_, err := b.service.Put(b.admin, connection.Edit{Name: "wrong", Kind: "clickhouse", Values: values{"endpoint": "clickhouse:9000"}})
	require.Error(t, err, "an endpoint is an http or https address")
}

func TestTryHuggingFace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/whoami-v2" || r.Header.Get("Authorization") != "Bearer "+secretValue {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"name": "mei %s", "type": "user"}`, secretValue) // a hostile server echoes the token
	}))
	defer hub.Close()
	ok := b.try(t, "huggingface", values{"token": secretValue, "endpoint": hub.URL})
	require.True(t, ok.OK)
	require.Contains(t, last(ok), "The token belongs to mei")
	require.Contains(t, last(b.try(t, "huggingface", values{"token": "another-token", "endpoint": hub.URL})), "401")
}

func TestTryPostgres(t *testing.T) {
	t.Parallel()
	b := setup(t)
	config := b.pool.Config().ConnConfig
	host, port := config.Host, int(config.Port)
	if strings.HasPrefix(host, "/") {
		host, port = "127.0.0.1", forward(t, filepath.Join(host, fmt.Sprintf(".s.PGSQL.%d", port)))
	}
	v := values{"host": host, "port": port, "database": config.Database, "user": config.User, "sslmode": "disable"}
	if config.Password != "" {
		v["password"] = config.Password
	}
	result := b.try(t, "postgres", v)
	require.True(t, result.OK, "%+v", result)
	require.Contains(t, last(result), "PostgreSQL")
	v["database"] = "no_such_database"
	require.Contains(t, last(b.try(t, "postgres", v)), `database "no_such_database" does not exist`)
}

// TestTryPostgresBoundsMessages: a hostile server announces a message of 512 MiB and sends nothing.
func TestTryPostgresBoundsMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = from.Write([]byte{'R', 0x20, 0, 0, 0})
				_, _ = io.Copy(io.Discard, from)
				_ = from.Close()
			}()
		}
	}()
	result := b.try(t, "postgres", values{
		"host": "127.0.0.1", "port": listener.Addr().(*net.TCPAddr).Port, "database": "d", "user": "u", "password": secretValue, "sslmode": "disable",
	})
	require.False(t, result.OK)
	require.Contains(t, last(result), "invalid body length")
}

// forward gives a socket of the database a TCP port.
func forward(t *testing.T, socket string) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("unix", socket)
			if err != nil {
				_ = from.Close()
				continue
			}
			go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
			go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}

func TestTryS3(t *testing.T) {
	t.Parallel()
	b := setup(t)
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/lake" || r.URL.Query().Get("prefix") != "raw/" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if !strings.Contains(r.Header.Get("Authorization"), "Credential=AKIAMEI/") {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<Error><Code>InvalidAccessKeyId</Code></Error>")
		}
	}))
	defer store.Close()
	v := values{"bucket": "lake", "prefix": "raw", "endpoint": store.URL, "access_key_id": "AKIAMEI", "secret_access_key": secretValue}
	require.True(t, b.try(t, "s3", v).OK)
	v["access_key_id"] = "AKIAOTHER"
	refused := b.try(t, "s3", v)
	require.Equal(t, "List the folder s3://lake/raw", refused.Steps[1].Name)
	require.Contains(t, last(refused), "The access key ID is unknown")
}
