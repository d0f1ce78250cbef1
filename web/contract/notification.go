package contract

import (
	"time"

	"github.com/google/uuid"
)

// NotificationRuleInput is a notification rule to store.
type NotificationRuleInput struct {
	Events          []string   `json:"events" minItems:"1" maxItems:"20" doc:"Events that cause messages. When an execution ends, each rule sends one message to each channel, about the most specific of these events" enum:"execution.failed,execution.first_failure,execution.recovered,execution.slow,execution.succeeded,execution.cancelled,execution.waiting,execution.overdue,approval.waiting,schedule.paused,schedule.refused,trigger.paused,trigger.failed,model.stage_changed"`
	Workflows       []string   `json:"workflows,omitempty" maxItems:"50" doc:"Names or patterns such as digits.*, of workflows and, for model.stage_changed, of models; defaults to all"`
	Channels        []string   `json:"channels" minItems:"1" maxItems:"50" doc:"Names of connections of the kinds slack, teams, email, pagerduty and webhook"`
	SlowFactor      float64    `json:"slow_factor,omitempty" minimum:"1.1" maximum:"100" doc:"For execution.slow: multiple of the median duration of the last 20 successful executions; defaults to 2"`
	WaitingSeconds  int        `json:"waiting_seconds,omitempty" minimum:"60" maximum:"604800" doc:"For execution.waiting: maximum time in seconds until the first node starts; defaults to 600"`
	DeadlineSeconds int        `json:"deadline_seconds,omitempty" minimum:"60" maximum:"604800" doc:"For execution.overdue: how long after its scheduled time, or its launch, an execution must have finished. Required for this event"`
	QuietFrom       string     `json:"quiet_from,omitempty" maxLength:"5" doc:"Start of the quiet hours, such as 20:00. Messages wait until their end"`
	QuietTo         string     `json:"quiet_to,omitempty" maxLength:"5" doc:"End of the quiet hours, such as 08:00"`
	Timezone        string     `json:"timezone,omitempty" maxLength:"100" doc:"Time zone of the quiet hours and of deadlines in messages, such as Europe/Berlin; defaults to UTC"`
	Disabled        bool       `json:"disabled,omitempty" doc:"True to keep the rule without sending messages"`
	MutedUntil      *time.Time `json:"muted_until,omitempty" doc:"Messages before this time are recorded but not sent"`
}

// NotificationRuleBody is a notification rule.
type NotificationRuleBody struct {
	Name string `json:"name"`
	NotificationRuleInput
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by"`
}

// NotificationRuleList are the notification rules of a project.
type NotificationRuleList struct {
	Rules []NotificationRuleBody `json:"rules"`
}

// NotificationChannel is a connection that receives messages.
type NotificationChannel struct {
	Name        string     `json:"name"`
	Kind        string     `json:"kind" enum:"slack,teams,email,pagerduty,webhook"`
	Description string     `json:"description"`
	Failures    int        `json:"failures" doc:"Number of consecutive failed deliveries"`
	PausedUntil *time.Time `json:"paused_until,omitempty" doc:"Time until which FlowForge sends nothing to the channel, because deliveries failed"`
	DeliveredAt *time.Time `json:"delivered_at,omitempty" doc:"Time of the last accepted message"`
	FailedAt    *time.Time `json:"failed_at,omitempty"`
	Error       string     `json:"error,omitempty" doc:"Reason why the last delivery failed"`
}

// NotificationChannelList are the channels of a project.
type NotificationChannelList struct {
	Channels []NotificationChannel `json:"channels"`
}

// NotificationAttempt is one attempt to deliver a message.
type NotificationAttempt struct {
	At     time.Time `json:"at"`
	OK     bool      `json:"ok"`
	Detail string    `json:"detail" doc:"Response of the receiver, or the reason why the attempt failed"`
}

// NotificationBody is a message to a channel.
type NotificationBody struct {
	ID        uuid.UUID             `json:"id" doc:"ID, which receivers find in the header Webhook-Id"`
	Rule      string                `json:"rule"`
	Channel   string                `json:"channel"`
	Event     string                `json:"event"`
	Title     string                `json:"title"`
	Text      string                `json:"text,omitempty"`
	URL       string                `json:"url,omitempty"`
	State     string                `json:"state" enum:"PENDING,DELIVERED,FAILED,MUTED"`
	Reason    string                `json:"reason,omitempty" doc:"Reason why the message waits or was not sent, or the response of the receiver"`
	Attempts  int                   `json:"attempts"`
	Log       []NotificationAttempt `json:"log" doc:"Last 20 attempts, oldest first"`
	CreatedAt time.Time             `json:"created_at"`
	NextAt    *time.Time            `json:"next_attempt_at,omitempty"`
	SettledAt *time.Time            `json:"settled_at,omitempty"`
}

// NotificationList is a page of messages, newest first.
type NotificationList struct {
	Notifications []NotificationBody `json:"notifications"`
	Next          *uuid.UUID         `json:"next,omitempty" doc:"Cursor for the next page; pass it as before"`
}
