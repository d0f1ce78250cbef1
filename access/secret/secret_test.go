package secret_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db/dbtest"
)

const value = "correct-horse-battery-staple"

// testBundle is a store with two projects.
type testBundle struct {
	pool    *pgxpool.Pool
	service *secret.Service
	admin   context.Context // of the team, in the local project
	dev     context.Context
	system  context.Context
	other   context.Context // of the team, in another project
	files   string
}

func key(b byte) []byte { return []byte(strings.Repeat(string(b), 32)) }

func keyring(t *testing.T, keys ...byte) secret.Keyring {
	t.Helper()
	var older [][]byte
	for _, k := range keys[1:] {
		older = append(older, key(k))
	}
	ring, err := secret.NewKeyring(key(keys[0]), older...)
	require.NoError(t, err)
	return ring
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	b := &testBundle{pool: dbtest.New(t), files: t.TempDir(), system: auth.AsSystem(context.Background())}
	b.service = secret.NewService(b.pool, keyring(t, 'a'), time.Now, secret.NewFiles(b.files),
		secret.NewEnvironment([]string{"FLOWFORGE_SECRET_WANDB_KEY=from-the-environment", "FLOWFORGE_SECRET_=x", "HOME=/", "FLOWFORGE_SECRET_EMPTY="}))
	as := func(role string, project uuid.UUID) context.Context {
		return auth.WithSubject(context.Background(), auth.Subject{
			ID: uuid.New(), Name: role, Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: project, Policy: auth.Everywhere(role),
		})
	}
	b.admin, b.dev = as(auth.TeamAdmin, auth.LocalProject), as(auth.ProjectDev, auth.LocalProject)
	other := uuid.New()
	_, err := b.pool.Exec(b.admin, `INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, namespace)
		SELECT $1::uuid, 'project', id, kind, tenant_id, path || $1::uuid, 'other', 'other' FROM tenancy_nodes WHERE id = $2`, other, auth.LocalTeam)
	require.NoError(t, err)
	b.other = as(auth.TeamAdmin, other)
	return b
}

func TestASecretIsKeptSealed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	kept, err := b.service.Put(b.admin, secret.Edit{Name: "tracker", Value: value, Description: "of the team", Create: true})
	require.NoError(t, err)
	require.Equal(t, "TeamAdmin", kept.CreatedBy)
	require.True(t, kept.Editable())

	got, err := b.service.Reveal(b.system, auth.LocalProject, "tracker")
	require.NoError(t, err)
	require.Equal(t, value, got)
	var dump string
	require.NoError(t, b.pool.QueryRow(b.admin, `SELECT string_agg(s::text, ' ') || (SELECT string_agg(a::text, ' ') FROM audit_log a) FROM secrets s`).Scan(&dump))
	require.Contains(t, dump, "tracker")
	require.Contains(t, dump, "secret.create")
	for _, form := range []string{value, fmt.Sprintf("%x", value)} {
		require.NotContains(t, dump, form)
	}
	require.NotContains(t, fmt.Sprintf("%+v", kept), value)
}

func TestSecretsBelongToTheirProject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.service.Put(b.admin, secret.Edit{Name: "tracker", Value: value})
	require.NoError(t, err)
	require.True(t, has(t)(b.service.Exists(b.dev, "tracker")))
	require.False(t, has(t)(b.service.Exists(b.other, "tracker")))
	_, err = b.service.Get(b.other, "tracker")
	require.True(t, apperr.Is(err, apperr.NotFound))
	require.True(t, apperr.Is(b.service.Delete(b.other, "tracker"), apperr.NotFound))
	subject, _ := auth.SubjectOf(b.other)
	_, err = b.service.Reveal(b.system, subject.ProjectID, "tracker")
	require.True(t, apperr.Is(err, apperr.NotFound))
	// A row that is moved to another project cannot be opened there.
	_, err = b.pool.Exec(b.admin, "UPDATE secrets SET project_id = $1", subject.ProjectID)
	require.NoError(t, err)
	_, err = b.service.Reveal(b.system, subject.ProjectID, "tracker")
	require.Error(t, err)
}

func TestWhoMayWhat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.service.Put(b.dev, secret.Edit{Name: "tracker", Value: value})
	require.True(t, apperr.Is(err, apperr.Forbidden))
	require.True(t, apperr.Is(b.service.Delete(b.dev, "tracker"), apperr.Forbidden))
	for name, ctx := range map[string]context.Context{
		"a developer": b.dev, "the installation's administrator": auth.WithSubject(context.Background(), auth.Local()),
		"a task": auth.WithSubject(context.Background(), auth.ForTask(auth.TaskScope{ProjectID: auth.LocalProject})), "nobody": context.Background(),
	} {
		_, err := b.service.Reveal(ctx, auth.LocalProject, "tracker")
		require.True(t, apperr.Is(err, apperr.Forbidden), name)
	}
	_, err = b.service.List(context.Background())
	require.True(t, apperr.Is(err, apperr.Unauthenticated))
}

func TestReplaceAndDelete(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.service.Put(b.admin, secret.Edit{Name: "tracker", Value: value, Create: true})
	require.NoError(t, err)
	_, err = b.service.Put(b.admin, secret.Edit{Name: "tracker", Value: "another", Create: true})
	require.True(t, apperr.Is(err, apperr.Conflict))
	_, err = b.service.Put(b.admin, secret.Edit{Name: "tracker", Value: "another"})
	require.NoError(t, err)
	got, err := b.service.Reveal(b.system, auth.LocalProject, "tracker")
	require.NoError(t, err)
	require.Equal(t, "another", got)
	require.NoError(t, b.service.NoteUse(b.system, auth.LocalProject, "train", uuid.New(), []string{"tracker"}))
	kept, err := b.service.Get(b.dev, "tracker")
	require.NoError(t, err)
	require.Equal(t, "train", kept.Uses[0].Workflow)
	require.NoError(t, b.service.Delete(b.admin, "tracker"))
	require.True(t, apperr.Is(b.service.Delete(b.admin, "tracker"), apperr.NotFound))
	require.False(t, has(t)(b.service.Exists(b.dev, "tracker")))
	var actions []string
	rows, err := b.pool.Query(b.admin, "SELECT action FROM audit_log ORDER BY id")
	require.NoError(t, err)
	for rows.Next() {
		var action string
		require.NoError(t, rows.Scan(&action))
		actions = append(actions, action)
	}
	require.Equal(t, []string{"secret.create", "secret.replace", "secret.delete"}, actions)
}

func TestWhatCannotBeKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, tt := range map[string]struct {
		edit  secret.Edit
		field string
	}{
		"no name": {secret.Edit{Value: value}, "name"}, "path": {secret.Edit{Name: "../x", Value: value}, "name"},
		"hidden": {secret.Edit{Name: ".x", Value: value}, "name"}, "slash": {secret.Edit{Name: "a/b", Value: value}, "name"},
		"no value": {secret.Edit{Name: "x"}, "value"}, "short": {secret.Edit{Name: "x", Value: "abc"}, "value"},
		"NUL": {secret.Edit{Name: "x", Value: "abc\x00def"}, "value"}, "bytes": {secret.Edit{Name: "x", Value: "abc\xffdef"}, "value"},
		"large": {secret.Edit{Name: "x", Value: strings.Repeat("x", secret.MaxValue+1)}, "value"},
		"talk":  {secret.Edit{Name: "x", Value: value, Description: strings.Repeat("x", 301)}, "description"},
	} {
		_, err := b.service.Put(b.admin, tt.edit)
		require.True(t, apperr.Is(err, apperr.Invalid), name)
		require.Equal(t, tt.field, apperr.FieldsOf(err)[0].Path, name)
		if len(tt.edit.Value) > 3 {
			require.NotContains(t, err.Error(), tt.edit.Value, name)
		}
	}
}

func TestProviders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	write := func(name, text string) {
		path := filepath.Join(b.files, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("shared", "for everybody\n")
	write("other/own", "for one project\n")
	write("other/shared", "its own\n")
	write("huge", strings.Repeat("x", secret.MaxValue+1))
	require.NoError(t, os.Symlink("/etc/hostname", filepath.Join(b.files, "link")))

	subject, _ := auth.SubjectOf(b.other)
	for _, tt := range []struct {
		project     uuid.UUID
		name, value string
	}{
		{auth.LocalProject, "shared", "for everybody"}, {subject.ProjectID, "shared", "its own"}, {subject.ProjectID, "own", "for one project"},
		{auth.LocalProject, "wandb-key", "from-the-environment"}, {auth.LocalProject, "WANDB_KEY", "from-the-environment"},
	} {
		got, err := b.service.Reveal(b.system, tt.project, tt.name)
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.value, got)
	}
	for _, name := range []string{"own", "link", "huge", "other", "../shared", "absent", "empty"} {
		exists, _ := b.service.Exists(b.dev, name) // an error for files that cannot be read
		require.False(t, exists, name)
	}
	list, err := b.service.List(b.dev)
	require.NoError(t, err)
	var names []string
	for _, s := range list {
		require.False(t, s.Editable())
		names = append(names, s.Name)
	}
	require.Equal(t, []string{"huge", "shared", "wandb-key"}, names)

	_, err = b.service.Put(b.admin, secret.Edit{Name: "shared", Value: "the project's", Create: true})
	require.NoError(t, err, "a project may have its own secret of the same name")
	got, err := b.service.Reveal(b.system, auth.LocalProject, "shared")
	require.NoError(t, err)
	require.Equal(t, "the project's", got)
}

func TestKeysAreReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.service.Put(b.admin, secret.Edit{Name: "tracker", Value: value})
	require.NoError(t, err)

	lost := secret.NewService(b.pool, keyring(t, 'b'), time.Now)
	n, err := lost.Reseal(b.system)
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = lost.Reveal(b.system, auth.LocalProject, "tracker")
	require.True(t, apperr.Is(err, apperr.Unavailable))
	require.ErrorIs(t, err, secret.ErrKeyMissing)

	replaced := secret.NewService(b.pool, keyring(t, 'b', 'a'), time.Now)
	n, err = replaced.Reseal(b.system)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = b.service.Reveal(b.system, auth.LocalProject, "tracker")
	require.Error(t, err, "the old key no longer opens any value")
	got, err := lost.Reveal(b.system, auth.LocalProject, "tracker")
	require.NoError(t, err)
	require.Equal(t, value, got)
}

func TestAKeyringShowsNothing(t *testing.T) {
	t.Parallel()
	ring := keyring(t, 'a')
	var text strings.Builder
	slog.New(slog.NewTextHandler(&text, nil)).Info("starting", "keys", ring)
	require.NotContains(t, text.String(), "aaaa")
	_, err := secret.NewKeyring([]byte("short"))
	require.Error(t, err)
}

// has returns the answer of a lookup, which must not fail.
func has(t *testing.T) func(bool, error) bool {
	t.Helper()
	return func(exists bool, err error) bool {
		t.Helper()
		require.NoError(t, err)
		return exists
	}
}
