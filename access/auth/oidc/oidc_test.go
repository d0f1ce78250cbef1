package oidc

import (
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/oauth2-proxy/mockoidc"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
)

const site = "http://127.0.0.1:8080"

// testBundle is an OpenID provider and a client of it with a manual clock.
type testBundle struct {
	server   *mockoidc.MockOIDC
	provider *Provider
	now      time.Time
	claims   jwt.MapClaims  // replace those of the next ID token, when set
	info     map[string]any // replaces UserInfo, when set
}

func setup(t *testing.T, change func(*Config)) *testBundle {
	t.Helper()
	b := &testBundle{now: time.Now()}
	var err error
	b.server, err = mockoidc.NewServer(nil)
	require.NoError(t, err)
	require.NoError(t, b.server.AddMiddleware(b.forge))
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, b.server.Start(listener, nil))
	t.Cleanup(func() { _ = b.server.Shutdown() })
	c := Config{
		ID: "sso", Name: "Meridian SSO", Issuer: b.server.Issuer(), ClientID: b.server.Config().ClientID, ClientSecret: b.server.Config().ClientSecret,
		AdminGroups: []string{"ml-admins"}, Audience: []string{"flowforge-api"},
	}
	if change != nil {
		change(&c)
	}
	b.provider = b.open(t, c)
	return b
}

func (b *testBundle) open(t *testing.T, c Config) *Provider {
	t.Helper()
	configs, err := Complete([]Config{c})
	require.NoError(t, err)
	return New(configs[0], site, slog.New(slog.DiscardHandler), func() time.Time { return b.now })
}

// forge answers the token endpoint with an ID token of b.claims, and UserInfo with
// b.info.
func (b *testBundle) forge(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case b.claims != nil && r.URL.Path == mockoidc.TokenEndpoint:
			_ = json.NewEncoder(w).Encode(map[string]string{"access_token": "x", "token_type": "bearer", "id_token": b.sign(b.claims)})
		case b.info != nil && r.URL.Path == mockoidc.UserinfoEndpoint:
			_ = json.NewEncoder(w).Encode(b.info)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (b *testBundle) sign(claims jwt.MapClaims) string {
	token, err := b.server.Keypair.SignJWT(claims)
	if err != nil {
		panic(err)
	}
	return token
}

// goodClaims returns the claims of a valid token.
func (b *testBundle) goodClaims() jwt.MapClaims {
	return jwt.MapClaims{
		"iss": b.server.Issuer(), "sub": "ada", "aud": []string{b.server.Config().ClientID}, "iat": b.now.Unix(), "exp": b.now.Add(time.Minute).Unix(),
		"name": "Ada Lovelace", "groups": []string{"ml-admins"},
	}
}

// visit opens the provider's address like a browser and returns the query of the
// callback.
func (b *testBundle) visit(t *testing.T, address string) url.Values {
	t.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	res, err := client.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusFound, res.StatusCode)
	back, err := url.Parse(res.Header.Get("Location"))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(back.String(), site+"/login/sso/callback?"), back.String())
	return back.Query()
}

func (b *testBundle) begin(t *testing.T) (Attempt, url.Values) {
	t.Helper()
	address, a, err := b.provider.Begin(t.Context(), "/executions")
	require.NoError(t, err)
	return a, b.visit(t, address)
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.server.QueueUser(&mockoidc.MockUser{Subject: "grace", Email: "grace@example.test", EmailVerified: true, PreferredUsername: "Grace Hopper", Groups: []string{"b", "a", "b"}})
	address, a, err := b.provider.Begin(t.Context(), "/executions")
	require.NoError(t, err)
	u, err := url.Parse(address)
	require.NoError(t, err)
	require.Equal(t, "S256", u.Query().Get("code_challenge_method"))
	require.NotContains(t, address, a.Verifier)
	require.Equal(t, "openid profile email groups", u.Query().Get("scope"))
	query := b.visit(t, address)
	got, err := b.provider.Finish(t.Context(), a, query)
	require.NoError(t, err)
	require.NotEmpty(t, got.IDToken)
	got.IDToken = ""
	require.Equal(t, Identity{
		Provider: "sso", Issuer: b.server.Issuer(), Subject: "grace", Name: "Grace Hopper", Email: "grace@example.test", Groups: []string{"a", "b"}, Mapped: true,
	}, got)

	_, err = b.provider.Finish(t.Context(), a, query)
	require.True(t, apperr.Is(err, apperr.Unauthenticated), "a code works once: %v", err)

	b.server.QueueUser(&mockoidc.MockUser{Subject: "ada", PreferredUsername: "ada", Groups: []string{"ml-admins"}})
	a, query = b.begin(t)
	got, err = b.provider.Finish(t.Context(), a, query)
	require.NoError(t, err)
	require.True(t, got.Admin)
}

// TestAnswersOfOthers: an answer to another attempt is refused with a readable message.
func TestAnswersOfOthers(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for name, spoil := range map[string]func(a *Attempt, q url.Values){
		"no state":         func(_ *Attempt, q url.Values) { q.Del("state") },
		"another state":    func(_ *Attempt, q url.Values) { q.Set("state", "forged") },
		"no attempt":       func(a *Attempt, _ url.Values) { *a = Attempt{} },
		"another provider": func(a *Attempt, _ url.Values) { a.Provider = "partner" },
		"too late":         func(a *Attempt, _ url.Values) { a.Begun = a.Begun.Add(-AttemptTTL) },
		"another issuer":   func(_ *Attempt, q url.Values) { q.Set("iss", "https://evil.example") },
		"no code":          func(_ *Attempt, q url.Values) { q.Del("code") },
		"another code":     func(_ *Attempt, q url.Values) { q.Set("code", "forged") },
		"another verifier": func(a *Attempt, _ url.Values) { a.Verifier = strings.Repeat("v", 43) },
		"another nonce":    func(a *Attempt, _ url.Values) { a.Nonce = "forged" },
		"cancelled":        func(_ *Attempt, q url.Values) { q.Set("error", "access_denied") },
		"not registered": func(_ *Attempt, q url.Values) {
			q.Set("error", "unauthorized_client")
			q.Set("error_description", "<b>call 555-1234</b>")
		},
	} {
		a, query := b.begin(t)
		spoil(&a, query)
		_, err := b.provider.Finish(t.Context(), a, query)
		require.True(t, apperr.Is(err, apperr.Unauthenticated), "%s: %v", name, err)
		require.NotContains(t, apperr.MessageOf(err), "555", name)
		require.True(t, strings.HasSuffix(apperr.MessageOf(err), "."), name)
	}
}

func TestIDTokens(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for name, spoil := range map[string]func(c jwt.MapClaims){
		"another audience": func(c jwt.MapClaims) { c["aud"] = "another" },
		"another issuer":   func(c jwt.MapClaims) { c["iss"] = "https://evil.example" },
		"expired":          func(c jwt.MapClaims) { c["exp"] = b.now.Add(-time.Second).Unix() },
		"no nonce":         func(c jwt.MapClaims) { delete(c, "nonce") },
		"no audience":      func(c jwt.MapClaims) { delete(c, "aud") },
		"good":             func(jwt.MapClaims) {},
	} {
		b.claims = nil
		a, query := b.begin(t)
		claims := b.goodClaims()
		claims["nonce"] = a.Nonce
		spoil(claims)
		b.claims = claims
		got, err := b.provider.Finish(t.Context(), a, query)
		if name == "good" {
			require.NoError(t, err)
			require.Equal(t, "Ada Lovelace", got.Name)
			continue
		}
		require.True(t, apperr.Is(err, apperr.Unauthenticated), "%s: %v", name, err)
	}
}

// TestBearerTokens: tokens of a provider are valid when they were issued for us.
func TestBearerTokens(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	client := b.server.Config().ClientID
	for name, tt := range map[string]struct {
		spoil func(c jwt.MapClaims)
		ok    bool
	}{
		"ID token":           {func(jwt.MapClaims) {}, true},
		"access token":       {func(c jwt.MapClaims) { c["aud"] = []string{"flowforge-api", "more"}; c["azp"] = "a-script" }, true},
		"another audience":   {func(c jwt.MapClaims) { c["aud"] = "another" }, false},
		"no audience":        {func(c jwt.MapClaims) { delete(c, "aud") }, false},
		"another's ID token": {func(c jwt.MapClaims) { c["aud"] = []string{client, "x"}; c["azp"] = "x" }, false},
		"logout token":       {func(c jwt.MapClaims) { c["events"] = map[string]any{"logout": map[string]any{}} }, false},
		"another issuer":     {func(c jwt.MapClaims) { c["iss"] = "https://evil.example" }, false},
		"expired":            {func(c jwt.MapClaims) { c["exp"] = b.now.Add(-time.Second).Unix() }, false},
		"not good yet":       {func(c jwt.MapClaims) { c["nbf"] = b.now.Add(time.Hour).Unix() }, false},
	} {
		claims := b.goodClaims()
		tt.spoil(claims)
		_, err := b.provider.verify(t.Context(), b.sign(claims))
		require.Equal(t, tt.ok, err == nil, "%s: %v", name, err)
	}
	token := b.sign(b.goodClaims())
	parts := strings.Split(token, ".")
	none := "eyJhbGciOiJub25lIn0." + parts[1] + "."
	for _, bad := range []string{token[:len(token)-4] + "AAAA", parts[0] + "." + parts[1] + ".", none} {
		_, err := b.provider.verify(t.Context(), bad)
		require.True(t, apperr.Is(err, apperr.Unauthenticated), bad)
	}
	issuer, ok := issuerOf(token)
	require.True(t, ok)
	require.Equal(t, b.server.Issuer(), issuer)
	for _, other := range []string{"", "a.b", "a.b.c", "ffk_x_y", "e30.e30.e30"} {
		_, ok := issuerOf(other)
		require.False(t, ok, other)
	}
}

// TestGroupsFromUserInfo: groups missing from the ID token come from UserInfo.
func TestGroupsFromUserInfo(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.GroupsClaim = "roles" })
	b.info = map[string]any{"sub": "ada", "roles": "ml-admins", "name": "Ada"}
	for _, tt := range []struct {
		sub string
		ok  bool
	}{{"ada", true}, {"another", false}} {
		b.info["sub"] = tt.sub
		b.claims = nil
		a, query := b.begin(t)
		b.claims = b.goodClaims()
		b.claims["nonce"] = a.Nonce
		delete(b.claims, "groups")
		got, err := b.provider.Finish(t.Context(), a, query)
		require.Equal(t, tt.ok, err == nil, "%v", err)
		if tt.ok {
			require.Equal(t, []string{"ml-admins"}, got.Groups)
			require.True(t, got.Admin)
		}
	}
}

// TestWordsOfAProvider: invisible characters are removed, and long texts are truncated.
func TestWordsOfAProvider(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Ada Lovelace", clean(" Ada\x00 Love\u0007lace\n", maxName))
	require.Equal(t, maxName, len([]rune(clean(strings.Repeat("é", 5000), maxName))))
	require.Equal(t, "sub-1", claims{Name: "\x00", Username: " "}.label("sub-1"))
	groups, told := groupsOf(map[string]any{"groups": []any{"b", "a\x00", 7, "", "b", strings.Repeat("x", 300), "a"}}, "groups")
	require.True(t, told)
	require.Equal(t, []string{"a", "b"}, groups)
	_, told = groupsOf(map[string]any{}, "groups")
	require.False(t, told)
}

// TestProviderAway: an unreachable provider is retried, without blocking anything else.
func TestProviderAway(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c := b.provider.cfg
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c.Issuer = "http://" + listener.Addr().String()
	require.NoError(t, listener.Close())
	away := b.open(t, c)
	require.False(t, away.Unreachable(), "it was not contacted yet")
	_, _, err = away.Begin(t.Context(), "/")
	require.True(t, apperr.Is(err, apperr.Unavailable))
	require.Contains(t, apperr.MessageOf(err), "Meridian SSO does not answer")
	require.True(t, away.Unreachable())

	require.ErrorIs(t, b.provider.Run(t.Context()), nil)
	require.False(t, b.provider.Unreachable())
	_, ok := b.provider.SignOutURL("hint", site+"/login")
	require.False(t, ok, "this provider does not offer it")
}

func TestConfig(t *testing.T) {
	t.Parallel()
	good := Config{Issuer: "https://login.example.com", ClientID: "forge"}
	for name, change := range map[string]func(c *Config){
		"no issuer": func(c *Config) { c.Issuer = "" }, "plain http": func(c *Config) { c.Issuer = "http://login.example.com" },
		"no client": func(c *Config) { c.ClientID = "" }, "bad id": func(c *Config) { c.ID = "a/b" }, "no file": func(c *Config) { c.ClientSecretFile = "/nowhere" },
	} {
		c := good
		change(&c)
		_, err := Complete([]Config{c})
		require.Error(t, err, name)
	}
	_, err := Complete([]Config{good, good})
	require.ErrorContains(t, err, "two sign-in providers")
	got, err := ParseFile([]byte("providers:\n  - {id: one, issuer: https://a.example, client_id: x, admin_groups: [admins]}\n  - {id: two, issuer: https://b.example, client_id: y}\n"))
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, []string{"admins"}, got[0].AdminGroups)
	_, err = ParseFile([]byte("providers:\n  - {id: one, isuer: https://a.example}\n"))
	require.ErrorContains(t, err, "isuer")
	require.NotContains(t, slog.AnyValue(Config{ClientSecret: "hunter2"}).Resolve().String(), "hunter2")
}
