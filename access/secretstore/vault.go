package secretstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/flowforge/flowforge/access/secret"
)

// vault reads an engine KV version 2 of HashiCorp Vault or OpenBao.
// https://developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2
type vault struct {
	opened
	client *http.Client
	now    func() time.Time

	mu    sync.Mutex
	token vaultToken
}

// vaultToken is a token of Vault and its lease.
type vaultToken struct {
	value     string
	renewable bool
	renewAt   time.Time // zero: never
	expiresAt time.Time // zero: never
}

// vaultAuth is the member auth of the answer to a login or a renewal.
type vaultAuth struct {
	ClientToken   string `json:"client_token"`
	LeaseDuration int64  `json:"lease_duration"` // seconds; 0: no end
	Renewable     bool   `json:"renewable"`
}

func newVault(o opened, client *http.Client, now func() time.Time) *vault {
	return &vault{opened: o, client: client, now: now}
}

func (v *vault) check(ctx context.Context) (string, error) {
	token, err := v.session(ctx, "")
	if err != nil {
		return "", err
	}
	lease, err := v.lookup(ctx, token)
	if err != nil {
		return "", err
	}
	if lease.LeaseDuration == 0 {
		return "Vault accepted the credentials. The token does not expire.", nil
	}
	return fmt.Sprintf("Vault accepted the credentials. The token is valid for %s.", time.Duration(lease.LeaseDuration)*time.Second), nil
}

func (v *vault) read(ctx context.Context, ref secret.Reference) (string, error) {
	if ref.Key == "" {
		return "", fail(refused, "a Vault secret has several keys: enter the key")
	}
	token, err := v.session(ctx, "")
	if err != nil {
		return "", err
	}
	value, err := v.readWith(ctx, token, ref)
	if !is(err, denied) || v.text("authentication") == ByToken {
		return value, err
	}
	// The token may have expired or been revoked before its lease ended.
	if token, err = v.session(ctx, token); err != nil {
		return "", err
	}
	return v.readWith(ctx, token, ref)
}

func (v *vault) readWith(ctx context.Context, token string, ref secret.Reference) (string, error) {
	path := "/v1/" + v.text("mount") + "/data/" + escaped(ref.Path)
	if ref.Version != "" {
		path += "?version=" + url.QueryEscape(ref.Version)
	}
	var answer struct {
		Data struct {
			Data map[string]json.RawMessage `json:"data"`
		} `json:"data"`
	}
	status, err := v.call(ctx, http.MethodGet, path, token, nil, &answer)
	if status == http.StatusNotFound {
		return "", fail(refused, "there is no such path, or this version was deleted")
	}
	if err != nil {
		return "", err
	}
	return member(answer.Data.Data, ref.Key)
}

// escaped escapes the segments of a path.
func escaped(path string) string {
	segments := strings.Split(path, "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	return strings.Join(segments, "/")
}

// session returns a valid token: the current one, renewed when two thirds of its lease have passed,
// or a new one. refused is a token that Vault no longer accepts.
func (v *vault) session(ctx context.Context, refusedToken string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	t := &v.token
	if t.value != "" && t.value != refusedToken && (t.expiresAt.IsZero() || now.Before(t.expiresAt)) {
		if t.renewAt.IsZero() || now.Before(t.renewAt) {
			return t.value, nil
		}
		if t.renewable {
			if auth, err := v.post(ctx, "/v1/auth/token/renew-self", t.value, map[string]any{}); err == nil {
				v.keep(auth, t.value)
				return t.value, nil
			}
		}
		if v.text("authentication") == ByToken {
			return t.value, nil // it is valid until its end
		}
	}
	if err := v.login(ctx); err != nil {
		return "", err
	}
	return v.token.value, nil
}

// keep stores a token and the times of its lease.
func (v *vault) keep(auth vaultAuth, token string) {
	now, lease := v.now(), time.Duration(auth.LeaseDuration)*time.Second
	v.token = vaultToken{value: token, renewable: auth.Renewable}
	if lease > 0 {
		v.token.expiresAt, v.token.renewAt = now.Add(lease), now.Add(lease*2/3)
	}
}

// login gets a token. It requires the lock.
func (v *vault) login(ctx context.Context) error {
	method, body := v.text("authentication"), map[string]any{}
	switch method {
	case ByToken:
		auth, err := v.lookup(ctx, v.secrets["token"])
		if is(err, denied) && v.token.value == "" {
			// The policy of the token may not allow it to look at itself; reading tells.
			auth, err = vaultAuth{}, nil
		}
		if err == nil {
			v.keep(auth, v.secrets["token"])
		}
		return err
	case ByAppRole:
		body["role_id"], body["secret_id"] = v.text("role_id"), v.secrets["secret_id"]
	case ByKubernetes:
		jwt, err := tokenFile(v.text("token_file"))
		if err != nil {
			return err
		}
		body["role"], body["jwt"] = v.text("role"), jwt
	}
	mount := v.text("auth_mount")
	if mount == "" {
		mount = method
	}
	auth, err := v.post(ctx, "/v1/auth/"+mount+"/login", "", body)
	if err != nil {
		if f, ok := err.(*failure); ok && f.reason == refused { //nolint:errorlint // post returns it
			return fail(denied, "the login failed: %s", f.text)
		}
		return err
	}
	if auth.ClientToken == "" {
		return fail(refused, "the login returned no token")
	}
	v.keep(auth, auth.ClientToken)
	return nil
}

// tokenFile reads the token of a service account. Kubernetes replaces the file before it expires.
func tokenFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fileFailure("the token file", err)
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, secret.MaxValue))
	if err != nil {
		return "", fileFailure("the token file", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// lookup returns the lease of a token.
func (v *vault) lookup(ctx context.Context, token string) (vaultAuth, error) {
	var answer struct {
		Data struct {
			TTL       int64 `json:"ttl"`
			Renewable bool  `json:"renewable"`
		} `json:"data"`
	}
	_, err := v.call(ctx, http.MethodGet, "/v1/auth/token/lookup-self", token, nil, &answer)
	return vaultAuth{LeaseDuration: answer.Data.TTL, Renewable: answer.Data.Renewable}, err
}

func (v *vault) post(ctx context.Context, path, token string, body map[string]any) (vaultAuth, error) {
	var answer struct {
		Auth vaultAuth `json:"auth"`
	}
	_, err := v.call(ctx, http.MethodPost, path, token, body, &answer)
	return answer.Auth, err
}

// call sends a request to Vault and decodes its answer.
func (v *vault) call(ctx context.Context, method, path, token string, body map[string]any, into any) (int, error) {
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return 0, fmt.Errorf("encode the request: %w", err)
		}
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(v.text("address"), "/")+path, reader)
	if err != nil {
		return 0, fmt.Errorf("request to Vault: %w", err)
	}
	req.Header.Set("X-Vault-Request", "true")
	if token != "" {
		req.Header.Set("X-Vault-Token", token)
	}
	if namespace := v.text("vault_namespace"); namespace != "" {
		req.Header.Set("X-Vault-Namespace", namespace)
	}
	status, raw, err := send(v.client, req)
	if err != nil {
		return 0, err
	}
	if status != http.StatusOK {
		var problem struct {
			Errors []string `json:"errors"`
		}
		_ = json.Unmarshal(raw, &problem)
		return status, answered(status, strings.Join(problem.Errors, "; "))
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return status, fail(refused, "its response is not from Vault")
	}
	return status, nil
}
