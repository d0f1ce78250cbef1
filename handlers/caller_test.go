package handlers_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/web"
)

// caller sends requests as one user.
type caller struct {
	server string
	header http.Header
}

// with returns the same caller with one more header.
func (c *caller) with(name, value string) *caller {
	header := c.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set(name, value)
	return &caller{server: c.server, header: header}
}

// open sends a request and returns the answer with its body unread.
func (c *caller) open(ctx context.Context, t *testing.T, method, path, mediaType string, body io.Reader) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, c.server+path, body)
	require.NoError(t, err)
	maps.Copy(r.Header, c.header)
	if mediaType != "" {
		r.Header.Set("Content-Type", mediaType)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	require.NoError(t, err, "%s %s", method, path)
	return res
}

// reply is an answer that was read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

func (c *caller) send(t *testing.T, method, path, mediaType, body string) reply {
	t.Helper()
	res := c.open(t.Context(), t, method, path, mediaType, strings.NewReader(body))
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return reply{res.StatusCode, res.Header, string(text)}
}

func (c *caller) get(t *testing.T, path string) reply {
	t.Helper()
	return c.send(t, http.MethodGet, path, "", "")
}

func (c *caller) post(t *testing.T, path, body string) reply {
	t.Helper()
	return c.send(t, http.MethodPost, path, "application/json", body)
}

// object decodes the body of an answer that must have status; numbers stay as
// they were written.
func (r reply) object(t *testing.T, status int) map[string]any {
	t.Helper()
	require.Equal(t, status, r.status, r.body)
	d := json.NewDecoder(strings.NewReader(r.body))
	d.UseNumber()
	var v map[string]any
	require.NoError(t, d.Decode(&v), r.body)
	return v
}

// into decodes the body of an answer that must have status.
func (r reply) into(t *testing.T, status int, v any) {
	t.Helper()
	require.Equal(t, status, r.status, r.body)
	require.NoError(t, json.Unmarshal([]byte(r.body), v), r.body)
}

// problem checks that the answer is a problem of status and returns it.
func (r reply) problem(t *testing.T, status int) web.Problem {
	t.Helper()
	require.Equal(t, status, r.status, r.body)
	require.Equal(t, "application/problem+json", r.header.Get("Content-Type"), r.body)
	var p web.Problem
	require.NoError(t, json.Unmarshal([]byte(r.body), &p), r.body)
	require.Equal(t, status, p.Status)
	require.NotEmpty(t, p.Title)
	require.NotEmpty(t, p.Detail)
	require.NotEmpty(t, p.Code)
	require.Equal(t, r.header.Get("X-Request-Id"), p.RequestID)
	return p
}

// at returns the message of a problem at path, "" when it has none there.
func at(p web.Problem, path string) string {
	for _, f := range p.Errors {
		if f.Path == path {
			return f.Message
		}
	}
	return ""
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}
