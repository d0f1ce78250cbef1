package index_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/search"
)

var databases atomic.Int64

type testBundle struct {
	*index.Service
	t         *testing.T
	ctx       context.Context
	pool      *pgxpool.Pool
	telemetry *telemetry.Service
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	url := os.Getenv("FLOWFORGE_TEST_CLICKHOUSE_URL")
	if url == "" {
		t.Fatal("there is no ClickHouse for tests: run `make services` and use the exports that it prints")
	}
	b := &testBundle{t: t, ctx: auth.WithSubject(t.Context(), auth.Local()), pool: dbtest.New(t)}
	var err error
	database := fmt.Sprintf("x%d_%d", os.Getpid(), databases.Add(1))
	b.telemetry, err = telemetry.New(telemetry.Config{
		ClickHouseURL: url, Database: database, SpoolDir: t.TempDir(), SpoolMaxBytes: 64 << 20,
		FlushInterval: time.Millisecond, Now: time.Now,
		Points:         func(ctx context.Context, ids []uuid.UUID) error { return b.Note(ctx, ids) },
		PointsInterval: time.Millisecond,
	})
	require.NoError(t, err)
	b.Service = index.New(index.Config{Pool: b.pool, Conn: b.telemetry.Conn, Now: time.Now})
	running, stop := context.WithCancel(auth.AsSystem(context.Background()))
	done := make(chan error, 1)
	go func() { done <- b.telemetry.Run(running) }()
	require.Eventually(t, func() bool { _, err := b.telemetry.Conn(); return err == nil }, 30*time.Second, time.Millisecond)
	t.Cleanup(func() {
		if conn, err := b.telemetry.Conn(); err == nil {
			_ = conn.Exec(context.Background(), "DROP DATABASE IF EXISTS "+database)
		}
		stop()
		require.NoError(t, <-done)
		require.NoError(t, b.telemetry.Close())
	})
	return b
}

func (b *testBundle) exec(sql string, args ...any) {
	b.t.Helper()
	_, err := b.pool.Exec(b.ctx, sql, args...)
	require.NoError(b.t, err, sql)
}

// run inserts an execution with inputs, as a launch does.
func (b *testBundle) run(project uuid.UUID, inputs map[string]any) uuid.UUID {
	b.t.Helper()
	id := uuid.Must(uuid.NewV7())
	raw, err := json.Marshal(inputs)
	require.NoError(b.t, err)
	b.exec(`INSERT INTO executions (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, priority, inputs, submitted_by, submitted_by_name, created_at, total, pending, levels)
		VALUES ($1, $2, $3, $4, $4, 'digits-train', '1.0.0', 50, $5, $6, 'Mei', now(), 1, 1, 1)`,
		id, auth.LocalTenant, project, uuid.New(), raw, auth.LocalAdmin)
	return id
}

func (b *testBundle) end(id uuid.UUID, status, outputs string) {
	b.t.Helper()
	b.exec(`UPDATE executions SET status = $2, started_at = created_at, finished_at = created_at + interval '90 seconds', outputs = $3,
		pending = 0, succeeded = CASE WHEN $2 = 'SUCCEEDED' THEN 1 ELSE 0 END, failed = CASE WHEN $2 = 'FAILED' THEN 1 ELSE 0 END,
		error = CASE WHEN $2 = 'FAILED' THEN '{"message": "CUDA out of memory"}'::jsonb END WHERE id = $1`, id, status, outputs)
}

// points stores points of a metric.
func (b *testBundle) points(id uuid.UUID, name string, values ...float64) {
	b.t.Helper()
	var points []telemetry.Point
	for i, v := range values {
		points = append(points, telemetry.Point{TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, ExecutionID: id, Node: "train", Attempt: 1,
			Name: name, Seq: int64(i + 1), Kind: "gauge", Value: v, Time: time.Now()})
	}
	require.NoError(b.t, b.telemetry.AppendMetrics(auth.AsSystem(b.ctx), points))
	require.Eventually(b.t, func() bool { return b.telemetry.Status().PendingRecords == 0 }, 30*time.Second, time.Millisecond)
	require.NoError(b.t, b.Note(b.ctx, []uuid.UUID{id})) // telemetry does so later
}

func (b *testBundle) find(q index.Query) []uuid.UUID {
	b.t.Helper()
	r, err := b.Find(b.ctx, q)
	require.NoError(b.t, err, q.Where)
	ids := []uuid.UUID{}
	for _, row := range r.Rows {
		ids = append(ids, row.ID)
	}
	return ids
}

func TestExecutionsAreFoundByTheirValues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.run(auth.LocalProject, map[string]any{"lr": 0.01, "epochs": 10, "optimizer": map[string]any{"name": "adam", "decay": 1e-6}, "dataset": map[string]any{"$catalogue": "uci-digits@1"}, "augment": true})
	c := b.run(auth.LocalProject, map[string]any{"lr": 0.1, "optimizer": map[string]any{"name": "sgd"}, "dataset": map[string]any{"$catalogue": "uci-digits@2"}, "layers": []any{64, 32}})
	d := b.run(auth.LocalProject, map[string]any{"lr": "auto"})
	b.points(a, "accuracy", 0.5, 0.95, 0.9)
	b.points(c, "accuracy", 0.7)
	b.points(a, "val/loss", 3, 1, 2)
	b.end(a, "SUCCEEDED", `{"score": 7, "nested": {"deep": "yes"}, "model": {"$artifact": "x"}}`)
	b.end(c, "FAILED", `{}`)
	other := b.run(b.project("other"), map[string]any{"lr": 0.01, "secret": 1})
	_, err := b.Label(b.ctx, a, index.Change{Add: []string{"baseline", "two words"}, Note: new("The first that learns.")})
	require.NoError(t, err)

	for where, want := range map[string][]uuid.UUID{
		"":                          {d, c, a},
		"lr > 0.01":                 {c},
		"lr >= 0.01":                {c, a},
		"lr = 0.1":                  {c},
		"lr = auto":                 {d},
		"not lr > 0.01":             {d, a}, // a value that is absent compares with nothing
		"lr != 0.1":                 {a},
		"lr in (0.1, auto)":         {d, c},
		"dataset = uci-digits@1":    {a},
		"dataset ~ DIGITS":          {c, a},
		"optimizer.name = adam":     {a},
		"has:optimizer.decay":       {a},
		"augment = true":            {a},
		`layers = "[64,32]"`:        {c},
		"accuracy >= 0.9":           {a},
		"metrics.accuracy.max=0.95": {a},
		"accuracy.min < 0.6":        {a},
		"accuracy.best > 0.9":       {a},
		"val/loss.best = 1":         {a},
		"note != x":                 {a},
		"error !~ memory":           {},
		"error != x":                {c},
		"name != x":                 {},
		"user:me":                   {d, c, a},
		"user != me":                {},
		"score = 7":                 {a},
		"outputs.nested.deep = yes": {a},
		"tag:baseline":              {a},
		`tag:"two words"`:           {a},
		"tag ~ BASE":                {a},
		"note ~ learns":             {a},
		"state:failed":              {c},
		"state:live":                {d},
		"state != live":             {c, a},
		`error ~ "cuda"`:            {c},
		"user:me or user:Mei":       {d, c, a},
		"workflow:digits-train":     {d, c, a},
		"version:1.0.0 digits":      {d, c, a},
		"since:1h until:2100-01-01": {d, c, a},
		"created < 2020-01-01":      {},
		"duration > 1m":             {c, a},
		"duration > 2m":             {},
		"id:" + a.String()[28:]:     {a},
		c.String():                  {c},
		"priority = 50 lr = 0.1":    {c},
		"gpu_hours > 0":             {},
	} {
		require.Equal(t, want, b.find(index.Query{Where: where}), where)
	}
	require.Equal(t, []uuid.UUID{a, c, d}, b.find(index.Query{Sort: "-metrics.accuracy"}))
	require.Equal(t, []uuid.UUID{c, a, d}, b.find(index.Query{Sort: "metrics.accuracy"}))

	_, err = b.Find(b.ctx, index.Query{Where: "secret = 1"})
	require.True(t, apperr.Is(err, apperr.Invalid), "a name of another project: %v", err)
	problem, ok := index.Problem(err)
	require.True(t, ok)
	require.Equal(t, 1, problem.Column)
	require.NotContains(t, b.find(index.Query{}), other)
}

func (b *testBundle) project(name string) uuid.UUID {
	b.t.Helper()
	id := uuid.New()
	b.exec(`INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, namespace)
		SELECT $1, 'project', id, kind, tenant_id, path || $1::uuid, $3, $3 FROM tenancy_nodes WHERE id = $2`, id, auth.LocalTeam, name)
	return id
}

func TestTheIndexFollowsEveryChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.run(auth.LocalProject, map[string]any{"lr": 0.01})
	require.Equal(t, []uuid.UUID{id}, b.find(index.Query{Where: "lr = 0.01 state:pending"}))
	b.end(id, "SUCCEEDED", `{"score": 1}`)
	require.Equal(t, []uuid.UUID{id}, b.find(index.Query{Where: "score = 1 state:succeeded"}))
	require.Empty(t, b.find(index.Query{Where: "state:pending"}))
	b.points(id, "late", 1)
	require.Equal(t, []uuid.UUID{id}, b.find(index.Query{Where: "late = 1"}))
	b.points(id, "late", 1, 2)
	require.Equal(t, []uuid.UUID{id}, b.find(index.Query{Where: "late = 2"}))
	_, err := b.Label(b.ctx, id, index.Change{Add: []string{"x"}})
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{id}, b.find(index.Query{Where: "tag:x"}))
	l, err := b.Label(b.ctx, id, index.Change{Remove: []string{"x"}, Note: new("")})
	require.NoError(t, err)
	require.Empty(t, l)
	require.Empty(t, b.find(index.Query{Where: "tag:x"}))
	b.exec("DELETE FROM executions WHERE id = $1", id)
	require.Empty(t, b.find(index.Query{}))
}

func TestPagesColumnsGroupsAndFacets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var ids []uuid.UUID
	for i := range 7 {
		inputs := map[string]any{"size": i / 2, "kind": []string{"a", "b"}[i%2]}
		if i == 6 {
			inputs = map[string]any{"kind": "c"}
		}
		ids = append(ids, b.run(auth.LocalProject, inputs))
	}
	for _, sort := range []string{"", "size", "-size", "kind", "-kind", "created", "-user"} {
		all := b.find(index.Query{Sort: sort})
		require.Len(t, all, 7, sort)
		var paged []uuid.UUID
		for q := (index.Query{Sort: sort, Limit: 2, Counted: true}); ; {
			r, err := b.Find(b.ctx, q)
			require.NoError(t, err)
			require.Equal(t, 7, r.Total)
			for _, row := range r.Rows {
				paged = append(paged, row.ID)
			}
			if q.After = r.Next; q.After == "" {
				break
			}
		}
		require.Equal(t, all, paged, sort)
	}
	r, err := b.Find(b.ctx, index.Query{Columns: []string{"size", "kind", "state", "created", "tags", "finished"}, Sort: "-size", Limit: 1})
	require.NoError(t, err)
	require.Equal(t, ids[5], r.Rows[0].ID)
	values := r.Rows[0].Values
	require.Equal(t, []any{2.0, "b", "PENDING"}, values[:3])
	require.IsType(t, time.Time{}, values[3])
	require.Equal(t, []any{nil, nil}, values[4:])
	var types []string
	for _, c := range r.Columns {
		types = append(types, c.Path+" "+c.Type)
	}
	require.Equal(t, []string{"inputs.size number", "inputs.kind text", "state text", "created time", "tags tags", "finished time"}, types)

	found, err := b.Groups(b.ctx, index.Query{Columns: []string{"size", "state"}}, "kind")
	require.NoError(t, err)
	require.Equal(t, []int{3, 7}, []int{found.All, found.Total})
	groups := found.Groups
	require.Equal(t, index.Group{Value: "a", Count: 3, Stats: []*index.Stats{{Count: 3, Least: 0, Most: 2, Mean: 1, Sum: 3, Median: 1}, nil}}, groups[0])
	require.Equal(t, index.Group{Value: "c", Count: 1, Stats: []*index.Stats{nil, nil}}, groups[2])
	found, err = b.Groups(b.ctx, index.Query{}, "size")
	require.NoError(t, err)
	require.Equal(t, 4, found.All)
	require.Len(t, found.Groups, 4)

	_, err = b.Label(b.ctx, ids[0], index.Change{Add: []string{"x", "y"}})
	require.NoError(t, err)
	_, err = b.Label(b.ctx, ids[1], index.Change{Add: []string{"x"}})
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{ids[6], ids[5], ids[4], ids[3], ids[2], ids[1]}, b.find(index.Query{Where: "tag != y"}), "also without tags")
	require.Equal(t, []uuid.UUID{ids[1]}, b.find(index.Query{Where: "tag != y has:tag"}))
	for _, name := range []string{"size", "kind", "state", "tags", "priority", "duration"} { // its conditions select the executions of a group
		found, err := b.Groups(b.ctx, index.Query{}, name)
		require.NoError(t, err, name)
		require.Equal(t, 7, found.Total, name)
		for _, g := range found.Groups {
			require.Len(t, b.find(index.Query{And: search.And{g.Of(found.By)}}), g.Count, "%s %v", name, g.Value)
			require.Len(t, b.find(index.Query{Where: g.Where(found.By)}), g.Count, g.Where(found.By))
		}
		if name == "tags" {
			require.Equal(t, "[5 2 1]", fmt.Sprint([]int{found.Groups[0].Count, found.Groups[1].Count, found.Groups[2].Count}))
		}
	}
	_, err = b.Groups(b.ctx, index.Query{}, "created")
	require.True(t, apperr.Is(err, apperr.Invalid), "%v", err)

	f, err := b.Facets(b.ctx, index.Query{Where: "kind = a"})
	require.NoError(t, err)
	require.Equal(t, []index.Count{{Value: "PENDING", N: 3}}, f.States)
	require.Equal(t, []index.Count{{Value: "Mei", N: 3}}, f.People)
	require.Equal(t, []index.Count{{Value: "x", N: 1}, {Value: "y", N: 1}}, f.Tags)
	fields, err := b.Fields(b.ctx)
	require.NoError(t, err)
	kind, _ := fields.Names.Find("kind")
	frequent, err := b.Values(b.ctx, kind, "", 2)
	require.NoError(t, err)
	require.Equal(t, []index.Count{{Value: "a", N: 3}, {Value: "b", N: 3}}, frequent)
	for _, q := range []index.Query{{Sort: "nothing"}, {Columns: []string{"nothing"}}, {After: "?"}, {After: r.Next, Sort: "size"}} {
		_, err := b.Find(b.ctx, q)
		require.True(t, apperr.Is(err, apperr.Invalid), "%+v: %v", q, err)
	}
}

func TestNamesBeyondTheLimitAreReported(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for batch := range 3 {
		inputs := map[string]any{}
		for i := range 400 {
			inputs[fmt.Sprintf("x%d_%d", batch, i)] = i
		}
		b.run(auth.LocalProject, inputs)
	}
	require.Len(t, b.find(index.Query{}), 3)
	fields, err := b.Fields(b.ctx)
	require.NoError(t, err)
	require.True(t, fields.Full)
	require.Len(t, fields.Names.Fields(), index.MaxFields+len(search.FactFields()))
}

func TestStrangersFindNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.run(auth.LocalProject, map[string]any{"lr": 1})
	_, err := b.Find(t.Context(), index.Query{})
	require.True(t, apperr.Is(err, apperr.Unauthenticated), "%v", err)
	stranger := auth.WithSubject(t.Context(), auth.Subject{ID: uuid.New(), Role: auth.RoleUser, ProjectID: auth.LocalProject})
	_, err = b.Find(stranger, index.Query{})
	require.True(t, apperr.Is(err, apperr.Forbidden), "%v", err)
	_, err = b.Label(stranger, id, index.Change{Add: []string{"x"}})
	require.True(t, apperr.Is(err, apperr.NotFound), "%v", err)
}

func TestQueriesAreCompleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.run(auth.LocalProject, map[string]any{"lr": 0.01, "optimizer": "adam", "data set": "uci digits"})
	b.run(auth.LocalProject, map[string]any{"lr": 0.1, "optimizer": "sgd"})
	b.run(auth.LocalProject, map[string]any{"optimizer": "adam"})
	b.run(b.project("other"), map[string]any{"optimum": 1, "optimizer": "secret"})
	_, err := b.Label(b.ctx, a, index.Change{Add: []string{"two words"}})
	require.NoError(t, err)
	for before, want := range map[string]string{
		"opt":                  "0 optimizer (3: adam, sgd)",
		"lr > 0.01 and l":      "14 lr (2: 0.01 to 0.1)",
		"optimizer = ":         "12 adam (2) sgd (1)",
		"optimizer = s":        "12 sgd (1)",
		"tag:":                 "4 \"two words\" (1)",
		`tag:"tw`:              "4 \"two words\" (1)",
		"user:":                "5 me () Mei (3)",
		`"data set" = uci`:     "13 \"uci digits\" (1)",
		"optimizer in (adam, ": "20 adam (2) sgd (1)",
		"state:pend":           "6 pending ()",
		"optimizer = adam ":    "17 and () or ()",
	} {
		c, err := b.Complete(b.ctx, before)
		require.NoError(t, err, before)
		got := fmt.Sprint(c.From)
		for _, s := range c.Suggestions {
			if s.Field.Part == search.Facts && s.Field.Name != "" || s.Label == "not" {
				continue
			}
			count := ""
			if s.Count >= 0 {
				count = fmt.Sprint(s.Count)
			}
			if s.Field.Name != "" {
				count += ": " + s.Help
			}
			got += " " + strings.TrimSpace(s.Text) + " (" + count + ")"
		}
		require.Equal(t, want, got, before)
	}
	_, err = b.Complete(t.Context(), "opt")
	require.True(t, apperr.Is(err, apperr.Unauthenticated), "%v", err)
}

// TestTheTableHasTheLayoutOfSearches: marks are close, and large parts have a file for each column.
func TestTheTableHasTheLayoutOfSearches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn, err := b.telemetry.Conn()
	require.NoError(t, err)
	var layout string
	require.NoError(t, conn.QueryRow(b.ctx, "SELECT create_table_query FROM system.tables WHERE database = currentDatabase() AND name = 'execution_values'").Scan(&layout))
	for _, setting := range []string{"index_granularity = 1024", "min_bytes_for_wide_part = 16777216", "vertical_merge_algorithm_min_rows_to_activate = 1"} {
		require.Contains(t, layout, setting)
	}
}
