package handlers_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/data/artifact/s3test"
	"github.com/flowforge/flowforge/data/metaflow/datastore"
)

// testDatastores reads datastores below temporary folders.
func testDatastores(t testing.TB, b *testBundle, now func() time.Time) *datastore.Service {
	t.Helper()
	b.datastoreDir, b.datastoreRoot = t.TempDir(), t.TempDir()
	return datastore.NewService(datastore.Config{
		Pool: b.pool, Secrets: b.secrets, Now: now, Dir: b.datastoreDir, Roots: []string{b.datastoreRoot}, OwnHosts: true,
	})
}

const datastoreAPI = "/api/v1/metaflow/datastore"

// place is a datastore as the API answers it.
type place struct {
	Kind, Root, Endpoint string
	Own                  bool
	Environment          map[string]string
	Errors               []struct{ Path, Message string }
	Detail, Message      string
	OK                   bool
	Flows                []string
}

func (c *caller) datastore(t *testing.T, method, path, body string, status int) place {
	t.Helper()
	got := c.send(t, method, datastoreAPI+path, "application/json", body)
	require.Equal(t, status, got.status, got.body)
	var p place
	require.NoError(t, json.Unmarshal([]byte(got.body), &p), got.body)
	return p
}

func TestMetaflowDatastoreDefault(t *testing.T) {
	t.Parallel()
	b := setup(t)
	own := filepath.Join(b.datastoreDir, auth.LocalTenant.String(), auth.LocalProject.String())
	p := b.member.datastore(t, http.MethodGet, "", "", http.StatusOK)
	require.Equal(t, "local", p.Kind)
	require.Equal(t, own, p.Root)
	require.True(t, p.Own)
	require.Equal(t, map[string]string{
		"METAFLOW_DEFAULT_DATASTORE": "local", "METAFLOW_DATASTORE_SYSROOT_LOCAL": own, "METAFLOW_CARD_LOCALROOT": own + "/.metaflow/mf.cards",
	}, p.Environment)

	b.member.datastore(t, http.MethodPut, "", `{"kind": "local"}`, http.StatusForbidden)
	b.member.datastore(t, http.MethodPost, "/test", `{"kind": "local"}`, http.StatusForbidden)
	found := b.admin.datastore(t, http.MethodPost, "/test", `{"kind": "local"}`, http.StatusOK)
	require.True(t, found.OK)
	require.Contains(t, found.Message, "does not exist yet")
	require.NoError(t, os.MkdirAll(filepath.Join(own, ".metaflow", "Train"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(own, ".metaflow", "OfOthers"), 0o700))
	_, err := b.deps.Metaflow.CreateFlow(b.ctx, "Train", nil)
	require.NoError(t, err)
	found = b.admin.datastore(t, http.MethodPost, "/test", `{"kind": "local", "root": "`+own+`"}`, http.StatusOK)
	require.Equal(t, []string{"Train"}, found.Flows)
}

// TestMetaflowDatastoreFolders: administrators of the installation choose folders below the
// allowed ones, others do not.
func TestMetaflowDatastoreFolders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	team := b.signIn(t, b.person(t, "tea", auth.TeamAdmin, auth.LocalProject))
	inside := filepath.Join(b.datastoreRoot, "team")
	p := team.datastore(t, http.MethodPut, "", `{"kind": "local", "root": "`+inside+`"}`, http.StatusForbidden)
	require.Contains(t, p.Detail, "Only installation administrators")
	for _, root := range []string{"/etc", "team", b.datastoreRoot + "/../x", b.datastoreRoot + "2"} {
		p = b.admin.datastore(t, http.MethodPut, "", `{"kind": "local", "root": "`+root+`"}`, http.StatusUnprocessableEntity)
		require.Equal(t, "root", p.Errors[0].Path, root)
		require.Contains(t, p.Errors[0].Message, "FLOWFORGE_METAFLOW_ROOTS")
	}
	p = b.admin.datastore(t, http.MethodPut, "", `{"kind": "local", "root": "`+inside+`/"}`, http.StatusOK)
	require.Equal(t, inside, p.Root)
	require.False(t, p.Own)
	p = team.datastore(t, http.MethodPut, "", `{"kind": "local"}`, http.StatusOK)
	require.True(t, p.Own)

	changes, err := b.deps.Audit.List(b.ctx, audit.Filter{Kind: "metaflow_datastore"})
	require.NoError(t, err)
	require.Len(t, changes.Changes, 2)
	require.Contains(t, string(changes.Changes[0].Old), inside)
	require.Contains(t, string(changes.Changes[1].New), inside)
}

func TestMetaflowDatastoreS3(t *testing.T) {
	t.Parallel()
	b := setup(t)
	server := s3test.Start(t, "models")
	p := b.admin.datastore(t, http.MethodPut, "", `{"kind": "s3", "root": "models/x", "endpoint": "minio:9000", "region": "EU", "secret_key_secret": "none"}`, http.StatusUnprocessableEntity)
	fields := map[string]string{}
	for _, e := range p.Errors {
		fields[e.Path] += e.Message
	}
	require.Len(t, fields, 5)
	require.Contains(t, fields["root"], "s3://bucket/prefix")
	require.Contains(t, fields["endpoint"], "https://")
	require.Contains(t, fields["region"], "lower-case")
	require.Contains(t, fields["access_key_secret"], "access key ID")
	require.Contains(t, fields["secret_key_secret"], `no secret called "none"`)

	for name, value := range map[string]string{"s3-access": s3test.AccessKey, "s3-secret": s3test.SecretKey, "s3-wrong": "wrong-secret-value"} {
		_, err := b.secrets.Put(b.ctx, secret.Edit{Name: name, Value: value})
		require.NoError(t, err)
	}
	body := func(root, key string) string {
		return `{"kind": "s3", "root": "` + root + `", "endpoint": "` + server.Endpoint + `", "access_key_secret": "s3-access", "secret_key_secret": "` + key + `"}`
	}
	test := func(root, key string) place {
		return b.admin.datastore(t, http.MethodPost, "/test", body(root, key), http.StatusOK)
	}
	require.Contains(t, test("s3://models/metaflow", "s3-secret").Message, "It is empty")
	require.NoError(t, os.MkdirAll(filepath.Join(server.Dir, "models", "metaflow", "Train", "data"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(server.Dir, "models", "metaflow", "Train", "data", "x"), []byte("x"), 0o600))
	_, err := b.deps.Metaflow.CreateFlow(b.ctx, "Train", nil)
	require.NoError(t, err)
	require.Equal(t, []string{"Train"}, test("s3://models/metaflow/", "s3-secret").Flows)
	wrong := test("s3://models/metaflow", "s3-wrong")
	require.False(t, wrong.OK)
	require.Contains(t, wrong.Message, "rejected the credentials (SignatureDoesNotMatch)")
	require.Equal(t, `The bucket "missing" does not exist.`, test("s3://missing/metaflow", "s3-secret").Message)

	p = b.admin.datastore(t, http.MethodPut, "", body("s3://models/metaflow", "s3-secret"), http.StatusOK)
	require.Equal(t, map[string]string{
		"METAFLOW_DEFAULT_DATASTORE": "s3", "METAFLOW_DATASTORE_SYSROOT_S3": "s3://models/metaflow", "METAFLOW_S3_ENDPOINT_URL": server.Endpoint,
	}, b.member.datastore(t, http.MethodGet, "", "", http.StatusOK).Environment)
	require.NotContains(t, b.member.get(t, datastoreAPI).body, s3test.SecretKey)
	changes, err := b.deps.Audit.List(b.ctx, audit.Filter{Kind: "metaflow_datastore"})
	require.NoError(t, err)
	require.Len(t, changes.Changes, 5, "four tests and a change")
	require.Equal(t, "metaflow_datastore.test", changes.Changes[1].Action)
	used := b.member.get(t, "/api/v1/secrets/s3-wrong").object(t, http.StatusOK)["used_by"].([]any)
	require.Len(t, used, 1)
	require.Empty(t, used[0].(map[string]any)["workflow"])
	require.Empty(t, used[0].(map[string]any)["execution_id"])
	require.Contains(t, b.member.get(t, "/secrets/s3-secret").body, "Metaflow datastore")
	server.Stop()
	require.Contains(t, test("s3://models/metaflow", "s3-secret").Message, "cannot be reached")
	require.True(t, strings.HasPrefix(p.Root, "s3://"))
}
