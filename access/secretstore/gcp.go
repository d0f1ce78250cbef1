package secretstore

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/access/secret"
)

// MetadataURL is where machines and pods of Google Cloud get the tokens of their service account.
const MetadataURL = "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token"

// gcpManager reads Google Secret Manager with its one operation access.
// https://cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets.versions/access
type gcpManager struct {
	opened
	client   *http.Client
	metadata string
	now      func() time.Time

	mu    sync.Mutex
	token *oauth2.Token
}

func newGCP(o opened, client *http.Client, metadata string, now func() time.Time) *gcpManager {
	return &gcpManager{opened: o, client: client, metadata: metadata, now: now}
}

// account is the key of a service account. Other types of keys name files, commands and servers that
// the server would have to read.
type account struct {
	Type         string `json:"type"`
	ClientEmail  string `json:"client_email"`
	PrivateKey   string `json:"private_key"`
	PrivateKeyID string `json:"private_key_id"`
	TokenURI     string `json:"token_uri"`
}

func accountOf(text string) (account, error) {
	var a account
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return a, errors.New("the service account key is not JSON") // the error could quote the key
	}
	if a.TokenURI == "" {
		a.TokenURI = "https://oauth2.googleapis.com/token"
	}
	if a.Type != "service_account" || a.ClientEmail == "" || a.PrivateKey == "" || !connection.WebAddress(a.TokenURI) {
		return a, errors.New("the key is not that of a service account")
	}
	return a, nil
}

func (g *gcpManager) check(ctx context.Context) (string, error) {
	if _, err := g.session(ctx, ""); err != nil {
		return "", err
	}
	return "Google issued an access token. Enter a path to test whether it can read secrets.", nil
}

func (g *gcpManager) read(ctx context.Context, ref secret.Reference) (string, error) {
	token, err := g.session(ctx, "")
	if err != nil {
		return "", err
	}
	value, err := g.get(ctx, token, ref)
	if is(err, denied) {
		if token, err = g.session(ctx, token); err != nil { // it may have been revoked
			return "", err
		}
		value, err = g.get(ctx, token, ref)
	}
	return value, err
}

func (g *gcpManager) get(ctx context.Context, token string, ref secret.Reference) (string, error) {
	version := ref.Version
	if version == "" {
		version = "latest"
	}
	address := fmt.Sprintf("%s/v1/projects/%s/secrets/%s/versions/%s:access", strings.TrimSuffix(g.text("endpoint"), "/"),
		url.PathEscape(g.text("project")), url.PathEscape(ref.Path), url.PathEscape(version))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", fmt.Errorf("request to Google: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	status, raw, err := send(g.client, req)
	if err != nil {
		return "", err
	}
	if status == http.StatusNotFound {
		return "", fail(refused, "there is no such secret or version")
	}
	if status != http.StatusOK {
		var problem struct {
			Error struct {
				Status string `json:"status"`
			} `json:"error"`
		}
		_ = json.Unmarshal(raw, &problem)
		return "", answered(status, problem.Error.Status)
	}
	var out struct {
		Payload struct {
			Data       string `json:"data"`
			DataCRC32C string `json:"dataCrc32c"`
		} `json:"payload"`
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return "", fail(refused, "its response is not from Google Secret Manager")
	}
	data, err := base64.StdEncoding.DecodeString(out.Payload.Data)
	if err != nil {
		return "", fail(refused, "its response is not from Google Secret Manager")
	}
	sum := strconv.FormatUint(uint64(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))), 10)
	if out.Payload.DataCRC32C != "" && out.Payload.DataCRC32C != sum {
		return "", fail(unreachable, "the value was damaged in transit")
	}
	return field(string(data), ref.Key)
}

// session returns an access token. refusedToken is one that Google no longer accepts.
func (g *gcpManager) session(ctx context.Context, refusedToken string) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	const margin = time.Minute
	if g.token != nil && g.token.AccessToken != refusedToken && g.now().Add(margin).Before(g.token.Expiry) {
		return g.token.AccessToken, nil
	}
	token, err := g.issue(ctx)
	if err != nil {
		return "", err
	}
	g.token = token
	return token.AccessToken, nil
}

func (g *gcpManager) issue(ctx context.Context) (*oauth2.Token, error) {
	if g.text("authentication") != ByAccount {
		return g.machineToken(ctx)
	}
	a, err := accountOf(g.secrets["credentials"])
	if err != nil {
		return nil, fail(refused, "%s", err.Error())
	}
	config := jwt.Config{
		Email: a.ClientEmail, PrivateKey: []byte(a.PrivateKey), PrivateKeyID: a.PrivateKeyID, TokenURL: a.TokenURI,
		Scopes: []string{"https://www.googleapis.com/auth/cloud-platform"},
	}
	token, err := config.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, g.client)).Token()
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok && answer.Response != nil {
		return nil, answered(answer.Response.StatusCode, answer.ErrorCode)
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return nil, transport(err)
	}
	if err != nil {
		return nil, fail(refused, "the service account key is not valid") // the error could quote the key
	}
	return token, nil
}

// machineToken requests a token of the machine. Its address is fixed, so the limits of addresses that
// users enter do not apply.
func (g *gcpManager) machineToken(ctx context.Context) (*oauth2.Token, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.metadata, nil)
	if err != nil {
		return nil, fmt.Errorf("request to the metadata server: %w", err)
	}
	req.Header.Set("Metadata-Flavor", "Google")
	client := &http.Client{Timeout: requestLimit, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	status, raw, err := send(client, req)
	if err != nil {
		return nil, &failure{reason: unreachable, text: "the server has no Google Cloud identity", err: err}
	}
	var out struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
	}
	if status != http.StatusOK || json.Unmarshal(raw, &out) != nil || out.AccessToken == "" {
		return nil, fail(unreachable, "the server has no Google Cloud identity (status %d)", status)
	}
	return &oauth2.Token{AccessToken: out.AccessToken, Expiry: g.now().Add(time.Duration(out.ExpiresIn) * time.Second)}, nil
}
