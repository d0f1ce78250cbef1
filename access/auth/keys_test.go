package auth

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// key stores a new key of a user and returns it.
func (b *signBundle) key(t *testing.T, user uuid.UUID, change func(*db.InsertAPIKeyParams)) NewKey {
	t.Helper()
	made := b.keys.Make()
	row := db.InsertAPIKeyParams{ID: made.ID, UserID: user, Name: "ci", SecretHmac: made.MAC, Scopes: []string{}, CreatedAt: b.now, CreatedBy: user}
	if change != nil {
		change(&row)
	}
	require.NoError(t, db.New(b.pool).InsertAPIKey(b.ctx, row))
	return made
}

func TestKeys(t *testing.T) {
	t.Parallel()
	b := setupSignIn(t)
	user := b.member(t, ProjectDev)
	key := b.key(t, user, nil)
	require.Regexp(t, `^ffk_[a-z0-9]{12}_[A-Z2-7]{52}$`, key.Token)
	s, err := b.keys.Verify(b.ctx, key.Token)
	require.NoError(t, err)
	require.Equal(t, user, s.ID)
	require.Equal(t, "key:"+key.ID, s.Credential)
	require.Equal(t, LocalProject, s.ProjectID)
	require.True(t, s.May(ExecutionLaunch, LocalProject))

	_, err = b.keys.Verify(b.ctx, "eyJ.another.kind")
	require.ErrorIs(t, err, ErrOtherToken)
	other := b.key(t, user, nil)
	mixed := "ffk_" + key.ID + "_" + strings.Split(other.Token, "_")[2]
	for _, bad := range []string{"ffk_", "ffk_x", key.Token + "A", key.Token[:len(key.Token)-1], mixed, strings.ToLower(key.Token), "ffk_" + key.ID} {
		_, err := b.keys.Verify(b.ctx, bad)
		require.True(t, apperr.Is(err, apperr.Unauthenticated), bad)
	}
	peppered, err := NewKeys(b.pool, b.users, []byte(strings.Repeat("p", 32)), time.Now)
	require.NoError(t, err)
	_, err = peppered.Verify(b.ctx, key.Token)
	require.True(t, apperr.Is(err, apperr.Unauthenticated), "the database alone is not sufficient")

	_, err = db.New(b.pool).RevokeAPIKey(b.ctx, &b.now, key.ID)
	require.NoError(t, err)
	_, err = b.keys.Verify(b.ctx, key.Token)
	require.True(t, apperr.Is(err, apperr.Unauthenticated), "a revoked key")
	b.exec(t, "UPDATE users SET disabled_at = now() WHERE id = $1", user)
	_, err = b.keys.Verify(b.ctx, other.Token)
	require.True(t, apperr.Is(err, apperr.Unauthenticated), "a key of a disabled user")
}

func TestKeyExpiryAndUse(t *testing.T) {
	t.Parallel()
	b := setupSignIn(t)
	user := b.member(t, Viewer)
	started, end := b.now, b.now.Add(time.Hour)
	key := b.key(t, user, func(r *db.InsertAPIKeyParams) { r.ExpiresAt = &end })
	used := func() time.Time {
		rows, err := db.New(b.pool).ListAPIKeys(b.ctx, user, []uuid.UUID{})
		require.NoError(t, err)
		require.NotNil(t, rows[0].LastUsedAt)
		require.Equal(t, "192.0.2.7", rows[0].LastUsedAddress)
		return rows[0].LastUsedAt.UTC()
	}
	for _, step := range []struct{ after, want time.Duration }{{0, 0}, {59 * time.Second, 0}, {time.Minute, time.Minute}} {
		b.now = started.Add(step.after)
		_, err := b.keys.Verify(b.ctx, key.Token)
		require.NoError(t, err)
		require.Equal(t, started.Add(step.want), used())
	}
	b.now = end
	_, err := b.keys.Verify(b.ctx, key.Token)
	require.True(t, apperr.Is(err, apperr.Unauthenticated))
	require.Contains(t, err.Error(), "expired")
}

// TestKeyScopes: a scope removes all permissions that it does not name, from administrators
// too.
func TestKeyScopes(t *testing.T) {
	t.Parallel()
	b := setupSignIn(t)
	other := b.project(t, "other")
	for _, tt := range []struct {
		scopes     []string
		may, mayNo []Action
	}{
		{[]string{ScopeRead}, []Action{WorkflowRead, LogRead, AuditRead}, []Action{ExecutionLaunch, WorkflowWrite, Administer}},
		{[]string{ScopeLaunch}, []Action{WorkflowRead, ExecutionLaunch, ArtifactWrite}, []Action{WorkflowWrite, MemberWrite, Administer}},
		{[]string{ScopeWrite}, []Action{ExecutionLaunch, WorkflowWrite, TypeWrite}, []Action{MemberWrite, QuotaWrite, SecretWrite, Administer}},
		{[]string{ScopeAdmin}, []Action{QuotaWrite, MemberWrite, Administer}, nil},
		{[]string{}, []Action{QuotaWrite, Administer}, nil},
	} {
		key := b.key(t, LocalAdmin, func(r *db.InsertAPIKeyParams) { r.Scopes = tt.scopes })
		s, err := b.keys.Verify(b.ctx, key.Token)
		require.NoError(t, err)
		for _, a := range tt.may {
			require.True(t, s.May(a, LocalProject) && s.May(a, other), "%v %s", tt.scopes, a)
		}
		for _, a := range tt.mayNo {
			require.False(t, s.May(a, LocalProject), "%v %s", tt.scopes, a)
			if a != Administer {
				_, err := AuthorizeIn(WithSubject(b.ctx, s), a, LocalProject, errors.New("absent"))
				require.ErrorContains(t, err, "The scopes of this API key ("+tt.scopes[0]+") do not allow this.")
			}
		}
	}
	key := b.key(t, LocalAdmin, func(r *db.InsertAPIKeyParams) { r.ProjectID = &other })
	s, err := b.keys.Verify(b.ctx, key.Token)
	require.NoError(t, err)
	require.Equal(t, other, s.ProjectID)
	require.True(t, s.May(ExecutionLaunch, other))
	require.False(t, s.May(WorkflowRead, LocalProject))
	require.False(t, s.May(Administer, Installation))

	viewer := b.key(t, b.member(t, Viewer), func(r *db.InsertAPIKeyParams) { r.Scopes = []string{ScopeAdmin} })
	s, err = b.keys.Verify(b.ctx, viewer.Token)
	require.NoError(t, err)
	require.False(t, s.May(ExecutionLaunch, LocalProject), "a scope grants no permissions beyond its owner's")
}

// TestScopesGrow: each scope includes the previous one, and every action of a role is
// in one of them.
func TestScopesGrow(t *testing.T) {
	t.Parallel()
	scopes := Scopes()
	for i := 1; i < len(scopes)-1; i++ {
		for _, a := range scopes[i-1].Actions {
			require.Contains(t, scopes[i].Actions, a)
		}
	}
	require.Nil(t, scopes[len(scopes)-1].Actions)
	for _, g := range Grants() {
		for _, a := range g.Actions {
			if a == a.reading() {
				require.True(t, slices.Contains(scopes[0].Actions, a), "%s is not in the scope read", a)
			}
		}
	}
	require.Error(t, CheckScopes([]string{"everything"}))
}

func TestSealer(t *testing.T) {
	t.Parallel()
	s, err := NewSealer([]byte("0123456789abcdef0123456789abcdef"))
	require.NoError(t, err)
	sealed := s.Seal("a", "text")
	text, err := s.Open("a", sealed)
	require.NoError(t, err)
	require.Equal(t, "text", text)
	require.NotEqual(t, sealed, s.Seal("a", "text"))
	for purpose, bad := range map[string]string{"b": sealed, "a": sealed[:len(sealed)-2] + "AA", "c": "", "d": "!"} {
		_, err := s.Open(purpose, bad)
		require.True(t, apperr.Is(err, apperr.Invalid))
	}
	_, err = NewSealer([]byte("short"))
	require.Error(t, err)
}
