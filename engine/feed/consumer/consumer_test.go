package consumer_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/engine/feed/consumer"
)

type bundle struct {
	*testing.T
	ctx  context.Context
	pool *pgxpool.Pool
	now  time.Time
	*consumer.Service
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{T: t, pool: dbtest.New(t), now: time.Now().UTC().Truncate(time.Second)}
	b.ctx = auth.WithSubject(t.Context(), auth.Local())
	b.Service = b.server()
	return b
}

// server returns another server on the same database.
func (b *bundle) server() *consumer.Service {
	return consumer.New(consumer.Config{Pool: b.pool, Now: func() time.Time { return b.now }})
}

// record adds an event to the feed. Its subject is name.
func (b *bundle) record(name, topic, kind string, execution *uuid.UUID, project uuid.UUID) {
	b.Helper()
	_, err := b.pool.Exec(b.ctx, `WITH moved AS (UPDATE event_feed_state SET position = position + 1 RETURNING position)
		INSERT INTO event_feed (position, id, topic, type, at, recorded_at, tenant_id, project_id, execution_id, subject, data)
		SELECT position, $1, $2, $3, $4, $4, $5, $6, $7, $1, '{"n": 1}' FROM moved`, name, topic, kind, b.now, auth.LocalTenant, project, execution)
	require.NoError(b, err)
}

// events records n events of an execution, which are called prefix1 to prefixN.
func (b *bundle) events(prefix string, execution uuid.UUID, n int) {
	b.Helper()
	for i := range n {
		b.record(prefix+strconv.Itoa(i+1), "workflow", "execution.test", &execution, auth.LocalProject)
	}
}

func (b *bundle) create(sp consumer.Spec) consumer.Ref {
	b.Helper()
	_, err := b.Create(b.ctx, sp)
	require.NoError(b, err)
	return sp.Ref
}

func (b *bundle) next(ref consumer.Ref, limit int) consumer.Lease {
	b.Helper()
	l, err := b.Read(b.ctx, ref, consumer.Batch{Limit: limit, Lease: time.Minute})
	require.NoError(b, err)
	return l
}

func (b *bundle) state(ref consumer.Ref) consumer.Consumer {
	b.Helper()
	c, err := b.Get(b.ctx, ref)
	require.NoError(b, err)
	return c
}

func names(l consumer.Lease) []string {
	list := []string{}
	for _, e := range l.Events {
		list = append(list, e.ID)
	}
	return list
}

func named(name string) consumer.Spec {
	return consumer.Spec{Ref: consumer.Ref{Name: name}, Start: consumer.Oldest}
}

// TestCursorAndLag: acknowledgements move the cursor, in whichever order they arrive.
func TestCursorAndLag(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x, y := uuid.New(), uuid.New()
	b.events("x", x, 2)
	b.events("y", y, 2)
	ref := b.create(named("mirror"))
	late := b.create(consumer.Spec{Ref: consumer.Ref{Name: "late"}, Start: consumer.Newest})
	middle := b.create(consumer.Spec{Ref: consumer.Ref{Name: "middle"}, Start: "3"})
	require.EqualValues(t, 4, b.state(ref).Lag)
	require.Equal(t, "0", b.state(ref).Cursor)
	l := b.next(ref, 3)
	require.Equal(t, []string{"x1", "x2", "y1"}, names(l))
	require.Empty(t, names(b.next(late, 10)))
	require.Equal(t, []string{"y2"}, names(b.next(middle, 10)))
	got, err := b.Acknowledge(b.ctx, ref, l.ID, []string{"x2", "absent"})
	require.NoError(t, err)
	require.Equal(t, consumer.Answer{Done: []string{"x2"}, Absent: []string{"absent"}}, got)
	c := b.state(ref)
	require.Equal(t, []any{"0", int64(3), int64(2), int64(1)}, []any{c.Cursor, c.Lag, c.Taken, c.Acknowledged})
	require.WithinDuration(t, b.now, *c.Oldest, time.Second)
	_, err = b.Acknowledge(b.ctx, ref, l.ID, nil)
	require.NoError(t, err)
	require.Equal(t, []any{"3", int64(1)}, []any{b.state(ref).Cursor, b.state(ref).Lag})
	l = b.next(ref, 10)
	_, err = b.Acknowledge(b.ctx, ref, l.ID, nil)
	require.NoError(t, err)
	c = b.state(ref)
	require.Equal(t, []any{"4", int64(0), b.now}, []any{c.Cursor, c.Lag, c.AcknowledgedAt.UTC()})
	require.Nil(t, c.Oldest)
}

// TestAReaderDies before it acknowledges: another server delivers its events again, and none is lost. Only
// the event at which it stopped counts as failed.
func TestAReaderDies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x := uuid.New()
	b.events("x", x, 4)
	ref := b.create(named("mirror"))
	first := b.next(ref, 4)
	_, err := b.Acknowledge(b.ctx, ref, first.ID, []string{"x1"})
	require.NoError(t, err)
	other := b.server()
	l, err := other.Read(b.ctx, ref, consumer.Batch{})
	require.NoError(t, err)
	require.Empty(t, l.Events, "they are leased")
	b.now = b.now.Add(time.Minute)
	l, err = other.Read(b.ctx, ref, consumer.Batch{})
	require.NoError(t, err)
	require.Empty(t, names(l), "x2 waits for its next try, and the others wait for it")
	b.now = b.now.Add(time.Second)
	l, err = other.Read(b.ctx, ref, consumer.Batch{})
	require.NoError(t, err)
	require.Equal(t, []string{"x2", "x3", "x4"}, names(l))
	require.Equal(t, []int{1, 0, 0}, []int{l.Events[0].Tries, l.Events[1].Tries, l.Events[2].Tries})
	require.Contains(t, l.Events[0].Error, "lease ended")
	got, err := b.Acknowledge(b.ctx, ref, first.ID, []string{"x2"})
	require.NoError(t, err)
	require.Equal(t, []string{"x2"}, got.Absent, "the former lease has ended")
	n, err := other.Release(b.ctx, ref, l.ID)
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	l = b.next(ref, 10)
	require.Equal(t, []int{1, 0, 0}, []int{l.Events[0].Tries, l.Events[1].Tries, l.Events[2].Tries}, "a released event has not failed")
	_, err = b.Acknowledge(b.ctx, ref, l.ID, nil)
	require.NoError(t, err)
	require.Zero(t, b.state(ref).Lag)
}

// TestAFailureHoldsBackItsExecution alone, until the event is a dead letter.
func TestAFailureHoldsBackItsExecution(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x, y := uuid.New(), uuid.New()
	b.events("x", x, 2)
	b.events("y", y, 1)
	sp := named("mirror")
	sp.MaxTries = 3
	ref := b.create(sp)
	l := b.next(ref, 10)
	got, err := b.Fail(b.ctx, ref, l.ID, consumer.Failure{Events: []string{"x1"}, Reason: "the index is closed"})
	require.NoError(t, err)
	require.Equal(t, consumer.Answer{Done: []string{"x1"}}, got)
	got, err = b.Acknowledge(b.ctx, ref, l.ID, []string{"x2", "y1"})
	require.NoError(t, err)
	require.Equal(t, consumer.Answer{Done: []string{"y1"}, Absent: []string{"x2"}}, got, "x2 follows x1")
	b.events("later-y", y, 1)
	b.events("later-x", x, 1)
	l = b.next(ref, 10)
	require.Equal(t, []string{"later-y1"}, names(l))
	require.EqualValues(t, 1, b.state(ref).Failing)
	for _, pause := range []time.Duration{time.Second, 2 * time.Second} {
		b.now = b.now.Add(pause - time.Millisecond)
		require.Empty(t, names(b.next(ref, 10)))
		b.now = b.now.Add(time.Millisecond)
		l = b.next(ref, 10)
		require.Equal(t, []string{"x1", "x2", "later-x1"}, names(l))
		require.Equal(t, "the index is closed", l.Events[0].Error)
		got, err = b.Fail(b.ctx, ref, l.ID, consumer.Failure{Events: []string{"x1"}, Reason: "the index is closed"})
		require.NoError(t, err)
	}
	require.Equal(t, []string{"x1"}, got.Dead)
	page, err := b.DeadLetters(b.ctx, ref, "", 10)
	require.NoError(t, err)
	require.Len(t, page.Letters, 1)
	require.Equal(t, []any{"x1", 3, "the index is closed"}, []any{page.Letters[0].ID, page.Letters[0].Tries, page.Letters[0].Error})
	l = b.next(ref, 10)
	require.Empty(t, names(l), "the reader still has x2, which a dead letter does not hold back")
	require.EqualValues(t, 1, b.state(ref).DeadLetters)

	got, err = b.Redeliver(b.ctx, ref, []string{"x1", "absent"})
	require.NoError(t, err)
	require.Equal(t, consumer.Answer{Done: []string{"x1"}, Absent: []string{"absent"}}, got)
	l = b.next(ref, 10)
	require.Equal(t, []string{"x1"}, names(l))
	got, err = b.Fail(b.ctx, ref, l.ID, consumer.Failure{Events: []string{"x1"}, Final: true})
	require.NoError(t, err)
	require.Equal(t, []string{"x1"}, got.Dead, "a final failure needs one try")
	got, err = b.Discard(b.ctx, ref, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"x1"}, got.Done)
	require.Zero(t, b.state(ref).DeadLetters)
	var recorded int
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM audit_log WHERE action LIKE 'event\\_consumer.%'").Scan(&recorded))
	require.Equal(t, 3, recorded, "its creation and both decisions")
}

// TestRetention: what a consumer has taken outlives the feed, and what it has not taken is counted.
func TestRetention(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.events("x", uuid.New(), 5)
	ref := b.create(named("slow"))
	require.Equal(t, []string{"x1", "x2"}, names(b.next(ref, 2)))
	f := feed.New(feed.Config{Pool: b.pool, Now: func() time.Time { return b.now.Add(feed.DefaultKeep + time.Minute) }})
	require.NoError(t, f.Prune(b.ctx))
	b.events("y", uuid.New(), 1)
	b.now = b.now.Add(2 * time.Minute)
	require.Equal(t, []string{"y1"}, names(b.next(ref, 10)))
	b.now = b.now.Add(time.Second)
	require.Equal(t, []string{"x1", "x2"}, names(b.next(ref, 10)))
	require.EqualValues(t, 3, b.state(ref).Missed)
	_, err := b.Create(b.ctx, consumer.Spec{Ref: consumer.Ref{Name: "past"}, Start: "1"})
	require.True(t, apperr.Is(err, apperr.Invalid))
	require.Contains(t, apperr.FieldsOf(err)[0].Message, "7 days")
}

// TestFilters: topics, types and projects. Events of the audit log must be named.
func TestFilters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.record("launched", "workflow", "execution.launched", new(uuid.New()), auth.LocalProject)
	b.record("model", "artifact", "model.registered", nil, auth.LocalProject)
	b.record("dash", "artifact", "modelXregistered", nil, auth.LocalProject)
	b.record("change", "audit", "audit.trigger.create", nil, auth.LocalProject)
	b.record("elsewhere", "workflow", "execution.launched", nil, uuid.New())
	read := func(name string, sp consumer.Spec) []string {
		sp.Name, sp.Start = name, consumer.Oldest
		return names(b.next(b.create(sp), 10))
	}
	require.Equal(t, []string{"launched", "model", "dash"}, read("all", consumer.Spec{}))
	require.Equal(t, []string{"change"}, read("audit", consumer.Spec{Topics: []string{"audit"}}))
	require.Equal(t, []string{"model"}, read("models", consumer.Spec{Types: []string{"model.*"}}))
	require.Equal(t, []string{"launched", "model", "dash", "elsewhere"}, read("whole", consumer.Spec{Ref: consumer.Ref{Installation: true}}))
	for field, sp := range map[string]consumer.Spec{
		"name": {Ref: consumer.Ref{Name: "a b"}}, "topics": {Ref: consumer.Ref{Name: "a"}, Topics: []string{"moon"}}, "types": {Ref: consumer.Ref{Name: "a"}, Types: []string{"A"}},
		"max_tries": {Ref: consumer.Ref{Name: "a"}, MaxTries: 101}, "start": {Ref: consumer.Ref{Name: "a"}, Start: "77"},
	} {
		_, err := b.Create(b.ctx, sp)
		require.True(t, apperr.Is(err, apperr.Invalid), field)
		require.Equal(t, field, apperr.FieldsOf(err)[0].Path)
	}
	_, err := b.Create(b.ctx, named("ALL"))
	require.True(t, apperr.Is(err, apperr.Conflict))
	list, err := b.List(b.ctx)
	require.NoError(t, err)
	require.Len(t, list, 4)
	require.NoError(t, b.Delete(b.ctx, consumer.Ref{Name: "all"}))
	_, err = b.Get(b.ctx, consumer.Ref{Name: "all"})
	require.True(t, apperr.Is(err, apperr.NotFound))
}

// TestPermissions: consumers need their own permission, those of the installation an administrator, and the
// audit log the permission to read it.
func TestPermissions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	as := func(may ...auth.Action) context.Context {
		return auth.WithSubject(t.Context(), auth.Subject{ID: uuid.New(), Name: "reader", Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject,
			Policy: auth.PolicyFunc(func(a auth.Action, place uuid.UUID) bool {
				for _, m := range may {
					if m == a && place == auth.LocalProject {
						return true
					}
				}
				return false
			})})
	}
	ref := b.create(consumer.Spec{Ref: consumer.Ref{Name: "changes"}, Topics: []string{"audit"}})
	whole := b.create(consumer.Spec{Ref: consumer.Ref{Name: "whole", Installation: true}})
	for _, c := range []struct {
		ctx     context.Context
		ref     consumer.Ref
		allowed bool
	}{
		{as(auth.ExecutionRead), ref, false}, {as(auth.EventConsume), ref, false}, {as(auth.EventConsume, auth.AuditRead), ref, true}, {as(auth.EventConsume, auth.AuditRead), whole, false},
	} {
		_, err := b.Read(c.ctx, c.ref, consumer.Batch{})
		require.Equal(t, c.allowed, err == nil, "%v", err)
		_, err = b.Get(c.ctx, c.ref)
		require.Equal(t, c.allowed, err == nil, "%v", err)
	}
	list, err := b.List(as(auth.EventConsume))
	require.NoError(t, err)
	require.Len(t, list, 1, "those of the installation are hidden")
}

// TestManyReaders process each event once, and those of an execution in their order, while some of them
// fail and some answers are lost.
func TestManyReaders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Service = consumer.New(consumer.Config{Pool: b.pool})
	const executions, each = 5, 30
	for n := range each {
		for x := range executions {
			id := uuid.UUID{15: byte(x + 1)}
			b.record(fmt.Sprintf("%d.%d", x, n), "task", "node.test", &id, auth.LocalProject)
		}
	}
	ref := b.create(named("mirror"))
	var mu sync.Mutex
	seen, failed := map[string][]string{}, map[string]bool{}
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				l, err := b.Read(b.ctx, ref, consumer.Batch{Limit: 7, Wait: 100 * time.Millisecond})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				done := len(seen["all"]) == executions*each
				mu.Unlock()
				if done {
					return
				}
				held := map[uuid.UUID]bool{}
				for _, e := range l.Events {
					if held[*e.ExecutionID] {
						continue
					}
					mu.Lock()
					fail := len(e.ID) == 3 && e.ID[2] == '5' && !failed[e.ID]
					failed[e.ID] = failed[e.ID] || fail
					mu.Unlock()
					if fail {
						held[*e.ExecutionID] = true
						_, err = b.Fail(b.ctx, ref, l.ID, consumer.Failure{Events: []string{e.ID}, Reason: "test"})
					} else {
						mu.Lock()
						seen[e.ID[:1]] = append(seen[e.ID[:1]], e.ID)
						seen["all"] = append(seen["all"], e.ID)
						mu.Unlock()
						_, err = b.Acknowledge(b.ctx, ref, l.ID, []string{e.ID})
					}
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	readers.Wait()
	require.Len(t, failed, executions*each)
	for x := range executions {
		var want []string
		for n := range each {
			want = append(want, fmt.Sprintf("%d.%d", x, n))
		}
		require.Equal(t, want, seen[strconv.Itoa(x)])
	}
	require.Zero(t, b.state(ref).Lag)
}
