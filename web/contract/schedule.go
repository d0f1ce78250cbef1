package contract

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// ScheduleWhen specifies when a schedule runs.
type ScheduleWhen struct {
	Cron     string     `json:"cron,omitempty" maxLength:"200" doc:"Cron expression with five fields (minute, hour, day of month, month, day of week) or six fields (seconds first), or a macro such as @daily"`
	Crons    []string   `json:"crons,omitempty" maxItems:"10" doc:"Several cron expressions; an alternative to cron"`
	Every    string     `json:"every,omitempty" maxLength:"50" doc:"Interval in whole seconds, such as 90m or 6h"`
	At       *time.Time `json:"at,omitempty" doc:"Time of a schedule that runs once"`
	Timezone string     `json:"timezone,omitempty" maxLength:"100" doc:"IANA time zone, such as Europe/Berlin; defaults to UTC"`
	Gap      string     `json:"gap,omitempty" enum:"run_after,skip" default:"run_after" doc:"Rule for a local time that is skipped when clocks go forward"`
	Fold     string     `json:"fold,omitempty" enum:"first,last,both" default:"first" doc:"Rule for a local time that occurs twice when clocks go back"`
	Anchor   *time.Time `json:"anchor,omitempty" doc:"Reference time that intervals are counted from; defaults to starts_at, or else the full hour of creation"`
	Starts   *time.Time `json:"starts_at,omitempty" doc:"The schedule does not run before this time"`
	Ends     *time.Time `json:"ends_at,omitempty" doc:"The schedule does not run after this time"`

	Calendar     string           `json:"calendar,omitempty" maxLength:"100" doc:"Calendar of the project; the schedule does not run on its holidays or during its blackouts"`
	BusinessDays bool             `json:"business_days,omitempty" doc:"Skip the calendar's weekend, or Saturday and Sunday if there is no calendar"`
	Exclude      []ScheduleWindow `json:"exclude,omitempty" maxItems:"20" doc:"Daily windows during which the schedule does not run"`
}

// ScheduleWindow is a time of the day, on the clock of the time zone.
type ScheduleWindow struct {
	From  string   `json:"from" maxLength:"5" doc:"Start of the window, such as 22:00"`
	Until string   `json:"until" maxLength:"5" doc:"End of the window, exclusive; a time earlier than from is on the next day"`
	Days  []string `json:"days,omitempty" maxItems:"7" doc:"Days of the week on which the window starts, such as SAT; defaults to all"`
}

// ScheduleInput is a schedule to create or to replace. Set one of cron, crons, every and at.
type ScheduleInput struct {
	Workflow string `json:"workflow" minLength:"1" maxLength:"200" doc:"Workflow name or ID"`
	Name     string `json:"name" minLength:"1" maxLength:"100" doc:"Name, unique in the project"`
	ScheduleWhen
	Version    string          `json:"version,omitempty" maxLength:"100" doc:"Workflow version; defaults to the latest version at each run"`
	Inputs     json.RawMessage `json:"inputs,omitempty" doc:"Input values by name. Strings can contain {{scheduled_time}}, {{data_interval_start}} and {{data_interval_end}}; append | date for the date only"`
	Priority   *int            `json:"priority,omitempty" minimum:"0" maximum:"100" doc:"Priority; defaults to the workflow's priority"`
	Misfire    string          `json:"misfire,omitempty" enum:"latest,skip,all" default:"latest" doc:"Policy for missed runs"`
	CatchUp    int             `json:"catch_up_seconds,omitempty" minimum:"0" maximum:"31622400" doc:"Maximum age of missed runs to launch, in seconds; defaults to 86400"`
	CatchUpMax int             `json:"catch_up_max,omitempty" minimum:"0" maximum:"1000" doc:"With misfire all, the maximum number of missed runs to launch; defaults to 10"`
	Overlap    string          `json:"overlap,omitempty" enum:"skip,queue_one,queue_all,cancel,allow" default:"skip" doc:"Policy for a run that is due while max_running executions are running"`
	MaxRunning int             `json:"max_running,omitempty" minimum:"0" maximum:"1000" doc:"Maximum number of concurrent executions of the schedule; defaults to 1"`
	Jitter     int             `json:"jitter_seconds,omitempty" minimum:"0" maximum:"86400" doc:"Maximum delay of each run; a schedule always uses the same delay"`
	PauseAfter int             `json:"pause_after_failures,omitempty" minimum:"0" maximum:"100" doc:"Number of consecutive failures that pause the schedule; 0 means never"`
	Paused     bool            `json:"paused,omitempty" doc:"Create or save the schedule as paused"`

	When          string `json:"when,omitempty" maxLength:"1000" doc:"Condition for each run: the run is skipped unless the expression is true. It can read schedule.succeeded, schedule.failed and schedule.last_scheduled_time"`
	StopWhen      string `json:"stop_when,omitempty" maxLength:"1000" doc:"Condition that pauses the schedule, such as schedule.failed >= 3"`
	KeepSucceeded *int   `json:"keep_succeeded,omitempty" minimum:"0" maximum:"100000" doc:"Number of succeeded executions to keep; defaults to the retention rule"`
	KeepFailed    *int   `json:"keep_failed,omitempty" minimum:"0" maximum:"100000" doc:"Number of failed and cancelled executions to keep; defaults to the retention rule"`
}

// ScheduleBody is a schedule.
type ScheduleBody struct {
	ID uuid.UUID `json:"id"`
	ScheduleInput
	WorkflowID uuid.UUID  `json:"workflow_id"`
	Owner      string     `json:"owner" doc:"Owner: the user who last saved the schedule. Executions run with the owner's permissions"`
	Reason     string     `json:"reason,omitempty" doc:"Reason code of the pause: person, failures, access, stop or workflow"`
	Message    string     `json:"message,omitempty" doc:"Reason for the pause, as a sentence"`
	Problem    string     `json:"problem,omitempty" doc:"Why the server could not process the schedule, as a sentence; it tries again"`
	Declared   bool       `json:"declared,omitempty" doc:"True if the workflow definition declares the schedule; only the definition can change or remove it"`
	Delay      int        `json:"delay_seconds,omitempty" doc:"Delay that jitter adds to each run"`
	LastFireAt *time.Time `json:"last_fire_at,omitempty"`
	NextFireAt *time.Time `json:"next_fire_at,omitempty" doc:"Time of the next run, without jitter; absent if the schedule will not run again"`
	CreatedAt  time.Time  `json:"created_at"`
	UpdatedAt  time.Time  `json:"updated_at"`
}

// ScheduleList is a page of schedules.
type ScheduleList struct {
	Schedules []ScheduleBody `json:"schedules"`
	Next      string         `json:"next,omitempty" doc:"Cursor for the next page; pass it as after"`
}

// ScheduleOccurrence is a run and its outcome.
type ScheduleOccurrence struct {
	FireAt        time.Time  `json:"fire_at"`
	LastFireAt    time.Time  `json:"last_fire_at" doc:"Time of the last run in this row"`
	Fires         int64      `json:"fires" doc:"Number of runs in this row; can be more than 1 for missed runs, which are counted up to 100000"`
	IntervalStart time.Time  `json:"data_interval_start"`
	State         string     `json:"state" enum:"LAUNCHED,QUEUED,SKIPPED,REFUSED"`
	Reason        string     `json:"reason,omitempty" doc:"Reason code: missed, overlap, queue_full, when, inputs, access or manual"`
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

// SchedulePreviewInput requests the next runs.
type SchedulePreviewInput struct {
	ScheduleWhen
	Count int `json:"count,omitempty" minimum:"1" maximum:"100" default:"10"`
}

// SchedulePreview are the next runs, without the jitter.
type SchedulePreview struct {
	Fires    []ScheduleFire `json:"fires"`
	Excluded []ScheduleFire `json:"excluded,omitempty" doc:"Times before the last run that the calendar or a window excludes, up to 100"`
}

// ScheduleFire is a future run.
type ScheduleFire struct {
	At    time.Time `json:"at" doc:"Time in UTC"`
	Local string    `json:"local" doc:"Local time in the schedule's time zone, such as Sun 28 Mar 2027 03:00:00 CEST"`
	Note  string    `json:"note,omitempty" doc:"Effect of a clock change on this run"`

	IntervalStart *time.Time `json:"data_interval_start,omitempty" doc:"Time of the previous run, in UTC"`
	Excluded      string     `json:"excluded,omitempty" doc:"Reason why the run is excluded"`
}

// DeclaredSchedules are the schedules that a workflow declares, as in its definition.
type DeclaredSchedules struct {
	Schedules []map[string]any `json:"schedules" maxItems:"50" doc:"Schedules without workflow and version; one of them can omit its name. Previously declared schedules that are not listed are removed"`
}

// Calendar is a named list of a project.
type Calendar struct {
	Description string             `json:"description,omitempty" maxLength:"2000"`
	Weekend     []string           `json:"weekend,omitempty" maxItems:"7" doc:"Days of the week that are not business days; defaults to SAT and SUN"`
	Holidays    []CalendarHoliday  `json:"holidays,omitempty" maxItems:"2000" doc:"Days on which schedules do not run"`
	Blackouts   []CalendarBlackout `json:"blackouts,omitempty" maxItems:"500" doc:"Periods during which schedules do not run"`
}

// CalendarHoliday is a day on which no schedule runs.
type CalendarHoliday struct {
	Date string `json:"date" format:"date" doc:"Date, such as 2026-12-25"`
	Name string `json:"name,omitempty" maxLength:"200"`
}

// CalendarBlackout is a time span in which no schedule runs.
type CalendarBlackout struct {
	Starts time.Time `json:"starts_at"`
	Ends   time.Time `json:"ends_at" doc:"End of the blackout, exclusive"`
	Reason string    `json:"reason,omitempty" maxLength:"200"`
}

// CalendarBody is a calendar of the project.
type CalendarBody struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
	Calendar
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// CalendarList are the calendars of a project by name.
type CalendarList struct {
	Calendars []CalendarBody `json:"calendars"`
}

// ScheduleResume resumes a schedule.
type ScheduleResume struct {
	Missed string `json:"missed,omitempty" enum:"forget,catch_up" default:"forget" doc:"Whether missed runs are skipped, or handled according to misfire"`
}

// ScheduleRun is the answer to a launch by hand.
type ScheduleRun struct {
	ExecutionID uuid.UUID `json:"execution_id"`
}
