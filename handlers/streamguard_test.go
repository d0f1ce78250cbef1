package handlers_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// guardedStreams are the streams of a member about the execution id.
func guardedStreams(id uuid.UUID) []string {
	x := "/executions/" + id.String()
	return []string{
		x + "/stream", x + "/nodes/wait/stream", x + "/logs/stream", "/api/v1" + x + "/logs/stream", "/api/v1/workflows/" + id.String() + "/logs?follow=true",
		"/home/stream", "/executions/stream?top=" + id.String(), "/waiting/stream", "/admin/quotas/stream", "/teams/" + auth.LocalTeam.String() + "/stream", "/api/v1/events",
	}
}

// openStreams opens the paths as c and returns a function that waits until each has
// ended by itself.
func openStreams(t *testing.T, c *caller, paths []string) (waitForEnd func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	ends := make([]chan error, len(paths))
	streaming := *c
	streaming.header = c.header.Clone()
	streaming.header.Set("Accept", "text/event-stream")
	for i, path := range paths {
		res := streaming.open(ctx, t, http.MethodGet, path, "", nil)
		require.Equal(t, http.StatusOK, res.StatusCode, path)
		require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"), path)
		ends[i] = make(chan error, 1)
		go func() {
			defer res.Body.Close()
			_, err := io.Copy(io.Discard, res.Body)
			_ = err // the server breaks off, or ends the answer
			ends[i] <- ctx.Err()
		}()
	}
	return func() {
		defer cancel()
		for i, path := range paths {
			assert.NoError(t, <-ends[i], "%s outlives the right to it", path)
		}
	}
}

// TestStreamsEndWithTheirRight: an open stream of a page, a log or the API ends once
// its caller has lost the credential or the role that opened it.
func TestStreamsEndWithTheirRight(t *testing.T) { //nolint:tparallel // the subtests share a server
	t.Parallel()
	b := setup(t)
	id := b.launched(t)
	b.appendLog(t, id, "wait", 1, 3)
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan struct{})
	go func() { defer close(done); _ = b.policies.Run(ctx, nil) }()
	t.Cleanup(func() { cancel(); <-done })

	browser := func(user uuid.UUID) *caller { return b.signIn(t, user) }
	key := func(user uuid.UUID) *caller {
		made := browser(user).post(t, "/api/v1/keys", `{"name": "ci", "scopes": ["read"]}`).object(t, http.StatusCreated)
		return b.bearer(made["key"].(string))
	}
	exec := func(sql string, args ...any) {
		t.Helper()
		tag, err := b.pool.Exec(b.ctx, sql, args...)
		require.NoError(t, err)
		require.Positive(t, tag.RowsAffected())
	}
	change := func(c *caller, method, path, body string) {
		t.Helper()
		got := c.send(t, method, path, "application/json", body)
		require.Less(t, got.status, 400, got.body)
	}
	causes := map[string]struct {
		by   func(uuid.UUID) *caller
		lose func(user uuid.UUID, c *caller)
	}{
		"signed out": {browser, func(_ uuid.UUID, c *caller) { change(c, http.MethodPost, "/logout", "") }},
		"signed out everywhere, from another browser": {browser, func(user uuid.UUID, _ *caller) {
			change(browser(user), http.MethodPost, "/account/sessions/end", "")
		}},
		"revoked key": {key, func(user uuid.UUID, _ *caller) {
			keys := browser(user).get(t, "/api/v1/keys").object(t, http.StatusOK)["keys"].([]any)
			change(browser(user), http.MethodDelete, "/api/v1/keys/"+keys[0].(map[string]any)["key_id"].(string), "")
		}},
		"disabled account": {key, func(user uuid.UUID, _ *caller) {
			change(b.admin, http.MethodPatch, "/api/v1/users/"+user.String(), `{"disabled": true}`)
		}},
		"lost role": {browser, func(user uuid.UUID, _ *caller) {
			var member uuid.UUID
			require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT id FROM memberships WHERE user_id = $1", user).Scan(&member))
			change(b.admin, http.MethodDelete, "/api/v1/teams/"+auth.LocalTeam.String()+"/members/"+member.String(), "")
		}},
		"lost role, at another server": {key, func(user uuid.UUID, _ *caller) { exec("DELETE FROM memberships WHERE user_id = $1", user) }},
		"signed out at another server": {browser, func(user uuid.UUID, _ *caller) { exec("DELETE FROM sessions WHERE user_id = $1", user) }},
		"revoked at another server": {key, func(user uuid.UUID, _ *caller) {
			exec("UPDATE api_keys SET revoked_at = now() WHERE user_id = $1", user)
		}},
		"expired key": {key, func(user uuid.UUID, _ *caller) {
			exec("UPDATE api_keys SET expires_at = now() WHERE user_id = $1", user)
		}},
	}
	for name, cause := range causes {
		t.Run(name, func(t *testing.T) {
			user := b.person(t, name, auth.TeamAdmin, auth.LocalTeam)
			c := cause.by(user)
			waitForEnd := openStreams(t, c, guardedStreams(id))
			cause.lose(user, c)
			waitForEnd()
		})
	}
	t.Run("no longer an administrator", func(t *testing.T) {
		user := b.person(t, "root", auth.TeamAdmin, auth.LocalTeam)
		exec("UPDATE users SET installation_admin = true WHERE id = $1", user)
		require.NoError(t, b.policies.Reload(b.ctx))
		c := b.signIn(t, user)
		waitForEnd := openStreams(t, c, append(guardedStreams(id), "/admin/cluster/stream"))
		change(b.admin, http.MethodPatch, "/api/v1/users/"+user.String(), `{"installation_admin": false}`)
		waitForEnd()
	})
}
