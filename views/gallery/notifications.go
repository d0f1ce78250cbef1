package gallery

import (
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

func notificationEntries() []Entry {
	return []Entry{
		{"notifications", "Notifications", func(f views.Page) templ.Component { return views.NotificationsPage(notifications(f)) }},
		{"notifications-empty", "Notifications: none", func(f views.Page) templ.Component {
			return views.NotificationsPage(views.Notifications{Page: frame(f, "Notifications", views.SectionNotifications), NewURL: "#", States: []ui.Choice{{Name: "All", URL: "#", Current: true}, {Name: "Failed", URL: "#"}}})
		}},
		{"notification", "Notification: retried", func(f views.Page) templ.Component { return views.NotificationPage(notification(f)) }},
		{"notification-rule", "Notification rule: with errors", func(f views.Page) templ.Component { return views.NotificationRulePage(notificationRule(f)) }},
		{"notification-template", "Notification template: with an error", func(f views.Page) templ.Component { return views.NotificationTemplatePage(notificationTemplate(f)) }},
		{"notification-templates", "Notification templates", func(f views.Page) templ.Component { return views.NotificationTemplatesPage(notificationTemplates(f)) }},
	}
}

func notificationRows() []views.NotificationRow {
	return []views.NotificationRow{
		{URL: "#", Title: "digits.train failed after a success", Rule: "On call", Channel: "mlops-portal", State: "RETRYING", Word: "Waiting", Detail: "The receiver responded with 503 Service Unavailable after 1.2 s. Next attempt: 20 Nov 2026, 15:19:48 UTC.", At: clock().Moment(ago(8 * time.Minute))},
		{URL: "#", Title: "digits.train failed", Rule: "On call", Channel: "mlops-portal", State: "FAILED", Word: "Failed", Detail: "The connection failed: x509: certificate has expired or is not yet valid.", At: clock().Moment(ago(time.Hour)), RedeliverURL: "#", Redeliver: "Redeliver"},
		{URL: "#", Title: "publish needs an approval: review", Rule: "Approvals", Channel: "vision-runs", State: "SUCCEEDED", Word: "Delivered", Detail: "200 OK after 182 ms", At: clock().Moment(ago(2 * time.Hour)), RedeliverURL: "#", Redeliver: "Redeliver"},
	}
}

func notifications(f views.Page) views.Notifications {
	return views.Notifications{
		Page: frame(f, "Notifications", views.SectionNotifications), NewURL: "#",
		Rules: []views.NotificationRuleRow{
			{Name: "Approvals", URL: "#", Events: "Approval needed", Workflows: "All workflows", Channels: "vision-runs", Enabled: true, SwitchURL: "#", SwitchLabel: "Turn off"},
			{Name: "On call", URL: "#", Events: "First failure, Recovery, Schedule paused", Workflows: "digits.*", Channels: "mlops-portal, oncall", Quiet: "20:00 to 08:00, Europe/Berlin", Enabled: true, Muted: "until 20 Nov 2026, 18:00 UTC", SwitchURL: "#", SwitchLabel: "Turn off"},
			{Name: "Slow runs", URL: "#", Events: "Slower than usual", Workflows: "All workflows", Channels: "vision-runs", SwitchURL: "#", SwitchLabel: "Turn on"},
		},
		Channels: []views.NotificationChannel{
			{Name: "mlops-portal", URL: "#", Kind: "Webhook", State: "FAILED", Word: "Failing", Detail: "The connection failed: x509: certificate has expired or is not yet valid.", When: new(clock().Moment(ago(8 * time.Minute)))},
			{Name: "oncall", URL: "#", Kind: "PagerDuty", State: "PENDING", Word: "Not used yet"},
			{Name: "vision-runs", URL: "#", Kind: "Slack", State: "SUCCEEDED", Word: "Working", When: new(clock().Moment(ago(2 * time.Hour)))},
		},
		States:   []ui.Choice{{Name: "All", URL: "#", Current: true}, {Name: "Waiting", URL: "#", Count: "1"}, {Name: "Failed", URL: "#", Count: "1"}, {Name: "Muted", URL: "#"}, {Name: "Delivered", URL: "#"}},
		Messages: notificationRows(), Pager: ui.Pager{Text: "3 messages", Older: "#"},
	}
}

func notification(f views.Page) views.Notification {
	row := notificationRows()[0]
	return views.Notification{
		Page: frame(f, row.Title, views.SectionNotifications, views.Crumb{Name: "Notifications", URL: "#"}), Row: row, Text: "train failed: labels must be between 0 and 9, found 11", Target: "https://flowforge.example/executions/1",
		Facts:    []ui.Fact{{Name: "Channel", Value: "mlops-portal", URL: "#"}, {Name: "Rule", Value: "On call"}, {Name: "Event", Value: "execution.first_failure", Mono: true}, {Name: "Attempts", Value: "1"}},
		Content:  []ui.Fact{{Name: "Execution", Value: "#a1b2c3"}, {Name: "Version", Value: "2.4.0"}, {Name: "Launched by", Value: "Mei Tanaka"}},
		Attempts: []views.NotificationAttempt{{At: clock().Exactly(ago(8 * time.Minute)), Detail: "The receiver responded with 503 Service Unavailable after 1.2 s."}},
	}
}

func notificationTemplate(f views.Page) views.NotificationTemplateForm {
	return views.NotificationTemplateForm{
		Page: frame(f, "Execution failed", views.SectionNotifications, views.Crumb{Name: "Notifications", URL: "#"}, views.Crumb{Name: "Templates", URL: "#"}), Heading: "E-mail: Execution failed",
		Lead: "Expressions in {{ }} are replaced by values of the event.", Action: "#", PreviewURL: "#", TestURL: "#", DeleteURL: "#", HasSubject: true,
		Subject: "{{ workflow }} failed", Body: "# {{ title }}\n\n{{ errro }}\n", BodyLabel: "Text", BodyHelp: "Markdown. The e-mail contains it as HTML and as text.",
		Channels: []ui.Option{{Value: "team-mail", Name: "team-mail"}}, Variables: []views.NotificationVariable{{Name: "title", About: "the built-in title"}, {Name: "error", About: "the error; empty if there is none"}},
		Failed: "The notification template has invalid values.", Errors: map[string]string{"body": `Line 3, column 1: there is no variable "errro". Did you mean error?`},
		Preview: views.NotificationTemplatePreview{About: "Sample values, because the project has no recent message about this event.", Sample: true, Subject: "vision.train failed", HTML: "<h3>vision.train failed</h3>", Text: "# vision.train failed"},
	}
}

func notificationTemplates(f views.Page) views.NotificationTemplates {
	return views.NotificationTemplates{
		Page: frame(f, "Templates", views.SectionNotifications, views.Crumb{Name: "Notifications", URL: "#"}), May: true,
		Kinds: []ui.Option{{Value: "slack", Name: "Slack"}, {Value: "email", Name: "E-mail"}}, Events: []ui.Option{{Value: "any", Name: "Every other event"}},
		Rows: []views.NotificationTemplateRow{{URL: "#", Kind: "E-mail", Event: "Execution failed", By: "Ada Lovelace", At: clock().Moment(ago(3 * time.Hour))}},
	}
}

func notificationRule(f views.Page) views.NotificationRuleForm {
	return views.NotificationRuleForm{
		Page: frame(f, "New rule", views.SectionNotifications, views.Crumb{Name: "Notifications", URL: "#"}), Heading: "New rule", Action: "#", DeleteURL: "#", Name: "On call",
		Events: []views.NotificationChoice{
			{Value: "execution.failed", Label: "Execution failed", About: "Every failed execution."},
			{Value: "execution.first_failure", Label: "First failure", About: "A workflow fails after a success, or in its first execution.", Chosen: true},
			{Value: "execution.recovered", Label: "Recovery", About: "A workflow succeeds after a failure.", Chosen: true},
		},
		Channels:  []views.NotificationChoice{{Value: "oncall", Label: "oncall", About: "PagerDuty", Chosen: true}, {Value: "vision-runs", Label: "vision-runs", About: "Slack"}},
		Workflows: "digits.*\nvision.*", Slow: "2", Waiting: "10", QuietFrom: "25:00", QuietTo: "08:00", Timezone: "Europe/Berlin", Enabled: true,
		Mute:   []ui.Option{{Value: "keep", Name: "Not muted", Selected: true}, {Value: "1h", Name: "For an hour"}},
		Failed: "The notification rule has invalid values.", Errors: map[string]string{"quiet_from": "Enter a time such as 20:00."},
	}
}
