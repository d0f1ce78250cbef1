package retention

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/quota"
)

// clock is a manual clock.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// testBundle is a Service with the services whose data it sweeps, on its own database
// and store.
type testBundle struct {
	*Service
	t         testing.TB
	ctx       context.Context // of the local administrator
	pool      *pgxpool.Pool
	store     artifact.Remover
	artifacts *artifact.Service
	quotas    *quota.Service
	clock     *clock
	crash     func(point string)
}

func setup(t testing.TB, store artifact.Remover, change func(*Config)) *testBundle {
	t.Helper()
	if store == nil {
		disk, err := artifact.OpenStore(t.TempDir())
		require.NoError(t, err)
		store = disk
	}
	b := &testBundle{t: t, ctx: auth.WithSubject(t.Context(), auth.Local()), pool: dbtest.New(t), store: store,
		clock: &clock{now: time.Now().UTC().Truncate(time.Microsecond)}, crash: func(string) {}}
	migrator, err := rivermigrate.New(riverpgxv5.New(b.pool), nil)
	require.NoError(t, err)
	_, err = migrator.Migrate(b.ctx, rivermigrate.DirectionUp, nil)
	require.NoError(t, err)
	b.quotas, err = quota.New(quota.Config{Pool: b.pool, Capacity: quota.Capacity{CPUMillis: 1000, MemoryMiB: 1000, Pods: 1}, Instance: "test", Now: b.clock.Now})
	require.NoError(t, err)
	require.NoError(t, b.quotas.Prepare(b.ctx))
	b.artifacts = artifact.NewService(b.pool, store, b.clock.Now)
	b.artifacts.CountWith(b.quotas.Storage.Add)
	c := Config{
		Pool: b.pool, Store: store, Free: b.quotas.Storage.Free, Now: b.clock.Now, Crash: func(point string) { b.crash(point) },
	}
	if change != nil {
		change(&c)
	}
	b.Service = New(c)
	return b
}

// sweep sweeps once and fails the test on any error.
func (b *testBundle) sweep() Report {
	b.t.Helper()
	r, err := b.Sweep(b.ctx, false)
	require.NoError(b.t, err)
	require.Empty(b.t, r.Error)
	return r
}

func (b *testBundle) exec(sql string, args ...any) {
	b.t.Helper()
	_, err := b.pool.Exec(b.ctx, sql, args...)
	require.NoError(b.t, err, sql)
}

func (b *testBundle) count(sql string, args ...any) (n int64) {
	b.t.Helper()
	require.NoError(b.t, b.pool.QueryRow(b.ctx, sql, args...).Scan(&n), sql)
	return n
}

// project creates a project in addition to the local one.
func (b *testBundle) project(name string) uuid.UUID {
	b.t.Helper()
	id := uuid.New()
	b.exec(`INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, namespace)
		SELECT $1, 'project', id, kind, tenant_id, path || $1::uuid, $3, $3 FROM tenancy_nodes WHERE id = $2`, id, auth.LocalTeam, name)
	return id
}

// in returns the context of the administrator in project.
func (b *testBundle) in(project uuid.UUID) context.Context {
	s := auth.Local()
	s.ProjectID = project
	return auth.WithSubject(b.ctx, s)
}

// upload uploads text to project and returns its hash.
func (b *testBundle) upload(project uuid.UUID, text string) string {
	b.t.Helper()
	blob, err := b.artifacts.Upload(b.in(project), strings.NewReader(text))
	require.NoError(b.t, err)
	return blob.SHA256
}

// execution inserts an ended execution, with inputs as JSON and a row in each table.
func (b *testBundle) execution(project uuid.UUID, status, inputs string) uuid.UUID {
	b.t.Helper()
	id := uuid.Must(uuid.NewV7())
	live := status == "RUNNING"
	failed := 0
	if status == "FAILED" {
		failed = 1
	}
	finished := new(b.clock.Now())
	succeeded, running := 1-failed, 0
	if live {
		finished, succeeded, running = nil, 0, 1
	}
	b.exec(`INSERT INTO executions (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, status, priority, inputs,
			submitted_by, submitted_by_name, created_at, started_at, finished_at, total, pending, succeeded, failed, running, levels)
		VALUES ($1, $2, $3, $4, $4, 'w', '1.0.0', $5, 50, $6, $4, 'ada', $7, $7, $8, 1, 0, $9, $10, $11, 1)`,
		id, auth.LocalTenant, project, uuid.New(), status, inputs, b.clock.Now(), finished, succeeded, failed, running)
	b.exec(`INSERT INTO nodes (execution_id, node_index, name, level, state, pending_dependencies, attempt) VALUES ($1, 0, 'a', 0, 'RUNNING', 0, 1)`, id)
	b.exec(`INSERT INTO attempts (execution_id, node_index, attempt, launcher, queued_at) VALUES ($1, 0, 1, 'test', now())`, id)
	b.exec(`INSERT INTO events (execution_id, seq, at, kind) VALUES ($1, 1, now(), 'execution.started')`, id)
	b.exec(`INSERT INTO checkpoints (execution_id, node_index, attempt, data, saved_at) VALUES ($1, 0, 1, '{}', now())`, id)
	b.exec(`INSERT INTO execution_idempotency_keys (project_id, key, execution_id, request_hash, created_at) VALUES ($1, $2, $3, '', now())`, project, id.String(), id)
	return id
}

// expire makes an execution expire.
func (b *testBundle) expire(id uuid.UUID) {
	b.t.Helper()
	b.exec(`UPDATE executions SET expires_at = $2 WHERE id = $1`, id, b.clock.Now())
}

// publish registers bytes of project as an artifact of an execution.
func (b *testBundle) publish(project, execution uuid.UUID, hash, mediaType string) uuid.UUID {
	b.t.Helper()
	blob, err := b.artifacts.Blob(auth.AsSystem(b.ctx), project, hash, mediaType)
	require.NoError(b.t, err)
	id, err := artifact.NewID()
	require.NoError(b.t, err)
	require.NoError(b.t, db.Tx(b.ctx, b.pool, func(_ pgx.Tx, q *db.Queries) error {
		return b.artifacts.Publish(auth.AsSystem(b.ctx), q, auth.LocalTenant, project, []artifact.New{{
			ID: id, ExecutionID: execution, Node: "a", Attempt: 1, WorkflowName: "w", Name: "out", Type: "File", Kind: "File",
			SHA256: hash, Size: blob.Size, MediaType: mediaType,
		}})
	}))
	return id
}

// use records that an execution uses an artifact; false when the artifact was deleted.
func (b *testBundle) use(project, execution, id uuid.UUID) bool {
	b.t.Helper()
	found, err := db.New(b.pool).UseArtifacts(b.ctx, []uuid.UUID{id}, project, execution)
	require.NoError(b.t, err)
	return len(found) == 1
}

// folder uploads the manifest of a folder with files of those hashes.
func (b *testBundle) folder(project uuid.UUID, hashes ...string) string {
	b.t.Helper()
	var d artifact.Directory
	for i, h := range hashes {
		d.Entries = append(d.Entries, artifact.Entry{Path: fmt.Sprint(i), SHA256: h, Size: 1})
	}
	text, err := json.Marshal(d)
	require.NoError(b.t, err)
	return b.upload(project, string(text))
}

// has reports whether project may read the bytes, without requesting them for use, and
// whether the store has them.
func (b *testBundle) has(project uuid.UUID, hash string) (inProject, inStore bool) {
	b.t.Helper()
	raw, err := hex.DecodeString(hash)
	require.NoError(b.t, err)
	inProject = b.count(`SELECT count(*) FROM project_blobs WHERE project_id = $1 AND sha256 = $2`, project, raw) == 1
	_, err = b.store.Stat(b.ctx, hash)
	if !apperr.Is(err, apperr.NotFound) {
		require.NoError(b.t, err)
	}
	return inProject, err == nil
}

// gone checks that neither has the bytes; there checks that both have them.
func (b *testBundle) gone(project uuid.UUID, hash, why string) {
	b.t.Helper()
	inProject, inStore := b.has(project, hash)
	require.False(b.t, inProject, "project: %s", why)
	require.False(b.t, inStore, "store: %s", why)
}

func (b *testBundle) there(project uuid.UUID, hash, why string) {
	b.t.Helper()
	inProject, inStore := b.has(project, hash)
	require.True(b.t, inProject, "project: %s", why)
	require.True(b.t, inStore, "store: %s", why)
}
