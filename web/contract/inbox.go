package contract

import (
	"time"

	"github.com/google/uuid"
)

// InboxItem is a notification of the caller.
type InboxItem struct {
	ID          uuid.UUID  `json:"id"`
	Event       string     `json:"event"`
	Title       string     `json:"title"`
	Text        string     `json:"text,omitempty"`
	URL         string     `json:"url" doc:"Address of the page to open"`
	ProjectID   uuid.UUID  `json:"project_id"`
	Project     string     `json:"project"`
	Subject     string     `json:"subject" doc:"Workflow or model"`
	ExecutionID *uuid.UUID `json:"execution_id,omitempty"`
	At          time.Time  `json:"at" doc:"Time of the event"`
	ReadAt      *time.Time `json:"read_at,omitempty" doc:"Missing: unread"`
	Resolution  string     `json:"resolution,omitempty" doc:"Result of an approval or a request; absent while it is open"`
}

// InboxList is a page of notifications, newest first.
type InboxList struct {
	Items  []InboxItem `json:"items"`
	Unread int         `json:"unread" doc:"Number of all unread notifications"`
	Next   *uuid.UUID  `json:"next,omitempty" doc:"Cursor for the next page; pass it as before"`
}

// InboxRead selects the notifications to mark as read.
type InboxRead struct {
	UpTo *uuid.UUID `json:"up_to,omitempty" doc:"ID of the newest notification to mark; defaults to all"`
}

// InboxMarked is how many notifications were marked as read.
type InboxMarked struct {
	Marked int `json:"marked"`
}

// InboxEvent is where the caller is notified of an event.
type InboxEvent struct {
	Event  string `json:"event" enum:"approval.waiting,model.requested,execution.first_failure,execution.failed,execution.recovered,execution.succeeded,execution.cancelled,execution.slow,execution.started_late,quota.reclaimed,pool.stalled,sweep.ended,schedule.failed,schedule.paused,schedule.refused,trigger.paused,trigger.failed,model.stage_changed,channel.failing"`
	Notify string `json:"notify" enum:"off,inbox,email,both"`
}

// InboxSettings are what the caller wants to be notified of.
type InboxSettings struct {
	Events    []InboxEvent `json:"events,omitempty" maxItems:"50" doc:"Delivery of each event; omitted events use their default"`
	Address   string       `json:"address,omitempty" maxLength:"254" doc:"E-mail address; only for users whose sign-in provider does not provide one"`
	Digest    string       `json:"digest,omitempty" enum:"immediately,hourly,daily" doc:"How often e-mails are sent; defaults to immediately"`
	DigestAt  string       `json:"digest_at,omitempty" maxLength:"5" doc:"Time of a daily e-mail; defaults to 08:00"`
	QuietFrom string       `json:"quiet_from,omitempty" maxLength:"5" doc:"Start of the quiet hours, such as 20:00. E-mails wait until their end"`
	QuietTo   string       `json:"quiet_to,omitempty" maxLength:"5" doc:"End of the quiet hours, such as 08:00"`
	Timezone  string       `json:"timezone,omitempty" maxLength:"100" doc:"Time zone of these times, such as Europe/Berlin; defaults to UTC"`
	Muted     []string     `json:"muted,omitempty" maxItems:"100" doc:"Muted workflows and models: names or patterns such as digits.*"`
}

// InboxAccount are the settings of the caller and how e-mail reaches them.
type InboxAccount struct {
	InboxSettings
	Email      string `json:"email,omitempty" doc:"E-mail address; if absent, notifications for e-mail go to the inbox"`
	MailServer bool   `json:"mail_server" doc:"True if the installation has a mail server"`
	MailError  string `json:"mail_error,omitempty" doc:"Reason why the last e-mail was not accepted"`
}
