package contract

import "time"

// NotificationTemplateInput is a template to store or to try.
type NotificationTemplateInput struct {
	Subject string `json:"subject,omitempty" maxLength:"300" doc:"Subject of an e-mail; other kinds have none"`
	Body    string `json:"body" minLength:"1" maxLength:"20000" doc:"Markdown of an e-mail, the markup of Slack or Teams, or the JSON body of a webhook, with {{ expressions }} (docs/notifications.md)"`
}

// NotificationTemplate replaces the built-in message about an event in the channels of one kind.
type NotificationTemplate struct {
	Kind  string `json:"kind" enum:"slack,teams,email,webhook"`
	Event string `json:"event" doc:"Event; any applies to every event without its own template"`
	NotificationTemplateInput
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by"`
}

// NotificationTemplateList are the templates of a project.
type NotificationTemplateList struct {
	Templates []NotificationTemplate `json:"templates"`
}

// NotificationPreview is a message as a template writes it.
type NotificationPreview struct {
	Subject string    `json:"subject,omitempty"`
	Text    string    `json:"text,omitempty" doc:"Text of an e-mail, Slack or Teams message"`
	HTML    string    `json:"html,omitempty" doc:"HTML of an e-mail"`
	JSON    string    `json:"json,omitempty" doc:"Indented body of a webhook"`
	Event   string    `json:"event" doc:"Event of the previewed message"`
	At      time.Time `json:"at"`
	Sample  bool      `json:"sample" doc:"True if the values are samples, because the project has no message about the event from the last 30 days"`
}

// NotificationTestInput is a template to send to a channel.
type NotificationTestInput struct {
	NotificationTemplateInput
	Channel string `json:"channel" minLength:"1" maxLength:"200" doc:"Name of a channel of this kind"`
}

// NotificationTest is the answer to a test message.
type NotificationTest struct {
	OK     bool   `json:"ok" doc:"True if the receiver accepted the message"`
	Detail string `json:"detail" doc:"Response of the receiver, or the reason of the failure"`
}
