package notifications

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/notify"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// typed are the values of the form, as they were typed.
type typed struct {
	name, workflows, slow, waiting, deadline, from, to, zone, mute string
	events, channels                                               []string
	enabled                                                        bool
}

func typedOf(f url.Values) typed {
	return typed{
		name: f.Get("name"), workflows: f.Get("workflows"), slow: f.Get("slow_factor"), waiting: f.Get("waiting"), deadline: f.Get("deadline"), from: f.Get("quiet_from"), to: f.Get("quiet_to"),
		zone: f.Get("timezone"), mute: f.Get("mute"), events: f["events"], channels: f["channels"], enabled: f.Get("enabled") == "true",
	}
}

func typedRule(r notify.Rule) typed {
	t := typed{
		name: r.Name, workflows: strings.Join(r.Workflows, "\n"), slow: strconv.FormatFloat(r.SlowFactor, 'g', -1, 64), waiting: strconv.FormatFloat(r.Waiting.Minutes(), 'g', -1, 64),
		from: r.QuietFrom, to: r.QuietTo, zone: r.Timezone, channels: r.Channels, enabled: r.Enabled, mute: "keep",
	}
	if r.Deadline > 0 {
		t.deadline = strconv.FormatFloat(r.Deadline.Minutes(), 'g', -1, 64)
	}
	for _, e := range r.Events {
		t.events = append(t.events, string(e))
	}
	return t
}

// rule reads the values. It checks only numbers; the service checks everything else.
func (t typed) rule(before notify.Rule, now time.Time) (notify.Rule, error) {
	r := notify.Rule{Name: t.name, Channels: t.channels, QuietFrom: strings.TrimSpace(t.from), QuietTo: strings.TrimSpace(t.to), Timezone: strings.TrimSpace(t.zone), Enabled: t.enabled}
	for _, e := range t.events {
		r.Events = append(r.Events, notify.Event(e))
	}
	for line := range strings.Lines(t.workflows) {
		if line = strings.TrimSpace(line); line != "" {
			r.Workflows = append(r.Workflows, line)
		}
	}
	var problems []apperr.Field
	number := func(field, text string) float64 {
		if text = strings.TrimSpace(text); text == "" {
			return 0
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || v <= 0 || v > 1e6 {
			problems = append(problems, apperr.Field{Path: field, Message: fmt.Sprintf("%q is not a positive number.", text)})
		}
		return v
	}
	r.SlowFactor = number("slow_factor", t.slow)
	r.Waiting = time.Duration(number("waiting", t.waiting) * float64(time.Minute))
	r.Deadline = time.Duration(number("deadline", t.deadline) * float64(time.Minute))
	switch t.mute {
	case "keep":
		r.MutedUntil = before.MutedUntil
	case "1h", "4h", "24h", "168h":
		d, _ := time.ParseDuration(t.mute) // one of the cases
		r.MutedUntil = new(now.Add(d))
	}
	return r, apperr.InvalidFields("The notification rule has invalid values.", problems)
}

func (h *Pages) newRule(w http.ResponseWriter, r *http.Request) error {
	return h.renderRule(w, r, http.StatusOK, "", typed{slow: "2", waiting: "10", zone: "UTC", enabled: true, mute: "keep", events: r.URL.Query()["event"], channels: r.URL.Query()["channel"], workflows: r.URL.Query().Get("workflow")}, nil)
}

func (h *Pages) rule(w http.ResponseWriter, r *http.Request) error {
	rule, err := h.Notifications.Rule(r.Context(), request.PathValue(r, "name"))
	if err != nil {
		return err
	}
	return h.renderRule(w, r, http.StatusOK, rule.Name, typedRule(rule), nil)
}

// renderRule draws the form of the rule called former, or of a new one for "".
func (h *Pages) renderRule(w http.ResponseWriter, r *http.Request, status int, former string, t typed, failed error) error {
	may := page.MayWriteSecrets(r)
	if former == "" && !may {
		return apperr.New(apperr.Forbidden, "You cannot add notification rules to this project. Ask an administrator of the team.")
	}
	channels, err := h.Notifications.Channels(r.Context())
	if err != nil {
		return err
	}
	m := views.NotificationRuleForm{
		Page:    h.Page.Base(r, "New rule", views.SectionNotifications, views.Crumb{Name: "Notifications", URL: views.NotificationsURL()}),
		Heading: "New rule", Action: views.NotificationRulesURL(), ReadOnly: !may,
		Name: t.name, Workflows: t.workflows, Slow: t.slow, Waiting: t.waiting, Deadline: t.deadline, QuietFrom: t.from, QuietTo: t.to, Timezone: t.zone, Enabled: t.enabled,
	}
	var before notify.Rule
	if former != "" {
		if before, err = h.Notifications.Rule(r.Context(), former); err != nil {
			return err
		}
		m.Page = h.Page.Base(r, former, views.SectionNotifications, views.Crumb{Name: "Notifications", URL: views.NotificationsURL()})
		m.Heading, m.Action = former, views.NotificationRuleURL(former)
		if may {
			m.DeleteURL = views.NotificationRulePartURL(former, "delete")
		}
	}
	muted := before.MutedUntil != nil && before.MutedUntil.After(h.Now())
	if muted {
		m.Muted = h.Page.Clock(r).Exactly(*before.MutedUntil).Text
	}
	m.Mute = muteOptions(t.mute, muted)
	m.Events, m.Channels = eventChoices(t.events), channelChoices(channels, t.channels)
	for _, k := range connection.Kinds() {
		if k.Channel {
			m.Kinds = append(m.Kinds, views.NotificationChoice{Label: k.Label, Value: views.NewConnectionURL(k.Name)})
		}
	}
	if failed != nil {
		m.Failed, m.Errors = apperr.MessageOf(failed), map[string]string{}
		for _, f := range apperr.FieldsOf(failed) {
			if m.Errors[f.Path] == "" {
				m.Errors[f.Path] = f.Message
			}
		}
	}
	return web.Render(w, r, status, views.NotificationRulePage(m))
}

func muteOptions(chosen string, muted bool) []ui.Option {
	keep := "Not muted"
	if muted {
		keep = "Stay muted"
	}
	list := []ui.Option{{Value: "keep", Name: keep}, {Value: "1h", Name: "For an hour"}, {Value: "4h", Name: "For 4 hours"}, {Value: "24h", Name: "For a day"}, {Value: "168h", Name: "For a week"}}
	if muted {
		list = append(list, ui.Option{Value: "off", Name: "Unmute"})
	}
	for i := range list {
		list[i].Selected = list[i].Value == chosen
	}
	return list
}

func eventChoices(chosen []string) []views.NotificationChoice {
	var list []views.NotificationChoice
	for _, d := range notify.Events() {
		list = append(list, views.NotificationChoice{Value: string(d.Event), Label: d.Title, About: d.About, Chosen: slices.Contains(chosen, string(d.Event))})
	}
	return list
}

// channelChoices has the channels of the project, and chosen ones that no longer exist.
func channelChoices(channels []notify.Channel, chosen []string) []views.NotificationChoice {
	var list []views.NotificationChoice
	for _, c := range channels {
		kind, _ := connection.KindNamed(c.Kind)
		list = append(list, views.NotificationChoice{Value: c.Name, Label: c.Name, About: kind.Label, Chosen: slices.Contains(chosen, c.Name)})
	}
	for _, name := range chosen {
		if !slices.ContainsFunc(channels, func(c notify.Channel) bool { return c.Name == name }) {
			list = append(list, views.NotificationChoice{Value: name, Label: name, About: "This connection no longer exists.", Chosen: true})
		}
	}
	return list
}

func (h *Pages) addRule(w http.ResponseWriter, r *http.Request) error { return h.save(w, r, "") }

func (h *Pages) changeRule(w http.ResponseWriter, r *http.Request) error {
	return h.save(w, r, request.PathValue(r, "name"))
}

func (h *Pages) save(w http.ResponseWriter, r *http.Request, former string) error {
	if err := r.ParseForm(); err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The form cannot be read. Send it again.")
	}
	t := typedOf(r.PostForm)
	var before notify.Rule
	if former != "" {
		var err error
		if before, err = h.Notifications.Rule(r.Context(), former); err != nil {
			return err
		}
	}
	rule, invalid := t.rule(before, h.Now())
	err := invalid
	if err == nil {
		_, err = h.Notifications.Put(r.Context(), former, rule)
	}
	if code := apperr.CodeOf(err); err != nil && (code == apperr.Invalid || code == apperr.Conflict) {
		return h.renderRule(w, r, web.Status(code), former, t, err)
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, views.NotificationsURL()+"?saved=1", http.StatusSeeOther)
	return nil
}

// switchRule turns a rule on or off.
func (h *Pages) switchRule(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The form cannot be read. Send it again.")
	}
	rule, err := h.Notifications.Rule(r.Context(), request.PathValue(r, "name"))
	if err != nil {
		return err
	}
	rule.Enabled = r.PostForm.Get("on") == "true"
	if _, err := h.Notifications.Put(r.Context(), rule.Name, rule); err != nil {
		if apperr.Is(err, apperr.Invalid) { // a channel was deleted since
			return h.renderRule(w, r, http.StatusUnprocessableEntity, rule.Name, typedRule(rule), err)
		}
		return err
	}
	http.Redirect(w, r, views.NotificationsURL(), http.StatusSeeOther)
	return nil
}

func (h *Pages) deleteRule(w http.ResponseWriter, r *http.Request) error {
	if err := h.Notifications.Delete(r.Context(), request.PathValue(r, "name")); err != nil {
		return err
	}
	http.Redirect(w, r, views.NotificationsURL(), http.StatusSeeOther)
	return nil
}
