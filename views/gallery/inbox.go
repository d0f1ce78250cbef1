package gallery

import (
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

func inboxEntries() []Entry {
	return []Entry{
		{"inbox", "Inbox", func(f views.Page) templ.Component { return views.InboxPage(inboxPage(f)) }},
		{"inbox-empty", "Inbox: empty", func(f views.Page) templ.Component {
			m := inboxPage(f)
			m.List = views.InboxList{Next: "/inbox"}
			return views.InboxPage(m)
		}},
		{"inbox-filtered", "Inbox: nothing matches", func(f views.Page) templ.Component {
			m := inboxPage(f)
			m.List = views.InboxList{Next: "/inbox", Filtered: true}
			m.Notice, m.NoticeLink = "You no longer receive notifications about digits.train.", ui.Action{Name: "Change what is muted", URL: "#"}
			return views.InboxPage(m)
		}},
		{"inbox-settings", "Notification settings", func(f views.Page) templ.Component { return views.InboxSettingsPage(inboxSettings(f)) }},
		{"inbox-settings-failed", "Notification settings: with errors, without mail server", func(f views.Page) templ.Component {
			m := inboxSettings(f)
			m.MailServer, m.Provided, m.MailError, m.Address = false, false, "", "ada"
			m.Failed = "The notification settings have invalid values."
			m.Errors = map[string]string{"address": "Enter an e-mail address such as ada@example.com.", "quiet_to": "Enter the end of the quiet hours."}
			m.QuietTo = ""
			return views.InboxSettingsPage(m)
		}},
	}
}

func inboxPage(f views.Page) views.Inbox {
	page := frame(f, "Inbox", views.SectionNone)
	page.Inbox = views.Bell{Unread: 3, Newest: "3"}
	return views.Inbox{
		Page:  page,
		Show:  []ui.Choice{{Name: "All", URL: "#", Current: true}, {Name: "Unread", URL: "#"}},
		Kinds: []ui.Choice{{Name: "Everything", URL: "#", Current: true}, {Name: "Approvals", URL: "#"}, {Name: "Executions", URL: "#"}, {Name: "Schedules", URL: "#"}, {Name: "Models", URL: "#"}},
		List: views.InboxList{
			AllUnread: 3, UpTo: "3", Next: "/inbox", Pager: ui.Pager{Text: "6 notifications", Older: "#"},
			Unread: []views.InboxItem{
				{ID: "3", Title: "digits.train needs an approval: review", URL: "#", Icon: "APPROVAL", State: "APPROVAL", Text: "Publish the model of this execution?", Meta: []string{"vision", "#a1b2c3", "launched by Mei Tanaka"}, At: clock().Moment(ago(2 * time.Minute)), Subject: "digits.train"},
				{ID: "2", Title: "digits.train failed after a success", URL: "#", Icon: "FAILED", State: "FAILED", Text: "`train` failed: ValueError: labels must be between 0 and 9, found 11 (exit code 3, both attempts)", Meta: []string{"vision", "#d4e5f6", "launched by you"}, At: clock().Moment(ago(8 * time.Minute)), Subject: "digits.train"},
				{ID: "1", Title: "retina.segmentation-with-a-long-name.pretrain started after waiting for 42 min", URL: "#", Icon: "clock", State: "RETRYING", Meta: []string{"retina", "#778899"}, At: clock().Moment(ago(time.Hour)), Subject: "retina.segmentation-with-a-long-name.pretrain"},
			},
			Read: []views.InboxItem{
				{ID: "6", Title: "publish needs an approval: gate", URL: "#", Icon: "APPROVAL", State: "APPROVAL", Resolution: "Approved by Mei Tanaka.", Meta: []string{"vision", "#0a0b0c"}, At: clock().Moment(ago(3 * time.Hour)), Read: true, Subject: "publish"},
				{ID: "5", Title: "digits@4 is now in production", URL: "#", Icon: "box", Text: "Better on the same test set.", Meta: []string{"vision", "changed by Mei Tanaka"}, At: clock().Moment(ago(26 * time.Hour)), Read: true, Subject: "digits"},
				{ID: "4", Title: `Your schedule "nightly" was paused`, URL: "#", Icon: "PAUSED", State: "FAILED", Text: "Paused after 3 consecutive failures.", Meta: []string{"vision"}, At: clock().Moment(ago(50 * time.Hour)), Read: true, Subject: "digits.train"},
			},
		},
	}
}

func inboxSettings(f views.Page) views.InboxSettings {
	event := func(value, title, about string, inbox, email bool) views.InboxEvent {
		return views.InboxEvent{Value: value, Title: title, About: about, Inbox: inbox, Email: email}
	}
	return views.InboxSettings{
		Page: frame(f, "Notifications", views.SectionNone, views.Crumb{Name: "Your account", URL: "#"}), Email: "ada@example.com", Provided: true, MailServer: true,
		MailError: "The mail server responded with 550: no such mailbox.",
		Groups: []views.InboxEventGroup{
			{Title: "Approvals", Events: []views.InboxEvent{event("approval.waiting", "Approval needed", "A node of an execution that you launched, or of your project, waits for an approval.", true, true)}},
			{Title: "Executions", Events: []views.InboxEvent{
				event("execution.first_failure", "First failure", "A workflow that you launched fails after a success, or in its first execution.", true, false),
				event("execution.succeeded", "Execution succeeded", "An execution that you launched succeeds.", false, false),
			}},
		},
		Digests:  []ui.Option{{Value: "immediately", Name: "Immediately"}, {Value: "hourly", Name: "Hourly"}, {Value: "daily", Name: "Daily", Selected: true}},
		DigestAt: "07:30", QuietFrom: "20:00", QuietTo: "08:00", Timezone: "Europe/Berlin", Muted: "tour.*",
	}
}
