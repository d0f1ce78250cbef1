package handlers_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/web/contract"
)

// consume posts to the API of a consumer and decodes the answer.
func (b *testBundle) consume(t *testing.T, path, body string, out any) {
	t.Helper()
	got := b.admin.post(t, "/api/v1/events/consumers/mirror"+path, body)
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.NoError(t, json.Unmarshal([]byte(got.body), out))
}

// TestAConsumerOfTheAPI reads, acknowledges, fails and settles dead letters.
func TestAConsumerOfTheAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.launched(t)
	_, err := feed.New(feed.Config{Pool: b.pool}).Relay(b.ctx)
	require.NoError(t, err)
	created := b.admin.post(t, "/api/v1/events/consumers", `{"name": "mirror", "types": ["execution.*"], "start": "oldest", "max_tries": 1}`).object(t, http.StatusCreated)
	require.Equal(t, []any{"mirror", false, "0", false}, []any{created["name"], created["all_projects"], created["cursor"], created["stopped"]})
	b.admin.post(t, "/api/v1/events/consumers", `{"name": "Mirror"}`).problem(t, http.StatusConflict)
	b.member.get(t, "/api/v1/events/consumers").problem(t, http.StatusForbidden)
	for _, body := range []string{`{"name": "a b"}`, `{"name": "a", "topics": ["moon"]}`, `{"name": "a", "start": "yesterday"}`, `{"name": "a", "start": "999999"}`, `{"name": "a", "max_tries": 0}`} {
		b.admin.post(t, "/api/v1/events/consumers", body).problem(t, http.StatusUnprocessableEntity)
	}

	var lease contract.EventLease
	b.consume(t, "/read", `{"limit": 10}`, &lease)
	require.NotEmpty(t, lease.Events)
	first := lease.Events[0]
	require.Equal(t, []any{"1.0", "execution.launched", 0}, []any{first.SpecVersion, first.Type, first.Tries})
	var got contract.EventAnswer
	body := func(ids ...string) string {
		text, err := json.Marshal(map[string]any{"lease": lease.Lease, "events": ids})
		require.NoError(t, err)
		return string(text)
	}
	b.consume(t, "/fail", body(first.ID), &got)
	require.Equal(t, contract.EventAnswer{Events: []string{first.ID}, Absent: []string{}, DeadLetters: []string{first.ID}}, got)
	b.consume(t, "/acknowledge", body(first.ID), &got)
	require.Equal(t, []string{first.ID}, got.Absent)
	var released contract.ReleasedEvents
	b.consume(t, "/release", `{"lease": "`+lease.Lease.String()+`"}`, &released)
	require.EqualValues(t, len(lease.Events)-1, released.Released)

	var dead contract.DeadEventList
	list := b.admin.get(t, "/api/v1/events/consumers/mirror/dead-letters")
	require.NoError(t, json.Unmarshal([]byte(list.body), &dead))
	require.Len(t, dead.Events, 1)
	require.Equal(t, []any{first.ID, 1, "The reader did not give a reason."}, []any{dead.Events[0].ID, dead.Events[0].Tries, dead.Events[0].LastError})
	require.NotNil(t, dead.Events[0].DeadAt)
	b.consume(t, "/dead-letters/redeliver", `{}`, &got)
	require.Equal(t, []string{first.ID}, got.Events)
	b.consume(t, "/read", `{"limit": 1}`, &lease)
	require.Equal(t, first.ID, lease.Events[0].ID)
	b.consume(t, "/fail", body(first.ID), &got)
	b.consume(t, "/dead-letters/discard", `{"events": ["`+first.ID+`"]}`, &got)
	require.Equal(t, []string{first.ID}, got.Events)

	all := b.admin.get(t, "/api/v1/events/consumers").object(t, http.StatusOK)["consumers"]
	require.Len(t, all, 1)
	b.admin.drop(t, "/api/v1/events/consumers/mirror")
	b.admin.get(t, "/api/v1/events/consumers/mirror").problem(t, http.StatusNotFound)
	whole := b.admin.post(t, "/api/v1/events/consumers", `{"name": "mirror", "all_projects": true}`).object(t, http.StatusCreated)
	require.Equal(t, true, whole["all_projects"])
	b.admin.get(t, "/api/v1/events/consumers/mirror").problem(t, http.StatusNotFound)
	require.Equal(t, http.StatusOK, b.admin.get(t, "/api/v1/events/consumers/mirror?all_projects=true").status)
}

// TestTheFeedPage filters, pages back and follows.
func TestTheFeedPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launched(t)
	relay := feed.New(feed.Config{Pool: b.pool})
	_, err := relay.Relay(b.ctx)
	require.NoError(t, err)
	got := b.member.get(t, "/events?type=execution.*&execution="+id.String())
	require.Equal(t, http.StatusOK, got.status)
	require.Contains(t, got.body, "execution.launched")
	require.Contains(t, got.body, `href="/executions/`+id.String()+`"`)
	require.Contains(t, got.body, "&#34;specversion&#34;: &#34;1.0&#34;")
	require.NotContains(t, got.body, "node.ready")
	require.NotContains(t, got.body, `href="/events/consumers"`, "a member may not use consumers")
	require.Contains(t, b.admin.get(t, "/events").body, `href="/events/consumers"`)
	require.NotContains(t, b.member.get(t, "/events?topic=audit").body, "audit.workflow")
	require.Contains(t, b.member.get(t, "/events?to=2020-01-01T00:00").body, "No events match")
	require.Contains(t, b.member.get(t, "/events?from=2020-01-01T00:00&to=2199-01-01T00:00").body, "execution.launched")
	for query, message := range map[string]string{"execution=12": "full ID", "from=x": "Enter the time", "type=A": "not a type of events", "topic=moon": "not a topic", "before=x": "Use a link"} {
		wrong := b.member.get(t, "/events?"+query)
		require.Equal(t, http.StatusUnprocessableEntity, wrong.status, query)
		require.Contains(t, wrong.body, message)
	}
	span := feed.Span{}
	var seen []string // from the newest to the oldest, one page each
	for {
		page, err := relay.Recent(b.ctx, feed.Filter{Limit: 1}, span)
		require.NoError(t, err)
		for _, e := range page.Events {
			seen = append(seen, e.Cursor)
		}
		if span.Before = page.Older; span.Before == "" {
			break
		}
	}
	var all []string
	for _, e := range b.events(t, b.admin, "?limit=1000").Events {
		all = append([]string{e.Cursor}, all...)
	}
	require.Equal(t, all, seen)
	require.Greater(t, len(all), 1)
}

// TestTheConsumerPages create a consumer and settle its dead letters.
func TestTheConsumerPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.launched(t)
	_, err := feed.New(feed.Config{Pool: b.pool}).Relay(b.ctx)
	require.NoError(t, err)
	refused := b.admin.submit(t, "/events/consumers", "name", "a b", "types", "execution.*", "start", "oldest", "max_tries", "many")
	require.Equal(t, http.StatusUnprocessableEntity, refused.status)
	require.Contains(t, refused.body, "Enter a name of letters")
	require.Contains(t, refused.body, "Enter 1 to 100.")
	require.Contains(t, refused.body, `value="a b"`)
	made := b.admin.submit(t, "/events/consumers", "name", "mirror", "types", "execution.*", "start", "oldest", "max_tries", "1")
	require.Contains(t, b.admin.follow(t, made).body, "The consumer was created.")
	require.Equal(t, http.StatusConflict, b.admin.submit(t, "/events/consumers", "name", "mirror", "max_tries", "1").status)
	whole := b.admin.submit(t, "/events/consumers", "name", "mirror", "scope", "all", "max_tries", "1")
	require.Contains(t, b.admin.follow(t, whole).body, "all projects")

	var lease contract.EventLease
	b.consume(t, "/read", `{}`, &lease)
	var got contract.EventAnswer
	b.consume(t, "/fail", `{"lease": "`+lease.Lease.String()+`", "events": ["`+lease.Events[0].ID+`"], "reason": "the index is closed"}`, &got)
	shown := b.admin.get(t, "/events/consumers/mirror")
	require.Contains(t, shown.body, "the index is closed")
	require.Contains(t, shown.body, "1 try")
	require.Contains(t, shown.body, "Discard 1 dead letter?")
	again := b.admin.follow(t, b.admin.submit(t, "/events/consumers/mirror/redeliver", "event", lease.Events[0].ID))
	require.Contains(t, again.body, "1 event is delivered again.")
	require.Contains(t, again.body, "No dead letters")
	none := b.admin.follow(t, b.admin.submit(t, "/events/consumers/mirror/discard"))
	require.Contains(t, none.body, "0 dead letters were discarded.")
	require.Contains(t, b.admin.get(t, "/events/consumers").body, "mirror")
	require.Equal(t, http.StatusSeeOther, b.admin.submit(t, "/events/consumers/mirror/delete").status)
	require.Equal(t, http.StatusNotFound, b.admin.get(t, "/events/consumers/mirror").status)
	require.Equal(t, http.StatusOK, b.admin.get(t, "/events/consumers/mirror?all_projects=true").status)
}
