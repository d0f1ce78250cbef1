package catalogue

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/typeregistry"
)

func setup(t *testing.T) (context.Context, *Service) {
	t.Helper()
	s := NewService(dbtest.New(t), time.Now)
	_, err := s.pool.Exec(t.Context(), `INSERT INTO project_blobs (project_id, sha256, size) VALUES ($1, '\xaa', 3)`, auth.LocalProject)
	require.NoError(t, err)
	return auth.WithSubject(t.Context(), auth.Local()), s
}

func dataset(name, version string) Entry {
	rows := int64(1797)
	return Entry{
		Kind: typeregistry.KindDataset, Name: name, Version: version, Description: "Digits", Format: "csv", Tags: []string{"images"},
		Facts: Facts{Rows: &rows, Columns: []typeregistry.Column{{Name: "label", DType: "Integer"}}},
		Blob:  &BlobRef{SHA256: "aa", Size: 3, MediaType: "text/csv", Filename: "digits.csv"},
	}
}

func TestRegisterIsIdempotent(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	first, created, err := s.Register(ctx, dataset("digits", "1"))
	require.NoError(t, err)
	require.True(t, created)
	again, created, err := s.Register(ctx, dataset("digits", "1"))
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, first.ID, again.ID)
	other := dataset("digits", "1")
	other.Description = "other"
	_, _, err = s.Register(ctx, other)
	require.True(t, apperr.Is(err, apperr.Conflict))
}

func TestGetAndBlob(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	for _, version := range []string{"1", "2"} {
		_, _, err := s.Register(ctx, dataset("digits", version))
		require.NoError(t, err)
	}
	newest, err := s.Get(ctx, typeregistry.KindDataset, "digits")
	require.NoError(t, err)
	require.Equal(t, "digits@2", newest.Ref())
	require.Equal(t, "label", newest.Facts.Columns[0].Name)
	old, err := s.Get(ctx, typeregistry.KindDataset, "digits@1")
	require.NoError(t, err)
	require.Equal(t, "1", old.Version)
	blob, err := s.Blob(ctx, typeregistry.KindDataset, "digits@1")
	require.NoError(t, err)
	require.Equal(t, "digits.csv", blob.Filename)

	for _, ref := range []string{"", "nothing", "digits@3", uuid.NewString()} {
		require.False(t, has(t)(s.Exists(ctx, typeregistry.KindDataset, ref)), ref)
	}
	require.False(t, has(t)(s.Exists(ctx, typeregistry.KindModel, "digits")), "a dataset is not a model")

	elsewhere := dataset("remote", "1")
	elsewhere.Blob, elsewhere.Facts.URI = nil, "s3://bucket/x"
	_, _, err = s.Register(ctx, elsewhere)
	require.NoError(t, err)
	_, err = s.Blob(ctx, typeregistry.KindDataset, "remote")
	require.True(t, apperr.Is(err, apperr.Invalid))

	stranger := auth.Local()
	stranger.ProjectID = uuid.New()
	require.False(t, has(t)(s.Exists(auth.WithSubject(ctx, stranger), typeregistry.KindDataset, "digits")))
}

func TestSearch(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	for _, name := range []string{"digits", "old-digits", "faces"} {
		_, _, err := s.Register(ctx, dataset(name, "1"))
		require.NoError(t, err)
	}
	parquet := dataset("table", "1")
	parquet.Format = "parquet"
	_, _, err := s.Register(ctx, parquet)
	require.NoError(t, err)
	names := func(f Filter) []string {
		f.Kind = typeregistry.KindDataset
		found, err := s.Search(ctx, f)
		require.NoError(t, err)
		var out []string
		for _, e := range found {
			out = append(out, e.Name)
		}
		return out
	}
	require.Equal(t, []string{"digits"}, names(Filter{Query: "dig", Limit: 1}), "a name that begins with the text comes first")
	require.Len(t, names(Filter{Query: "digits"}), 4, "the description is searched too")
	require.Equal(t, []string{"table"}, names(Filter{Format: "parquet"}))
	require.Empty(t, names(Filter{Query: "%"}))

	page, err := s.List(ctx, Filter{Kind: typeregistry.KindDataset, Limit: 3})
	require.NoError(t, err)
	rest, err := s.List(ctx, Filter{Kind: typeregistry.KindDataset, Limit: 3, After: page.Next})
	require.NoError(t, err)
	require.Len(t, rest.Entries, 1)
	require.Empty(t, rest.Next)
}

func TestPagesOfASearchMissNothing(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	want := []string{"old-digits", "digits", "new-digits"}
	for _, name := range want {
		e := dataset(name, "1")
		e.Tags = []string{"hand_written"}
		_, _, err := s.Register(ctx, e)
		require.NoError(t, err)
	}
	for _, query := range []string{"digits", "hand_written"} {
		var got []string
		for after := ""; len(got) == 0 || after != ""; {
			page, err := s.List(ctx, Filter{Kind: typeregistry.KindDataset, Query: query, Limit: 1, After: after})
			require.NoError(t, err)
			require.Len(t, page.Entries, 1, query)
			got, after = append(got, page.Entries[0].Name), page.Next
		}
		require.ElementsMatch(t, want, got, query)
	}
}

func TestRegisterNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	negative := int64(-1)
	_, _, err := s.Register(ctx, Entry{Kind: "Report", Name: "@", Version: "", Facts: Facts{Rows: &negative}})
	var paths []string
	for _, f := range apperr.FieldsOf(err) {
		paths = append(paths, f.Path)
	}
	require.Equal(t, []string{"kind", "name", "version", "rows"}, paths)
}

func TestFeatures(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	for _, version := range []string{"1", "2"} {
		_, _, err := s.Register(ctx, Entry{
			Kind: typeregistry.KindFeatureSet, Name: "users", Version: version,
			Facts: Facts{EntityKey: "user_id", Features: []typeregistry.Column{{Name: "age", DType: "Integer"}, {Name: "clicks", DType: "Integer"}}},
		})
		require.NoError(t, err)
	}
	found, err := s.Features(ctx, "CLI", 10)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "users@2", found[0].FeatureSet)
}

func TestCustomTypes(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	definition := []byte(`{"type_name":"Percent","extends":"Float","schema":{"min":0,"max":100}}`)
	_, created, err := s.RegisterType(ctx, definition)
	require.NoError(t, err)
	require.True(t, created)
	_, created, err = s.RegisterType(ctx, definition)
	require.NoError(t, err)
	require.False(t, created)
	_, _, err = s.RegisterType(ctx, []byte(`{"type_name":"Percent","extends":"Float","schema":{"max":1}}`))
	require.True(t, apperr.Is(err, apperr.Conflict))
	_, _, err = s.RegisterType(ctx, []byte(`{"type_name":"Share","extends":"Percent","schema":{"max":1}}`))
	require.NoError(t, err, "a custom type may extend another")

	registry, err := s.Types(ctx)
	require.NoError(t, err)
	typ, err := registry.Parse("List<Share>")
	require.NoError(t, err)
	require.NotEmpty(t, typ.Elem.Check(2.5, typeregistry.Env{}))
	_, err = NewService(s.pool, time.Now).Types(ctx)
	require.NoError(t, err, "another server reads them from the database")

	_, _, err = s.RegisterType(ctx, []byte(`{"type_name":"Bad","extends":"Nothing"}`))
	require.True(t, apperr.Is(err, apperr.Invalid))
	member := auth.Local()
	member.Role, member.Policy = auth.RoleUser, auth.Everywhere(auth.ProjectDev)
	_, _, err = s.RegisterType(auth.WithSubject(ctx, member), definition)
	require.True(t, apperr.Is(err, apperr.Forbidden))
}

// TestScopes: entries belong to the project, types to the tenant, and a role in a
// project is not a role in its tenant.
func TestScopes(t *testing.T) {
	t.Parallel()
	local, s := setup(t)
	dev := auth.Everywhere(auth.TenantAdmin)
	elsewhere := auth.Subject{ID: uuid.New(), Role: auth.RoleUser, TenantID: uuid.New(), ProjectID: uuid.New()}
	elsewhere.Policy = auth.PolicyFunc(func(a auth.Action, place uuid.UUID) bool { return place == elsewhere.ProjectID && dev.May(a, place) })
	other := auth.WithSubject(t.Context(), elsewhere)
	_, _, err := s.Register(local, dataset("digits", "1"))
	require.NoError(t, err)
	_, _, err = s.RegisterType(local, []byte(`{"type_name": "Mark", "extends": "Integer(min=1, max=6)"}`))
	require.NoError(t, err)

	require.False(t, has(t)(s.Exists(other, typeregistry.KindDataset, "digits@1")))
	page, err := s.List(other, Filter{Kind: typeregistry.KindDataset})
	require.NoError(t, err)
	require.Empty(t, page.Entries)
	types, err := s.Types(other)
	require.NoError(t, err)
	_, known := types.Lookup("Mark")
	require.False(t, known)
	_, _, err = s.Register(other, dataset("stolen", "1"))
	require.Equal(t, "file", apperr.FieldsOf(err)[0].Path, "bytes of another project")
	_, _, err = s.RegisterType(other, []byte(`{"type_name": "Mark", "extends": "String"}`))
	require.True(t, apperr.Is(err, apperr.Forbidden))

	var entries int
	require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT count(*) FROM audit_log WHERE action IN ('catalogue.register', 'type.register')`).Scan(&entries))
	require.Equal(t, 2, entries)
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
