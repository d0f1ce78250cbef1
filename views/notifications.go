package views

import (
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views/ui"
)

// NotificationsURL is the page of notifications.
func NotificationsURL() string { return "/notifications" }

// NotificationsStateURL shows the messages in one state, or all for "".
func NotificationsStateURL(state, before string) string {
	q := url.Values{}
	if state != "" {
		q.Set("state", state)
	}
	if before != "" {
		q.Set("before", before)
	}
	return withQuery(NotificationsURL(), q) + "#messages"
}

// NotificationRulesURL creates a rule by POST.
func NotificationRulesURL() string { return NotificationsURL() + "/rules" }

// NewNotificationRuleURL is the form for a new rule.
func NewNotificationRuleURL() string { return NotificationRulesURL() + "/new" }

// NotificationRuleURL is the form of a rule; a POST changes it.
func NotificationRuleURL(name string) string {
	return NotificationRulesURL() + "/" + url.PathEscape(name)
}

// NotificationRulePartURL is a command of a rule: "switch" or "delete".
func NotificationRulePartURL(name, part string) string { return NotificationRuleURL(name) + "/" + part }

// NotificationURL is the page of a message.
func NotificationURL(id string) string { return NotificationsURL() + "/messages/" + id }

// RedeliverURL sends a message again by POST.
func RedeliverURL(id string) string { return NotificationURL(id) + "/redeliver" }

// Notifications is the page of rules, channels and messages.
type Notifications struct {
	Page
	Notice   string
	NewURL   string // "" without permission
	Rules    []NotificationRuleRow
	Channels []NotificationChannel
	States   []ui.Choice
	State    string // of the messages shown
	Messages []NotificationRow
	Pager    ui.Pager
}

// NotificationRuleRow is a rule in the list.
type NotificationRuleRow struct {
	Name, URL   string
	Events      string // titles
	Workflows   string // "All workflows"
	Channels    string
	Quiet       string // "20:00 to 08:00, Europe/Berlin", or ""
	Enabled     bool
	Muted       string // "until 24 Nov 2026, 18:00", or ""
	SwitchURL   string // "" without permission
	SwitchLabel string
}

// ruleToggle is the switch of a rule in the list.
func ruleToggle(r NotificationRuleRow) ListSwitch {
	return ListSwitch{
		Name: "Rule " + r.Name, Title: r.SwitchLabel + " " + r.Name, URL: r.SwitchURL, On: r.Enabled, Hidden: [][2]string{{"on", boolText(!r.Enabled)}},
	}
}

// NotificationChannel is a connection that receives messages.
type NotificationChannel struct {
	Name, URL, Kind string
	State, Word     string // icon and text
	Detail          string // why it does not work, or ""
	When            *ui.Moment
}

// NotificationRow is a message in the list.
type NotificationRow struct {
	URL, Title   string
	Rule         string
	Channel      string
	State, Word  string
	Detail       string
	At           ui.Moment
	RedeliverURL string // "" without permission, or while it is being sent
	Redeliver    string // label of the button
}

// Notification is the page of a message.
type Notification struct {
	Page
	Row      NotificationRow
	Text     string
	Target   string // the page that the message links to
	Facts    []ui.Fact
	Content  []ui.Fact
	Attempts []NotificationAttempt
}

// NotificationAttempt is one attempt to deliver a message.
type NotificationAttempt struct {
	At     ui.Moment
	OK     bool
	Detail string
}

// NotificationRuleForm is the page with the form of a rule.
type NotificationRuleForm struct {
	Page
	Heading   string
	Action    string
	DeleteURL string // "" for a new rule
	ReadOnly  bool   // without permission
	Name      string
	Events    []NotificationChoice
	Channels  []NotificationChoice
	Workflows string // one for each line
	Slow      string
	Waiting   string // minutes
	Deadline  string // minutes
	QuietFrom string
	QuietTo   string
	Timezone  string
	Enabled   bool
	Mute      []ui.Option
	Muted     string // until when it is muted now, or ""
	Errors    map[string]string
	Failed    string
	Kinds     []NotificationChoice // of channels that can be added
}

// NotificationChoice is an event or a channel with a box.
type NotificationChoice struct {
	Value, Label, About string
	Chosen              bool
}

// notificationControl are the attributes that every control of the form has.
func notificationControl(f NotificationRuleForm, field string) templ.Attributes {
	a := templ.Attributes{"id": "rule-" + field, "aria-describedby": strings.Join(f.described(field), " ")}
	if f.Errors[field] != "" {
		a["aria-invalid"] = "true"
	}
	if f.ReadOnly {
		a["disabled"] = true
	}
	return a
}

func (f NotificationRuleForm) described(field string) []string {
	ids := []string{"rule-" + field + "-help"}
	if f.Errors[field] != "" {
		ids = append(ids, "rule-"+field+"-error")
	}
	return ids
}

func newRuleAction(m Notifications) []ui.Action {
	if m.NewURL == "" {
		return nil
	}
	return []ui.Action{{Name: "New rule", URL: m.NewURL}}
}

func boolText(v bool) string {
	if v {
		return "true"
	}
	return "false"
}

func muteHelp(f NotificationRuleForm) string {
	if f.Muted != "" {
		return "Muted until " + f.Muted + ". Messages are listed but not sent."
	}
	return "Messages of a muted rule are listed but not sent."
}
