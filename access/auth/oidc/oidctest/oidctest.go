// Package oidctest is an OpenID provider for tests: discovery, keys, the authorization code
// flow with PKCE, and UserInfo. The test says who signs in next.
package oidctest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// Credentials of the only client.
const (
	ClientID     = "flowforge"
	ClientSecret = "a secret of the client"
)

const (
	keyID    = "test"
	keyBits  = 2048
	lifetime = 10 * time.Minute // of tokens
)

// Person is who signs in.
type Person struct {
	Subject, Name, Email string // Email is verified
	Groups               []string
}

// Provider is a running provider. Set Claims and Info only between requests.
type Provider struct {
	Issuer string
	Claims map[string]any // replaces the claims of ID tokens, when set
	Info   map[string]any // replaces UserInfo, when set

	key  *rsa.PrivateKey
	keys oidctest.Server

	mu     sync.Mutex
	next   []Person
	grants map[string]grant // by code
	tokens map[string]Person
}

// grant is a sign-in whose code was not used yet.
type grant struct {
	person                     Person
	nonce, challenge, redirect string
}

// New returns a provider that ends with the test.
func New(t testing.TB) *Provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{
		key: key, grants: map[string]grant{}, tokens: map[string]Person{},
		keys: oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: keyID, Algorithm: oidc.RS256}}},
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	routes.HandleFunc("GET /authorize", p.authorize)
	routes.HandleFunc("POST /token", p.token)
	routes.HandleFunc("GET /userinfo", p.userInfo)
	routes.Handle("GET /keys", &p.keys)
	server := httptest.NewServer(routes)
	t.Cleanup(server.Close)
	p.Issuer = server.URL
	return p
}

// SignIn makes person the answer to the next request for authorization.
func (p *Provider) SignIn(person Person) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = append(p.next, person)
}

// Sign returns a token with claims, signed with the key of the provider.
func (p *Provider) Sign(claims map[string]any) string {
	text, err := json.Marshal(claims)
	if err != nil {
		panic(err) // claims of a test are JSON
	}
	return oidctest.SignIDToken(p.key, keyID, oidc.RS256, string(text))
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"issuer": p.Issuer, "authorization_endpoint": p.Issuer + "/authorize", "token_endpoint": p.Issuer + "/token",
		"userinfo_endpoint": p.Issuer + "/userinfo", "jwks_uri": p.Issuer + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{oidc.RS256}, "code_challenge_methods_supported": []string{"S256"},
	})
}

func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("client_id") != ClientID || q.Get("response_type") != "code" || !strings.Contains(" "+q.Get("scope")+" ", " openid ") ||
		q.Get("state") == "" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" {
		http.Error(w, "invalid_request", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	person := Person{Subject: "lin", Name: "Lin", Groups: []string{"staff"}}
	if len(p.next) > 0 {
		person, p.next = p.next[0], p.next[1:]
	}
	code := rand.Text()
	p.grants[code] = grant{person: person, nonce: q.Get("nonce"), challenge: q.Get("code_challenge"), redirect: q.Get("redirect_uri")}
	params := back.Query()
	params.Set("code", code)
	params.Set("state", q.Get("state"))
	back.RawQuery = params.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	} else {
		id, secret = unescaped(id), unescaped(secret)
	}
	if id != ClientID || subtle.ConstantTimeCompare([]byte(secret), []byte(ClientSecret)) == 0 {
		refuse(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	code := r.PostFormValue("code")
	g, ok := p.grants[code]
	delete(p.grants, code)
	hash := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || r.PostFormValue("grant_type") != "authorization_code" || r.PostFormValue("redirect_uri") != g.redirect ||
		base64.RawURLEncoding.EncodeToString(hash[:]) != g.challenge {
		refuse(w, http.StatusBadRequest, "invalid_grant")
		return
	}
	claims := p.Claims
	if claims == nil {
		claims = g.person.claims()
		now := time.Now()
		maps.Copy(claims, map[string]any{
			"iss": p.Issuer, "aud": []string{ClientID}, "nonce": g.nonce, "iat": now.Unix(), "exp": now.Add(lifetime).Unix(),
		})
	}
	access := rand.Text()
	p.tokens[access] = g.person
	answer(w, http.StatusOK, map[string]any{"access_token": access, "token_type": "bearer", "expires_in": int(lifetime.Seconds()), "id_token": p.Sign(claims)})
}

func (p *Provider) userInfo(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	person, ok := p.tokens[token]
	switch {
	case !ok || !strings.EqualFold(scheme, "bearer"):
		refuse(w, http.StatusUnauthorized, "invalid_token")
	case p.Info != nil:
		answer(w, http.StatusOK, p.Info)
	default:
		answer(w, http.StatusOK, person.claims())
	}
}

// claims are the claims about a person that ID tokens and UserInfo have.
func (u Person) claims() map[string]any {
	out := map[string]any{"sub": u.Subject, "preferred_username": u.Name, "groups": append([]string{}, u.Groups...)}
	if u.Email != "" {
		out["email"], out["email_verified"] = u.Email, true
	}
	return out
}

// unescaped decodes a part of the header of a client; RFC 6749 encodes it like a form.
func unescaped(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

func answer(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(http.ErrAbortHandler) // the client closed the connection
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	answer(w, status, map[string]any{"error": code})
}
