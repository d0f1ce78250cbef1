package feed_test

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/enginetest"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/feed"
)

type bundle struct {
	t      *testing.T
	ctx    context.Context
	pool   *pgxpool.Pool
	engine *enginetest.Engine
	feed   *feed.Service
	now    time.Time
}

func setup(t *testing.T) *bundle {
	t.Helper()
	e := enginetest.New(t)
	b := &bundle{t: t, ctx: e.Ctx, pool: e.Pool, engine: e, now: time.Now()}
	b.feed = feed.New(feed.Config{Pool: e.Pool, Logger: e.Log, Now: func() time.Time { return b.now }})
	e.Register(`{name: flow, version: 1.0.0, operators: [{name: one, type: noop}]}`)
	return b
}

func (b *bundle) relay() int64 {
	b.t.Helper()
	n, err := b.feed.Relay(b.ctx)
	require.NoError(b.t, err)
	return n
}

func (b *bundle) list(f feed.Filter) feed.Page {
	b.t.Helper()
	if f.Limit == 0 {
		f.Limit = feed.MaxPage
	}
	page, err := b.feed.List(b.ctx, f)
	require.NoError(b.t, err)
	return page
}

func (b *bundle) launch() uuid.UUID {
	b.t.Helper()
	e, _, err := b.engine.Service.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "flow"})
	require.NoError(b.t, err)
	return e.ID
}

func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	_, err := b.pool.Exec(b.ctx, sql, args...)
	require.NoError(b.t, err)
}

// event writes an event of an execution, as the engine does.
const event = `WITH counted AS (UPDATE executions SET event_seq = event_seq + 1 WHERE id = $1 RETURNING id, event_seq)
	INSERT INTO events (execution_id, seq, at, kind, message) SELECT id, event_seq, $2, 'execution.test', '' FROM counted`

func types(events []feed.Event) (list []string) {
	for _, e := range events {
		list = append(list, e.Type)
	}
	return list
}

// TestEventsOfAllTopics: each source has its events in the feed, once.
func TestEventsOfAllTopics(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.relay()
	start := b.list(feed.Filter{After: feed.Latest}).Next
	id := b.launch()
	project := auth.LocalProject
	b.exec(`INSERT INTO artifacts (id, tenant_id, project_id, execution_id, node_index, node, attempt, workflow_name, name, type, kind, sha256, size, media_type, filename, created_at)
		VALUES ($1, $2, $3, $4, 0, 'one', 1, 'flow', 'model', 'Model', 'Model', decode(repeat('00', 32), 'hex'), 7, 'text/plain', 'm.bin', now())`, uuid.Must(uuid.NewV7()), auth.LocalTenant, project, id)
	entry := uuid.Must(uuid.NewV7())
	b.exec(`INSERT INTO catalogue_entries (id, project_id, kind, name, version, facts, created_by, created_at) VALUES ($1, $2, 'Model', 'digits', '2', '{}', 'ada', now())`, entry, project)
	b.exec(`INSERT INTO model_history (id, project_id, name, entry_id, version, action, by_name, at, stage) VALUES ($1, $2, 'digits', $3, '2', 'moved', 'ada', now(), 'production')`, uuid.Must(uuid.NewV7()), project, entry)
	b.exec(`INSERT INTO quota_events (id, at, node_id, tenant_id, project_id, kind, data) VALUES ($1, now(), $2, $3, $2, 'quota.updated', '{"name": "local"}')`, uuid.Must(uuid.NewV7()), project, auth.LocalTenant)
	require.Positive(t, b.relay())
	require.Zero(t, b.relay(), "nothing is copied twice")

	got := b.list(feed.Filter{After: start})
	for _, want := range []string{"execution.launched", "artifact.created", "model.registered", "model.stage_changed", "quota.updated"} {
		require.Contains(t, types(got.Events), want)
	}
	models := b.list(feed.Filter{After: start, Types: []string{"model.*"}}).Events
	require.Equal(t, []string{"model.registered", "model.stage_changed"}, types(models))
	var data map[string]any
	require.NoError(t, json.Unmarshal(models[1].Data, &data))
	require.Equal(t, []any{"production", map[string]any{"$catalogue": "digits@2"}}, []any{data["stage"], data["value"]})
	for _, e := range b.list(feed.Filter{After: start, ExecutionID: &id}).Events {
		require.Equal(t, id, *e.ExecutionID)
	}
	require.Equal(t, []string{"quota.updated"}, types(b.list(feed.Filter{After: start, Topics: []string{"quota"}}).Events))
	for _, f := range []feed.Filter{{Topics: []string{"moon"}}, {Types: []string{"a b"}}, {After: "x"}, {After: "999999999"}, {After: "-1"}} {
		_, err := b.feed.List(b.ctx, f)
		require.True(t, apperr.Is(err, apperr.Invalid), "%+v", f)
	}
}

// TestLateCommitsAreNotSkipped: an event whose transaction began first and ends last comes after the cursor
// of a reader that has read the others.
func TestLateCommitsAreNotSkipped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	early, late := b.launch(), b.launch()
	b.relay()
	start := b.list(feed.Filter{After: feed.Latest}).Next
	tx, err := b.pool.Begin(b.ctx)
	require.NoError(t, err)
	_, err = tx.Exec(b.ctx, event, late, b.now)
	require.NoError(t, err)
	b.exec(event, early, b.now)
	require.EqualValues(t, 1, b.relay())
	first := b.list(feed.Filter{After: start})
	require.Equal(t, early, *first.Events[0].ExecutionID)
	require.Zero(t, b.relay())
	require.NoError(t, tx.Commit(b.ctx))
	require.EqualValues(t, 1, b.relay())
	second := b.list(feed.Filter{After: first.Next})
	require.Len(t, second.Events, 1)
	require.Equal(t, late, *second.Events[0].ExecutionID)
}

// TestOrderUnderLoad: several writers and two relays lose nothing, copy nothing twice, and keep the
// order of each execution.
func TestOrderUnderLoad(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const writers, each = 6, 40
	ids := []uuid.UUID{b.launch(), b.launch()}
	var writing, relaying sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for n := range each {
				// The clocks of servers differ.
				at := b.now.Add(time.Duration((w*7+n*13)%50) * time.Millisecond)
				if _, err := b.pool.Exec(b.ctx, event, ids[(w+n)%2], at); err != nil {
					t.Error(err)
				}
			}
		})
	}
	stop := make(chan struct{})
	for range 2 {
		relaying.Go(func() {
			for {
				if _, err := b.feed.Relay(b.ctx); err != nil {
					t.Error(err)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	writing.Wait()
	close(stop)
	relaying.Wait()
	b.relay()
	next, seen := map[uuid.UUID]int{}, 0
	cursor := ""
	for {
		page := b.list(feed.Filter{After: cursor, Topics: []string{"workflow"}, Limit: 17})
		for _, e := range page.Events {
			next[*e.ExecutionID]++
			require.Equal(t, e.ExecutionID.String()+"."+strconv.Itoa(next[*e.ExecutionID]), e.ID)
			seen++
		}
		cursor = page.Next
		if !page.More {
			break
		}
	}
	require.Equal(t, writers*each+2, seen)
}

// TestRetention: a cursor before the oldest kept event is refused, and the start is that event.
func TestRetention(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.launch()
	b.relay()
	old := b.list(feed.Filter{Limit: 1}).Next
	b.now = b.now.Add(feed.DefaultKeep + time.Minute)
	id := b.launch()
	b.relay()
	require.NoError(t, b.feed.Prune(b.ctx))
	_, err := b.feed.List(b.ctx, feed.Filter{After: old})
	require.True(t, apperr.Is(err, apperr.Gone))
	require.Contains(t, apperr.MessageOf(err), "7 days")
	for _, e := range b.list(feed.Filter{Topics: []string{"workflow"}}).Events {
		require.Equal(t, id, *e.ExecutionID)
	}
}

// TestARestoredDatabase continues: in another cluster, transaction numbers start again at a low number.
func TestARestoredDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch()
	b.now = time.Now()
	b.relay()
	cursor := b.list(feed.Filter{After: feed.Latest}).Next
	for _, table := range []string{"events", "audit_log"} { // as if written by a cluster that is far ahead
		b.exec("UPDATE " + table + " SET tx = '900000000000'")
	}
	b.exec("UPDATE event_feed_state SET system = 1, horizon = '900000000001:900000000001:'")
	b.exec(event, id, b.now.Add(time.Second))
	require.EqualValues(t, 1, b.relay(), "what happened since the last copy")
	b.exec(event, id, b.now.Add(time.Second))
	require.EqualValues(t, 1, b.relay())
	require.Zero(t, b.relay())
	require.Equal(t, []string{"execution.test", "execution.test"}, types(b.list(feed.Filter{After: cursor}).Events))
}

// TestReadersSeeTheirProjects: events of other projects and of the audit log need permissions.
func TestReadersSeeTheirProjects(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.launch()
	b.relay()
	read := func(all bool, may ...any) ([]string, error) {
		subject := auth.Subject{ID: uuid.New(), Name: "reader", Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, Policy: auth.PolicyFunc(func(a auth.Action, place uuid.UUID) bool {
			for i := 0; i < len(may); i += 2 {
				if may[i] == a && may[i+1] == place {
					return true
				}
			}
			return false
		})}
		page, err := b.feed.List(auth.WithSubject(t.Context(), subject), feed.Filter{AllProjects: all, Limit: feed.MaxPage})
		topics := map[string]bool{}
		for _, e := range page.Events {
			topics[e.Topic] = true
		}
		list := []string{}
		for _, topic := range feed.Topics() {
			if topics[topic] {
				list = append(list, topic)
			}
		}
		return list, err
	}
	_, err := read(false)
	require.Error(t, err)
	got, err := read(false, auth.ExecutionRead, auth.LocalProject)
	require.NoError(t, err)
	require.Equal(t, []string{"workflow"}, got)
	got, err = read(true, auth.ExecutionRead, auth.LocalProject, auth.AuditRead, auth.LocalProject)
	require.NoError(t, err)
	require.Equal(t, []string{"workflow", "audit"}, got)
	b.exec("UPDATE event_feed SET project_id = $1 WHERE project_id IS NOT NULL", uuid.New())
	got, err = read(true, auth.ExecutionRead, auth.LocalProject, auth.AuditRead, auth.LocalProject)
	require.NoError(t, err)
	require.Empty(t, got)
}
