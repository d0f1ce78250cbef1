package oidc

import (
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth/oidc/oidctest"
	"github.com/flowforge/flowforge/apperr"
)

const site = "http://127.0.0.1:8080"

// testBundle is an OpenID provider and a client of it with a manual clock.
type testBundle struct {
	server   *oidctest.Provider
	provider *Provider
	now      time.Time
}

func setup(t *testing.T, change func(*Config)) *testBundle {
	t.Helper()
	b := &testBundle{now: time.Now(), server: oidctest.New(t)}
	c := Config{
		ID: "sso", Name: "Meridian SSO", Issuer: b.server.Issuer, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret,
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

// goodClaims returns the claims of a valid token.
func (b *testBundle) goodClaims() map[string]any {
	return map[string]any{
		"iss": b.server.Issuer, "sub": "ada", "aud": []string{oidctest.ClientID}, "iat": b.now.Unix(), "exp": b.now.Add(time.Minute).Unix(),
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
	b.server.SignIn(oidctest.Person{Subject: "grace", Email: "grace@example.test", Name: "Grace Hopper", Groups: []string{"b", "a", "b"}})
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
		Provider: "sso", Issuer: b.server.Issuer, Subject: "grace", Name: "Grace Hopper", Email: "grace@example.test", Groups: []string{"a", "b"}, Mapped: true,
	}, got)

	_, err = b.provider.Finish(t.Context(), a, query)
	require.True(t, apperr.Is(err, apperr.Unauthenticated), "a code works once: %v", err)

	b.server.SignIn(oidctest.Person{Subject: "ada", Name: "ada", Groups: []string{"ml-admins"}})
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
	for name, spoil := range map[string]func(c map[string]any){
		"another audience": func(c map[string]any) { c["aud"] = "another" },
		"another issuer":   func(c map[string]any) { c["iss"] = "https://evil.example" },
		"expired":          func(c map[string]any) { c["exp"] = b.now.Add(-time.Second).Unix() },
		"no nonce":         func(c map[string]any) { delete(c, "nonce") },
		"no audience":      func(c map[string]any) { delete(c, "aud") },
		"good":             func(map[string]any) {},
	} {
		b.server.Claims = nil
		a, query := b.begin(t)
		claims := b.goodClaims()
		claims["nonce"] = a.Nonce
		spoil(claims)
		b.server.Claims = claims
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
	client := oidctest.ClientID
	for name, tt := range map[string]struct {
		spoil func(c map[string]any)
		ok    bool
	}{
		"ID token":           {func(map[string]any) {}, true},
		"access token":       {func(c map[string]any) { c["aud"] = []string{"flowforge-api", "more"}; c["azp"] = "a-script" }, true},
		"another audience":   {func(c map[string]any) { c["aud"] = "another" }, false},
		"no audience":        {func(c map[string]any) { delete(c, "aud") }, false},
		"another's ID token": {func(c map[string]any) { c["aud"] = []string{client, "x"}; c["azp"] = "x" }, false},
		"logout token":       {func(c map[string]any) { c["events"] = map[string]any{"logout": map[string]any{}} }, false},
		"another issuer":     {func(c map[string]any) { c["iss"] = "https://evil.example" }, false},
		"expired":            {func(c map[string]any) { c["exp"] = b.now.Add(-time.Second).Unix() }, false},
		"not good yet":       {func(c map[string]any) { c["nbf"] = b.now.Add(time.Hour).Unix() }, false},
	} {
		claims := b.goodClaims()
		tt.spoil(claims)
		_, err := b.provider.verify(t.Context(), b.server.Sign(claims))
		require.Equal(t, tt.ok, err == nil, "%s: %v", name, err)
	}
	token := b.server.Sign(b.goodClaims())
	parts := strings.Split(token, ".")
	none := "eyJhbGciOiJub25lIn0." + parts[1] + "."
	for _, bad := range []string{token[:len(token)-4] + "AAAA", parts[0] + "." + parts[1] + ".", none} {
		_, err := b.provider.verify(t.Context(), bad)
		require.True(t, apperr.Is(err, apperr.Unauthenticated), bad)
	}
	issuer, ok := issuerOf(token)
	require.True(t, ok)
	require.Equal(t, b.server.Issuer, issuer)
	for _, other := range []string{"", "a.b", "a.b.c", "ffk_x_y", "e30.e30.e30"} {
		_, ok := issuerOf(other)
		require.False(t, ok, other)
	}
}

// TestGroupsFromUserInfo: groups missing from the ID token come from UserInfo.
func TestGroupsFromUserInfo(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.GroupsClaim = "roles" })
	b.server.Info = map[string]any{"sub": "ada", "roles": "ml-admins", "name": "Ada"}
	for _, tt := range []struct {
		sub string
		ok  bool
	}{{"ada", true}, {"another", false}} {
		b.server.Info["sub"] = tt.sub
		b.server.Claims = nil
		a, query := b.begin(t)
		b.server.Claims = b.goodClaims()
		b.server.Claims["nonce"] = a.Nonce
		delete(b.server.Claims, "groups")
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
	require.Len(t, []rune(clean(strings.Repeat("é", 5000), maxName)), maxName)
	require.Equal(t, "sub-1", claims{Name: "\x00", Username: " "}.label("sub-1"))
	groups, present := groupsOf(map[string]any{"groups": []any{"b", "a\x00", 7, "", "b", strings.Repeat("x", 300), "a"}}, "groups")
	require.True(t, present)
	require.Equal(t, []string{"a", "b"}, groups)
	_, present = groupsOf(map[string]any{}, "groups")
	require.False(t, present)
}

// TestUnreachableProvider: an unreachable provider is retried, without blocking anything else.
func TestUnreachableProvider(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	c := b.provider.cfg
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c.Issuer = "http://" + listener.Addr().String()
	require.NoError(t, listener.Close())
	unreachable := b.open(t, c)
	require.False(t, unreachable.Unreachable(), "it was not contacted yet")
	_, _, err = unreachable.Begin(t.Context(), "/")
	require.True(t, apperr.Is(err, apperr.Unavailable))
	require.Contains(t, apperr.MessageOf(err), "Meridian SSO is not responding")
	require.True(t, unreachable.Unreachable())

	require.NoError(t, b.provider.Run(t.Context()))
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
