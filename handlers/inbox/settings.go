package inbox

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/inbox"
	"github.com/flowforge/flowforge/engine/notify"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// settings shows what the reader is notified of.
func (h *Pages) settings(w http.ResponseWriter, r *http.Request) error {
	account, err := h.Inbox.Account(r.Context())
	if err != nil {
		return err
	}
	st := account.Settings
	if !account.Stored { // the times of day of a new form are those of the reader
		st.Timezone = h.Page.Clock(r).Zone.String()
	}
	return h.render(w, r, http.StatusOK, account, st, nil)
}

// typedSettings are the submitted values.
func typedSettings(f url.Values) inbox.Settings {
	st := inbox.Settings{
		Modes: map[notify.Event]inbox.Mode{}, Address: f.Get("address"), Digest: inbox.Digest(f.Get("digest")), DigestAt: strings.TrimSpace(f.Get("digest_at")),
		QuietFrom: strings.TrimSpace(f.Get("quiet_from")), QuietTo: strings.TrimSpace(f.Get("quiet_to")), Timezone: strings.TrimSpace(f.Get("timezone")),
	}
	for _, d := range inbox.Events() {
		st.Modes[d.Event] = inbox.Mode{Inbox: slices.Contains(f["inbox"], string(d.Event)), Email: slices.Contains(f["email"], string(d.Event))}
	}
	for line := range strings.Lines(f.Get("muted")) {
		if line = strings.TrimSpace(line); line != "" {
			st.Muted = append(st.Muted, line)
		}
	}
	return st
}

func (h *Pages) save(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The form cannot be read. Send it again.")
	}
	st := typedSettings(r.PostForm)
	_, err := h.Inbox.Put(r.Context(), st)
	if apperr.Is(err, apperr.Invalid) {
		account, failed := h.Inbox.Account(r.Context())
		if failed != nil {
			return failed
		}
		return h.render(w, r, http.StatusUnprocessableEntity, account, st, err)
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, views.AccountNotificationsURL()+"?saved=1", http.StatusSeeOther)
	return nil
}

// render draws the form with the values st.
func (h *Pages) render(w http.ResponseWriter, r *http.Request, status int, account inbox.Account, st inbox.Settings, failed error) error {
	m := views.InboxSettings{
		Page:  h.Page.Base(r, "Notifications", views.SectionNone, views.Crumb{Name: "Your account", URL: views.AccountURL()}),
		Saved: r.URL.Query().Get("saved") != "" && failed == nil,
		Email: account.Email, Provided: account.Provided, MailServer: account.MailServer, MailError: account.MailError,
		Address: st.Address, DigestAt: st.DigestAt, QuietFrom: st.QuietFrom, QuietTo: st.QuietTo, Timezone: st.Timezone, Muted: strings.Join(st.Muted, "\n"),
	}
	for _, g := range inbox.Groups() {
		group := views.InboxEventGroup{Title: groupName(g)}
		for _, d := range inbox.Events() {
			if d.Group == g {
				mode := st.Modes[d.Event]
				group.Events = append(group.Events, views.InboxEvent{Value: string(d.Event), Title: d.Title, About: d.About, Inbox: mode.Inbox, Email: mode.Email})
			}
		}
		m.Groups = append(m.Groups, group)
	}
	for _, d := range inbox.Digests() {
		m.Digests = append(m.Digests, ui.Option{Value: string(d), Name: strings.ToUpper(string(d)[:1]) + string(d)[1:], Selected: d == st.Digest})
	}
	if failed != nil {
		m.Page.Title = "Error: " + m.Page.Title
		m.Failed, m.Errors = apperr.MessageOf(failed), map[string]string{}
		for _, f := range apperr.FieldsOf(failed) {
			if m.Errors[f.Path] == "" {
				m.Errors[f.Path] = f.Message
			}
		}
	}
	return web.Render(w, r, status, views.InboxSettingsPage(m))
}
