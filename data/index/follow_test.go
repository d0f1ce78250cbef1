package index_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/migrations"
)

// clickhouse runs a statement.
func (b *testBundle) clickhouse(sql string, args ...any) {
	b.t.Helper()
	conn, err := b.telemetry.Conn()
	require.NoError(b.t, err)
	require.NoError(b.t, conn.Exec(b.ctx, sql, args...), sql)
}

// again is the index of a server that starts now.
func (b *testBundle) again() {
	b.Service = index.New(index.Config{Pool: b.pool, Conn: b.telemetry.Conn, Now: time.Now})
}

// launchMany inserts executions that have no inputs.
func (b *testBundle) launchMany(project uuid.UUID, n int) {
	b.t.Helper()
	ids := make([]uuid.UUID, n)
	for i := range ids {
		ids[i] = uuid.Must(uuid.NewV7())
	}
	b.exec(`INSERT INTO executions (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, priority, inputs, submitted_by, submitted_by_name, created_at, total, pending, levels)
		SELECT id, $1, $2, $3, $3, 'many', '1.0.0', 50, '{}', $4, 'Mei', now(), 1, 1, 1 FROM unnest($5::uuid[]) AS id`,
		auth.LocalTenant, project, uuid.New(), auth.LocalAdmin, ids)
}

func TestNoMetricStopsTheIndex(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.run(auth.LocalProject, map[string]any{"lr": 1})
	for _, name := range []string{"nul\x00name", strings.Repeat("long", 1000), "bad\xff", "loss"} {
		b.clickhouse(`INSERT INTO metrics (tenant_id, project_id, execution_id, node_index, attempt, name, type, sequence, value, timestamp, tags)
			SELECT toUUID(?), toUUID(?), toUUID(?), 0, 1, ?, 'gauge', 1, 1, now64(6), ''`, auth.LocalTenant.String(), auth.LocalProject.String(), id.String(), name)
	}
	require.Equal(t, []uuid.UUID{id}, b.find(index.Query{Where: "loss = 1"}))
	b.points(id, "a\x00b", 2)
	require.Eventually(t, func() bool {
		fields, err := b.Fields(b.ctx)
		require.NoError(t, err)
		f, _ := fields.Names.Find("a\uFFFDb")
		return f.Name != "" || len(b.find(index.Query{})) == 0
	}, 30*time.Second, time.Millisecond)
}

func TestAnExecutionThatCannotBeIndexedIsSetAside(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Empty(t, b.find(index.Query{}))
	first, bad, last := b.run(auth.LocalProject, map[string]any{"lr": 1}), b.run(auth.LocalProject, map[string]any{"lr": 2}), b.run(auth.LocalProject, map[string]any{"lr": 3})
	b.exec("UPDATE executions SET created_at = 'infinity' WHERE id = $1", bad) // no time that can be read
	r, err := b.Find(b.ctx, index.Query{Where: "lr > 0"})
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{last, first}, []uuid.UUID{r.Rows[0].ID, r.Rows[1].ID})
	var problem string
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT DISTINCT problem FROM execution_changes WHERE execution_id = $1", bad).Scan(&problem))
	require.NotEmpty(t, problem)
	b.exec("UPDATE executions SET created_at = now() WHERE id = $1", bad)
	require.NoError(t, b.Note(b.ctx, []uuid.UUID{bad}))
	require.Equal(t, []uuid.UUID{bad, last, first}, b.find(index.Query{Where: "lr > 0"}))
}

func TestMetricsStayWhenTheirPointsExpire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.run(auth.LocalProject, map[string]any{"lr": 1})
	b.exec("UPDATE executions SET created_at = now() - interval '2 days' WHERE id = $1", id)
	b.points(id, "loss", 3, 1, 2)
	require.Eventually(t, func() bool { // the points are noted after they are stored
		fields, err := b.Fields(b.ctx)
		require.NoError(t, err)
		f, _ := fields.Names.Find("loss")
		return len(b.find(index.Query{})) == 1 && f.Name != ""
	}, 30*time.Second, time.Millisecond)
	b.clickhouse("TRUNCATE TABLE metrics_1m")
	_, err := b.Label(b.ctx, id, index.Change{Add: []string{"old"}})
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{id}, b.find(index.Query{Where: "tag:old loss = 2 loss.min = 1 loss.max = 3"}))
	b.points(id, "loss", 2.5) // its sequence was used: a duplicate is not stored
	b.points(id, "other", 1)
	require.Eventually(t, func() bool {
		fields, err := b.Fields(b.ctx)
		require.NoError(t, err)
		f, _ := fields.Names.Find("other")
		return len(b.find(index.Query{})) == 1 && f.Name != ""
	}, 30*time.Second, time.Millisecond)
	require.Equal(t, []uuid.UUID{id}, b.find(index.Query{Where: "loss = 2 loss.min = 1 other = 1"}))
}

func TestTheIndexIsBuiltAgainWhenClickHouseIsReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.run(auth.LocalProject, map[string]any{"lr": 1, "name": "x"})
	require.Equal(t, []uuid.UUID{id}, b.find(index.Query{Where: "lr = 1"}))

	b.clickhouse("TRUNCATE TABLE execution_values")
	b.again()
	require.Equal(t, []uuid.UUID{id}, b.find(index.Query{Where: "lr = 1"}))

	b.clickhouse("DROP TABLE execution_values SYNC")
	for _, file := range []string{"00006_execution_values.sql", "00007_execution_people.sql", "00008_execution_sweeps.sql", "00009_execution_purposes.sql"} {
		text, err := migrations.ClickHouse.ReadFile("clickhouse/" + file)
		require.NoError(t, err)
		b.clickhouse(strings.TrimSuffix(strings.TrimSpace(string(text)), ";"))
	}
	b.again()
	require.Equal(t, []uuid.UUID{id}, b.find(index.Query{Where: "lr = 1"}), "the table has the columns of all names")
}

func TestAllOlderExecutionsAreNoted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.launchMany(auth.LocalProject, 2500)
	b.exec("DELETE FROM execution_changes") // as if they were launched before the index
	r, err := b.Find(b.ctx, index.Query{Counted: true})
	require.NoError(t, err)
	require.Equal(t, 2500, r.Total+r.Behind)
	require.Positive(t, r.Behind)
	running := make(chan struct{})
	ctx, stop := context.WithCancel(b.ctx)
	go func() { defer close(running); _ = b.Run(ctx) }()
	require.Eventually(t, func() bool {
		r, err := b.Find(b.ctx, index.Query{Counted: true})
		require.NoError(t, err)
		return r.Total == 2500 && r.Behind == 0
	}, 60*time.Second, 10*time.Millisecond)
	stop()
	<-running
}

func TestASearchTakesTheChangesOfItsProjectFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Empty(t, b.find(index.Query{}))
	b.launchMany(b.project("other"), 600)
	id := b.run(auth.LocalProject, map[string]any{"lr": 1})
	r, err := b.Find(b.ctx, index.Query{Where: "lr = 1"})
	require.NoError(t, err)
	require.Len(t, r.Rows, 1)
	require.Zero(t, r.Behind)

	for range 600 { // points of a live execution
		require.NoError(t, b.Note(b.ctx, []uuid.UUID{id}))
	}
	require.NotEmpty(t, b.find(index.Query{}))
	var left int
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM execution_changes WHERE execution_id = $1", id).Scan(&left))
	require.Zero(t, left, "the changes of an execution are taken together")

	b.launchMany(auth.LocalProject, 600)
	r, err = b.Find(b.ctx, index.Query{Counted: true})
	require.NoError(t, err)
	require.Equal(t, 501, r.Total)
	require.Equal(t, 100, r.Behind)
}

func TestPagesSortedByLongTextsHaveShortMarks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var ids []uuid.UUID
	for _, end := range []string{"a", "b"} {
		id := b.run(auth.LocalProject, nil)
		_, err := b.Label(b.ctx, id, index.Change{Note: new(end + strings.Repeat("ü", 3999))})
		require.NoError(t, err)
		ids = append(ids, id)
	}
	r, err := b.Find(b.ctx, index.Query{Sort: "note", Limit: 1})
	require.NoError(t, err)
	require.Equal(t, ids[0], r.Rows[0].ID)
	require.Less(t, len(r.Next), 2000)
	r, err = b.Find(b.ctx, index.Query{Sort: "note", Limit: 1, After: r.Next})
	require.NoError(t, err)
	require.Equal(t, ids[1], r.Rows[0].ID)
}

func TestPeopleWithOneNameAreNotConfused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	own, other := b.run(auth.LocalProject, nil), b.run(auth.LocalProject, nil)
	b.exec("UPDATE executions SET submitted_by = $2, submitted_by_name = $3 WHERE id = $1", other, uuid.New(), auth.Local().Name)
	b.exec("UPDATE executions SET submitted_by = $2, submitted_by_name = $3 WHERE id = $1", own, auth.Local().ID, auth.Local().Name)
	require.Equal(t, []uuid.UUID{own}, b.find(index.Query{Where: "user:me"}))
	require.Equal(t, []uuid.UUID{other}, b.find(index.Query{Where: "user != me"}))
}

func TestExecutionsThatAreBeingRemovedLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.run(auth.LocalProject, map[string]any{"secret": "value"})
	require.NoError(t, b.CheckLabel(b.ctx, id, index.Change{Add: []string{"x"}}))
	labels, err := b.Labels(b.ctx, []uuid.UUID{id})
	require.NoError(t, err)
	require.Empty(t, labels, "a check changes nothing")
	require.Equal(t, []uuid.UUID{id}, b.find(index.Query{Where: "has:secret"}))
	b.end(id, "FAILED", "{}")
	b.exec("UPDATE executions SET removal_began_at = now() WHERE id = $1", id)
	_, err = b.Label(b.ctx, id, index.Change{Add: []string{"late"}})
	require.True(t, apperr.Is(err, apperr.NotFound), "%v", err)
	require.NoError(t, b.telemetry.Remove(auth.AsSystem(b.ctx), []uuid.UUID{id}))
	conn, err := b.telemetry.Conn()
	require.NoError(t, err)
	var rows uint64
	require.NoError(t, conn.QueryRow(b.ctx, "SELECT count() FROM execution_values WHERE execution_id = toUUID('"+id.String()+"')").Scan(&rows))
	require.Zero(t, rows)
}
