package connection_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/outgoing"
	"github.com/flowforge/flowforge/db/dbtest"
)

const secretValue = "correct-horse-battery-staple"

// testBundle is a store with two projects.
type testBundle struct {
	pool    *pgxpool.Pool
	service *connection.Service
	admin   context.Context // of the team, in the local project
	dev     context.Context
	system  context.Context
	other   context.Context // of the team, in another project
}

func keyring(t *testing.T, keys ...byte) secret.Keyring {
	t.Helper()
	var all [][]byte
	for _, k := range keys {
		all = append(all, []byte(strings.Repeat(string(k), 32)))
	}
	ring, err := secret.NewKeyring(all[0], all[1:]...)
	require.NoError(t, err)
	return ring
}

func (b *testBundle) with(ring secret.Keyring) *connection.Service {
	return connection.NewService(connection.Config{Pool: b.pool, Keys: ring, Now: time.Now, Dialer: outgoing.Dialer{OwnHosts: true}})
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	b := &testBundle{pool: dbtest.New(t), system: auth.AsSystem(context.Background())}
	b.service = b.with(keyring(t, 'a'))
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

type values = map[string]any

func warehouse() connection.Edit {
	return connection.Edit{Name: "warehouse", Kind: "postgres", Description: "of the team",
		Values: values{"host": "db.example.com", "database": "sales", "user": "reader", "password": secretValue}}
}

func TestAConnectionIsKeptSealed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c, err := b.service.Put(b.admin, warehouse())
	require.NoError(t, err)
	require.Equal(t, []string{"password"}, c.Secrets)
	require.Equal(t, "5432", c.Text("port"), "the default")
	require.Equal(t, "require", c.Text("sslmode"))
	require.NotContains(t, fmt.Sprintf("%+v", c), secretValue)

	d, err := b.service.Document(b.system, auth.LocalProject, "warehouse")
	require.NoError(t, err)
	require.Equal(t, []string{"password", "url"}, d.Secrets)
	require.Empty(t, d.URL, "it has the password")
	url, err := b.service.Reveal(b.system, auth.LocalProject, "warehouse", "url")
	require.NoError(t, err)
	require.Equal(t, "postgresql://reader:"+secretValue+"@db.example.com:5432/sales?sslmode=require", url)

	// Visible fields change alone, and the audit log names secret ones.
	e := warehouse()
	e.Values = values{"host": "db.example.com", "database": "archive", "user": "reader"}
	c, err = b.service.Put(b.admin, e)
	require.NoError(t, err)
	require.Equal(t, "archive", c.Text("database"))
	got, err := b.service.Reveal(b.system, auth.LocalProject, "warehouse", "password")
	require.NoError(t, err)
	require.Equal(t, secretValue, got)
	e.Values["password"], e.Values["host"] = "another-password", "replica.example.com"
	_, err = b.service.Put(b.admin, e)
	require.NoError(t, err)
	e.Values["password"] = nil
	c, err = b.service.Put(b.admin, e)
	require.NoError(t, err)
	require.Empty(t, c.Secrets)
	require.NoError(t, b.service.Delete(b.admin, "warehouse"))

	var dump string
	require.NoError(t, b.pool.QueryRow(b.admin, `SELECT string_agg(a::text, ' ' ORDER BY id) FROM audit_log a`).Scan(&dump))
	for _, word := range []string{"connection.create", "connection.change", "connection.delete", "replica.example.com", "replaced"} {
		require.Contains(t, dump, word)
	}
	require.NotContains(t, dump, secretValue)
	require.NotContains(t, dump, "another-password")
}

// TestSecretsStayWithTheirHost: who changes the host enters the secret fields again, since the test
// sends them there.
func TestSecretsStayWithTheirHost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, tt := range map[string]struct {
		kind, secret, field string
		values              values
		same, other         []any
	}{
		"postgres":    {"postgres", "password", "host", values{"host": "db.example.com", "database": "d", "user": "u"}, []any{"DB.example.com"}, []any{"evil.example"}},
		"port":        {"postgres", "password", "port", values{"host": "db.example.com", "port": 5432, "database": "d", "user": "u"}, []any{nil}, []any{5433}},
		"s3":          {"s3", "secret_access_key", "endpoint", values{"bucket": "b", "access_key_id": "AKIA"}, []any{""}, []any{"https://evil.example"}},
		"huggingface": {"huggingface", "token", "endpoint", values{}, []any{"https://huggingface.co", "https://huggingface.co:443/x"}, []any{"https://evil.example", "http://huggingface.co"}},
		"http": {"http", "token", "base_url", values{"base_url": "https://api.example.com/v1", "authentication": "bearer"}, []any{"https://api.example.com/v2"},
			[]any{"https://api.example.com.evil.example/v1", "http://api.example.com/v1", "https://api.example.com:8443/v1"}},
		"token": {"http", "client_secret", "token_url", values{"base_url": "https://api.example.com", "authentication": "oauth2", "client_id": "me", "token_url": "https://login.example.com/token"},
			[]any{"https://login.example.com/v2/token"}, []any{"https://evil.example/token"}},
	} {
		put := func(change any, secret any) error {
			v := maps.Clone(tt.values)
			if v[tt.field] = change; secret != nil {
				v[tt.secret] = secret
			}
			_, err := b.service.Put(b.admin, connection.Edit{Name: name, Kind: tt.kind, Values: v})
			return err
		}
		require.NoError(t, put(tt.values[tt.field], secretValue), name)
		for _, same := range tt.same {
			require.NoError(t, put(same, nil), "%s: %v", name, same)
		}
		for _, other := range tt.other {
			err := put(other, nil)
			require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v: %v", name, other, err)
			require.Len(t, apperr.FieldsOf(err), 1, "%s: %v", name, other)
			require.Equal(t, "values."+tt.secret, apperr.FieldsOf(err)[0].Path)
			require.Contains(t, apperr.FieldsOf(err)[0].Message, "Enter the value again")
		}
		require.NoError(t, put(tt.other[0], "another-value"), name)
	}
}

func TestConnectionsBelongToTheirProject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.service.Put(b.admin, warehouse())
	require.NoError(t, err)
	require.True(t, has(t)(b.service.Exists(b.dev, "postgres", "warehouse")))
	require.True(t, has(t)(b.service.Exists(b.dev, "", "warehouse")))
	require.False(t, has(t)(b.service.Exists(b.dev, "s3", "warehouse")), "another kind")
	require.False(t, has(t)(b.service.Exists(b.other, "", "warehouse")))
	_, err = b.service.Get(b.other, "warehouse")
	require.True(t, apperr.Is(err, apperr.NotFound))
	_, err = b.service.Test(b.other, "warehouse")
	require.True(t, apperr.Is(err, apperr.NotFound))
	require.True(t, apperr.Is(b.service.Delete(b.other, "warehouse"), apperr.NotFound))
	subject, _ := auth.SubjectOf(b.other)
	_, err = b.service.Document(b.system, subject.ProjectID, "warehouse")
	require.True(t, apperr.Is(err, apperr.NotFound))

	// A row that is moved to another project, or renamed, cannot be opened there.
	_, err = b.pool.Exec(b.admin, "UPDATE connections SET name = 'moved'")
	require.NoError(t, err)
	_, err = b.service.Reveal(b.system, auth.LocalProject, "moved", "password")
	require.Error(t, err)
}

func TestWhoMayDoWhatWithConnections(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.service.Put(b.dev, warehouse())
	require.True(t, apperr.Is(err, apperr.Forbidden))
	_, err = b.service.Put(b.admin, warehouse())
	require.NoError(t, err)
	require.True(t, apperr.Is(b.service.Delete(b.dev, "warehouse"), apperr.Forbidden))
	_, err = b.service.Test(b.dev, "warehouse")
	require.True(t, apperr.Is(err, apperr.Forbidden))
	for name, ctx := range map[string]context.Context{
		"a developer": b.dev, "an administrator": b.admin, "the installation's administrator": auth.WithSubject(context.Background(), auth.Local()),
		"a task": auth.WithSubject(context.Background(), auth.ForTask(auth.TaskScope{ProjectID: auth.LocalProject})), "nobody": context.Background(),
	} {
		_, err := b.service.Reveal(ctx, auth.LocalProject, "warehouse", "password")
		require.True(t, apperr.Is(err, apperr.Forbidden), name)
		_, err = b.service.Document(ctx, auth.LocalProject, "warehouse")
		require.True(t, apperr.Is(err, apperr.Forbidden), name)
	}
	_, err = b.service.List(context.Background(), "")
	require.True(t, apperr.Is(err, apperr.Unauthenticated))
}

func TestWhatIsNoConnection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	change := func(with func(*connection.Edit)) connection.Edit {
		e := warehouse()
		with(&e)
		return e
	}
	custom := func(fields ...connection.Field) connection.Edit {
		return connection.Edit{Name: "own", Kind: "custom", Declared: fields, Values: values{}}
	}
	http := func(v values) connection.Edit { return connection.Edit{Name: "api", Kind: "http", Values: v} }
	for name, tt := range map[string]struct {
		edit connection.Edit
		path string
	}{
		"name":             {change(func(e *connection.Edit) { e.Name = "../x" }), "name"},
		"new":              {change(func(e *connection.Edit) { e.Name = "new" }), "name"},
		"kind":             {change(func(e *connection.Edit) { e.Kind = "oracle" }), "kind"},
		"no host":          {change(func(e *connection.Edit) { delete(e.Values, "host") }), "values.host"},
		"a host with port": {change(func(e *connection.Edit) { e.Values["host"] = "db:5432" }), "values.host"},
		"port":             {change(func(e *connection.Edit) { e.Values["port"] = 70000 }), "values.port"},
		"short password":   {change(func(e *connection.Edit) { e.Values["password"] = "abc" }), "values.password"},
		"a number":         {change(func(e *connection.Edit) { e.Values["password"] = 12345 }), "values.password"},
		"unknown field":    {change(func(e *connection.Edit) { e.Values["colour"] = "red" }), "values.colour"},
		"declared":         {change(func(e *connection.Edit) { e.Declared = []connection.Field{{Name: "a", Type: "String"}} }), "declared"},
		"no fields":        {custom(), "declared"},
		"reserved":         {custom(connection.Field{Name: "url", Type: "String"}), "declared[0]"},
		"twice":            {custom(connection.Field{Name: "a", Type: "String"}, connection.Field{Name: "a", Type: "String"}), "declared[1]"},
		"no such type":     {custom(connection.Field{Name: "a", Type: "Strin"}), "declared[0]"},
		"a data type":      {custom(connection.Field{Name: "a", Type: "Dataset"}), "declared[0]"},
		"a secret number":  {custom(connection.Field{Name: "a", Type: "Integer", Secret: true}), "declared[0]"},
		"a wrong default":  {custom(connection.Field{Name: "a", Type: "Integer", Default: "x"}), "declared[0]"},
		"scheme":           {http(values{"base_url": "ftp://x"}), "values.base_url"},
		"user in the URL":  {http(values{"base_url": "https://me:password@x"}), "values.base_url"},
		"no token":         {http(values{"base_url": "https://x", "authentication": "bearer"}), "values.token"},
		"no client secret": {http(values{"base_url": "https://x", "authentication": "oauth2", "client_id": "me", "token_url": "https://y/token"}), "values.client_secret"},
		"no token URL":     {http(values{"base_url": "https://x", "authentication": "oauth2", "client_id": "me", "client_secret": secretValue}), "values.token_url"},
		"token URL":        {http(values{"base_url": "https://x", "token_url": "login"}), "values.token_url"},
		"no user":          {http(values{"base_url": "https://x", "authentication": "basic", "password": secretValue}), "values.username"},
		"another host":     {http(values{"base_url": "https://x", "test_path": "//evil.example"}), "values.test_path"},
		"no key":           {connection.Edit{Name: "lake", Kind: "s3", Values: values{"bucket": "b", "access_key_id": "AKIA"}}, "values.secret_access_key"},
		"hub":              {connection.Edit{Name: "hub", Kind: "huggingface", Values: values{}}, "values.token"},
	} {
		_, err := b.service.Put(b.admin, tt.edit)
		require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", name, err)
		var paths []string
		for _, f := range apperr.FieldsOf(err) {
			paths = append(paths, f.Path)
		}
		require.Contains(t, paths, tt.path, name)
	}
	_, err := b.service.Put(b.admin, warehouse())
	require.NoError(t, err)
	e := warehouse()
	e.Create = true
	_, err = b.service.Put(b.admin, e)
	require.True(t, apperr.Is(err, apperr.Conflict))
	_, err = b.service.Put(b.admin, connection.Edit{Name: "warehouse", Kind: "s3", Values: values{"bucket": "b"}})
	require.True(t, apperr.Is(err, apperr.Conflict), "the kind is kept")
}

func TestCustomConnections(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := connection.Edit{Name: "snow", Kind: "custom", Declared: []connection.Field{
		{Name: "account", Type: "String", Required: true}, {Name: "warehouse_size", Type: "Enum(small, large)", Default: "small"},
		{Name: "threads", Type: "Integer(min=1)"}, {Name: "private_key", Type: "Text", Secret: true, Required: true},
	}, Values: values{"account": "acme", "threads": 4, "private_key": secretValue}}
	c, err := b.service.Put(b.admin, e)
	require.NoError(t, err)
	require.Equal(t, "4", c.Text("threads"))
	d, err := b.service.Document(b.system, auth.LocalProject, "snow")
	require.NoError(t, err)
	require.Equal(t, "small", d.Fields["warehouse_size"])
	require.Equal(t, []string{"private_key"}, d.Secrets)
	_, err = b.service.Test(b.admin, "snow")
	require.True(t, apperr.Is(err, apperr.Conflict))

	e.Declared = e.Declared[:3] // the field with the secret is gone, and so is its value
	delete(e.Values, "private_key")
	c, err = b.service.Put(b.admin, e)
	require.NoError(t, err)
	require.Empty(t, c.Secrets)
}

func TestKeysOfConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.service.Put(b.admin, warehouse())
	require.NoError(t, err)
	lost := b.with(keyring(t, 'b'))
	n, err := lost.Reseal(b.system)
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = lost.Reveal(b.system, auth.LocalProject, "warehouse", "password")
	require.True(t, apperr.Is(err, apperr.Unavailable))
	n, err = b.with(keyring(t, 'b', 'a')).Reseal(b.system)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	got, err := lost.Reveal(b.system, auth.LocalProject, "warehouse", "password")
	require.NoError(t, err)
	require.Equal(t, secretValue, got)
}

func TestUsesOfConnectionsAreAudited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.service.Put(b.admin, warehouse())
	require.NoError(t, err)
	first, second := uuid.New(), uuid.New()
	for _, id := range []uuid.UUID{first, first, second} {
		require.NoError(t, b.service.NoteUse(b.system, auth.LocalProject, "train", id, "warehouse"))
	}
	c, err := b.service.Get(b.dev, "warehouse")
	require.NoError(t, err)
	require.Len(t, c.Uses, 1)
	require.Equal(t, second, c.Uses[0].ExecutionID)
	var n int
	require.NoError(t, b.pool.QueryRow(b.admin, "SELECT count(*) FROM audit_log WHERE action = 'connection.use'").Scan(&n))
	require.Equal(t, 2, n, "one for each execution")
	require.True(t, apperr.Is(b.service.NoteUse(b.dev, auth.LocalProject, "train", first, "warehouse"), apperr.Forbidden))
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
