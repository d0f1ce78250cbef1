package options

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/outgoing"
	"github.com/flowforge/flowforge/typeregistry"
)

// endpoint is an endpoint and a service that may request it.
type endpoint struct {
	*httptest.Server
	service   *Service
	now       atomic.Int64 // seconds
	requested atomic.Int64
}

func serve(t *testing.T, handler http.HandlerFunc) *endpoint {
	t.Helper()
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.requested.Add(1)
		handler(w, r)
	}))
	t.Cleanup(e.Close)
	e.service = e.allow([]string{e.host()}, outgoing.Dialer{OwnHosts: true})
	return e
}

func (e *endpoint) host() string { return strings.TrimPrefix(e.URL, "http://") }

func (e *endpoint) allow(hosts []string, dialer outgoing.Dialer) *Service {
	return New(Config{Hosts: hosts, Dialer: dialer, Now: func() time.Time { return time.Unix(e.now.Load(), 0) }})
}

// source is the source of an input "x" of a type.
func source(t *testing.T, kind string, options map[string]any, inputs map[string]any, query string) (typeregistry.Resolved, *typeregistry.Type) {
	t.Helper()
	schema, problems := typeregistry.Builtin().ParseSchema([]any{
		map[string]any{"name": "x", "type": kind, "options": options}, map[string]any{"name": "kind", "type": "String?"},
	}, "inputs")
	require.Empty(t, problems)
	part, ok := schema.SourceAt("x")
	require.True(t, ok)
	resolved, err := part.Source.Resolve(inputs, query)
	require.NoError(t, err)
	return resolved, typeregistry.SourceLeaf(part.Type)
}

func (e *endpoint) fetch(t *testing.T, service *Service, options map[string]any) (list, error) {
	t.Helper()
	if options["http"] == nil {
		options["http"] = e.URL + "/list"
	}
	resolved, kind := source(t, "Integer", options, nil, "")
	return service.fetched(context.Background(), resolved, kind)
}

func TestEndpointsAnswer(t *testing.T) {
	t.Parallel()
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"data": [{"id": "7", "name": %q, "size": {"gb": 1.5}}, {"id": 8, "name": "b"}, {"id": "x"}, {"id": 7}]}`, r.URL.Query().Get("q"))
	})
	resolved, kind := source(t, "Integer", map[string]any{
		"http": e.URL + "/search?q={{query}}&kind={{kind}}", "items": ".data", "value": ".id", "label": ".name", "preview": ".size.gb",
	}, map[string]any{"kind": "svc"}, "a b&c")
	found, err := e.service.fetched(context.Background(), resolved, kind)
	require.NoError(t, err)
	require.Len(t, found.options, 2)
	require.Equal(t, Option{Value: found.options[0].Value, Label: "a b&c", Preview: []Fact{{"size.gb", "1.5"}}}, found.options[0])
	require.Equal(t, "7", found.options[0].text())
	require.Equal(t, "1 value that does not fit the type Integer is left out.", found.note)
}

func TestAnswersAreKept(t *testing.T) {
	t.Parallel()
	renewed := make(chan struct{}, 10)
	e := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `[1, 2]`)
		renewed <- struct{}{}
	})
	cached := func() map[string]any { return map[string]any{"cache": "10m"} }
	first, err := e.fetch(t, e.service, cached())
	require.NoError(t, err)
	require.False(t, first.stale)
	<-renewed
	e.now.Add(300)
	_, err = e.fetch(t, e.service, cached())
	require.NoError(t, err)
	require.EqualValues(t, 1, e.requested.Load(), "it is fresh")
	e.now.Add(600)
	old, err := e.fetch(t, e.service, cached())
	require.NoError(t, err)
	require.True(t, old.stale)
	require.Equal(t, first.at, old.at)
	<-renewed // in the background
	require.Eventually(t, func() bool {
		again, err := e.fetch(t, e.service, cached())
		return err == nil && !again.stale && again.at.After(first.at)
	}, 5*time.Second, time.Millisecond)
	require.EqualValues(t, 2, e.requested.Load())
}

// TestAnswersAreRefreshed: a request to refresh fetches a fresh list again, and keeps the older list if
// that fails.
func TestAnswersAreRefreshed(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	e := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = fmt.Fprint(w, `[1, 2]`)
	})
	resolved, kind := source(t, "Integer", map[string]any{"http": e.URL + "/list", "cache": "10m"}, nil, "")
	again := context.WithValue(t.Context(), refresh{}, true)
	for range 2 {
		_, err := e.service.fetched(again, resolved, kind)
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, e.requested.Load())
	down.Store(true)
	old, err := e.service.fetched(again, resolved, kind)
	require.NoError(t, err)
	require.Len(t, old.options, 2)
	require.True(t, old.unrefreshed)
	require.Contains(t, old.note, "The last refresh failed.")
	require.Contains(t, old.note, "502 Bad Gateway")
	e.now.Add(int64(maxAge.Seconds()) + 1)
	_, err = e.service.fetched(again, resolved, kind)
	require.ErrorContains(t, err, "502 Bad Gateway")
}

func TestEndpointsFail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		options map[string]any
		want    string
	}{
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}, nil, "redirects the request"},
		"status":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }, nil, "with 418 I'm a teapot"},
		"no list":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"a": 1}`) }, nil, "is not a list. Set items to the path"},
		"no JSON":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `<html>`) }, nil, "is not JSON"},
		"no items": {func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{}`) }, map[string]any{"items": ".data"}, "has no .data"},
		"no value": {func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `[{"a": 1}, {"b": 2}]`) }, map[string]any{"value": ".a"}, "Option 2 in the response has no .a"},
		"large": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, "["+strings.Repeat(" ", maxAnswer)+"]")
		}, nil, "larger than 4 MiB"},
		"many": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, "[1"+strings.Repeat(",1", maxOptions)+"]")
		}, nil, "10,001 options"},
		"slow": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, map[string]any{"timeout": "200ms"}, "did not respond to the request for options within"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := serve(t, c.handler)
			options := map[string]any{}
			maps.Copy(options, c.options)
			_, err := e.fetch(t, e.service, options)
			require.Error(t, err)
			require.Equal(t, apperr.Unavailable, apperr.CodeOf(err))
			require.Contains(t, apperr.MessageOf(err), c.want)
		})
	}
}

// TestEndpointsStayOutside: an allowed name that leads to this machine is refused when the server
// connects, whatever a lookup before said, and no host is allowed by itself.
func TestEndpointsStayOutside(t *testing.T) {
	t.Parallel()
	e := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `[1]`) })
	port := e.host()[strings.LastIndex(e.host(), ":"):]
	for _, host := range []string{"localhost", "127.0.0.1", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0"} {
		_, err := e.fetch(t, e.allow([]string{host}, outgoing.Dialer{}), map[string]any{"http": "http://" + host + port + "/"})
		require.ErrorContains(t, err, "has a private address", host)
		require.ErrorContains(t, err, "FLOWFORGE_OUTGOING_HOSTS", host)
	}
	require.EqualValues(t, 0, e.requested.Load())
	_, err := e.fetch(t, e.allow(nil, outgoing.Dialer{OwnHosts: true}), map[string]any{})
	require.ErrorContains(t, err, "FLOWFORGE_OPTIONS_HOSTS")
	_, err = e.fetch(t, e.allow([]string{"localhost"}, outgoing.Dialer{Hosts: []string{"localhost"}}), map[string]any{"http": "http://localhost" + port + "/"})
	require.NoError(t, err)
}

func TestHostsAreAllowedByName(t *testing.T) {
	t.Parallel()
	list := []string{"api.example.com", "*.corp.example", "internal.example:8443"}
	for address, want := range map[string]bool{
		"https://api.example.com/x": true, "https://API.example.com:444/": true, "https://xapi.example.com/": false, "https://example.com/": false,
		"https://a.corp.example/": true, "https://corp.example/": false, "https://acorp.example/": false,
		"https://internal.example:8443/": true, "https://internal.example/": false,
	} {
		parsed, err := url.Parse(address)
		require.NoError(t, err)
		require.Equal(t, want, allows(list, parsed), address)
	}
}

// TestLargeAnswersLeaveTheCache: the cache has a limit in bytes, too.
func TestLargeAnswersLeaveTheCache(t *testing.T) {
	t.Parallel()
	w := newWeb(Config{})
	for i := range int64(20) {
		w.keep(fmt.Sprint(i), &answer{body: make([]byte, maxAnswer), at: time.Unix(i, 0)})
		w.keep(fmt.Sprint(i), &answer{body: make([]byte, maxAnswer), at: time.Unix(i, 0)})
	}
	require.Len(t, w.kept, maxBytes/maxAnswer)
	require.NotNil(t, w.known("19"))
	require.Nil(t, w.known("0"))
}
