package contract

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// ScheduleWhen specifies when a schedule fires.
type ScheduleWhen struct {
	Cron     string     `json:"cron,omitempty" maxLength:"200" doc:"Cron expression with five fields (minute, hour, day of month, month, day of week) or six fields (seconds first), or a macro such as @daily"`
	Crons    []string   `json:"crons,omitempty" maxItems:"10" doc:"Several cron expressions; an alternative to cron"`
	Every    string     `json:"every,omitempty" maxLength:"50" doc:"Interval in whole seconds, such as 90m or 6h"`
	At       *time.Time `json:"at,omitempty" doc:"Time of a schedule that fires once"`
	Timezone string     `json:"timezone,omitempty" maxLength:"100" doc:"IANA time zone, such as Europe/Berlin; defaults to UTC"`
	Gap      string     `json:"gap,omitempty" enum:"run_after,skip" default:"run_after" doc:"Rule for a local time that is skipped when clocks go forward"`
	Fold     string     `json:"fold,omitempty" enum:"first,last,both" default:"first" doc:"Rule for a local time that occurs twice when clocks go back"`
	Anchor   *time.Time `json:"anchor,omitempty" doc:"Reference time that intervals are counted from; defaults to starts_at, or else the full hour of creation"`
	Starts   *time.Time `json:"starts_at,omitempty" doc:"The schedule does not fire before this time"`
	Ends     *time.Time `json:"ends_at,omitempty" doc:"The schedule does not fire after this time"`
}

// ScheduleInput is a schedule to create or to replace. Set one of cron, crons, every and at.
type ScheduleInput struct {
	Workflow string `json:"workflow" minLength:"1" maxLength:"200" doc:"Workflow name or ID"`
	Name     string `json:"name" minLength:"1" maxLength:"100" doc:"Name, unique in the project"`
	ScheduleWhen
	Version    string          `json:"version,omitempty" maxLength:"100" doc:"Workflow version; defaults to the latest version at each fire"`
	Inputs     json.RawMessage `json:"inputs,omitempty" doc:"Input values by name. Strings can contain {{scheduled_time}}, {{data_interval_start}} and {{data_interval_end}}; append | date for the date only"`
	Priority   *int            `json:"priority,omitempty" minimum:"0" maximum:"100" doc:"Priority; defaults to the workflow's priority"`
	Misfire    string          `json:"misfire,omitempty" enum:"latest,skip,all" default:"latest" doc:"Policy for missed fires"`
	CatchUp    int             `json:"catch_up_seconds,omitempty" minimum:"0" maximum:"31622400" doc:"Maximum age of missed fires to launch, in seconds; defaults to 86400"`
	CatchUpMax int             `json:"catch_up_max,omitempty" minimum:"0" maximum:"1000" doc:"With misfire all, the maximum number of missed fires to launch; defaults to 10"`
	Overlap    string          `json:"overlap,omitempty" enum:"skip,queue_one,queue_all,cancel,allow" default:"skip" doc:"Policy for a fire while max_running executions are running"`
	MaxRunning int             `json:"max_running,omitempty" minimum:"0" maximum:"1000" doc:"Maximum number of concurrent executions of the schedule; defaults to 1"`
	Jitter     int             `json:"jitter_seconds,omitempty" minimum:"0" maximum:"86400" doc:"Maximum delay of each fire; a schedule always uses the same delay"`
	PauseAfter int             `json:"pause_after_failures,omitempty" minimum:"0" maximum:"100" doc:"Number of consecutive failures that pause the schedule; 0 means never"`
	Paused     bool            `json:"paused,omitempty" doc:"Create or save the schedule as paused"`
}

// ScheduleBody is a schedule.
type ScheduleBody struct {
	ID uuid.UUID `json:"id"`
	ScheduleInput
	WorkflowID uuid.UUID  `json:"workflow_id"`
	Owner      string     `json:"owner" doc:"Owner: the user who last saved the schedule. Executions run with the owner's permissions"`
	Reason     string     `json:"reason,omitempty" doc:"Reason code of the pause: person, failures or access"`
	Message    string     `json:"message,omitempty" doc:"Reason for the pause, as a sentence"`
	Delay      int        `json:"delay_seconds,omitempty" doc:"Delay that jitter adds to each fire"`
	LastFireAt *time.Time `json:"last_fire_at,omitempty"`
	NextFireAt *time.Time `json:"next_fire_at,omitempty" doc:"Time of the next fire, without jitter; absent if the schedule will not fire again"`
	CreatedAt  time.Time  `json:"created_at"`
	UpdatedAt  time.Time  `json:"updated_at"`
}

// ScheduleList is a page of schedules.
type ScheduleList struct {
	Schedules []ScheduleBody `json:"schedules"`
	Next      string         `json:"next,omitempty" doc:"Cursor for the next page; pass it as after"`
}

// ScheduleOccurrence is a fire and the outcome of it.
type ScheduleOccurrence struct {
	FireAt        time.Time  `json:"fire_at"`
	LastFireAt    time.Time  `json:"last_fire_at" doc:"Time of the last fire in this row"`
	Fires         int64      `json:"fires" doc:"Number of fires in this row; can be more than 1 for missed fires"`
	IntervalStart time.Time  `json:"data_interval_start"`
	State         string     `json:"state" enum:"LAUNCHED,QUEUED,SKIPPED,REFUSED"`
	Reason        string     `json:"reason,omitempty" doc:"Reason code: missed, overlap, inputs, access or manual"`
	Message       string     `json:"message,omitempty"`
	ExecutionID   *uuid.UUID `json:"execution_id,omitempty"`
	Status        string     `json:"status,omitempty" doc:"Status of the execution"`
	DecidedAt     time.Time  `json:"decided_at"`
	StartedAt     *time.Time `json:"started_at,omitempty"`
	FinishedAt    *time.Time `json:"finished_at,omitempty"`
	Failure       string     `json:"failure,omitempty"`
}

// ScheduleOccurrences is a page of occurrences, newest first.
type ScheduleOccurrences struct {
	Occurrences []ScheduleOccurrence `json:"occurrences"`
	Next        *time.Time           `json:"next,omitempty" doc:"Cursor for the next page; pass it as before"`
}

// SchedulePreviewInput requests the next fires.
type SchedulePreviewInput struct {
	ScheduleWhen
	Count int `json:"count,omitempty" minimum:"1" maximum:"100" default:"10"`
}

// SchedulePreview are the next fires, without the jitter.
type SchedulePreview struct {
	Fires []ScheduleFire `json:"fires"`
}

// ScheduleFire is a coming fire.
type ScheduleFire struct {
	At    time.Time `json:"at" doc:"Time in UTC"`
	Local string    `json:"local" doc:"Local time in the schedule's time zone, such as Sun 28 Mar 2027 03:00:00 CEST"`
	Note  string    `json:"note,omitempty" doc:"Effect of a clock change on this fire"`
}

// ScheduleResume resumes a schedule.
type ScheduleResume struct {
	Missed string `json:"missed,omitempty" enum:"forget,catch_up" default:"forget" doc:"Whether missed fires are skipped, or handled according to misfire"`
}

// ScheduleRun is the answer to a launch by hand.
type ScheduleRun struct {
	ExecutionID uuid.UUID `json:"execution_id"`
}
