package contract

import (
	"time"

	"github.com/google/uuid"
)

// BackfillInput is a backfill to create or to preview.
type BackfillInput struct {
	Schedule    uuid.UUID `json:"schedule" doc:"ID of the schedule"`
	From        time.Time `json:"from" doc:"Start of the range, inclusive"`
	Until       time.Time `json:"until" doc:"End of the range, exclusive; must be after from. An end that is at most a day ahead means now; later ones are rejected"`
	Rerun       string    `json:"rerun,omitempty" enum:"missing,failed,all" default:"missing" doc:"Which times run again that already have an execution: none, those whose execution failed or was cancelled, or all. Executions that are still active are kept"`
	NewestFirst bool      `json:"newest_first,omitempty" doc:"Launch the newest time first; by default, the oldest time is first"`
	Parallelism int       `json:"parallelism,omitempty" minimum:"0" maximum:"100" doc:"Maximum number of concurrent executions; 0 or absent means 4"`
	Version     string    `json:"version,omitempty" maxLength:"100" doc:"Workflow version; defaults to the pinned version of the schedule, or else to the latest version"`
	Priority    *int      `json:"priority,omitempty" minimum:"0" maximum:"100" doc:"Priority of the executions; defaults to the priority of the schedule"`
}

// BackfillPreview is a dry run.
type BackfillPreview struct {
	Version  string            `json:"version"`
	Runs     int               `json:"runs" doc:"Number of times that would be launched"`
	Kept     int               `json:"kept" doc:"Number of times that keep their execution"`
	PerRun   float64           `json:"seconds_per_run,omitempty" doc:"Estimated duration of one execution; absent if no execution has ended yet"`
	Total    float64           `json:"seconds_total,omitempty" doc:"Estimated duration of the backfill at this parallelism"`
	GPUHours float64           `json:"gpu_hours,omitempty" doc:"Estimated GPU time of all executions"`
	Slots    []BackfillPlanned `json:"slots"`
}

// BackfillPlanned is a time of a dry run.
type BackfillPlanned struct {
	FireAt        time.Time  `json:"fire_at"`
	IntervalStart time.Time  `json:"data_interval_start"`
	Runs          bool       `json:"runs" doc:"Whether it would be launched"`
	ExecutionID   *uuid.UUID `json:"execution_id,omitempty" doc:"Latest execution of this time"`
	Status        string     `json:"status,omitempty" doc:"State of that execution; absent if it was deleted"`
}

// BackfillBody is a backfill.
type BackfillBody struct {
	ID           uuid.UUID      `json:"id"`
	Schedule     uuid.UUID      `json:"schedule"`
	ScheduleName string         `json:"schedule_name"`
	Timezone     string         `json:"timezone" doc:"Time zone of the schedule when the backfill was created"`
	Workflow     string         `json:"workflow"`
	Version      string         `json:"version"`
	From         time.Time      `json:"from"`
	Until        time.Time      `json:"until"`
	Rerun        string         `json:"rerun"`
	NewestFirst  bool           `json:"newest_first,omitempty"`
	Parallelism  int            `json:"parallelism"`
	Status       string         `json:"status" enum:"RUNNING,PAUSED,FINISHED,CANCELLED"`
	Message      string         `json:"message,omitempty" doc:"Reason why it is paused"`
	Owner        string         `json:"owner" doc:"User who created the backfill or resumed it last; executions run with the permissions of the owner"`
	Counts       BackfillCounts `json:"counts"`
	CreatedAt    time.Time      `json:"created_at"`
	FinishedAt   *time.Time     `json:"finished_at,omitempty"`
}

// BackfillCounts are the numbers of slots of a backfill by outcome.
type BackfillCounts struct {
	Total     int `json:"total"`
	Pending   int `json:"pending"`
	Running   int `json:"running"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
	Refused   int `json:"refused" doc:"Times whose launch was not accepted"`
	Kept      int `json:"kept" doc:"Times that keep an earlier execution"`
}

// BackfillList is a page of backfills, newest first.
type BackfillList struct {
	Backfills []BackfillBody `json:"backfills"`
	Next      *uuid.UUID     `json:"next,omitempty" doc:"Value of before for the next page; absent on the last page"`
}

// BackfillSlot is one time of a backfill.
type BackfillSlot struct {
	FireAt        time.Time  `json:"fire_at"`
	IntervalStart time.Time  `json:"data_interval_start"`
	State         string     `json:"state" enum:"PENDING,LAUNCHED,KEPT,REFUSED,CANCELLED"`
	Message       string     `json:"message,omitempty"`
	ExecutionID   *uuid.UUID `json:"execution_id,omitempty"`
	Status        string     `json:"status,omitempty" doc:"State of the execution"`
	StartedAt     *time.Time `json:"started_at,omitempty"`
	FinishedAt    *time.Time `json:"finished_at,omitempty"`
	Failure       string     `json:"failure,omitempty"`
}

// BackfillSlots is a page of slots, oldest first.
type BackfillSlots struct {
	Slots []BackfillSlot `json:"slots"`
	Next  *time.Time     `json:"next,omitempty" doc:"Value of after for the next page; absent on the last page"`
}

// BackfillCancel cancels a backfill.
type BackfillCancel struct {
	Executions string `json:"executions,omitempty" enum:"continue,cancel" default:"continue" doc:"Whether active executions continue or are cancelled"`
}
