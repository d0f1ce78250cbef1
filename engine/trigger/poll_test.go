package trigger_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/outgoing"
	"github.com/flowforge/flowforge/engine/trigger"
)

// site is an HTTP server whose response a test sets.
type site struct {
	*httptest.Server

	mu       sync.Mutex
	status   int
	header   map[string]string
	body     string
	requests []*http.Request
	during   func() // called while the next request is answered
}

func serve(t *testing.T) *site {
	t.Helper()
	s := &site{status: http.StatusOK}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r)
		status, header, body, during := s.status, s.header, s.body, s.during
		s.during = nil
		s.mu.Unlock()
		if during != nil {
			during()
		}
		for name, value := range header {
			w.Header().Set(name, value)
		}
		if status == http.StatusOK && header["ETag"] != "" && r.Header.Get("If-None-Match") == header["ETag"] {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

// answers sets the response: a status, a body, and pairs of headers.
func (s *site) answers(status int, body string, pairs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.body, s.header = status, body, map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		s.header[pairs[i]] = pairs[i+1]
	}
}

// poll lets time pass until all triggers are due, and polls with a service.
func (b *bundle) poll(s *trigger.Service) {
	b.t.Helper()
	b.now = b.now.Add(2 * time.Hour)
	_, err := s.PollDue(auth.AsSystem(b.t.Context()))
	require.NoError(b.t, err)
}

func (b *bundle) polls(name string) trigger.Polls {
	b.t.Helper()
	t, err := b.triggers.Get(b.ctx, name)
	require.NoError(b.t, err)
	p, err := b.triggers.PollsOf(b.ctx, t)
	require.NoError(b.t, err)
	require.Len(b.t, p, 1)
	return p[0]
}

func onHTTP(name, url string) trigger.Spec {
	return trigger.Spec{Name: name, Kind: trigger.OnHTTP, HTTP: &trigger.HTTPPoll{URL: url, Every: "10s"}, Inputs: map[string]any{"ref": "{{ http.body.version }}"}}
}

func TestAnAddressChanges(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]func(version string) []string{
		"etag":     func(v string) []string { return []string{"ETag", `"` + v + `"`} },
		"modified": func(v string) []string { return []string{"Last-Modified", "Tue, 24 Nov 2026 12:00:0" + v + " GMT"} },
		"hash":     func(string) []string { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := setup(t), serve(t)
			b.put(onHTTP("page", s.URL+"/latest.json?token=secret"))
			is := func(v string) {
				s.answers(http.StatusOK, `{"version": "`+v+`"}`, append(with(v), "Content-Type", "application/json")...)
				b.poll(b.triggers)
				b.poll(b.triggers)
			}
			is("1")
			require.Empty(t, b.deliveries("page"), "what exists already is no event")
			require.Equal(t, "No change", b.polls("page").Status)
			is("2")
			is("1")
			list := b.deliveries("page")
			require.Len(t, list, 2, "each change is one event")
			require.Equal(t, "1", b.inputsOf(list[0])["ref"])
			require.Equal(t, "2", b.inputsOf(list[1])["ref"])
			require.True(t, strings.HasSuffix(list[0].Subject, "/latest.json changed"), "%q has no query", list[0].Subject)
		})
	}
}

func TestWhatExistsAlreadyCanLaunch(t *testing.T) {
	t.Parallel()
	b, s := setup(t), serve(t)
	s.answers(http.StatusOK, `{"version": "1"}`, "Content-Type", "application/json", "ETag", `"1"`)
	sp := onHTTP("page", s.URL)
	sp.HTTP.Existing = true
	b.put(sp)
	b.poll(b.triggers)
	b.poll(b.triggers)
	require.Equal(t, "1", b.inputsOf(b.deliveries("page")[0])["ref"])
	require.Equal(t, 1, b.executions())

	require.NoError(t, b.triggers.Switch(b.ctx, "page", false))
	s.answers(http.StatusOK, `{"version": "2"}`, "Content-Type", "application/json", "ETag", `"2"`)
	b.poll(b.triggers)
	require.NoError(t, b.triggers.Switch(b.ctx, "page", true))
	b.poll(b.triggers)
	require.Equal(t, 1, b.executions(), "changes while the trigger is off do not count")
	sp.Workflow, sp.Enabled, sp.HTTP.URL = "retrain", true, s.URL+"/other"
	_, err := b.triggers.Put(b.ctx, "page", sp)
	require.NoError(t, err)
	b.poll(b.triggers)
	require.Equal(t, 2, b.executions(), "another address starts again")
}

func TestAnAddressAppears(t *testing.T) {
	t.Parallel()
	b, s := setup(t), serve(t)
	sp := onHTTP("page", s.URL)
	sp.HTTP.When, sp.Inputs = trigger.Appears, nil
	b.put(sp)
	for i, step := range []struct{ status, launched int }{{404, 0}, {404, 0}, {200, 1}, {200, 1}, {410, 1}, {200, 2}, {500, 2}, {200, 2}} {
		s.answers(step.status, "it", "ETag", fmt.Sprintf(`"%d"`, i))
		b.poll(b.triggers)
		require.Len(t, b.deliveries("page"), step.launched, "step %d", i)
	}
	require.Equal(t, trigger.Launched, b.deliveries("page")[0].Outcome)
}

// TestNoPollIsLostOrDoubled: a server stops at any point of a poll that finds something.
func TestNoPollIsLostOrDoubled(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"poll.claimed", "poll.requested", "launch.begin", "launch.within", "launch.committed", "poll.done"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b, s := setup(t), serve(t)
			s.answers(http.StatusOK, `{"version": "1"}`, "Content-Type", "application/json", "ETag", `"1"`)
			b.put(onHTTP("page", s.URL))
			b.poll(b.triggers)
			s.answers(http.StatusOK, `{"version": "2"}`, "Content-Type", "application/json", "ETag", `"2"`)
			config := b.config
			config.Crash = func(at string) {
				if at == point {
					panic(point)
				}
			}
			require.PanicsWithValue(t, point, func() { b.poll(trigger.New(config)) })
			n, err := b.triggers.PollDue(auth.AsSystem(t.Context()))
			require.NoError(t, err)
			require.Zero(t, n, "the turn of the stopped server has not ended")
			b.poll(b.triggers)
			b.poll(b.triggers)
			list := b.deliveries("page")
			require.Len(t, list, 1)
			require.Equal(t, "2", b.inputsOf(list[0])["ref"])
			require.Equal(t, 1, b.executions())
			require.Empty(t, b.polls("page").Error)
		})
	}
}

// TestOneServerPolls: while a server waits for the response, others have nothing to poll, and after its
// turn has ended, it can no longer move the cursor.
func TestOneServerPolls(t *testing.T) {
	t.Parallel()
	b, s := setup(t), serve(t)
	s.answers(http.StatusOK, `{"version": "1"}`, "Content-Type", "application/json", "ETag", `"1"`)
	b.put(onHTTP("page", s.URL))
	b.poll(b.triggers)
	s.answers(http.StatusOK, `{"version": "2"}`, "Content-Type", "application/json", "ETag", `"2"`)
	other := trigger.New(b.config)
	var polled []int
	s.during = func() {
		n, err := other.PollDue(auth.AsSystem(context.Background()))
		polled = append(polled, n)
		b.now = b.now.Add(time.Hour) // the turn ends before the response
		m, failed := other.PollDue(auth.AsSystem(context.Background()))
		polled = append(polled, m)
		if err := errors.Join(err, failed); err != nil {
			t.Error(err)
		}
	}
	b.poll(b.triggers)
	require.Equal(t, []int{0, 1}, polled)
	require.Len(t, b.deliveries("page"), 1)
	require.Equal(t, 1, b.executions())
}

// TestAChangeEndsThePoll: what a user changes while a server waits for the response counts.
func TestAChangeEndsThePoll(t *testing.T) {
	t.Parallel()
	b, s := setup(t), serve(t)
	s.answers(http.StatusOK, `{}`, "ETag", `"1"`)
	sp := onHTTP("page", s.URL+"/a")
	sp.HTTP.Existing = true
	b.put(sp)
	s.during = func() {
		sp.Workflow, sp.HTTP.Existing, sp.HTTP.URL = "retrain", false, s.URL+"/b"
		if _, err := b.triggers.Put(b.ctx, "page", sp); err != nil {
			t.Error(err)
		}
	}
	b.poll(b.triggers)
	require.Empty(t, b.deliveries("page"))
	require.Zero(t, b.executions())
}

func TestFailedPollsBackOff(t *testing.T) {
	t.Parallel()
	b, s := setup(t), serve(t)
	s.answers(http.StatusOK, `{}`, "ETag", `"1"`)
	b.put(onHTTP("page", s.URL+"/x?token=secret"))
	b.put(trigger.Spec{Name: "other", Kind: trigger.OnModel, Sources: []string{"*"}})
	b.poll(b.triggers)
	s.answers(http.StatusServiceUnavailable, "")
	var waits []time.Duration
	for range 4 {
		b.poll(b.triggers)
		p := b.polls("page")
		require.Contains(t, p.Error, "/x responded with 503 Service Unavailable.")
		require.NotContains(t, p.Error, "secret")
		waits = append(waits, p.Next.Sub(*p.Last))
	}
	require.Equal(t, []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second}, waits)
	require.Equal(t, 4, b.polls("page").Failures)
	s.answers(http.StatusOK, `{}`, "ETag", `"1"`)
	b.poll(b.triggers)
	require.Zero(t, b.polls("page").Failures)

	s.answers(http.StatusNotFound, "")
	for range trigger.PauseAfter {
		b.poll(b.triggers)
	}
	page, err := b.triggers.Get(b.ctx, "page")
	require.NoError(t, err)
	require.False(t, page.Enabled)
	require.Contains(t, page.Paused, "Turned off after 12 failed polls in a row.")
	requests := len(s.requests)
	b.poll(b.triggers)
	require.Len(t, s.requests, requests, "a trigger that is off does not poll")
	require.NoError(t, b.triggers.Switch(b.ctx, "page", true))
	page, err = b.triggers.Get(b.ctx, "page")
	require.NoError(t, err)
	require.Empty(t, page.Paused)
	require.Zero(t, b.polls("page").Failures)
}

func TestPollsKeepAwayFromPrivateAddresses(t *testing.T) {
	t.Parallel()
	b, s := setup(t), serve(t)
	config := b.config
	config.Dialer = outgoing.Dialer{}
	b.put(onHTTP("page", s.URL))
	b.poll(trigger.New(config))
	require.Contains(t, b.polls("page").Error, "FLOWFORGE_OUTGOING_HOSTS")
	require.Empty(t, s.requests)
	s.answers(http.StatusFound, "", "Location", "http://169.254.169.254/")
	b.poll(b.triggers)
	require.Contains(t, b.polls("page").Error, "FlowForge does not follow redirects")
}

// TestAConnectionOfAPoll: the request has the credentials, and the owner must still be allowed to use them.
func TestAConnectionOfAPoll(t *testing.T) {
	t.Parallel()
	b, s := setup(t), serve(t)
	_, err := b.connections.Put(b.ctx, connection.Edit{Name: "portal", Kind: "http", Create: true, Values: map[string]any{
		"base_url": s.URL + "/v1", "authentication": "bearer", "token": "a token of the portal",
	}})
	require.NoError(t, err, "%v", apperr.FieldsOf(err))
	sp := onHTTP("page", "")
	sp.HTTP.Connection, sp.HTTP.Path = "portal", "/reports/latest"
	b.put(sp)
	b.poll(b.triggers)
	require.Empty(t, b.polls("page").Error)
	require.Equal(t, "/v1/reports/latest", s.requests[0].URL.Path)
	require.Equal(t, "Bearer a token of the portal", s.requests[0].Header.Get("Authorization"))
	b.denied.Store(true)
	b.poll(b.triggers)
	require.Len(t, s.requests, 1)
	require.Contains(t, b.polls("page").Error, `There is no connection "portal"`)
}

func TestPollsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for want, sp := range map[string]trigger.Spec{
		"http.url":        {Kind: trigger.OnHTTP},
		"http.url ":       {Kind: trigger.OnHTTP, HTTP: &trigger.HTTPPoll{URL: "ftp://example.com"}},
		"http.url  ":      {Kind: trigger.OnHTTP, HTTP: &trigger.HTTPPoll{URL: "https://a:b@example.com"}},
		"http.connection": {Kind: trigger.OnHTTP, HTTP: &trigger.HTTPPoll{Connection: "absent", Path: "x"}},
		"http.path":       {Kind: trigger.OnHTTP, HTTP: &trigger.HTTPPoll{URL: "https://example.com", Path: "x"}},
		"http.every":      {Kind: trigger.OnHTTP, HTTP: &trigger.HTTPPoll{URL: "https://example.com", Every: "1s"}},
		"http.every ":     {Kind: trigger.OnHTTP, HTTP: &trigger.HTTPPoll{URL: "https://example.com", Every: "often"}},
		"http.when":       {Kind: trigger.OnHTTP, HTTP: &trigger.HTTPPoll{URL: "https://example.com", When: "moon"}},
		"s3.connection":   {Kind: trigger.OnS3},
		"s3.connection ":  {Kind: trigger.OnS3, S3: &trigger.S3Poll{Connection: "absent"}},
		"filter":          {Kind: trigger.OnHTTP, HTTP: &trigger.HTTPPoll{URL: "https://example.com"}, Filter: "object.size > 1"},
		"all":             {Kind: trigger.OnAll, Join: &trigger.Join{All: []trigger.Condition{{Name: "a", Kind: trigger.OnDataset, Sources: []string{"a"}}}}},
		"all.1.name":      join(nil, dataset("a"), dataset("a")),
		"all.1.name ":     join(nil, dataset("a"), dataset("join")),
		"all.0.name":      join(nil, dataset("Not"), dataset("a")),
		"all.1.kind":      join(nil, dataset("a"), trigger.Condition{Name: "b", Kind: trigger.OnAll}),
		"all.1.sources":   join(nil, dataset("a"), trigger.Condition{Name: "b", Kind: trigger.OnModel}),
		"all.0.by":        join(func(j *trigger.Join) { j.All[0].By = "model.version" }, dataset("a"), dataset("b")),
		"all.1.by":        join(func(j *trigger.Join) { j.By = "dataset.version" }, dataset("a"), trigger.Condition{Name: "b", Kind: trigger.OnModel, Sources: []string{"b"}}),
		"s3":              {Kind: trigger.OnWebhook, Signature: trigger.GitHub, Secret: "hook", S3: &trigger.S3Poll{Prefix: "raw/"}},
		"http":            {Kind: trigger.OnDataset, Sources: []string{"a"}, HTTP: &trigger.HTTPPoll{}},
		"states":          {Kind: trigger.OnModel, Sources: []string{"a"}, States: []string{"FAILED"}},
		"stages":          {Kind: trigger.OnExecution, Sources: []string{"a"}, Stages: []string{"production"}},
		"secret":          {Kind: trigger.OnEvent, Sources: []string{"a"}, Secret: "hook"},
		"sources":         {Kind: trigger.OnHTTP, HTTP: &trigger.HTTPPoll{URL: "https://example.com"}, Sources: []string{"a"}},
		"by":              {Kind: trigger.OnDataset, Sources: []string{"a"}, Join: &trigger.Join{By: "dataset.version"}},
		"stages ":         {Kind: trigger.OnAll, Join: join(nil, dataset("a"), dataset("b")).Join, Stages: []string{"production"}},
		"all.1.signature": join(func(j *trigger.Join) { j.All[1].Signature = trigger.GitHub }, dataset("a"), dataset("b")),
		"within":          join(func(j *trigger.Join) { j.Within = "1s" }, dataset("a"), dataset("b")),
		"inputs.ref":      {Kind: trigger.OnAll, Join: join(nil, dataset("a"), dataset("b")).Join, Inputs: map[string]any{"ref": "{{ c.value }}"}},
	} {
		sp.Name, sp.Workflow = "x", "retrain"
		_, err := b.triggers.Put(b.ctx, "", sp)
		fields := apperr.FieldsOf(err)
		require.Len(t, fields, 1, "%s: %v", want, fields)
		require.Equal(t, strings.TrimSpace(want), fields[0].Path)
	}
	_, err := b.triggers.Put(b.ctx, "", trigger.Spec{
		Name: "x", Workflow: "retrain", Kind: trigger.OnHTTP, HTTP: &trigger.HTTPPoll{URL: "https://example.com/" + strings.Repeat("é", 1900)},
		Filter: `"` + strings.Repeat("é", 4000) + `" != ""`,
	})
	require.NoError(t, err, "lengths are numbers of characters: %v", apperr.FieldsOf(err))
}
