package artifact

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/db/dbtest"
)

// everywhere runs a test over each kind of store.
func everywhere(t *testing.T, test func(t *testing.T, s *Service)) {
	t.Helper()
	stores := map[string]func(t *testing.T) Store{
		"disk": func(t *testing.T) Store { t.Helper(); return newDisk(t) },
		"s3":   func(t *testing.T) Store { t.Helper(); store, _ := newS3(t); return store },
	}
	for name, store := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, NewService(dbtest.New(t), store(t), func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }))
		})
	}
}

func publish(t *testing.T, s *Service, items ...New) []uuid.UUID {
	t.Helper()
	var ids []uuid.UUID
	for i := range items {
		id, err := NewID()
		require.NoError(t, err)
		items[i].ID = id
		ids = append(ids, id)
	}
	require.NoError(t, db.Tx(t.Context(), s.pool, func(_ pgx.Tx, q *db.Queries) error {
		return s.Publish(auth.AsSystem(t.Context()), q, auth.LocalTenant, auth.LocalProject, items)
	}))
	return ids
}

func TestPublishListGet(t *testing.T) {
	t.Parallel()
	everywhere(t, checkPublishListGet)
}

func checkPublishListGet(t *testing.T, s *Service) {
	t.Helper()
	ctx := auth.WithSubject(t.Context(), auth.Local())
	blob, err := s.Upload(ctx, strings.NewReader("hello"))
	require.NoError(t, err)
	execution, err := uuid.NewV7()
	require.NoError(t, err)
	base := New{
		ExecutionID: execution, Node: "train", Attempt: 1, WorkflowName: "digits", Name: "model", Type: "Model", Kind: "Model",
		SHA256: blob.SHA256, Size: blob.Size, MediaType: "application/json", Metadata: map[string]any{"accuracy": 0.9},
	}
	report := base
	report.Name, report.Kind, report.Type = "report", "Report", "Report"
	ids := publish(t, s, base, report)

	got, err := s.Get(ctx, ids[0])
	require.NoError(t, err)
	require.Equal(t, "model.json", got.Filename)
	require.Equal(t, map[string]any{"accuracy": 0.9}, got.Metadata)
	r, err := s.Open(ctx, got)
	require.NoError(t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "hello", string(b))

	same, err := s.ByHash(ctx, blob.SHA256)
	require.NoError(t, err)
	require.Len(t, same, 2)

	first, err := s.List(ctx, Filter{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, ids[1], first.Artifacts[0].ID, "newest first")
	second, err := s.List(ctx, Filter{Limit: 1, After: first.Next})
	require.NoError(t, err)
	require.Equal(t, ids[0], second.Artifacts[0].ID)
	require.Empty(t, second.Next)

	for _, f := range []Filter{{Type: "Model"}, {Query: "MODEL"}, {ExecutionID: &execution, Type: "Model"}} {
		page, err := s.List(ctx, f)
		require.NoError(t, err)
		require.NotEmpty(t, page.Artifacts)
		require.Equal(t, "model", page.Artifacts[len(page.Artifacts)-1].Name)
	}
	page, err := s.List(ctx, Filter{Query: "%"})
	require.NoError(t, err)
	require.Empty(t, page.Artifacts, "a percent sign is text")
	_, err = s.List(ctx, Filter{After: "nonsense"})
	require.True(t, apperr.Is(err, apperr.Invalid))
}

func TestOtherProjectsSeeNothing(t *testing.T) {
	t.Parallel()
	everywhere(t, checkOtherProjectsSeeNothing)
}

func checkOtherProjectsSeeNothing(t *testing.T, s *Service) {
	t.Helper()
	ids := publish(t, s, New{ExecutionID: uuid.New(), Node: "n", Attempt: 1, Name: "x", Kind: "File", Type: "File", SHA256: helloHash, Size: 5})
	ctx := auth.WithSubject(t.Context(), memberOf(uuid.New()))
	_, err := s.Get(ctx, ids[0])
	require.True(t, apperr.Is(err, apperr.NotFound))
	unknown := uuid.New()
	_, same := s.Get(ctx, unknown)
	require.Equal(t, strings.ReplaceAll(same.Error(), unknown.String(), ids[0].String()), err.Error(), "as if it did not exist")
	_, err = s.ByHash(ctx, helloHash)
	require.True(t, apperr.Is(err, apperr.NotFound))
	_, err = s.List(t.Context(), Filter{})
	require.True(t, apperr.Is(err, apperr.Unauthenticated))
	member := auth.WithSubject(t.Context(), auth.Subject{ID: uuid.New(), Role: auth.RoleUser, Policy: auth.Everywhere(auth.ProjectDev)})
	err = s.Publish(member, db.New(s.pool), auth.LocalTenant, auth.LocalProject, nil)
	require.True(t, apperr.Is(err, apperr.Forbidden), "only the engine publishes outputs")
}

func TestArtifactsAreFoundByMetadata(t *testing.T) {
	t.Parallel()
	s := NewService(dbtest.New(t), newDisk(t), time.Now)
	ctx := auth.WithSubject(t.Context(), auth.Local())
	blob, err := s.Upload(ctx, strings.NewReader("hello"))
	require.NoError(t, err)
	item := func(name, kind string, metadata map[string]any) New {
		return New{Name: name, Node: "train", WorkflowName: "digits.train", Type: kind, Kind: kind, SHA256: blob.SHA256, Size: blob.Size, Metadata: metadata}
	}
	publish(t, s, item("good", "Model", map[string]any{"accuracy": 0.97, "tags": []any{"a", "b"}, "optimizer": map[string]any{"lr": 0.01}, "calibrated": true}),
		item("bad", "Model", map[string]any{"accuracy": 0.5, "framework": "Sklearn"}), item("odd", "Report", map[string]any{"accuracy": "0.97"}), item("none", "Model", nil))
	for query, want := range map[string]string{
		"metadata.accuracy >= 0.9":                        "good",
		"metadata.accuracy < 1 and type = Model":          "bad good",
		"metadata.optimizer.lr = 0.01 or metadata.tags=b": "good",
		"not metadata.accuracy >= 0.9":                    "none odd bad",
		"metadata.framework ~ sk":                         "bad",
		"metadata.calibrated = true":                      "good",
		"has:metadata.accuracy name != odd":               "bad good",
		"GOO":                                             "good",
		"size > 4 since:1d metadata.accuracy != 0.97":     "bad",
		`metadata.framework = "') OR 1=1 --"`:             "",
	} {
		page, err := s.List(ctx, Filter{Where: query})
		require.NoError(t, err, query)
		var names []string
		for _, a := range page.Artifacts {
			names = append(names, a.Name)
		}
		require.Equal(t, want, strings.Join(names, " "), query)
	}
	_, err = s.List(ctx, Filter{Where: "metadata.accuracy >"})
	require.Equal(t, "where", apperr.FieldsOf(err)[0].Path)
}
