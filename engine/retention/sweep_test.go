package retention

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/workflow"
)

const aWhile = 30 * time.Hour // more than the grace

func TestSweepTakesWhatNothingNames(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	p := auth.LocalProject
	loose := b.upload(p, "loose")
	file := b.upload(p, "an input")
	b.execution(p, "SUCCEEDED", `{"data": {"$file": "`+file+`", "size": 8}}`)
	one, two := b.upload(p, "one"), b.upload(p, "two")
	folder := b.folder(p, one, two)
	e := b.execution(p, "SUCCEEDED", `{}`)
	b.publish(p, e, folder, "application/vnd.flowforge.directory+json")
	inner := b.upload(p, "of a checkpoint")
	saved := b.folder(p, inner)
	b.exec(`INSERT INTO checkpoint_folders (execution_id, node_index, attempt, sha256, size, saved_at) VALUES ($1, 0, 1, decode($2, 'hex'), 1, now())`, e, saved)
	entry := b.upload(p, "of the catalogue")
	b.exec(`INSERT INTO catalogue_entries (id, project_id, kind, name, version, facts, blob, created_by, created_at)
		VALUES ($1, $2, 'Model', 'm', '1.0.0', '{}', $3, 'ada', now())`, uuid.New(), p, `{"sha256": "`+entry+`", "size": 16}`)
	code, deep := b.upload(p, "code"), b.upload(p, "code of a graph")
	b.version(p, `{"operators": [{"name": "a", "code": {"package": "sha256:`+code+`"}}], "graphs": {"g": {"operators": [{"code": {"package": "sha256:`+deep+`"}}]}}}`)
	template := b.upload(p, "code of a template")
	b.exec(`INSERT INTO operator_templates (id, tenant_id, name, version, major, minor, patch, document, content_hash, created_by, created_by_name, created_at)
		VALUES ($1, $2, 't', '1.0.0', 1, 0, 0, $3, decode(repeat('00', 32), 'hex'), $1, 'ada', now())`, uuid.New(), auth.LocalTenant, `{"code": {"package": "sha256:`+template+`"}}`)
	before := b.stored(p)

	r := b.sweep()
	require.Zero(t, r.ProjectBlobs, "recent uploads stay")
	b.there(p, loose, "within the grace period")
	b.clock.add(aWhile)
	preview, err := b.Sweep(b.ctx, true)
	require.NoError(t, err)
	b.there(p, loose, "a dry run removes nothing")
	r = b.sweep()
	b.gone(p, loose, "it is not referenced")
	for _, hash := range []string{file, one, two, folder, inner, saved, entry, code, deep, template} {
		b.there(p, hash, "it is referenced")
	}
	require.EqualValues(t, 1, r.Blobs)
	require.EqualValues(t, len("loose"), r.Bytes)
	require.Equal(t, before-int64(len("loose")), b.stored(p), "the counters of the storage")
	require.Equal(t, []int64{r.ProjectBlobs, r.ProjectBytes, r.Blobs, r.Bytes}, []int64{preview.ProjectBlobs, preview.ProjectBytes, preview.Blobs, preview.Bytes})
	require.Zero(t, b.sweep().ProjectBlobs)
}

// stored returns the bytes that the quota counts for a project.
func (b *testBundle) stored(project uuid.UUID) int64 {
	b.t.Helper()
	return b.count(`SELECT coalesce(sum(storage_bytes), 0)::bigint FROM quota_usage WHERE node_id = $1`, project)
}

// version registers a definition as it is.
func (b *testBundle) version(project uuid.UUID, definition string) {
	b.t.Helper()
	id := uuid.New()
	b.exec(`INSERT INTO workflows (id, project_id, name, owner_team, created_at, updated_at) VALUES ($1, $2, $3, '', now(), now())`, id, project, id.String())
	b.exec(`INSERT INTO workflow_versions (id, workflow_id, version, major, minor, patch, definition, plan, content_hash, node_count, created_by, created_at)
		VALUES ($1, $2, '1.0.0', 1, 0, 0, $3, '{}', decode(repeat('00', 32), 'hex'), 1, $1, now())`, uuid.New(), id, definition)
}

func TestOnlyWhoHasNoProjectGoesFromTheStore(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	other := b.project("other")
	b.execution(other, "SUCCEEDED", `{"data": {"$file": "`+b.upload(other, "shared")+`"}}`)
	hash := b.upload(auth.LocalProject, "shared")
	b.clock.add(aWhile)
	r := b.sweep()
	require.EqualValues(t, 1, r.ProjectBlobs)
	require.Zero(t, r.Blobs)
	b.there(other, hash, "another project references it")
	inProject, _ := b.has(auth.LocalProject, hash)
	require.False(t, inProject)
}

func TestExpiredExecutionsGoWithEverything(t *testing.T) {
	t.Parallel()
	var removed []uuid.UUID
	b := setup(t, nil, func(c *Config) {
		c.Telemetry = func(_ context.Context, ids []uuid.UUID) error { removed = append(removed, ids...); return nil }
	})
	p := auth.LocalProject
	gone, kept, later, live := b.execution(p, "SUCCEEDED", `{}`), b.execution(p, "FAILED", `{}`), b.execution(p, "SUCCEEDED", `{}`), b.execution(p, "RUNNING", `{}`)
	out := b.upload(p, "out")
	id := b.publish(p, gone, out, "")
	b.expire(gone)
	b.expire(kept)
	require.NoError(t, b.Keep(b.ctx, kept))
	b.exec(`UPDATE executions SET expires_at = $2 WHERE id = $1`, later, b.clock.Now().Add(365*24*time.Hour))
	b.clock.add(aWhile)

	preview, err := b.Sweep(b.ctx, true)
	require.NoError(t, err)
	require.EqualValues(t, 1, preview.Executions)
	require.EqualValues(t, 3, preview.Bytes, "the dry run includes the execution's bytes")
	r := b.sweep()
	require.EqualValues(t, 1, r.Executions)
	require.EqualValues(t, 1, r.Artifacts)
	require.Equal(t, []uuid.UUID{gone}, removed)
	b.gone(p, out, "its execution has expired")
	require.Zero(t, b.count(`SELECT count(*) FROM artifacts WHERE id = $1`, id))
	for _, table := range append(b.tablesOf(), "executions") {
		if table == "execution_changes" { // they tell the index that it is gone
			continue
		}
		column := "execution_id"
		if table == "executions" {
			column = "id"
		}
		require.Zero(t, b.count(fmt.Sprintf(`SELECT count(*) FROM %s WHERE %s = $1`, table, column), gone), table)
	}
	for _, id := range []uuid.UUID{kept, later, live} {
		require.EqualValues(t, 1, b.count(`SELECT count(*) FROM nodes WHERE execution_id = $1`, id))
	}
	require.EqualValues(t, 1, b.count(`SELECT count(*) FROM audit_log WHERE action = 'execution.expire' AND object_id = $1`, gone.String()))
	require.NoError(t, b.Release(b.ctx, kept))
	require.EqualValues(t, 1, b.sweep().Executions)
}

// tablesOf returns the tables with a column execution_id.
func (b *testBundle) tablesOf() []string {
	b.t.Helper()
	rows, err := b.pool.Query(b.ctx, `SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'execution_id'
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`)
	require.NoError(b.t, err)
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		require.NoError(b.t, rows.Scan(&name))
		names = append(names, name)
	}
	require.NoError(b.t, rows.Err())
	return names
}

// A new table with rows of executions must be listed here with its handling.
func TestEveryTableOfExecutionsIsKnown(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	known := map[string]string{
		"artifacts": "checked individually", "artifact_uses": "released with the execution", "entry_uses": "released with the execution",
		"secret_uses": "the use of secrets is history", "connection_uses": "and that of connections", "reservations": "an execution that has some is not removed", "pool_work": "rows of the queue of a pool end with their attempts", "resource_hours": "usage is history, for billing",
		"execution_tags": "removed in the last transaction", "execution_notes": "removed in the last transaction",
		"execution_changes": "the index takes them, and removes its entry of the execution",
		"input_sweep_runs":  "a sweep keeps its runs", "schedule_occurrences": "a schedule keeps its occurrences",
		"backfill_slots": "a backfill keeps its times", "trigger_deliveries": "a trigger keeps its deliveries for 30 days",
		"event_feed": "the feed has its own retention", "event_deliveries": "consumers still receive the events", "option_runs": "outputs are cached until keep_until",
	}
	for _, name := range removed() {
		known[name] = "removed"
	}
	for _, name := range b.tablesOf() {
		require.NotEmpty(t, known[name], "list %s in retention.removed or here: are its rows removed with their execution?", name)
		delete(known, name)
	}
	require.Empty(t, known, "tables that do not exist")
}

func TestTheInstallationsRuleHoldsWhereNoDefinitionSpeaks(t *testing.T) {
	t.Parallel()
	day, week := 24*time.Hour, 7*24*time.Hour
	b := setup(t, nil, func(c *Config) { c.Rule = workflow.TTL{Completion: &week, Success: &day} })
	p := auth.LocalProject
	succeeded, failed, spoken := b.execution(p, "SUCCEEDED", `{}`), b.execution(p, "FAILED", `{}`), b.execution(p, "SUCCEEDED", `{}`)
	b.exec(`UPDATE executions SET expires_at = finished_at + interval '3 days' WHERE id = $1`, spoken)
	left := func() (ids []uuid.UUID) {
		for _, id := range []uuid.UUID{succeeded, failed, spoken} {
			if b.count(`SELECT count(*) FROM executions WHERE id = $1`, id) == 1 {
				ids = append(ids, id)
			}
		}
		return ids
	}
	b.sweep()
	require.Len(t, left(), 3)
	b.clock.add(25 * time.Hour)
	b.sweep()
	require.Equal(t, []uuid.UUID{failed, spoken}, left())
	b.clock.add(3 * day)
	b.sweep()
	require.Equal(t, []uuid.UUID{failed}, left())
	b.clock.add(4 * day)
	b.sweep()
	require.Empty(t, left())
}

func TestWithoutClickHouseExecutionsStay(t *testing.T) {
	t.Parallel()
	unreachable := true
	b := setup(t, nil, func(c *Config) {
		c.Telemetry = func(context.Context, []uuid.UUID) error {
			if unreachable {
				return apperr.New(apperr.Unavailable, "ClickHouse does not respond.")
			}
			return nil
		}
	})
	p := auth.LocalProject
	id, loose := b.execution(p, "SUCCEEDED", `{}`), b.upload(p, "loose")
	b.expire(id)
	b.clock.add(aWhile)
	r, err := b.Sweep(b.ctx, false)
	require.NoError(t, err)
	require.Contains(t, r.Error, "ClickHouse")
	require.EqualValues(t, 1, b.count(`SELECT count(*) FROM nodes WHERE execution_id = $1`, id))
	b.gone(p, loose, "the other steps continue")
	require.True(t, apperr.Is(b.Keep(b.ctx, id), apperr.Conflict), "its logs may be deleted")
	unreachable = false
	require.EqualValues(t, 1, b.sweep().Executions)
}

func TestArtifactsThatOthersUseStay(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	p := auth.LocalProject
	owner, user, second := b.execution(p, "SUCCEEDED", `{}`), b.execution(p, "SUCCEEDED", `{}`), b.execution(p, "SUCCEEDED", `{}`)
	out, named := b.upload(p, "out"), b.upload(p, "named")
	id, byDefinition := b.publish(p, owner, out, ""), b.publish(p, owner, named, "")
	require.True(t, b.use(p, user, id))
	require.True(t, b.use(p, second, id))
	b.version(p, `{"inputs": {"model": {"type": "File", "default": {"$artifact": "`+byDefinition.String()+`"}}}}`)
	b.expire(owner)
	b.clock.add(aWhile)
	require.Zero(t, b.sweep().Artifacts)
	b.there(p, out, "others use it")
	b.expire(user)
	require.Zero(t, b.sweep().Artifacts)
	b.there(p, out, "one still uses it")
	b.expire(second)
	require.EqualValues(t, 1, b.sweep().Artifacts)
	b.gone(p, out, "it is unused")
	b.there(p, named, "a definition references it")
	require.False(t, b.use(p, second, id))
	b.exec(`UPDATE workflow_versions SET definition = '{}'`)
	require.EqualValues(t, 1, b.sweep().Artifacts)
	b.gone(p, named, "no definition references it any more")
}

func TestWhatIsStillNeededIsNotRemoved(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	p := auth.LocalProject
	id := b.execution(p, "FAILED", `{}`)
	b.expire(id)
	next := b.execution(p, "RUNNING", `{}`)
	b.exec(`UPDATE executions SET resume_of = $2 WHERE id = $1`, next, id)
	require.Zero(t, b.sweep().Executions, "a live execution resumes it")
	b.exec(`UPDATE executions SET resume_of = NULL WHERE id = $1`, next)

	b.exec(`INSERT INTO reservations (execution_id, node_index, attempt, project_id, launcher, cpu_millis, memory_mib, priority, created_at, expires_at)
		VALUES ($1, 0, 1, $2, 'test', 1, 1, 50, now(), now())`, id, p)
	require.Zero(t, b.sweep().Executions, "an attempt still has a reservation")
	b.exec(`DELETE FROM reservations`)

	b.exec(`INSERT INTO river_job (kind, args, state, max_attempts, queue) VALUES ('finished', jsonb_build_object('execution_id', $1::text), 'available', 25, 'notify')`, id.String())
	require.Zero(t, b.sweep().Executions, "its completion event is undelivered")
	b.exec(`DELETE FROM river_job`)
	require.EqualValues(t, 1, b.sweep().Executions)
}

func TestBytesOfLiveAttemptsStay(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	p := auth.LocalProject
	e := b.execution(p, "RUNNING", `{}`)
	old := b.upload(p, "before the attempt")
	b.clock.add(time.Hour)
	b.exec(`INSERT INTO reservations (execution_id, node_index, attempt, project_id, launcher, cpu_millis, memory_mib, priority, created_at, expires_at)
		VALUES ($1, 0, 1, $2, 'test', 1, 1, 50, $3, $3)`, e, p, b.clock.Now())
	out := b.upload(p, "its output")
	b.clock.add(7 * 24 * time.Hour)
	b.sweep()
	b.gone(p, old, "it is not referenced")
	b.there(p, out, "the attempt has not ended")
	b.publish(p, e, out, "")
	b.exec(`DELETE FROM reservations`)
	b.clock.add(aWhile)
	b.sweep()
	b.there(p, out, "it is an artifact")
}

func TestEmptyMonthsAreDropped(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	b.exec(`SELECT ensure_partitions('2026-01-10', 1)`) // January and February
	ids := func(at string) (id uuid.UUID) {
		require.NoError(t, b.pool.QueryRow(b.ctx, `SELECT uuid_floor($1::timestamptz)`, at).Scan(&id))
		return id
	}
	january, february := ids("2026-01-15"), ids("2026-02-15")
	for _, id := range []uuid.UUID{january, february} {
		b.exec(`INSERT INTO events (execution_id, seq, at, kind) VALUES ($1, 1, now(), 'x')`, id)
	}
	partitions := func(suffix string) int64 {
		return b.count(`SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname LIKE '%_' || $1`, suffix)
	}
	all := partitions("y2026m01")
	require.Greater(t, all, int64(5))
	b.exec(`DELETE FROM events WHERE execution_id = $1`, january)
	r := b.sweep()
	audited := b.count(`SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname = 'audit_log_y2026m01'`)
	require.Equal(t, audited, partitions("y2026m01"), "the audit log is kept")
	require.Positive(t, r.Partitions)
	left := b.names(`SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE '%_y2026m02' ORDER BY 1`)
	require.True(t, slices.ContainsFunc(left, func(n string) bool { return strings.HasPrefix(n, "checkpoints_") }),
		"an execution of February may still write: %v", left)
	require.False(t, slices.Contains(left, "artifacts_y2026m02"), "artifacts are independent of executions")
	b.execution(auth.LocalProject, "SUCCEEDED", `{}`) // this month's tables exist
}

func (b *testBundle) names(sql string) (names []string) {
	b.t.Helper()
	rows, err := b.pool.Query(b.ctx, sql)
	require.NoError(b.t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		require.NoError(b.t, rows.Scan(&name))
		names = append(names, name)
	}
	return names
}

func TestKeepIsForThoseWhoMayLaunch(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	id := b.execution(auth.LocalProject, "SUCCEEDED", `{}`)
	as := func(role string) context.Context {
		may := auth.Everywhere(role)
		return auth.WithSubject(t.Context(), auth.Subject{ID: uuid.New(), Name: "mia", Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject,
			Policy: auth.PolicyFunc(func(a auth.Action, place uuid.UUID) bool { return place == auth.LocalProject && may.May(a, place) })})
	}
	require.True(t, apperr.Is(b.Keep(as(auth.Viewer), id), apperr.Forbidden))
	require.True(t, apperr.Is(b.Keep(t.Context(), id), apperr.Unauthenticated))
	require.True(t, apperr.Is(b.Keep(b.ctx, uuid.New()), apperr.NotFound))
	for range 2 { // the second call changes nothing
		require.NoError(t, b.Keep(as(auth.ProjectDev), id))
	}
	require.EqualValues(t, 1, b.count(`SELECT count(*) FROM audit_log WHERE action = 'execution.keep' AND actor = 'mia'`))
	require.NoError(t, b.Release(b.ctx, id))
	require.EqualValues(t, 1, b.count(`SELECT count(*) FROM audit_log WHERE action = 'execution.release'`))
	_, err := b.Sweep(as(auth.ProjectDev), false)
	require.True(t, apperr.Is(err, apperr.Forbidden))
}

// TestArtifactsAreRemovedByTheirPolicy checks the policies of artifact garbage collection. An
// artifact with "completion" is removed after the end of its execution, unless another execution
// uses it. An artifact with "never" outlives its execution.
func TestArtifactsAreRemovedByTheirPolicy(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	p := auth.LocalProject
	ended, live, other := b.execution(p, "SUCCEEDED", `{}`), b.execution(p, "RUNNING", `{}`), b.execution(p, "SUCCEEDED", `{}`)
	artifact := func(execution uuid.UUID, text, gc string) uuid.UUID {
		id := b.publish(p, execution, b.upload(p, text), "")
		b.exec(`UPDATE artifacts SET gc = $2 WHERE id = $1`, id, gc)
		return id
	}
	there := func(id uuid.UUID) bool { return b.count(`SELECT count(*) FROM artifacts WHERE id = $1`, id) == 1 }
	done, running, used := artifact(ended, "a", "completion"), artifact(live, "b", "completion"), artifact(ended, "c", "completion")
	plain, never := artifact(ended, "d", ""), artifact(ended, "e", "never")
	b.exec(`INSERT INTO artifact_uses (artifact_id, execution_id) VALUES ($1, $2)`, used, other)
	b.clock.add(aWhile)
	require.EqualValues(t, 1, b.sweep().Artifacts)
	require.False(t, there(done), "its execution has ended")
	require.True(t, there(running) && there(used) && there(plain) && there(never))
	b.expire(ended)
	b.clock.add(aWhile)
	b.sweep()
	require.False(t, there(plain), "its execution was removed")
	require.True(t, there(used) && there(never))
	b.clock.add(aWhile)
	b.sweep()
	require.True(t, there(never), "an artifact that is kept forever is not an orphan")
}
