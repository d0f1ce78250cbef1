package handlers_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/web/contract"
)

// notice adds an unread item to the inbox of a user.
func (b *testBundle) notice(t *testing.T, user uuid.UUID, event, title string) uuid.UUID {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	m, err := json.Marshal(map[string]any{"title": title, "text": "exit code 3", "level": "error", "url": "http://127.0.0.1/workflows/digits.train"})
	require.NoError(t, err)
	_, err = b.pool.Exec(b.ctx, `INSERT INTO inbox_items (id, user_id, tenant_id, project_id, event, occurrence, subject, message, at, created_at, shown, mail_state)
		VALUES ($1, $2, $3, $4, $5, $8, 'digits.train', $6, $7, $7, true, 'NONE')`, id, user, auth.LocalTenant, auth.LocalProject, event, m, time.Now(), id.String())
	require.NoError(t, err)
	return id
}

func TestInboxPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	user := b.person(t, "ada", auth.ProjectDev, auth.LocalProject)
	ada := b.signIn(t, user)
	got := ada.get(t, "/inbox")
	require.Equal(t, http.StatusOK, got.status)
	require.Contains(t, got.body, "No notifications yet")
	require.Contains(t, got.body, `aria-label="Inbox"`)

	first := b.notice(t, user, "execution.failed", "digits.train failed")
	second := b.notice(t, user, "approval.waiting", "digits.train needs an approval: review")
	got = ada.get(t, "/inbox")
	require.Contains(t, got.body, `aria-label="Inbox, 2 unread"`)
	require.Contains(t, got.body, "digits.train failed")
	require.Contains(t, got.body, `href="/workflows/digits.train"`)
	require.Contains(t, ada.get(t, "/").body, `aria-label="Inbox, 2 unread"`, "the bell is on every page")
	require.NotContains(t, ada.get(t, "/inbox?kind=approvals").body, "digits.train failed")
	require.NotContains(t, b.member.get(t, "/inbox").body, "digits.train failed", "it is not her inbox")

	form := formMedia
	got = ada.send(t, http.MethodPost, "/inbox/"+first.String()+"/read", form, "next=/inbox?show=unread")
	require.Equal(t, http.StatusSeeOther, got.status)
	require.Equal(t, "/inbox?show=unread", got.header.Get("Location"))
	require.NotContains(t, ada.get(t, "/inbox?show=unread").body, "digits.train failed")
	require.Contains(t, ada.get(t, "/inbox").body, "Earlier")
	got = ada.send(t, http.MethodPost, "/inbox/"+first.String()+"/unread", form, "next=//evil.example")
	require.Equal(t, "/inbox", got.header.Get("Location"))
	require.Equal(t, http.StatusNotFound, b.member.send(t, http.MethodPost, "/inbox/"+first.String()+"/unread", form, "").status)
	require.Equal(t, http.StatusSeeOther, ada.send(t, http.MethodPost, "/inbox/read", form, "up_to="+second.String()).status)
	require.Contains(t, ada.get(t, "/inbox/bell").body, `aria-label="Inbox"`)

	got = ada.send(t, http.MethodPost, "/inbox/mute", form, "name=digits.train")
	require.Equal(t, "/inbox?muted=digits.train", got.header.Get("Location"))
	require.Contains(t, ada.get(t, "/account/notifications").body, "digits.train")
	require.Equal(t, http.StatusUnprocessableEntity, ada.send(t, http.MethodPost, "/inbox/mute", form, "name=[a").status)
	for _, path := range []string{"/inbox?before=x", "/inbox/stream?before=x"} {
		require.Less(t, ada.get(t, path).status, 500, path)
	}
}

// TestInboxSettingsForm: a failed form has what was typed, and says at each field what is wrong.
func TestInboxSettingsForm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.signIn(t, b.person(t, "ada", auth.ProjectDev, auth.LocalProject))
	require.Contains(t, ada.get(t, "/account/notifications").body, "This installation has no mail server.")
	typed := url.Values{
		"inbox": {"execution.failed"}, "email": {"schedule.failed"}, "address": {"not an address"}, "digest": {"daily"}, "digest_at": {"7:30"},
		"quiet_from": {"25:00"}, "quiet_to": {"08:00"}, "timezone": {"Mars/Base"}, "muted": {"digits.*\n[a"},
	}
	form := formMedia
	got := ada.send(t, http.MethodPost, "/account/notifications", form, typed.Encode())
	require.Equal(t, http.StatusUnprocessableEntity, got.status)
	for _, text := range []string{`value="not an address"`, `value="7:30"`, `value="25:00"`, `value="Mars/Base"`, "digits.*\n[a", "Enter an e-mail address", "is not a time zone", `href="#inbox-quiet_from"`} {
		require.Contains(t, got.body, text)
	}
	typed.Set("address", "ada@example.com")
	typed.Set("digest_at", "07:30")
	typed.Set("quiet_from", "20:00")
	typed.Set("timezone", "Europe/Berlin")
	typed.Set("muted", "digits.*\r\ntour.*\r\n")
	got = ada.send(t, http.MethodPost, "/account/notifications", form, typed.Encode())
	require.Equal(t, http.StatusSeeOther, got.status, got.body)

	var account contract.InboxAccount
	got = ada.get(t, "/api/v1/inbox/settings")
	require.NoError(t, json.Unmarshal([]byte(got.body), &account))
	require.Equal(t, []string{"digits.*", "tour.*"}, account.Muted)
	require.Equal(t, []string{"ada@example.com", "daily", "07:30", "20:00", "Europe/Berlin"}, []string{account.Email, account.Digest, account.DigestAt, account.QuietFrom, account.Timezone})
	for _, e := range account.Events {
		want := map[string]string{"execution.failed": "inbox", "schedule.failed": "email"}[e.Event]
		if want == "" {
			want = "off"
		}
		require.Equal(t, want, e.Notify, e.Event)
	}
}

func TestInboxAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	user := b.person(t, "ada", auth.ProjectDev, auth.LocalProject)
	ada := b.signIn(t, user)
	var ids []uuid.UUID
	for range 3 {
		ids = append(ids, b.notice(t, user, "execution.failed", "digits.train failed"))
	}
	list := func(query string) (out contract.InboxList) {
		got := ada.get(t, "/api/v1/inbox"+query)
		require.Equal(t, http.StatusOK, got.status, got.body)
		require.NoError(t, json.Unmarshal([]byte(got.body), &out))
		return out
	}
	page := list("?limit=2")
	require.Len(t, page.Items, 2)
	require.Equal(t, 3, page.Unread)
	require.Equal(t, ids[2], page.Items[0].ID)
	require.Equal(t, "http://127.0.0.1/workflows/digits.train", page.Items[0].URL)
	require.Equal(t, ids[0], list("?limit=2&before=" + page.Next.String()).Items[0].ID)
	require.Empty(t, list("?kind=models").Items)

	got := ada.send(t, http.MethodPost, "/api/v1/inbox/"+ids[2].String()+"/read", "", "")
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Contains(t, got.body, "read_at")
	require.Len(t, list("?unread=true").Items, 2)
	got = ada.send(t, http.MethodPost, "/api/v1/inbox/read", "application/json", `{"up_to": "`+ids[0].String()+`"}`)
	require.JSONEq(t, `{"marked": 1}`, got.body)
	b.member.get(t, "/api/v1/inbox/"+ids[1].String()).problem(t, http.StatusNotFound)
	ada.send(t, http.MethodPut, "/api/v1/inbox/settings", "application/json", `{"quiet_from": "20:00"}`).problem(t, http.StatusUnprocessableEntity)
	ada.get(t, "/api/v1/inbox?before=x").problem(t, http.StatusNotFound)
}
