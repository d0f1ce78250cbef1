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
	require.Equal(t, []any{first.ID, 1, "The reader gave no reason."}, []any{dead.Events[0].ID, dead.Events[0].Tries, dead.Events[0].LastError})
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
