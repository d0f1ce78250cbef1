// Package notifications contains the pages of notifications: rules, channels and messages.
package notifications

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/notify"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// Config contains the dependencies of the pages.
type Config struct {
	Now           func() time.Time
	Notifications *notify.Service
	Page          *page.Shell
}

// Pages are the pages of notifications. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/notifications", h.Page.Serve(h.overview))
	r.Get("/notifications/rules/new", h.Page.Serve(h.newRule))
	r.Post("/notifications/rules", h.Page.Serve(h.addRule))
	r.Get("/notifications/rules/{name}", h.Page.Serve(h.rule))
	r.Post("/notifications/rules/{name}", h.Page.Serve(h.changeRule))
	r.Post("/notifications/rules/{name}/switch", h.Page.Serve(h.switchRule))
	r.Post("/notifications/rules/{name}/delete", h.Page.Serve(h.deleteRule))
	h.mountTemplates(r)
	r.Get("/notifications/messages/{notification}", h.Page.Serve(h.message))
	r.Post("/notifications/messages/{notification}/redeliver", h.Page.Serve(h.redeliver))
}

const pageRows = 50

// overview shows rules, channels and the messages in the state of the address.
func (h *Pages) overview(w http.ResponseWriter, r *http.Request) error {
	rules, err := h.Notifications.Rules(r.Context())
	if err != nil {
		return err
	}
	channels, err := h.Notifications.Channels(r.Context())
	if err != nil {
		return err
	}
	q := r.URL.Query()
	state, before, err := messageQuery(q)
	if err != nil {
		return err
	}
	messages, err := h.Notifications.List(r.Context(), state, before, pageRows)
	if err != nil {
		return err
	}
	m := views.Notifications{Page: h.Page.Base(r, "Notifications", views.SectionNotifications), State: string(state), States: states(state, messages.Counts)}
	may := page.MayWriteSecrets(r)
	if may {
		m.NewURL = views.NewNotificationRuleURL()
	}
	if q.Get("saved") != "" {
		m.Notice = "The rule was saved."
	}
	clock := h.Page.Clock(r)
	for _, rule := range rules {
		m.Rules = append(m.Rules, h.ruleRow(clock, rule, may))
	}
	for _, c := range channels {
		m.Channels = append(m.Channels, channelOf(clock, c))
	}
	for _, n := range messages.Notifications {
		m.Messages = append(m.Messages, messageRow(clock, n, may))
	}
	m.Pager.Text = units.Plural(len(m.Messages), "message", "messages")
	if before != nil {
		m.Pager.Newer = views.NotificationsStateURL(string(state), "")
	}
	if messages.Next != nil {
		m.Pager.Older = views.NotificationsStateURL(string(state), messages.Next.String())
	}
	return web.Render(w, r, http.StatusOK, views.NotificationsPage(m))
}

func messageQuery(q url.Values) (notify.State, *uuid.UUID, error) {
	var state notify.State
	for _, s := range notify.States() {
		if string(s) == q.Get("state") {
			state = s
		}
	}
	if q.Get("before") == "" {
		return state, nil, nil
	}
	id, err := request.ParseID(q.Get("before"), "notification")
	return state, &id, err
}

func states(current notify.State, counts map[notify.State]int) []ui.Choice {
	list := []ui.Choice{{Name: "All", URL: views.NotificationsStateURL("", ""), Current: current == ""}}
	for _, s := range []notify.State{notify.Pending, notify.GivenUp, notify.Muted, notify.Delivered} {
		c := ui.Choice{Name: stateWord(s), URL: views.NotificationsStateURL(string(s), ""), Current: current == s}
		if n := counts[s]; n > 0 {
			c.Count = units.Number(int64(n))
		}
		list = append(list, c)
	}
	return list
}

func stateWord(s notify.State) string {
	switch s {
	case notify.Pending:
		return "Waiting"
	case notify.GivenUp:
		return "Failed"
	case notify.Muted:
		return "Muted"
	case notify.Delivered:
	}
	return "Delivered"
}

// stateIcon is the state of executions that looks like s.
func stateIcon(s notify.State) string {
	switch s {
	case notify.Pending:
		return "RETRYING"
	case notify.GivenUp:
		return "FAILED"
	case notify.Muted:
		return "SKIPPED"
	case notify.Delivered:
	}
	return "SUCCEEDED"
}

func (h *Pages) ruleRow(clock ui.Clock, rule notify.Rule, may bool) views.NotificationRuleRow {
	row := views.NotificationRuleRow{
		Name: rule.Name, URL: views.NotificationRuleURL(rule.Name), Workflows: "All workflows", Channels: strings.Join(rule.Channels, ", "), Enabled: rule.Enabled, SwitchLabel: "Turn off",
	}
	var events []string
	for _, d := range notify.Events() {
		if slices.Contains(rule.Events, d.Event) {
			events = append(events, d.Title)
		}
	}
	row.Events = strings.Join(events, ", ")
	if len(rule.Workflows) > 0 {
		row.Workflows = strings.Join(rule.Workflows, ", ")
	}
	if rule.QuietFrom != "" {
		row.Quiet = rule.QuietFrom + " to " + rule.QuietTo + ", " + rule.Timezone
	}
	if rule.MutedUntil != nil && rule.MutedUntil.After(h.Now()) {
		row.Muted = "until " + clock.Exactly(*rule.MutedUntil).Text
	}
	if !rule.Enabled {
		row.SwitchLabel = "Turn on"
	}
	if may {
		row.SwitchURL = views.NotificationRulePartURL(rule.Name, "switch")
	}
	return row
}

func channelOf(clock ui.Clock, c notify.Channel) views.NotificationChannel {
	kind, _ := connection.KindNamed(c.Kind)
	out := views.NotificationChannel{Name: c.Name, URL: views.ConnectionURL(c.Name), Kind: kind.Label, State: "PENDING", Word: "Not used yet"}
	switch {
	case c.Failures > 0:
		out.State, out.Word, out.Detail = "FAILED", "Failing", c.Error
		if c.OpenUntil != nil {
			out.Detail += " FlowForge retries at " + clock.Exactly(*c.OpenUntil).Text + "."
		}
		out.When = moment(clock, c.FailedAt)
	case c.OKAt != nil:
		out.State, out.Word, out.When = "SUCCEEDED", "Working", moment(clock, c.OKAt)
	}
	return out
}

func moment(clock ui.Clock, at *time.Time) *ui.Moment {
	if at == nil {
		return nil
	}
	return new(clock.Moment(*at))
}

func messageRow(clock ui.Clock, n notify.Notification, may bool) views.NotificationRow {
	row := views.NotificationRow{
		URL: views.NotificationURL(n.ID.String()), Title: n.Message.Title, Rule: n.Rule, Channel: n.Channel, State: stateIcon(n.State), Word: stateWord(n.State),
		Detail: n.Reason, At: clock.Moment(n.CreatedAt),
	}
	if n.DueAt != nil && (n.Attempts > 0 || n.Reason != "") {
		row.Detail = strings.TrimSpace(row.Detail + " Next attempt: " + clock.Exactly(*n.DueAt).Text + ".")
	}
	if may && (n.State != notify.Pending || n.Waits(clock.Now)) {
		row.RedeliverURL, row.Redeliver = views.RedeliverURL(n.ID.String()), "Redeliver"
		if n.State == notify.Pending {
			row.Redeliver = "Send now"
		}
	}
	return row
}

// message shows one message with its attempts.
func (h *Pages) message(w http.ResponseWriter, r *http.Request) error {
	id, err := request.ParseID(request.PathValue(r, "notification"), "notification")
	if err != nil {
		return err
	}
	n, err := h.Notifications.Get(r.Context(), id)
	if err != nil {
		return err
	}
	clock := h.Page.Clock(r)
	m := views.Notification{
		Page: h.Page.Base(r, n.Message.Title, views.SectionNotifications, views.Crumb{Name: "Notifications", URL: views.NotificationsURL()}),
		Row:  messageRow(clock, n, page.MayWriteSecrets(r)), Text: n.Message.Text, Target: n.Message.URL,
		Facts: []ui.Fact{
			{Name: "Channel", Value: n.Channel, URL: views.ConnectionURL(n.Channel)}, {Name: "Rule", Value: n.Rule}, {Name: "Event", Value: string(n.Event), Mono: true},
			{Name: "Created", Moment: new(clock.Exactly(n.CreatedAt))}, {Name: "Attempts", Value: units.Number(int64(n.Attempts))}, {Name: "ID", Value: n.ID.String(), Mono: true},
		},
	}
	for _, f := range n.Message.Facts {
		m.Content = append(m.Content, ui.Fact{Name: f.Name, Value: f.Value})
	}
	for _, a := range n.Log {
		m.Attempts = append(m.Attempts, views.NotificationAttempt{At: clock.Exactly(a.At), OK: a.OK, Detail: a.Detail})
	}
	return web.Render(w, r, http.StatusOK, views.NotificationPage(m))
}

// redeliver sends a message again and leads to its page.
func (h *Pages) redeliver(w http.ResponseWriter, r *http.Request) error {
	id, err := request.ParseID(request.PathValue(r, "notification"), "notification")
	if err != nil {
		return err
	}
	if _, err := h.Notifications.Redeliver(r.Context(), id); err != nil && !apperr.Is(err, apperr.Conflict) {
		return err
	}
	http.Redirect(w, r, views.NotificationURL(id.String()), http.StatusSeeOther)
	return nil
}
