package handlers_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// TestNotificationTemplatePages: a form that is refused keeps what was typed and says where the error
// is, the preview shows a sample, and a stored template is in the list.
func TestNotificationTemplatePages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.signIn(t, b.person(t, "tea", auth.TeamAdmin, auth.LocalTeam))
	got := admin.get(t, "/notifications/templates?kind=email&event=execution.failed")
	require.Equal(t, http.StatusSeeOther, got.status)
	const path = "/notifications/templates/email/execution.failed"
	require.Equal(t, path, got.header.Get("Location"))
	got = admin.get(t, path)
	require.Equal(t, http.StatusOK, got.status)
	require.Contains(t, got.body, ">Sample<")
	require.Contains(t, got.body, "vision.train “nightly, ")
	require.NotContains(t, got.body, "Delete template")

	send := func(part, subject, body string) reply {
		return admin.send(t, http.MethodPost, path+part, formMedia, url.Values{"subject": {subject}, "body": {body}, "channel": {"absent"}}.Encode())
	}
	got = send("", "{{ workflow }}", "Hello\r\n{{ errro }}")
	require.Equal(t, http.StatusUnprocessableEntity, got.status)
	require.Contains(t, got.body, "Line 2, column 1: there is no variable &#34;errro&#34;. Did you mean error?")
	require.Contains(t, got.body, "{{ errro }}")
	require.Equal(t, http.StatusOK, send("/preview", "x", "{{ errro }}").status, "a preview explains what is wrong")
	require.Contains(t, send("/preview", "x", "**{{ workflow }}**").body, "<strong>vision.train</strong>")
	require.Contains(t, send("/test", "x", "x").body, "The test message was not sent.")
	require.Equal(t, http.StatusSeeOther, send("", "{{ workflow }} failed", "{{ error }}").status)
	require.Contains(t, admin.get(t, "/notifications/templates?did=saved").body, `href="`+path+`"`)
	require.Contains(t, admin.get(t, path).body, "Delete template")
	require.Equal(t, http.StatusNotFound, admin.get(t, "/notifications/templates/pagerduty/any").status)
	require.Equal(t, http.StatusNotFound, admin.get(t, "/notifications/templates/email/execution.lost").status)

	require.Contains(t, b.member.get(t, path).body, "disabled", "members read a template")
	require.Equal(t, http.StatusForbidden, b.member.get(t, "/notifications/templates/slack/any").status)
	require.Equal(t, http.StatusSeeOther, send("/delete", "", "").status)
	require.Equal(t, http.StatusNotFound, send("/delete", "", "").status)
}

// TestFieldsOfARefusedRule: they have the names of the request.
func TestFieldsOfARefusedRule(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for body, fields := range map[string][]string{
		`{"events": ["execution.overdue"], "channels": ["absent"]}`:                                 {"deadline_seconds", "channels"},
		`{"events": ["execution.overdue"], "channels": [], "waiting_seconds": 5, "slow_factor": 0}`: {"waiting_seconds", "slow_factor"},
	} {
		got := b.admin.send(t, http.MethodPut, "/api/v1/notifications/rules/late", "application/json", body)
		require.Equal(t, http.StatusUnprocessableEntity, got.status)
		for _, field := range fields {
			require.Contains(t, got.body, `"`+field+`"`)
		}
	}
}
