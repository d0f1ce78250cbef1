package handlers_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/web/contract"
)

func (b *testBundle) events(t *testing.T, c *caller, query string) contract.CloudEventList {
	t.Helper()
	got := c.get(t, "/api/v1/events"+query)
	require.Equal(t, http.StatusOK, got.status, got.body)
	var list contract.CloudEventList
	require.NoError(t, json.Unmarshal([]byte(got.body), &list))
	return list
}

// TestTheFeedOfEvents is read in pages, followed as a stream, and hides the audit log from members.
func TestTheFeedOfEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	relay := feed.New(feed.Config{Pool: b.pool})
	id := b.launched(t)
	_, err := relay.Relay(b.ctx)
	require.NoError(t, err)
	query := "?topic=workflow&topic=audit&execution_id=" + id.String()
	page := b.events(t, b.member, query)
	require.NotEmpty(t, page.Events)
	first := page.Events[0]
	require.Equal(t, []any{"1.0", "execution.launched", "workflow", "/projects/" + auth.LocalProject.String(), "with.log", id}, []any{first.SpecVersion, first.Type, first.Topic, first.Source, first.Subject, *first.ExecutionID})
	require.Equal(t, page.Next, b.events(t, b.member, "?after=latest").Next)
	require.Empty(t, b.events(t, b.member, query+"&after="+page.Next).Events)
	require.Empty(t, b.events(t, b.member, "?type=audit.*").Events, "a member may not read the audit log")
	require.NotEmpty(t, b.events(t, b.admin, "?type=audit.*&all_projects=true").Events)
	for query, field := range map[string]string{"?topic=moon": "topic[0]", "?type=A": "type", "?after=x": "after", "?execution_id=x": "execution_id"} {
		b.member.get(t, "/api/v1/events"+query).problem(t, http.StatusUnprocessableEntity)
		require.Contains(t, b.member.get(t, "/api/v1/events"+query).body, `"path":"`+field+`"`)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := *b.member
	c.header = b.member.header.Clone()
	c.header.Set("Accept", "text/event-stream")
	c.header.Set("Last-Event-ID", first.Cursor)
	res := c.open(ctx, t, http.MethodGet, "/api/v1/events?type=execution.launched", "", nil)
	defer res.Body.Close()
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	again := b.admin.post(t, "/api/v1/executions", `{"workflow": "with.log"}`).object(t, http.StatusCreated)["execution_id"]
	_, err = relay.Relay(b.ctx)
	require.NoError(t, err)
	var event contract.CloudEvent
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			require.NoError(t, json.Unmarshal([]byte(data), &event))
			break
		}
	}
	require.Equal(t, []any{"execution.launched", again}, []any{event.Type, event.ExecutionID.String()})

	_, err = b.pool.Exec(b.ctx, "UPDATE event_feed_state SET removed = position - 1")
	require.NoError(t, err)
	gone := b.member.get(t, "/api/v1/events?after=0")
	require.Equal(t, http.StatusGone, gone.status)
	require.Contains(t, gone.body, `"code":"gone"`)
	c.header.Set("Last-Event-ID", "0")
	res = c.open(ctx, t, http.MethodGet, "/api/v1/events", "", nil)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusGone, res.StatusCode, "a stream does not begin with a gap")
}
