package secretstore_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/access/secretstore"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db/dbtest"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// TestRotationIsSeenByTheNextAttempt rotates a file as Kubernetes does, by a link in the folder.
func TestRotationIsSeenByTheNextAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "v1", "db"), value+"\n")
	write(t, filepath.Join(dir, "v2", "db"), `{"user": "me", "password": "rotated-value", "port": 5432}`)
	require.NoError(t, os.Symlink("v1", filepath.Join(dir, "data")))
	b.register(t, secretstore.File, values{"directory": dir})
	b.refer(t, "data/db", "", "")
	b.requireValue(t, value)
	recent, err := b.secrets.Reveal(b.system, auth.LocalProject, "tracker")
	require.NoError(t, err)
	require.Equal(t, value, recent)

	require.NoError(t, os.Remove(filepath.Join(dir, "data")))
	require.NoError(t, os.Symlink("v2", filepath.Join(dir, "data")))
	b.refer(t, "data/db", "password", "")
	b.requireValue(t, "rotated-value")
	b.refer(t, "data/db", "port", "")
	b.requireValue(t, "5432")
	b.requireNoTrace(t, value, "rotated-value")

	s, err := b.secrets.Get(b.team, "tracker")
	require.NoError(t, err)
	require.Equal(t, &secret.Reference{Store: "managed", Path: "data/db", Key: "port"}, s.Reference)
	_, err = b.secrets.Put(b.team, secret.Edit{Name: "tracker", Value: "stored-instead"})
	require.NoError(t, err)
	b.requireValue(t, "stored-instead")
}

func TestFilesStayInTheirFolder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	outside, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "key"), value)
	write(t, filepath.Join(dir, "short"), "abc")
	write(t, filepath.Join(dir, "empty"), "")
	write(t, filepath.Join(dir, "bytes"), "\xff\xfe\xfd\xfc")
	write(t, filepath.Join(dir, "text"), "plain text")
	require.NoError(t, os.Symlink(filepath.Join(outside, "key"), filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "folder")))
	b.register(t, secretstore.File, values{"directory": dir})
	for path, want := range map[string]string{
		"link": "without a link that leads out of it", "folder/key": "without a link that leads out of it", "absent": "does not exist", "short": "cannot be masked",
		"empty": "the value is empty", "bytes": "not text",
	} {
		b.refer(t, path, "", "")
		_, err := b.attempt()
		require.True(t, apperr.Is(err, apperr.Conflict), path)
		require.ErrorContains(t, err, want)
		message := apperr.MessageOf(err)
		require.Contains(t, message, `The secret "tracker" has no value. The secret store "managed" did not return the path `+path)
		require.NotContains(t, message, dir)
		require.NotContains(t, err.Error(), value)
	}
	b.refer(t, "text", "member", "")
	_, err := b.attempt()
	require.ErrorContains(t, err, "not a JSON object")
	for _, path := range []string{"../key", "a/../../key", "/etc/passwd", "a//b", "", ".", `a\b`, "a\x00b"} {
		_, err := b.secrets.Put(b.team, secret.Edit{Name: "tracker", Reference: &secret.Reference{Store: "managed", Path: path}})
		require.True(t, apperr.Is(err, apperr.Invalid), path)
		require.Equal(t, "path", apperr.FieldsOf(err)[0].Path)
	}
}

func TestFoldersAndVariablesOfTheServerStayPrivate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	data := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(data, link))
	b.config.Private = []string{data}
	b.use(b.config, b.config.Keys)
	for _, dir := range []string{"", "/", "relative", data, data + "/secrets", filepath.Dir(data), link, "/proc/self", "/etc/../proc"} {
		_, err := b.stores.Put(b.admin, secretstore.Edit{Name: "managed", Kind: secretstore.File, Values: values{"directory": dir, "projects": "*"}})
		require.True(t, apperr.Is(err, apperr.Invalid), dir)
	}
	for _, prefix := range []string{"", "F", "FLOW", "FLOWFORGE_", "flowforge_secret", "A-B"} {
		_, err := b.stores.Put(b.admin, secretstore.Edit{Name: "managed", Kind: secretstore.Environment, Values: values{"variables": prefix, "projects": "*"}})
		require.True(t, apperr.Is(err, apperr.Invalid), prefix)
	}
	b.register(t, secretstore.Environment, values{"variables": "TEAM_"})
	b.refer(t, "TRACKER", "", "")
	b.requireValue(t, value)
	b.refer(t, "ABSENT", "", "")
	_, err := b.attempt()
	require.ErrorContains(t, err, "no such variable")
}

// TestAPrefixSeparatesNamespaces: the paths of vision must not be those of vision-2.
func TestAPrefixSeparatesNamespaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	put := func(prefix string) error {
		_, err := b.stores.Put(b.admin, secretstore.Edit{Name: "managed", Kind: secretstore.Environment, Values: values{"variables": "TEAM_", "prefix": prefix, "projects": "*"}})
		return err
	}
	for _, prefix := range []string{"{namespace}", "a/{namespace}", "{namespace}-", "{namespace}x/", "{namespace}/{namespace}", "{namespace}{namespace}/"} {
		err := put(prefix)
		require.True(t, apperr.Is(err, apperr.Invalid), prefix)
		require.Equal(t, "values.prefix", apperr.FieldsOf(err)[0].Path)
		require.Contains(t, apperr.FieldsOf(err)[0].Message, "Continue after {namespace}")
	}
	for _, prefix := range []string{"", "shared", "{namespace}/", "{namespace}_", "a/{namespace}.b/{namespace}/"} {
		require.NoError(t, put(prefix), prefix)
	}
}

func TestWhoMayUseStores(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "other", "db"), value)
	v := values{"directory": dir, "prefix": "{namespace}/", "projects": "other"}
	for name, ctx := range map[string]context.Context{"team administrator": b.team, "anonymous": context.Background()} {
		_, err := b.stores.Put(ctx, secretstore.Edit{Name: "managed", Kind: secretstore.File, Values: v})
		require.Error(t, err, name)
		_, err = b.stores.List(ctx)
		require.Error(t, err, name)
		_, err = b.stores.Test(ctx, "managed", secret.Reference{})
		require.Error(t, err, name)
		require.Error(t, b.stores.Delete(ctx, "managed"), name)
		_, err = b.stores.Read(ctx, secret.Owner{Namespace: "other"}, secret.Reference{Store: "managed", Path: "other/db"}, 0)
		require.Error(t, err, name)
		_, err = b.secrets.RevealNow(ctx, auth.LocalProject, "tracker")
		require.True(t, apperr.Is(err, apperr.Forbidden), name)
	}
	b.register(t, secretstore.File, v)
	offered, err := b.stores.Offered(b.other)
	require.NoError(t, err)
	require.Equal(t, []secretstore.Offered{{Name: "managed", Kind: "file", Prefix: "other/"}}, offered)
	offered, err = b.stores.Offered(b.team)
	require.NoError(t, err)
	require.Empty(t, offered)

	put := func(ctx context.Context, path string) error {
		_, err := b.secrets.Put(ctx, secret.Edit{Name: "tracker", Reference: &secret.Reference{Store: "managed", Path: path}})
		return err
	}
	require.ErrorContains(t, put(b.team, "other/db"), "The secret has invalid values.")
	require.Equal(t, "store", apperr.FieldsOf(put(b.team, "other/db"))[0].Path)
	require.Equal(t, "path", apperr.FieldsOf(put(b.other, "team/db"))[0].Path)
	require.NoError(t, put(b.other, "other/db"))
	subject, _ := auth.SubjectOf(b.other)
	got, err := b.secrets.RevealNow(b.system, subject.ProjectID, "tracker")
	require.NoError(t, err)
	require.Equal(t, value, got)
	exists, err := b.secrets.Exists(b.other, "tracker")
	require.NoError(t, err)
	require.True(t, exists)

	// A store that is no longer allowed stops at the next attempt, and one in use cannot be deleted.
	require.True(t, apperr.Is(b.stores.Delete(b.admin, "managed"), apperr.Conflict))
	b.register(t, secretstore.File, values{"directory": dir, "prefix": "{namespace}/", "projects": "ff-01900000000070008000000000000003"})
	_, err = b.secrets.RevealNow(b.system, subject.ProjectID, "tracker")
	require.ErrorContains(t, err, "does not allow")
	require.NoError(t, b.secrets.Delete(b.other, "tracker"))
	require.NoError(t, b.stores.Delete(b.admin, "managed"))
	_, err = b.stores.Put(b.admin, secretstore.Edit{Name: "managed", Kind: secretstore.File, Values: values{"directory": dir, "projects": "other\nabsent"}})
	require.Equal(t, "values.projects", apperr.FieldsOf(err)[0].Path)
}

// TestRegisteringNeedsOneConnection: with a second connection inside a transaction, concurrent changes could
// each hold one connection and wait for another.
func TestRegisteringNeedsOneConnection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	config := b.config
	config.Pool = dbtest.NewSingle(t, b.pool)
	ctx, cancel := context.WithTimeout(b.admin, 20*time.Second)
	defer cancel()
	_, err := secretstore.New(config).Put(ctx, secretstore.Edit{Name: "managed", Kind: secretstore.Environment, Values: values{"variables": "TEAM_", "projects": "other"}})
	require.NoError(t, err)
}
