package auth

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
)

func TestAuthorize(t *testing.T) {
	t.Parallel()
	member := Subject{ID: uuid.New(), Role: RoleUser, ProjectID: uuid.New(), Policy: Everywhere(ProjectDev)}
	tests := []struct {
		name    string
		subject *Subject
		action  Action
		want    apperr.Code
	}{
		{"nobody", nil, WorkflowRead, apperr.Unauthenticated},
		{"member reads", &member, WorkflowRead, ""},
		{"member registers a type", &member, TypeWrite, apperr.Forbidden},
		{"member reports for a task", &member, TaskReport, apperr.Forbidden},
		{"unknown action", &member, "x", apperr.Forbidden},
		{"task reports", new(ForTask(TaskScope{})), TaskReport, ""},
		{"task reads", new(ForTask(TaskScope{})), ExecutionRead, apperr.Forbidden},
		{"admin", new(Local()), Administer, ""},
		{"system", new(System()), TaskReport, ""},
		{"no role", &Subject{}, WorkflowRead, apperr.Forbidden},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			if tt.subject != nil {
				ctx = WithSubject(ctx, *tt.subject)
			}
			_, err := Authorize(ctx, tt.action)
			require.Equal(t, tt.want, apperr.CodeOf(err))
		})
	}
}

func TestAuthorizeOwner(t *testing.T) {
	t.Parallel()
	self, other, place := uuid.New(), uuid.New(), uuid.New()
	absent := apperr.New(apperr.NotFound, "absent")
	as := func(p Policy, owner uuid.UUID) error {
		ctx := WithSubject(context.Background(), Subject{ID: self, Role: RoleUser, Policy: p})
		_, err := AuthorizeOwner(ctx, ExecutionCancel, ExecutionCancelAny, place, owner, absent)
		return err
	}
	require.NoError(t, as(Everywhere(ProjectDev), self))
	require.True(t, apperr.Is(as(Everywhere(ProjectDev), other), apperr.Forbidden))
	require.True(t, apperr.Is(as(Everywhere(Viewer), self), apperr.Forbidden))
	require.NoError(t, as(Everywhere(TeamAdmin), other))
	require.ErrorIs(t, as(nil, self), absent)
}

func TestLoginLinks(t *testing.T) {
	t.Parallel()
	now := time.Now()
	links := NewLoginLinks(func() time.Time { return now })
	token := links.Issue()
	s, err := links.Redeem(token)
	require.NoError(t, err)
	require.Equal(t, RoleAdmin, s.Role)
	_, err = links.Redeem(token)
	require.True(t, apperr.Is(err, apperr.Unauthenticated), "a link works once")

	late := links.Issue()
	now = now.Add(LoginLinkTTL + time.Second)
	_, err = links.Redeem(late)
	require.True(t, apperr.Is(err, apperr.Unauthenticated))
}

func TestLocalTokenAndSecret(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "admin.token")
	first, err := LoadSecret(path)
	require.NoError(t, err)
	again, err := LoadSecret(path)
	require.NoError(t, err)
	require.Equal(t, first, again, "the secret survives a restart")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	chain := TokenChain{NewLocalToken(first)}
	_, err = chain.Verify(t.Context(), first)
	require.NoError(t, err)
	for _, bad := range []string{"", "x", first + "x"} {
		_, err := chain.Verify(t.Context(), bad)
		require.True(t, apperr.Is(err, apperr.Unauthenticated))
	}
}
